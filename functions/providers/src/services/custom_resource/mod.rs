//! Custom resources: the delete runs somebody's handler, so it is asked once. A step looks at the response object of its
//! request id first: an answer there ends it, a mark there means that the handler was asked already and is only polled.
//! Response objects are left to the finalizer, so that a step that runs twice finds the same answer.

mod answer;
mod handler;
mod js;
mod request;
mod response;
mod send;
#[cfg(test)]
mod tests;

use std::time::Duration;

use ebb_core::provider::{DELIVERIES, holds_mask, request_id};
use ebb_core::{Code, Millis, Resource, Step, keys, text};
use serde::{Deserialize, Serialize};

use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::classify::Rules;

use answer::Answer;
use handler::Handler;
use response::{Found, Mark};

pub(crate) const RULES: Rules = Rules::NONE;

/// IAM actions of a delivery.
pub const ACTIONS: &[&str] = &["lambda:GetFunction", "lambda:InvokeFunction", "sns:Publish"];

/// How long a response URL can be written to; after that nothing can come.
const URL_LIFETIME: Duration = Duration::from_secs(3600);
/// How long the object of a handler that returned something else than an answer is polled.
const SHORT_POLL: Duration = Duration::from_secs(30);
/// How long refusals before the delivery are retried (rights that have not spread, throttles).
const REFUSALS: Millis = 40_000;
/// How long a function may take to become ready.
const READINESS: Millis = 600_000;

const HANDLER_FAILED: &str = "Delete handler reported FAILED — resource unproven";
const DID_NOT_COMPLETE: &str = "Delete request to the handler did not complete — resource unproven";

/// What travels from step to step.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Memo {
    /// Which delivery this is, from 0.
    delivery: u32,
    /// When the handler was asked; then it is never asked again under this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered: Option<Millis>,
    /// When to stop polling.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Millis>,
    /// Since when the function is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Millis>,
    /// Since when the delivery is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Millis>,
}

impl Memo {
    fn of(cx: &Cx<'_>) -> Self {
        cx.memo.and_then(|memo| serde_json::from_value(memo.clone()).ok()).unwrap_or_default()
    }

    fn pending(self, look_again: Duration, note: &'static str) -> StepResult {
        let memo = serde_json::to_value(self).unwrap_or_default();
        Ok(Step::pending_with(look_again, note, memo))
    }
}

pub(crate) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let handler = Handler::of(r)?;
    if holds_mask(&r.properties) {
        let reason = "a property is masked or dynamic, and the handler would take the mask for data: Delete handler not invoked";
        return Err(StepError::Skip { code: Code::MaskedAddress, reason: reason.into() });
    }
    let memo = Memo::of(cx);
    let id = request_id(cx.run, &r.stack, &r.logical_id, cx.attempt, memo.delivery);
    let key = keys::custom_resource_response(&id);
    match response::find(cx.bucket, &key).await {
        Ok(Some(Found { answer: Some(answer), .. })) => conclude(r, cx, memo, answer),
        Ok(Some(found)) => poll(cx, memo, memo.delivered.or(found.mark.map(|mark| mark.at))),
        // What was delivered stays delivered, whatever became of the object or of our right to read it.
        Ok(None) | Err(_) if memo.delivered.is_some() => poll(cx, memo, memo.delivered),
        Err(error) => Err(response::error(error)),
        Ok(None) => match handler.readiness(cx, memo).await? {
            Some(step) => Ok(step),
            None => deliver(r, cx, &handler, memo, &id, &key).await,
        },
    }
}

/// Marks the request as delivered, then asks the handler: once, and never without the mark being ours.
async fn deliver(r: &Resource, cx: &Cx<'_>, handler: &Handler<'_>, memo: Memo, id: &str, key: &str) -> StepResult {
    let url = cx.bucket.presign_put(key, URL_LIFETIME).await.map_err(response::error)?;
    let body = request::body(r, cx.run, id, &url)?;
    handler.admits(body.len())?;
    if !cx.has_time() {
        return memo.pending(Duration::ZERO, "the handler is asked in a step of its own");
    }
    cx.fence.check().await?;
    let mark = Mark::new(cx.clock.now());
    let etag = match response::put_mark(cx.bucket, key, &mark).await.map_err(response::error)? {
        response::Marked::Ours(etag) => etag,
        response::Marked::Foreign(found) => return poll(cx, memo, found.map(|mark| mark.at)),
        response::Marked::Unclear => return memo.pending(Duration::from_secs(2), "the response object could not be put"),
    };
    let sent = match cx.fence.check().await {
        Ok(()) => handler.ask(cx, body).await,
        Err(shut) => {
            response::take_back(cx.bucket, key, &etag).await;
            return Err(shut.into());
        }
    };
    let memo = Memo { delivery: memo.delivery, delivered: Some(mark.at), until: None, waiting: None, ..memo };
    let until = |wait: Duration| Some(cx.clock.now() + millis(wait));
    match sent {
        send::Sent::Answered(answer) => {
            response::put_answer(cx.bucket, key, &etag, &mark, &answer).await;
            conclude(r, cx, memo, answer)
        }
        send::Sent::Later | send::Sent::Unknown => match response::find(cx.bucket, key).await {
            Ok(Some(Found { answer: Some(answer), .. })) => conclude(r, cx, memo, answer),
            _ => poll(cx, memo, memo.delivered),
        },
        send::Sent::Soon => match response::find(cx.bucket, key).await {
            Ok(Some(Found { answer: Some(answer), .. })) => conclude(r, cx, memo, answer),
            _ => poll(cx, Memo { until: until(SHORT_POLL), ..memo }, memo.delivered),
        },
        send::Sent::Refused(error) => {
            response::take_back(cx.bucket, key, &etag).await;
            if error.fence_shut {
                return Err(error.into());
            }
            let now = cx.clock.now();
            let since = memo.refused.unwrap_or(now);
            let patience = if error.is(send::NOT_READY) { READINESS } else { REFUSALS };
            if now.saturating_sub(since) >= patience {
                return Err(did_not_complete(Some(&error.code)));
            }
            tracing::warn!(resource = %r.logical_id, code = %error.code, "the handler could not be asked yet");
            let memo = Memo { delivered: None, refused: Some(since), ..memo };
            let asked = memo.pending(Duration::from_secs(5), "the handler cannot be asked yet");
            asked.map(|step| step.after_error(error.code))
        }
    }
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

fn did_not_complete(code: Option<&str>) -> StepError {
    let reason = match code.filter(|code| !code.is_empty()) {
        Some(code) => format!("{DID_NOT_COMPLETE} ({code})"),
        None => DID_NOT_COMPLETE.to_owned(),
    };
    StepError::Skip { code: Code::HandlerDidNotComplete, reason }
}

/// Looks again later: 2 s after the delivery, then half as late again each time, at most 30 s.
fn poll(cx: &Cx<'_>, memo: Memo, delivered: Option<Millis>) -> StepResult {
    let now = cx.clock.now();
    let delivered = delivered.unwrap_or(now);
    let last = delivered.saturating_add(millis(URL_LIFETIME));
    let until = memo.until.unwrap_or(last).min(last);
    let left = until.saturating_sub(now);
    if left == 0 {
        return Err(did_not_complete(None));
    }
    let wait = if memo.until.is_some() { 2000 } else { (2000 + now.saturating_sub(delivered) / 2).min(30_000) };
    let memo = Memo { delivered: Some(delivered), ..memo };
    memo.pending(Duration::from_millis(wait.min(left)), "the handler is at work")
}

/// The row's outcome. The handler's reason is untrusted and may say anything: it is logged, cut and made printable, and
/// goes nowhere else.
fn conclude(r: &Resource, cx: &Cx<'_>, memo: Memo, answer: Answer) -> StepResult {
    match answer {
        Answer::Success => Ok(Step::DELETED),
        Answer::Incomplete => Err(did_not_complete(None)),
        Answer::Failed { reason, transient } => {
            let reason = text::display(&reason);
            tracing::warn!(stack = %r.stack, run = %cx.run.run_id, resource = %r.logical_id, reason, "the handler reported FAILED");
            let delivery = memo.delivery + 1;
            if transient && delivery < DELIVERIES {
                let memo = Memo { delivery, ..Memo::default() };
                let wait = Duration::from_secs(10 * u64::from(delivery));
                let asked = memo.pending(wait, "the handler had not the rights yet: asking it again under a new request id");
                return asked.map(|step| step.after_error(Code::HandlerFailed.name()));
            }
            Err(StepError::Skip { code: Code::HandlerFailed, reason: HANDLER_FAILED.into() })
        }
    }
}
