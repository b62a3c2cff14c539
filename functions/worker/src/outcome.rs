//! What a provider's answer is as a result.

use std::borrow::Cow;

use ebb_core::provider::is_custom_resource;
use ebb_core::{Code, DeleteError, ErrorClass, Look, Millis, Outcome, Refusal, Resource, Step, StepResult};
use serde_json::Value;

use crate::redact::redact;

/// How long a shut fence is left alone: the planner reads the lock in between.
const SHUT: Millis = 5_000;

/// Pending, to be looked at again after `ms`.
pub(crate) fn after(blank: StepResult, ms: Millis) -> StepResult {
    StepResult { outcome: Outcome::Pending, look_again_ms: Some(ms), ..blank }
}

/// The world did not let us look at the row: nothing is known of the resource.
pub(crate) fn refused(blank: StepResult, refusal: &Refusal) -> StepResult {
    after(blank, 10_000).because(refusal.ending.name(), &refusal.message)
}

/// A step's answer. `memo` is what the next step is to be told.
pub(crate) fn of_step(
    blank: StepResult,
    resource: &Resource,
    answer: Result<Step, DeleteError>,
    memo: Option<Value>,
) -> StepResult {
    let blank = StepResult { memo: memo.clone(), ..blank };
    let settled = |outcome| StepResult { outcome, memo: None, ..blank.clone() };
    match answer {
        Ok(Step::Gone { already }) => {
            let result = StepResult { already, ..settled(Outcome::Deleted) };
            // The only way for a custom resource to be gone already.
            if already && is_custom_resource(&resource.resource_type) {
                return result.because(&Code::HandlerGone.name(), "its handler is gone: whatever it managed may still be there");
            }
            result
        }
        Ok(Step::GoneWith { note }) => StepResult { reason: Some(redact(&note, resource)), ..settled(Outcome::Deleted) },
        Ok(Step::Pending { look_again, note, error, .. }) => {
            let ms = Millis::try_from(look_again.as_millis()).unwrap_or(Millis::MAX);
            let reason = Some(redact(&note, resource)).filter(|note| !note.is_empty());
            StepResult { code: error.map(Cow::into_owned), reason, ..after(blank, ms) }
        }
        Ok(Step::Skipped { code, reason }) => settled(Outcome::Skipped).because(&code.name(), &redact(&reason, resource)),
        Err(error) => {
            let reason = redact(&error.message, resource);
            match wait_for(&error) {
                Some(ms) => after(blank, ms).because(&error.code, &reason),
                None if error.class == ErrorClass::AlreadyGone => StepResult { already: true, ..settled(Outcome::Deleted) },
                // One name for what the services call by many; their message names the action.
                None if error.class == ErrorClass::Denied => {
                    settled(Outcome::Failed).because(&Code::Denied.name(), &format!("{}: {reason}", error.code))
                }
                None => settled(Outcome::Failed).because(&error.code, &reason),
            }
        }
    }
}

/// How long until an error is worth another try; `None` when it is final.
fn wait_for(error: &DeleteError) -> Option<Millis> {
    let ms = |duration: std::time::Duration| Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX);
    match &error.class {
        ErrorClass::FenceShut => Some(SHUT),
        ErrorClass::Retry { after, .. } | ErrorClass::Blocked { after, .. } => Some(ms(*after)),
        ErrorClass::Throttled => Some(4_000),
        ErrorClass::AlreadyGone | ErrorClass::Protected | ErrorClass::Denied | ErrorClass::Terminal => None,
    }
}

/// A look's answer: pending in any case, for nothing was done. Without a code the way is clear.
pub(crate) fn of_look(blank: StepResult, resource: &Resource, answer: Result<Look, DeleteError>) -> StepResult {
    let blank = StepResult { outcome: Outcome::Pending, ..blank };
    match answer {
        Ok(Look::Clear) => blank,
        Ok(Look::Refuses { code, reason }) => blank.because(&code.name(), &redact(&reason, resource)),
        Err(error) => blank.because(&error.code, &redact(&error.message, resource)),
    }
}
