//! Crawlers and triggers: what runs is stopped first, and looked at until it has stopped.

use std::time::Duration;

use aws_sdk_glue::types::{CrawlerState, TriggerState};
use ebb_core::{ErrorClass, Millis, Resource, Step};
use serde_json::{Value, json};

use super::GONE;
use crate::Cx;
use crate::accepted;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, classify};

const STOPPED_AT: &str = "stoppedAt";

/// Whether an earlier step asked to stop less than `limit` ago.
fn stopping(limit: Duration, cx: &Cx<'_>) -> bool {
    let at: Option<Millis> = cx.memo.and_then(|memo| memo.get(STOPPED_AT)).and_then(Value::as_u64);
    at.is_some_and(|at| Duration::from_millis(cx.clock.now().saturating_sub(at)) < limit)
}

fn stop_asked(look_again: Duration, note: &'static str, cx: &Cx<'_>) -> Step {
    Step::pending_with(look_again, note, json!({ STOPPED_AT: cx.clock.now() }))
}

/// A stop that fails is logged: the delete tells. One that never left is not.
fn best_effort<T>(r: &Resource, stop: Result<T, CallError>) -> Result<(), StepError> {
    match stop {
        Err(call) if call.fence_shut => Err(call.into()),
        Err(call) => {
            tracing::warn!(resource = r.logical_id, code = call.code, "it could not be stopped");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Delete first: most crawlers do not run. The stop of a long crawl can take minutes.
pub(super) async fn crawler(r: &Resource, cx: &Cx<'_>) -> StepResult {
    const POLL: Duration = Duration::from_secs(2);
    const POLLED: Duration = Duration::from_secs(60);
    let name = r.physical_id.as_str();
    if stopping(POLLED, cx) {
        let found = cx.aws.glue().get_crawler().name(name).send().await?;
        let state = found.crawler().and_then(|crawler| crawler.state());
        if matches!(state, Some(CrawlerState::Running | CrawlerState::Stopping)) {
            return Ok(Step::pending(POLL, "the crawler is stopping"));
        }
    }
    cx.fence.check().await?;
    match cx.aws.glue().delete_crawler().name(name).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["CrawlerRunningException"]) => {
            cx.fence.check().await?;
            best_effort(r, cx.aws.glue().stop_crawler().name(name).send().await.map_err(CallError::from))?;
            if cx.memo.is_some_and(|memo| memo.get(STOPPED_AT).is_some()) {
                return Err(call.into());
            }
            Ok(stop_asked(POLL, "the crawler runs: stopping it", cx))
        }
        Err(call) => Err(call.into()),
    }
}

/// A trigger that fires races its own delete: it is stopped first.
pub(super) async fn trigger(r: &Resource, cx: &Cx<'_>) -> StepResult {
    const POLL: Duration = Duration::from_secs(1);
    const POLLED: Duration = Duration::from_secs(30);
    const LOOK_AGAIN: Duration = Duration::from_secs(2);
    let name = r.physical_id.as_str();
    let found = cx.aws.glue().get_trigger().name(name).send().await.map_err(CallError::from);
    if accepted::at(cx).is_some() {
        return match found {
            Err(call) if call.is(GONE) => Ok(Step::DELETED),
            Err(call) => Err(call.into()),
            Ok(_) => Ok(accepted::still_there(r, LOOK_AGAIN, Duration::from_secs(120), cx)),
        };
    }
    let state = match found {
        Ok(answer) => answer.trigger.and_then(|trigger| trigger.state),
        Err(call) if looks_in_vain(&call) => None,
        Err(call) => return Err(call.into()),
    };
    match state {
        Some(TriggerState::Deleting) => return Ok(accepted::now(LOOK_AGAIN, cx)),
        Some(TriggerState::Activated) if cx.memo.is_none_or(|memo| memo.get(STOPPED_AT).is_none()) => {
            cx.fence.check().await?;
            best_effort(r, cx.aws.glue().stop_trigger().name(name).send().await.map_err(CallError::from))?;
            return Ok(stop_asked(POLL, "the trigger is activated: stopping it", cx));
        }
        Some(TriggerState::Activated | TriggerState::Activating) if stopping(POLLED, cx) => {
            return Ok(Step::pending(POLL, "the trigger is stopping"));
        }
        _ => {}
    }
    cx.fence.check().await?;
    cx.aws.glue().delete_trigger().name(name).send().await?;
    Ok(accepted::now(LOOK_AGAIN, cx))
}

/// Without the right to look, the delete goes on unseen.
fn looks_in_vain(call: &CallError) -> bool {
    classify(call, &Rules::NONE).class == ErrorClass::Denied
}
