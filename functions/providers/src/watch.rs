//! A delete that AWS accepts first and carries out later: asked for once, then looked at. What travels in the memo is
//! when it was asked for.

use std::borrow::Cow;
use std::time::Duration;

use ebb_core::{Millis, Resource, Step, catalogue};
use serde_json::{Value, json};

use crate::{Cx, memo};

/// What a look says of a resource that is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is not there, or is a record of what was.
    Gone,
    /// AWS is at it.
    Going,
    /// Nothing says that it is going: asked again, it may.
    There,
}

/// Since when a delete is under way.
pub(crate) struct Watch {
    since: Option<Millis>,
}

impl Watch {
    /// As the memo remembers it.
    pub(crate) fn of(cx: &Cx<'_>) -> Self {
        Watch { since: memo::get(cx, "deleting").and_then(Value::as_u64) }
    }

    /// Whether an earlier step asked for the delete.
    pub(crate) fn asked(&self) -> bool {
        self.since.is_some()
    }

    /// How long ago that was.
    pub(crate) fn waited(&self, cx: &Cx<'_>) -> Duration {
        Duration::from_millis(self.since.map_or(0, |since| cx.clock.now().saturating_sub(since)))
    }

    /// It is gone; `found` says whether the delete of this very step met it.
    pub(crate) fn gone(&self, found: bool) -> Step {
        Step::Gone { already: !self.asked() && !found }
    }

    /// Not yet: look first when half of its kind are done, then every ten seconds.
    pub(crate) fn pending(&self, r: &Resource, cx: &Cx<'_>, note: &'static str) -> Step {
        let typical = || catalogue::lookup(&r.resource_type, false).typical();
        self.pending_for(if self.asked() { Duration::from_secs(10) } else { typical() }, cx, note)
    }

    /// Not yet: look again after `look_again`. What an earlier step remembered beside it stays remembered.
    pub(crate) fn pending_for(&self, look_again: Duration, cx: &Cx<'_>, note: impl Into<Cow<'static, str>>) -> Step {
        let since = self.since.unwrap_or_else(|| cx.clock.now());
        Step::pending_with(look_again, note, memo::with(cx, [("deleting", json!(since))]))
    }
}
