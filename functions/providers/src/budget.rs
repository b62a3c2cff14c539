//! Budgets that outlive an invocation: how long an error may go on counts from its first appearance, so it travels in the
//! memo beside what the step itself wants to remember.

use std::time::Duration;

use ebb_core::{Code, Context, DeleteError, ErrorClass, Look, Millis, Step};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{StepError, StepResult};
use crate::classify::{Rules, classify, give_up};
use crate::protection::{is_lifted, left_off};

/// A service that asks to wait for longer is asked sooner.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// An error that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ongoing {
    code: String,
    since: Millis,
}

#[derive(Serialize, Deserialize)]
struct Memo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Ongoing>,
}

/// The step's own memo, and the error that goes on.
pub fn split(memo: Option<&Value>) -> (Option<Value>, Option<Ongoing>) {
    match memo.and_then(|m| serde_json::from_value::<Memo>(m.clone()).ok()) {
        Some(memo) => (memo.step, memo.error),
        None => (None, None),
    }
}

fn join(step: Option<Value>, error: Option<Ongoing>) -> Option<Value> {
    if step.is_none() && error.is_none() {
        return None;
    }
    serde_json::to_value(Memo { step, error }).ok()
}

/// Turns what a step answered into what the worker reports: passing errors become `Pending` until their budget ends.
pub fn settle(answer: StepResult, rules: &Rules, ctx: &Context<'_>, ongoing: Option<Ongoing>) -> Result<Step, DeleteError> {
    let (call, error) = match answer {
        Ok(Step::Pending { look_again, note, memo, error }) => {
            let memo = join(memo.or_else(|| ctx.memo.cloned()), None);
            // An error that went by must not be counted on from its first time when it comes back: say that it is over.
            let memo = memo.or_else(|| ongoing.map(|_| Value::Object(serde_json::Map::new())));
            return Ok(Step::Pending { look_again, note, memo, error });
        }
        Ok(step) => return Ok(step),
        Err(StepError::Skip { code, reason }) => return Ok(Step::skipped(code, reason)),
        Err(StepError::Ours(error)) => (None, error),
        Err(StepError::Call(call)) => {
            let error = classify(&call, rules);
            (Some(call), error)
        }
    };
    let (after, budget) = match &error.class {
        ErrorClass::AlreadyGone => return Ok(Step::ALREADY_GONE),
        ErrorClass::Retry { after, give_up } => (*after, *give_up),
        ErrorClass::Blocked { after, .. } => (*after, call.as_ref().and_then(|c| give_up(c, rules))),
        ErrorClass::Throttled => (Duration::from_secs(4), None),
        ErrorClass::Protected | ErrorClass::Denied | ErrorClass::FenceShut | ErrorClass::Terminal => return Err(error),
    };
    let now = ctx.clock.now();
    let ongoing = ongoing.filter(|o| o.code == error.code).unwrap_or(Ongoing { code: error.code.clone(), since: now });
    let waited = Duration::from_millis(now.saturating_sub(ongoing.since));
    if budget.is_some_and(|b| waited >= b) {
        let message = match held(&error.class) {
            Some(by) => format!("{} (for {} s; held by {by})", error.message, waited.as_secs()),
            None => format!("{} (for {} s)", error.message, waited.as_secs()),
        };
        let message = if is_lifted(ctx.memo) { left_off(&message) } else { message };
        return Err(DeleteError { class: ErrorClass::Terminal, message, ..error });
    }
    // Later looks are further apart: a tenth of what has passed, at most a minute, and never sooner than the rule or the
    // service says.
    let asked = call.as_ref().and_then(|c| c.retry_after).unwrap_or_default().min(LONGEST_RETRY_AFTER);
    let look_again = after.max((waited / 10).min(Duration::from_secs(60))).max(asked);
    let note = match held(&error.class) {
        Some(by) => format!("{}: held by {by}", error.code),
        None => format!("{}: {}", error.code, error.message),
    };
    let code = ongoing.code.clone();
    let memo = join(ctx.memo.cloned(), Some(ongoing));
    Ok(Step::Pending { look_again, note: note.into(), memo, error: Some(code.into()) })
}

/// The holders of a blocked resource in words: the first few, and how many more.
fn held(class: &ErrorClass) -> Option<String> {
    const NAMED: usize = 5;
    match class {
        ErrorClass::Blocked { by, .. } if !by.is_empty() => {
            let first = by.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            Some(if by.len() > NAMED { format!("{first} and {} more", by.len() - NAMED) } else { first })
        }
        _ => None,
    }
}

/// A look that fails says nothing: a missing resource is clear, anything else is reported as it is.
pub fn settle_look(error: StepError, rules: &Rules) -> Result<Look, DeleteError> {
    match error {
        StepError::Skip { .. } => Ok(Look::Clear),
        StepError::Ours(error) => Err(error),
        StepError::Call(call) => match classify(&call, rules) {
            DeleteError { class: ErrorClass::AlreadyGone, .. } => Ok(Look::Clear),
            error => Err(error),
        },
    }
}

/// The refusal of a protected resource, with what to do.
pub fn protected(message: impl Into<String>) -> StepError {
    StepError::Ours(DeleteError {
        class: ErrorClass::Protected,
        code: Code::Protected.name(),
        message: message.into(),
        request_id: None,
    })
}

#[cfg(test)]
mod tests {
    use ebb_core::{ErrorClass, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    const MAPPING: &[&str] = &["/event-source-mappings/6a1f"];

    fn busy() -> Script {
        let alive = json!({ "State": "Enabled" });
        Script::new().json(MAPPING, 200, alive).json_error(MAPPING, "ResourceInUseException", "because it is in use")
    }

    /// `give_up_after_s` counts from the first time that rule matched for the resource: not over a time without it.
    #[tokio::test]
    async fn an_error_that_went_by_starts_anew() {
        let mut bench = Bench::new("AWS::Lambda::EventSourceMapping", "6a1f", json!({}));
        assert!(matches!(bench.step(&busy()).await, Ok(Step::Pending { .. })));
        bench.pass(119);
        assert!(matches!(bench.step(&busy()).await, Ok(Step::Pending { .. })), "not two minutes yet");
        let mut late = Bench::new("AWS::Lambda::EventSourceMapping", "6a1f", json!({}));
        late.memo.clone_from(&bench.memo);
        late.pass(120);
        assert_eq!(late.step(&busy()).await.unwrap_err().class, ErrorClass::Terminal);
        let accepted = Script::new().json(MAPPING, 200, json!({ "State": "Enabled" })).json(MAPPING, 202, json!({}));
        bench.step(&accepted).await.unwrap();
        assert!(bench.memo.as_ref().is_some_and(|memo| memo.get("error").is_none()), "{:?}", bench.memo);
    }

    /// Nothing is put back when a budget ran out, so it has to be told, however long the service's own words are.
    #[tokio::test]
    async fn a_protection_that_stays_off_at_the_end_of_a_budget_is_told() {
        let off = "(deletion protection was switched off by this run and is off)";
        let alive = json!({ "State": "Enabled" });
        let delete = |message: &str| {
            Script::new().json(MAPPING, 200, alive.clone()).json_error(MAPPING, "ResourceInUseException", message)
        };
        for message in ["because it is in use".to_owned(), "because it is in use ".repeat(100)] {
            for (memo, told) in [(json!({ "protectionOnAt": 1 }), true), (json!({ "other": 1 }), false)] {
                let mut bench = Bench::new("AWS::Lambda::EventSourceMapping", "6a1f", json!({}));
                let since = bench.run.timestamp;
                let code = "ResourceInUseException";
                bench.memo = Some(json!({ "step": memo, "error": { "code": code, "since": since } }));
                bench.pass(120);
                let error = bench.step(&delete(&message)).await.unwrap_err();
                assert_eq!((&error.class, error.message.ends_with(off)), (&ErrorClass::Terminal, told), "{error}");
                assert!(!told || error.message.len() < 500, "{}", error.message.len());
            }
        }
    }

    /// A pending answer without a memo clears an error that was remembered.
    #[tokio::test]
    async fn a_memo_of_nothing_but_an_error_is_emptied() {
        let delete = &["DELETE", "/functions/orders"];
        let get = &["GET", "/functions/orders"];
        let mut bench = Bench::new("Custom::Thing", "x", json!({ "ServiceToken": "orders" }));
        bench.memo = Some(json!({ "error": { "code": "Busy", "since": 1 } }));
        bench.bucket = std::sync::Arc::new(ebb_store::MemoryBucket::plain("state", bench.clock.clone()));
        let updating = json!({ "Configuration": { "State": "Pending" } });
        assert!(matches!(bench.step(&Script::new().json(get, 200, updating)).await, Ok(Step::Pending { .. })));
        assert!(bench.memo.as_ref().is_some_and(|memo| memo.get("error").is_none()));

        let mut bench = Bench::new("AWS::Lambda::Function", "orders", json!({}));
        bench.memo = Some(json!({ "error": { "code": "Busy", "since": 1 } }));
        let conflict = Script::new().json_error(delete, "ResourceConflictException", "x");
        bench.step(&conflict).await.unwrap();
        assert_ne!(bench.memo.as_ref().unwrap()["error"]["since"], json!(1), "another error is counted from now");
    }
}
