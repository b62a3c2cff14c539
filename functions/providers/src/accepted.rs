//! Deletes that are accepted and take their time, whose resource counts as gone all the same when the wait gets long.

use std::time::Duration;

use ebb_core::{Millis, Resource, Step};
use serde_json::{Value, json};

use crate::Cx;

const KEY: &str = "acceptedAt";

/// When an earlier step's delete was accepted.
pub fn at(cx: &Cx<'_>) -> Option<Millis> {
    cx.memo.and_then(|memo| memo.get(KEY)).and_then(Value::as_u64)
}

/// The delete was just accepted: remembers that, to look in `look_again`.
pub fn now(look_again: Duration, cx: &Cx<'_>) -> Step {
    Step::pending_with(look_again, "the delete was accepted", json!({ KEY: cx.clock.now() }))
}

/// It is still there: looks again until `limit` has passed since the delete was accepted, then lets it go.
pub fn still_there(r: &Resource, look_again: Duration, limit: Duration, cx: &Cx<'_>) -> Step {
    let waited = Duration::from_millis(cx.clock.now().saturating_sub(at(cx).unwrap_or_default()));
    if waited >= limit {
        tracing::warn!(resource = r.logical_id, "the delete was accepted {} s ago and is not done", waited.as_secs());
        return Step::DELETED;
    }
    Step::pending(look_again, "it is being deleted")
}
