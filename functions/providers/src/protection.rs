//! Deletion protection around a delete: that it was on is remembered *before* it is switched off, so that a step killed
//! in between still knows to put it back when the delete fails for good.

use std::time::Duration;

use ebb_core::{DeleteError, ErrorClass, Millis, Step};
use serde_json::json;

use crate::budget::protected;
use crate::call::{CallError, StepError};
use crate::classify::{Rules, classify};
use crate::{Cx, memo};

/// How long a switched-off protection may take to show before the delete is tried all the same.
const SETTLES: Duration = Duration::from_secs(60);

const KEY: &str = "protectionOnAt";

/// When an earlier step saw the protection on.
fn seen_on(cx: &Cx<'_>) -> Option<Millis> {
    memo::get(cx, KEY).and_then(serde_json::Value::as_u64)
}

/// The protection is on: remembers that, to switch it off in the next step; `None` once it is remembered.
pub fn remember(cx: &Cx<'_>) -> Option<Step> {
    match seen_on(cx) {
        Some(_) => None,
        None => {
            let memo = memo::with(cx, [(KEY, json!(cx.clock.now()))]);
            Some(Step::pending_with(Duration::ZERO, "deletion protection is on: switching it off", memo))
        }
    }
}

/// Whether to wait on for what switching it off changes.
pub fn settling(cx: &Cx<'_>) -> bool {
    seen_on(cx).is_some_and(|at| Duration::from_millis(cx.clock.now().saturating_sub(at)) < SETTLES)
}

/// What a failed delete ends in. A final failure puts back, by `put_back`, a protection that this run switched off; an
/// error that passes leaves it off for the next try. A refusal for protection says how to lift it.
pub async fn failed(
    call: CallError,
    rules: &Rules,
    cx: &Cx<'_>,
    put_back: impl Future<Output = Result<(), CallError>> + Send,
) -> StepError {
    let error = classify(&call, rules);
    if !matches!(error.class, ErrorClass::Terminal | ErrorClass::Denied | ErrorClass::Protected) {
        return StepError::Call(call);
    }
    if error.class == ErrorClass::Protected && !cx.run.options.remove_protection {
        return protected(format!("{} ({})", refusal(), error.message));
    }
    if seen_on(cx).is_none() {
        return StepError::Ours(error);
    }
    let outcome = match cx.fence.check().await {
        Ok(()) => put_back.await.map_err(|e| e.code),
        Err(shut) => Err(shut.code),
    };
    let message = match outcome {
        Ok(()) => format!("{} (deletion protection is on again)", error.message),
        Err(code) => {
            format!("{} (deletion protection was switched off and could not be switched on again: {code})", error.message)
        }
    };
    StepError::Ours(DeleteError { message, ..error })
}

/// What is said of a protected resource when the request does not lift it.
pub fn refusal() -> &'static str {
    "deletion protection is on: switch it off, or ask with removeProtection"
}
