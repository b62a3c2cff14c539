//! What becomes of a provider's answer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ebb_core::{Clock, Code, DeleteError, ErrorClass, Outcome, Step, StepResult};
use serde_json::json;

use super::bench::{T, bench, row};

const SECRET: &str = "hunter2-the-database";

fn error(class: ErrorClass, code: &str) -> DeleteError {
    DeleteError { class, code: code.into(), message: "the service says so".into(), request_id: None }
}

#[tokio::test(start_paused = true)]
async fn every_answer_has_its_outcome() {
    let after = Duration::from_secs(30);
    let holders = vec!["eni-1".to_owned()];
    for (answer, outcome, code, wait) in [
        (Ok(Step::DELETED), Outcome::Deleted, None, None),
        (Ok(Step::pending(after, "detaching")), Outcome::Pending, None, Some(30_000)),
        (Ok(Step::skipped(Code::MaskedAddress, "masked")), Outcome::Skipped, Some("MaskedAddress"), None),
        (Err(error(ErrorClass::FenceShut, "FenceShut")), Outcome::Pending, Some("FenceShut"), Some(5_000)),
        (Err(error(ErrorClass::Retry { after, give_up: None }, "Busy")), Outcome::Pending, Some("Busy"), Some(30_000)),
        (Err(error(ErrorClass::Blocked { after, by: holders }, "InUse")), Outcome::Pending, Some("InUse"), Some(30_000)),
        (Err(error(ErrorClass::Throttled, "Throttling")), Outcome::Pending, Some("Throttling"), Some(4_000)),
        (Err(error(ErrorClass::Protected, "Protected")), Outcome::Failed, Some("Protected"), None),
        (Err(error(ErrorClass::Denied, "AccessDenied")), Outcome::Failed, Some("Denied"), None),
        (Err(error(ErrorClass::Terminal, "InvalidParameterValue")), Outcome::Failed, Some("InvalidParameterValue"), None),
        (Err(error(ErrorClass::AlreadyGone, "NotFound")), Outcome::Deleted, None, None),
    ] {
        let bench = bench();
        let already = matches!(&answer, Err(error) if error.class == ErrorClass::AlreadyGone);
        bench.answers(answer.clone());
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code.as_deref(), result.look_again_ms), (outcome, code, wait), "{answer:?}");
        assert_eq!(result.already, already);
        assert_eq!(result.reason.is_some(), outcome != Outcome::Deleted, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_gone_before_is_said_to_be() {
    let bench = bench();
    bench.answers(Ok(Step::ALREADY_GONE));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.already, result.code), (Outcome::Deleted, true, None));
}

/// Where a database's last state was saved goes into the report with it.
#[tokio::test(start_paused = true)]
async fn what_is_told_of_a_gone_resource_is_its_reason() {
    let bench = bench();
    bench.answers(Ok(Step::gone_with("final snapshot: orders-final-20251206-054640")));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.already, result.code), (Outcome::Deleted, false, None));
    assert_eq!(result.reason.as_deref(), Some("final snapshot: orders-final-20251206-054640"));
}

/// backing Lambda missing: deleted + warning.
#[tokio::test(start_paused = true)]
async fn a_custom_resource_whose_handler_is_gone_says_so() {
    for (answer, code) in [(Step::ALREADY_GONE, Some("HandlerGone")), (Step::DELETED, None)] {
        let bench = bench();
        bench.state("Orders", json!({ "Queue": row("Custom::Thing", "thing", json!({ "ServiceToken": "f" })) }));
        bench.answers(Ok(answer));
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Deleted, code));
    }
}

/// A pending answer is kept with its memo; one without a memo keeps the one before.
#[tokio::test(start_paused = true)]
async fn memos_are_carried() {
    let mut bench = bench();
    let long = Duration::from_secs(60);
    bench.answers(Ok(Step::pending_with(long, "deleting", json!({ "token": "new" }))));
    assert_eq!(bench.step().await.memo, Some(json!({ "token": "new" })));

    bench.request.item.memo = Some(json!({ "token": "old" }));
    bench.answers(Ok(Step::pending(long, "deleting")));
    assert_eq!(bench.step().await.memo, Some(json!({ "token": "old" })));
    bench.answers(Err(error(ErrorClass::Throttled, "Throttling")));
    assert_eq!(bench.step().await.memo, Some(json!({ "token": "old" })));
    bench.answers(Ok(Step::DELETED));
    assert_eq!(bench.step().await.memo, None);
}

/// A wait is spent inside the step, with the memo of the look before, as long as the planner has patience.
#[tokio::test(start_paused = true)]
async fn a_delete_is_looked_at_again_in_the_same_step() {
    let mut bench = bench();
    bench.request.item.patience_ms = 3_000;
    bench.answers(Ok(Step::pending_with(Duration::from_secs(2), "deleting", json!({ "token": "t" }))));
    bench.answers(Ok(Step::DELETED));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.ms), (Outcome::Deleted, 1_000), "looked at before its time");
    assert_eq!(bench.provider.seen.lock().unwrap()[1].1, Some(json!({ "token": "t" })));

    for (patience, asked, ms) in [(0, 1, 0), (1_000, 2, 1_000), (3_999, 5, 3_999), (25_000, 26, 25_000), (60_000, 31, 30_000)] {
        let mut bench = self::bench();
        bench.request.item.patience_ms = patience;
        for _ in 0..asked {
            bench.answers(Ok(Step::pending(Duration::from_secs(10), "deleting")));
        }
        let result = bench.step().await;
        assert_eq!((result.outcome, result.look_again_ms, result.ms), (Outcome::Pending, Some(10_000), ms), "{patience}");
        assert_eq!(bench.asked(), asked, "{patience}");
    }
}

/// Between two looks of one step the lock is read again: it may have been closed.
#[tokio::test(start_paused = true)]
async fn a_step_that_waits_reads_the_lock_again() {
    let mut bench = bench();
    bench.request.item.patience_ms = 25_000;
    for _ in 0..26 {
        bench.acts(|_, ctx| {
            assert!(ctx.fence.is_open());
            Ok(Step::pending(Duration::from_secs(10), "deleting"))
        });
    }
    bench.step().await;
    assert!(bench.store.hook.of_lock.load(Ordering::SeqCst) >= 4);
}

/// What a step has learnt and nobody has written down is not kept for long: the invocation may be killed.
#[tokio::test(start_paused = true)]
async fn a_new_memo_is_handed_over_within_ten_seconds() {
    let mut bench = bench();
    bench.request.item.patience_ms = 25_000;
    for _ in 0..11 {
        bench.answers(Ok(Step::pending_with(Duration::from_secs(5), "deleting", json!({ "token": "new" }))));
    }
    let result = bench.step().await;
    assert_eq!((result.outcome, result.ms, bench.asked()), (Outcome::Pending, 10_000, 11));
}

/// An error is tried again when its rule says, not sooner; its code tells the planner.
#[tokio::test(start_paused = true)]
async fn an_error_is_not_hastened() {
    let mut bench = bench();
    bench.request.item.patience_ms = 25_000;
    let memo = json!({ "error": { "code": "DependencyViolation", "since": T } });
    bench.request.item.memo = Some(memo.clone());
    for _ in 0..3 {
        let answer = Step::pending_with(Duration::from_secs(10), "DependencyViolation: in use", memo.clone());
        bench.answers(Ok(answer.after_error("DependencyViolation")));
    }
    let result = bench.step().await;
    assert_eq!((result.outcome, result.ms, bench.asked()), (Outcome::Pending, 20_000, 3));
    assert_eq!((result.code.as_deref(), result.look_again_ms), (Some("DependencyViolation"), Some(10_000)));
}

/// A back-off longer than the patience ends the step: nobody is asked before its time.
#[tokio::test(start_paused = true)]
async fn a_back_off_is_not_cut() {
    let mut bench = bench();
    bench.request.item.patience_ms = 8_000;
    let answer = Step::pending_with(Duration::from_secs(10), "asking it again", json!({ "delivery": 1 }));
    bench.answers(Ok(answer.after_error("HandlerFailed")));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.ms, bench.asked()), (Outcome::Pending, 0, 1));
    assert_eq!((result.code.as_deref(), result.look_again_ms), (Some("HandlerFailed"), Some(10_000)));
}

/// Calls take time: a short patience is not over before it has begun.
#[tokio::test(start_paused = true)]
async fn the_last_look_comes_when_the_patience_ends() {
    for (patience, asked, ms) in [(500, 2, 700), (1_000, 2, 1_200), (350, 1, 200)] {
        let mut bench = bench();
        bench.request.item.patience_ms = patience;
        bench.provider.takes_ms.store(200, std::sync::atomic::Ordering::SeqCst);
        for _ in 0..asked {
            bench.answers(Ok(Step::pending(Duration::from_secs(10), "deleting")));
        }
        let result = bench.step().await;
        assert_eq!((result.outcome, result.ms, bench.asked()), (Outcome::Pending, ms, asked), "{patience}");
    }
}

/// What a step wants remembered before it goes on is written down first: the invocation may be killed.
#[tokio::test(start_paused = true)]
async fn a_new_memo_without_a_wait_is_handed_over() {
    let mut bench = bench();
    bench.answers(Ok(Step::pending_with(Duration::ZERO, "switching it off", json!({ "protectionOnAt": 1 }))));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.memo.clone(), bench.asked()), (Outcome::Pending, Some(json!({ "protectionOnAt": 1 })), 1));

    bench.request.item.memo = result.memo;
    bench.answers(Ok(Step::pending_with(Duration::ZERO, "more", json!({ "protectionOnAt": 1 }))));
    bench.answers(Ok(Step::DELETED));
    assert_eq!((bench.step().await.outcome, bench.asked()), (Outcome::Deleted, 3));
}

/// More to sweep (no wait at all): page after page until the soft budget of ten seconds is used.
#[tokio::test(start_paused = true)]
async fn pages_are_swept_until_the_budget_ends() {
    let bench = bench();
    bench.provider.takes_ms.store(3_000, Ordering::SeqCst);
    for _ in 0..10 {
        bench.acts(|_, ctx| {
            assert_eq!(ctx.soft_deadline, T + 10_000);
            assert!(ctx.fence.is_open(), "the lock is read again on the way");
            Ok(Step::pending(Duration::ZERO, "more objects"))
        });
    }
    let result = bench.step().await;
    assert_eq!((result.outcome, result.look_again_ms), (Outcome::Pending, Some(0)));
    assert_eq!((bench.asked(), bench.clock.now()), (4, T + 12_000));
    assert!(bench.store.hook.of_lock.load(Ordering::SeqCst) >= 2);
}

/// `$$.State.RetryCount` comes back: an earlier delivery may still be running.
#[tokio::test(start_paused = true)]
async fn a_retried_delivery_is_marked() {
    let mut bench = bench();
    bench.request.retry = 2;
    bench.answers(Ok(Step::DELETED));
    assert_eq!(bench.step().await.retry, 2);
}

/// A result is at most 1 KiB, and its texts can be shown.
#[tokio::test(start_paused = true)]
async fn results_are_small_and_printable() {
    let bench = bench();
    let message = format!("\u{1b}[31m{}\u{202e}", "long ".repeat(2_000));
    bench.answers(Err(DeleteError { message, ..error(ErrorClass::Terminal, "A\u{0}B") }));
    let result = bench.step().await;
    let reason = result.reason.unwrap();
    assert!(reason.starts_with("[31mlong") && reason.chars().all(|c| !c.is_control()), "{reason}");

    let long = "x".repeat(400);
    bench.answers(Ok(Step::pending_with(Duration::from_secs(60), "y".repeat(2_000), json!({ "token": long }))));
    assert_eq!(bench.step().await.memo, Some(json!({ "token": long })), "the reason gives way to the memo");

    bench.answers(Ok(Step::pending_with(Duration::from_secs(60), "", json!({ "token": "x".repeat(600) }))));
    let result: StepResult = bench.step().await;
    assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Failed, Some("MemoTooLarge")));
}

/// Never in results: values of properties that are secrets, whatever a service repeats.
#[tokio::test(start_paused = true)]
async fn no_secret_gets_into_a_result() {
    for properties in [
        json!({ "MasterUserPassword": SECRET }),
        json!({ "Environment": { "DB_PASSWORD": SECRET } }),
        json!({ "AuthTokens": [{ "Value": SECRET }] }),
        json!({ "SecretString": SECRET, "ClientSecret": &SECRET[..7] }),
    ] {
        for answer in [
            Err(DeleteError { message: format!("bad value {SECRET}!"), ..error(ErrorClass::Terminal, "Invalid") }),
            Ok(Step::pending(Duration::from_secs(60), format!("waiting for {SECRET}"))),
            Ok(Step::skipped(Code::MaskedAddress, format!("cannot use {SECRET}"))),
        ] {
            let bench = bench();
            bench.properties(properties.clone());
            bench.answers(answer);
            let text = serde_json::to_string(&bench.step().await).unwrap();
            assert!(!text.contains(SECRET) && text.contains("***"), "{text}");
        }
    }
    let bench = bench();
    bench.properties(json!({ "QueueName": "orders", "ServiceToken": "orders" }));
    bench.answers(Err(DeleteError { message: "orders is busy".into(), ..error(ErrorClass::Terminal, "Busy") }));
    assert_eq!(bench.step().await.reason.as_deref(), Some("orders is busy"), "names are shown");
}
