//! Deletion protection around a delete: that it was on is remembered *before* it is switched off, so that a step killed
//! in between still knows to put it back when the delete fails for good.

use std::time::Duration;

use ebb_core::{Code, DeleteError, ErrorClass, Look, Millis, Step, text};
use serde_json::{Value, json};

use crate::budget::protected;
use crate::call::{CallError, StepError};
use crate::classify::{Rules, classify};
use crate::{Cx, memo};

/// How long a switched-off protection may take to show before the delete is tried all the same.
const SETTLES: Duration = Duration::from_secs(60);

const KEY: &str = "protectionOnAt";
const LEVEL: &str = "protectionLevel";

/// When an earlier step saw the protection on.
fn seen_on(cx: &Cx<'_>) -> Option<Millis> {
    memo::get(cx, KEY).and_then(Value::as_u64)
}

/// The protection is on: remembers that, to switch it off in the next step; `None` once it is remembered.
pub fn remember(cx: &Cx<'_>) -> Option<Step> {
    remembered(cx, None)
}

/// As [`remember`], of a protection that has levels.
pub fn remember_level(cx: &Cx<'_>, level: &str) -> Option<Step> {
    remembered(cx, Some(level))
}

fn remembered(cx: &Cx<'_>, level: Option<&str>) -> Option<Step> {
    if seen_on(cx).is_some() {
        return None;
    }
    let seen = (KEY, json!(cx.clock.now()));
    let memo = match level {
        Some(level) => memo::with(cx, [seen, (LEVEL, json!(level))]),
        None => memo::with(cx, [seen]),
    };
    Some(Step::pending_with(Duration::ZERO, "deletion protection is on: switching it off", memo))
}

/// The level that an earlier step saw the protection on at.
pub fn level<'a>(cx: &'a Cx<'_>) -> Option<&'a str> {
    memo::text(cx, LEVEL)
}

/// Whether to wait on for what switching it off changes.
pub fn settling(cx: &Cx<'_>) -> bool {
    seen_on(cx).is_some_and(|at| Duration::from_millis(cx.clock.now().saturating_sub(at)) < SETTLES)
}

/// What comes before the delete of a type whose switch works at once: `None` when there is nothing more to do. With
/// removeProtection, a protection that `is_on` is remembered and then switched off by `off`; one that cannot be read is
/// switched off unseen. A flip that fails is AWS's to refuse at the delete.
pub async fn lift(
    rules: &Rules,
    cx: &Cx<'_>,
    is_on: impl Future<Output = Result<bool, CallError>> + Send,
    off: impl Future<Output = Result<(), CallError>> + Send,
) -> Result<Option<Step>, StepError> {
    if !cx.run.options.remove_protection {
        return Ok(None);
    }
    match is_on.await {
        Ok(false) => return Ok(None),
        Ok(true) => {
            if let Some(step) = remember(cx) {
                return Ok(Some(step));
            }
        }
        Err(call) if classify(&call, rules).class == ErrorClass::Denied => {
            tracing::warn!(code = call.code, "cannot read the protection: switching it off unseen");
        }
        Err(call) => return Err(StepError::Call(call)),
    }
    switch_off(rules, cx, off).await
}

/// Switches a protection off; `Some` while `off` may still work.
pub async fn switch_off(
    rules: &Rules,
    cx: &Cx<'_>,
    off: impl Future<Output = Result<(), CallError>> + Send,
) -> Result<Option<Step>, StepError> {
    cx.fence.check().await?;
    let Err(call) = off.await else { return Ok(None) };
    tracing::warn!(code = call.code, "cannot switch the protection off");
    let passes = matches!(classify(&call, rules).class, ErrorClass::Retry { .. } | ErrorClass::Throttled);
    let again = passes && settling(cx);
    Ok(again.then(|| Step::pending(Duration::from_secs(1), "deletion protection is being switched off")))
}

/// The look of a type with a protection: refuses as the delete would.
pub async fn look(cx: &Cx<'_>, is_on: impl Future<Output = Result<bool, CallError>> + Send) -> Result<Look, StepError> {
    if !cx.run.options.remove_protection && is_on.await? {
        return Ok(Look::Refuses { code: Code::Protected, reason: refusal().into() });
    }
    Ok(Look::Clear)
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

/// Whether a step's memo says that this run switched a protection off.
pub fn is_lifted(memo: Option<&Value>) -> bool {
    memo.is_some_and(|memo| memo.get(KEY).is_some_and(|at| !at.is_null()))
}

/// A failure whose budget ran out, with the protection still off: nothing is put back then, so it must be told, and the
/// failure gives way to it.
pub fn left_off(message: &str) -> String {
    const LONGEST: usize = 400;
    let message = text::cut(&text::display(message), LONGEST);
    format!("{message} (deletion protection was switched off by this run and is off)")
}

/// What is said of a protected resource when the request does not lift it.
pub fn refusal() -> &'static str {
    "deletion protection is on: switch it off, or ask with removeProtection"
}
