//! Items, rows and messages that may say anything: an answer that fits, or a failure, never a panic.

use std::time::Duration;

use ebb_core::provider::is_masked;
use ebb_core::{DeleteError, ErrorClass, Outcome, Step, StepResult};
use serde_json::json;

use super::bench::{bench, row};

const ODD: [&str; 12] = [
    "a|b",
    "a/b",
    "with space",
    "%2F",
    "100%",
    "quo\"te'",
    "<&>",
    "ünïcode-日本語",
    "\u{202e}x",
    "new\nline",
    "..",
    "{{resolve:ssm:x}}",
];

/// The row is found by its very name and its id reaches the provider as recorded, unless it is a mask or is resolved elsewhere.
#[tokio::test(start_paused = true)]
async fn odd_names_are_passed_on_unchanged() {
    for odd in ODD {
        let mut bench = bench();
        bench.request.item.id = format!("Orders/{odd}");
        bench.state("Orders", json!({ odd: row("AWS::SQS::Queue", odd, json!({})) }));
        bench.answers(Ok(Step::DELETED));
        let result = bench.step().await;
        if is_masked(odd) {
            assert_eq!((result.outcome, bench.asked()), (Outcome::Skipped, 0), "{odd}: {result:?}");
            continue;
        }
        assert_eq!(result.outcome, Outcome::Deleted, "{odd}: {result:?}");
        let seen = bench.provider.seen.lock().unwrap();
        assert_eq!((seen[0].0.logical_id.as_str(), seen[0].0.physical_id.as_str()), (odd, odd));
    }
}

/// An id that names no row of the run is a failure or an answer without any call.
#[tokio::test(start_paused = true)]
async fn odd_items_ask_no_provider() {
    for odd in ODD.into_iter().chain(["", "/", "Orders", "Orders/", "Orders~/x", "Orders~~A/x", "Orders~A~B/x"]) {
        for id in [odd.to_owned(), format!("Orders/{odd}x"), format!("Orders~{odd}/x"), format!("{odd}/Queue")] {
            if id == "Orders/Queue" {
                continue;
            }
            let mut bench = bench();
            bench.request.item.id = id.clone();
            if let Ok(result) = bench.handle().await {
                assert!(serde_json::to_vec(&result).unwrap().len() <= StepResult::MAX_BYTES, "{id}");
                // The recorded stack's own state says that the row is gone; a stack without a lock says nothing.
                assert!(result.outcome == Outcome::Pending || result.code.as_deref() == Some("RecordGone"), "{id}: {result:?}");
            }
            assert_eq!(bench.asked(), 0, "{id}");
        }
    }
}

/// A result is at most 1 KiB, whatever a service writes into its error.
#[tokio::test(start_paused = true)]
async fn an_error_of_a_hundred_kilobytes_is_cut() {
    for piece in ["why ", "\"", "\\", "日本語", "\u{1b}[2J", "\u{202e}", "\u{0}"] {
        let message = piece.repeat(100_000 / piece.len());
        let error =
            |class| DeleteError { class, code: message.clone(), message: message.clone(), request_id: Some(message.clone()) };
        let memo = json!({ "token": "t".repeat(StepResult::MAX_MEMO_BYTES - 12) });
        for answer in [
            Err(error(ErrorClass::Terminal)),
            Err(error(ErrorClass::Blocked { after: Duration::from_secs(30), by: vec![message.clone()] })),
            Ok(Step::pending_with(Duration::from_secs(60), message.clone(), memo)),
        ] {
            let bench = bench();
            bench.answers(answer);
            // The bench measures every result.
            let result = bench.step().await;
            let shown = [result.code.unwrap_or_default(), result.reason.unwrap_or_default()].concat();
            assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown}");
        }
    }
}
