//! Event source mappings: deleted asynchronously, and until then they may own network interfaces.

use std::time::Duration;

use ebb_core::{Millis, Resource, Step};
use serde_json::json;

use super::GONE;
use crate::Cx;
use crate::call::{CallResult, StepResult};
use crate::classify::{Rules, retry};

pub(super) const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        retry("ResourceInUseException", 5, 120),
        retry("ResourceConflictException", 5, 120),
        retry("TooManyRequestsException", 2, 60),
        retry("ServiceException", 3, 60),
    ],
    ..Rules::NONE
};

/// Longer than this an accepted delete is not watched.
const LONGEST_WATCH: Millis = 300_000;

pub(super) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let accepted = cx.memo.and_then(|m| m.get("accepted")).and_then(|at| at.as_u64());
    let mapping = cx.aws.lambda().get_event_source_mapping().uuid(&r.physical_id).send().await.ignore(GONE)?;
    let Some(mapping) = mapping else {
        return Ok(Step::Gone { already: accepted.is_none() });
    };
    let deleting = mapping.state() == Some("Deleting");
    if accepted.is_none() && !deleting {
        cx.fence.check().await?;
        cx.aws.lambda().delete_event_source_mapping().uuid(&r.physical_id).send().await?;
    }
    let look_again = Duration::from_secs(if accepted.is_none() { 1 } else { 5 });
    let since = accepted.unwrap_or_else(|| cx.clock.now());
    if cx.clock.now().saturating_sub(since) >= LONGEST_WATCH {
        return Ok(Step::DELETED);
    }
    Ok(Step::pending_with(look_again, "Lambda is deleting it", json!({ "accepted": since })))
}
