//! The handler is asked once: whoever finds a mark polls, and a request that did not leave is taken back.

use std::sync::atomic::Ordering;

use ebb_core::{Code, ErrorClass, Step};
use ebb_store::{BucketErrorKind, Put};
use serde_json::json;

use super::super::send::{self, Sent};
use super::bench::{FUNCTION, INVOKE, custom, pending, ready, returns, skipped, with_function};
use crate::testing::Script;

const SUCCESS: &str = r#"{"Status":"SUCCESS"}"#;

/// Duplicate delivery: the same attempt, stepped a second time without the first one's memo, polls only.
#[tokio::test]
async fn a_second_delivery_of_the_step_only_polls() {
    let mut custom = with_function();
    pending(custom.step(&returns("null")).await);
    custom.bench.memo = None;
    assert_eq!(pending(custom.poll().await).as_secs(), 2);
    custom.answer(0, &json!({ "Status": "SUCCESS" }));
    for _ in 0..2 {
        custom.bench.memo = None;
        assert_eq!(custom.poll().await, Ok(Step::DELETED), "and every repetition finds the same answer");
    }
}

/// What only the payload said is there for a repeated step as well.
#[tokio::test]
async fn a_repeated_step_finds_what_the_payload_said() {
    let failed = r#"{"Status":"FAILED","Reason":"bucket not empty"}"#;
    let mut custom = with_function();
    assert_eq!(custom.step(&returns(SUCCESS)).await, Ok(Step::DELETED));
    assert_eq!(custom.poll().await, Ok(Step::DELETED));

    let mut custom = with_function();
    let first = skipped(custom.step(&returns(failed)).await);
    assert_eq!(skipped(custom.poll().await), first);
    let stored: Vec<_> = custom.bucket.memory.snapshot().into_values().collect();
    assert!(stored.iter().all(|body| body.is_empty()), "the handler's reason is not kept");

    let mut custom = with_function();
    let script = ready().with_headers(INVOKE, 200, r#"{"errorMessage":"x"}"#, &[("x-amz-function-error", "Unhandled")]);
    let first = skipped(custom.step(&script).await);
    assert_eq!(first.0, Code::HandlerDidNotComplete);
    assert_eq!(skipped(custom.poll().await), first);
}

/// Our own lost reply ⇒ invoke; anybody else's 412 ⇒ poll only.
#[tokio::test]
async fn a_mark_whose_reply_was_lost_is_still_ours() {
    let mut custom = with_function();
    custom.bucket.hook.lose_put_reply.store(true, Ordering::SeqCst);
    let script = returns(SUCCESS);
    assert_eq!(custom.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_mark_that_another_step_put_first_is_not_ours() {
    let mut custom = with_function();
    *custom.bucket.hook.put_first.lock().unwrap() = Some(Put::json(""));
    let script = ready();
    assert_eq!(pending(custom.step(&script).await).as_secs(), 2);
    script.assert_done();
    assert!(custom.bench.memo.as_ref().unwrap()["step"]["delivered"].is_u64());
    custom.answer(0, &json!({ "Status": "SUCCESS" }));
    assert_eq!(custom.poll().await, Ok(Step::DELETED));
}

/// A 412 whose object is gone again: the other step took its mark back. Nobody asks now, the step comes again.
#[tokio::test]
async fn a_mark_that_came_and_went_is_nobodys() {
    let mut custom = with_function();
    *custom.bucket.hook.fail_put.lock().unwrap() = Some(BucketErrorKind::Precondition);
    assert_eq!(pending(custom.step(&ready()).await).as_secs(), 2);
    assert!(custom.bench.memo.as_ref().unwrap()["step"].get("delivered").is_none());
    assert_eq!(custom.step(&returns(SUCCESS)).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn a_put_that_fails_asks_nobody() {
    for (kind, class) in [(BucketErrorKind::Denied, ErrorClass::Denied), (BucketErrorKind::Other, ErrorClass::Terminal)] {
        let mut custom = with_function();
        *custom.bucket.hook.fail_put.lock().unwrap() = Some(kind);
        assert_eq!(custom.step(&ready()).await.unwrap_err().class, class);
    }
    for kind in [BucketErrorKind::Unknown, BucketErrorKind::Conflict, BucketErrorKind::Unavailable] {
        let mut custom = with_function();
        *custom.bucket.hook.fail_put.lock().unwrap() = Some(kind);
        pending(custom.step(&ready()).await);
        assert_eq!(custom.step(&returns(SUCCESS)).await, Ok(Step::DELETED), "{kind:?}");
    }
}

/// What was delivered stays delivered: a response object that is gone or cannot be read is waited for, never asked for again.
#[tokio::test]
async fn a_response_object_that_vanishes_is_polled_to_the_end() {
    let mut custom = with_function();
    pending(custom.step(&returns("null")).await);
    custom.bucket.memory.raw_delete(&custom.key(0));
    pending(custom.poll().await);
    custom.bucket.hook.deny_get.store(true, Ordering::SeqCst);
    pending(custom.poll().await);
    custom.bench.pass(3600);
    assert_eq!(skipped(custom.poll().await).0, Code::HandlerDidNotComplete);
}

#[tokio::test]
async fn a_bucket_that_cannot_be_read_before_the_delivery_is_an_error() {
    let mut custom = with_function();
    custom.bucket.hook.deny_get.store(true, Ordering::SeqCst);
    assert_eq!(custom.poll().await.unwrap_err().class, ErrorClass::Denied);
}

/// No answer within 45 s, or one that does not tell whether the handler ran: counted as delivered, polled, never repeated.
#[tokio::test(start_paused = true)]
async fn an_invocation_without_an_answer_is_not_repeated() {
    let broken = || ready().with_headers(INVOKE, 500, r#"{"message":"x"}"#, &[("x-amzn-errortype", "ServiceException")]);
    for (script, listened) in [(ready().lost(INVOKE), 45), (broken(), 0)] {
        let mut custom = with_function();
        let before = tokio::time::Instant::now();
        pending(custom.step(&script).await);
        assert_eq!(before.elapsed().as_secs(), listened, "longer than other calls, and once");
        script.assert_done();
        assert_eq!(script.seen().len(), 2, "one look, one invocation: {:?}", script.seen());
        custom.bench.memo = None;
        pending(custom.poll().await);
        custom.answer(0, &json!({ "Status": "SUCCESS" }));
        assert_eq!(custom.poll().await, Ok(Step::DELETED));
    }
}

/// Errors before the delivery (rights that have not spread, throttles) are retried for 40 s, then the row is skipped.
#[tokio::test]
async fn a_refused_invocation_is_retried_within_its_time() {
    for (code, status) in [("TooManyRequestsException", 429), ("AccessDeniedException", 403), ("EC2ThrottledException", 502)] {
        let refused = || ready().with_headers(INVOKE, status, r#"{"message":"x"}"#, &[("x-amzn-errortype", code)]);
        let mut custom = with_function();
        assert_eq!(pending(custom.step(&refused()).await).as_secs(), 5, "{code}");
        assert!(custom.bucket.memory.snapshot().is_empty(), "the mark is taken back");
        custom.bench.pass(20);
        pending(custom.step(&refused()).await);
        let memo = custom.bench.memo.clone();
        assert_eq!(custom.step(&returns(SUCCESS)).await, Ok(Step::DELETED), "{code}");

        let mut custom = with_function();
        custom.bench.memo = memo;
        custom.bench.pass(40);
        let (outcome, reason) = skipped(custom.step(&refused()).await);
        assert_eq!(outcome, Code::HandlerDidNotComplete);
        assert_eq!(reason, format!("Delete request to the handler did not complete — resource unproven ({code})"));
    }
}

#[tokio::test]
async fn a_function_that_wakes_up_is_given_ten_minutes() {
    let asleep = || ready().with_headers(INVOKE, 409, r#"{"message":"x"}"#, &[("x-amzn-errortype", "ResourceConflictException")]);
    let mut custom = with_function();
    pending(custom.step(&asleep()).await);
    custom.bench.pass(599);
    pending(custom.step(&asleep()).await);
    custom.bench.pass(1);
    assert_eq!(skipped(custom.step(&asleep()).await).0, Code::HandlerDidNotComplete);
}

/// A topic is published to in its own region, once, and answers like any asynchronous handler.
#[tokio::test]
async fn a_topic_is_published_to_and_polled() {
    let topic = "arn:aws:sns:eu-west-1:123456789012:topic";
    let published = "<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>";
    let script = Script::new().on(&["POST https://sns.eu-west-1.", "Action=Publish", "RequestType"], 200, published);
    let mut custom = custom(json!({ "ServiceToken": topic }));
    assert_eq!(pending(custom.step(&script).await).as_secs(), 2);
    script.assert_done();
    custom.bench.pass(3000);
    pending(custom.poll().await);
    custom.answer(0, &json!({ "Status": "SUCCESS" }));
    assert_eq!(custom.poll().await, Ok(Step::DELETED));
}

#[tokio::test]
async fn a_topic_that_refuses_takes_the_mark_back() {
    let topic = "arn:aws:sns:us-east-1:123456789012:topic";
    let script = Script::new().query_error(&["Action=Publish"], "NotFound", "Topic does not exist");
    let mut custom = custom(json!({ "ServiceToken": topic }));
    pending(custom.step(&script).await);
    assert!(custom.bucket.memory.snapshot().is_empty());
}

/// The fence shuts between the mark and the invocation: the mark is taken back, for the handler was not asked.
#[tokio::test]
async fn a_fence_that_shuts_after_the_mark_takes_it_back() {
    let mut custom = with_function();
    custom.bench.shut_after(1);
    assert_eq!(custom.step(&ready()).await.unwrap_err().class, ErrorClass::FenceShut);
    assert!(custom.bucket.memory.snapshot().is_empty());
    custom.bench.fence(true);
    custom.bench.shut_after(u64::MAX);
    assert_eq!(custom.step(&returns(SUCCESS)).await, Ok(Step::DELETED));
}

/// The calls with their own retries and time-outs pass the fence like all others; here none is in force at all.
#[tokio::test]
async fn no_question_leaves_without_a_fence() {
    let script = Script::new();
    let (function, topic) = (FUNCTION, "arn:aws:sns:us-east-1:123456789012:topic");
    let asked = [
        send::invoke(&script.clients(), function, "{}".into()).await,
        send::publish(&script.clients(), topic, "{}".into()).await,
    ];
    for sent in asked {
        assert!(matches!(sent, Sent::Refused(error) if error.fence_shut));
    }
    assert_eq!(script.seen(), Vec::<String>::new());
}
