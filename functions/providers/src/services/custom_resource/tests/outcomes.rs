//! How answers are read and what the row comes to.

use ebb_core::{Code, Step};
use serde_json::json;

use super::bench::{pending, returns, skipped, with_function};

const SECRET: &str = "hunter2";

/// An object with `PhysicalResourceId` or `Data` and no `Status` is a success.
#[tokio::test]
async fn a_payload_can_be_the_last_word() {
    for payload in [r#"{"Status":"SUCCESS"}"#, r#"{"PhysicalResourceId":"another"}"#, r#"{"Data":{"Secret":"hunter2"}}"#] {
        let script = returns(payload);
        assert_eq!(with_function().step(&script).await, Ok(Step::DELETED), "{payload}");
        script.assert_done();
    }
}

/// A handler that answered to the URL before it returned needs no second step.
#[tokio::test]
async fn an_answer_that_is_there_when_the_invocation_returns_counts_at_once() {
    let success = json!({ "Status": "SUCCESS", "Data": { "Secret": SECRET } }).to_string();
    for payload in ["null", "", "\"done\"", r#"{"Status":"SUCCESS"}"#] {
        let mut custom = with_function();
        *custom.bucket.hook.answer_after.lock().unwrap() = Some(success.clone());
        assert_eq!(custom.step(&returns(payload)).await, Ok(Step::DELETED), "{payload}");
        assert_eq!(custom.bucket.memory.snapshot()[&custom.key(0)], success, "the handler's answer is not written over");
    }
}

/// FAILED from the handler: skipped, with the fixed reason and nothing of the handler's own.
#[tokio::test]
async fn a_handler_that_failed_leaves_the_row() {
    let expected = (Code::HandlerFailed, "Delete handler reported FAILED — resource unproven".to_owned());
    let mut by_payload = with_function();
    let payload = json!({ "Status": "FAILED", "Reason": SECRET }).to_string();
    assert_eq!(skipped(by_payload.step(&returns(&payload)).await), expected);

    let mut by_object = with_function();
    pending(by_object.step(&returns("null")).await);
    by_object.answer(0, &json!({ "Status": "FAILED", "Reason": SECRET }));
    assert_eq!(skipped(by_object.poll().await), expected);
}

/// An empty payload: the response object is polled for an hour, 2 s × 1.5 up to 30 s.
#[tokio::test]
async fn an_asynchronous_handler_has_an_hour() {
    let mut custom = with_function();
    let mut waits = Vec::new();
    let mut answer = custom.step(&returns("null")).await;
    let mut passed = 0;
    while let Ok(Step::Pending { look_again, .. }) = answer {
        waits.push(look_again.as_millis());
        passed += look_again.as_millis();
        custom.bench.clock.advance(look_again);
        answer = custom.poll().await;
    }
    assert_eq!(waits[..6], [2000, 3000, 4500, 6750, 10125, 15187]);
    assert!(waits[8..].iter().all(|&wait| wait <= 30_000));
    assert_eq!(passed, 3_600_000, "the last look is when the URL ends");
    assert_eq!(
        skipped(answer),
        (Code::HandlerDidNotComplete, "Delete request to the handler did not complete — resource unproven".into())
    );
}

#[tokio::test]
async fn an_answer_in_the_last_moment_counts() {
    let mut custom = with_function();
    pending(custom.step(&returns("null")).await);
    custom.bench.pass(3600);
    custom.answer(0, &json!({ "Status": "SUCCESS" }));
    assert_eq!(custom.poll().await, Ok(Step::DELETED));
}

/// Any other payload: the response object is polled for 30 s at 2 s.
#[tokio::test]
async fn a_handler_that_returned_something_else_has_half_a_minute() {
    let mut custom = with_function();
    assert_eq!(pending(custom.step(&returns("{}")).await).as_secs(), 2);
    custom.bench.pass(28);
    assert_eq!(pending(custom.poll().await).as_secs(), 2);
    custom.bench.pass(2);
    assert_eq!(skipped(custom.poll().await).0, Code::HandlerDidNotComplete);
}

/// Empty, no JSON, no status that is known: not answered yet.
#[tokio::test]
async fn an_object_that_says_nothing_is_no_answer() {
    let mut custom = with_function();
    pending(custom.step(&returns("null")).await);
    for body in ["", "  ", "<html>", "{}", r#"{"Status":"DONE"}"#] {
        custom.bucket.memory.raw_put(&custom.key(0), body);
        pending(custom.poll().await);
    }
}

/// FAILED for rights that have not spread: twice more, each under a new request id and response object.
#[tokio::test]
async fn missing_rights_are_asked_again_twice() {
    let failed = r#"{"Status":"FAILED","Reason":"User is not authorized to perform s3:DeleteObject"}"#;
    let mut custom = with_function();
    let mut bodies = Vec::new();
    for wait in [10, 20] {
        let script = returns(failed);
        let answer = custom.step(&script).await;
        assert!(matches!(&answer, Ok(Step::Pending { error: Some(code), .. }) if code == "HandlerFailed"), "not sooner");
        assert_eq!(pending(answer).as_secs(), wait);
        bodies.extend(script.seen().pop());
    }
    let script = returns(failed);
    assert_eq!(skipped(custom.step(&script).await).0, Code::HandlerFailed);
    bodies.extend(script.seen().pop());
    for (delivery, body) in bodies.iter().enumerate() {
        let key = custom.key(u32::try_from(delivery).unwrap());
        assert!(body.contains(&key), "{body}");
        assert!(custom.bucket.memory.snapshot().contains_key(&key), "left to the finalizer");
    }
    // A repetition of the first step says the same as the first time.
    custom.bench.memo = None;
    assert_eq!(pending(custom.poll().await).as_secs(), 10);
}

/// The memo fits into a result, whatever is in it.
#[tokio::test]
async fn memos_are_small() {
    let mut custom = with_function();
    pending(custom.step(&returns("{}")).await);
    let memo = custom.bench.memo.clone().unwrap().to_string();
    assert!(memo.len() < 200 && !memo.contains("http"), "{memo}");
}
