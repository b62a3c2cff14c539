//! When a running request is looked at, and the request of somebody else.

use ebb_core::{ErrorClass, Step};
use serde_json::{Value, json};

use super::{DELETE, STATUS, accepted, bench, event};
use crate::testing::{Bench, Script};

/// How long a pending answer asks to wait, in milliseconds.
fn wait(answer: Result<Step, ebb_core::DeleteError>) -> u128 {
    match answer {
        Ok(Step::Pending { look_again, .. }) => look_again.as_millis(),
        other => panic!("{other:?}"),
    }
}

/// First after a second, then half as long again each time, at most ten.
#[tokio::test]
async fn looks_are_spaced_like_cdkds() {
    let mut bench = bench();
    let mut waits = vec![wait(bench.step(&Script::new().json(DELETE, 200, event("PENDING"))).await)];
    for _ in 0..8 {
        waits.push(wait(bench.step(&Script::new().json(STATUS, 200, event("IN_PROGRESS"))).await));
    }
    assert_eq!(waits, [1000, 1500, 2250, 3375, 5062, 7593, 10_000, 10_000, 10_000]);
}

/// Later when the event says so, and not for ever.
#[tokio::test]
async fn retry_after_is_honoured() {
    for (seconds, expected) in [(0, 1500), (30, 30_000), (86_400, 300_000)] {
        let mut bench = accepted().await;
        let mut answer = event("IN_PROGRESS");
        answer["ProgressEvent"]["RetryAfter"] = json!(1_765_000_000 + seconds);
        assert_eq!(wait(bench.step(&Script::new().json(STATUS, 200, answer)).await), expected, "{seconds}");
    }
}

/// Reaching the usual time does not stop the operation in AWS: the token is kept and the request stays pending.
#[tokio::test]
async fn a_request_that_takes_long_is_looked_at_once_a_minute() {
    for (name, minutes) in [("AWS::Athena::WorkGroup", 15), ("AWS::OpenSearchService::Domain", 60), ("AWS::EKS::Cluster", 30)] {
        let mut bench = Bench::new(name, "reports|x", json!({}));
        bench.step(&Script::new().json(&["DeleteResource "], 200, event("IN_PROGRESS"))).await.unwrap();
        bench.pass(minutes * 60 - 1);
        assert_eq!(wait(bench.step(&Script::new().json(STATUS, 200, event("IN_PROGRESS"))).await), 1500, "{name}");
        bench.pass(1);
        assert_eq!(wait(bench.step(&Script::new().json(STATUS, 200, event("IN_PROGRESS"))).await), 60_000, "{name}");
        assert_eq!(bench.step(&Script::new().json(STATUS, 200, event("SUCCESS"))).await, Ok(Step::DELETED));
    }
}

fn running(token: &str, resource_type: &str, identifier: &str, operation: &str) -> Value {
    json!({
        "RequestToken": token, "TypeName": resource_type, "Identifier": identifier, "Operation": operation,
        "OperationStatus": "IN_PROGRESS"
    })
}

/// Another delete of this resource is running: its token is adopted. What the list holds beside it is not.
#[tokio::test]
async fn a_running_delete_is_adopted() {
    let others = json!({ "ResourceRequestStatusSummaries": [
        running("token-a", "AWS::Athena::WorkGroup", "reports|y", "DELETE"),
        running("token-b", "AWS::Athena::NamedQuery", "reports|x", "DELETE"),
        running("token-c", "AWS::Athena::WorkGroup", "reports|x", "UPDATE"),
    ], "NextToken": "more" });
    let ours = json!({ "ResourceRequestStatusSummaries": [running("token-1", "AWS::Athena::WorkGroup", "reports|x", "DELETE")] });
    let script = Script::new()
        .json_error(DELETE, "ConcurrentOperationException", "x")
        .json(&["ListResourceRequests", "\"Operations\":[\"DELETE\"]"], 200, others)
        .json(&["ListResourceRequests", "more"], 200, ours)
        .json(STATUS, 200, event("SUCCESS"));
    let mut bench = bench();
    assert_eq!(wait(bench.step(&script).await), 1000);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// A composite is told as an object and comes back joined.
#[tokio::test]
async fn a_running_delete_of_a_composite_is_adopted() {
    let ours =
        json!({ "ResourceRequestStatusSummaries": [running("token-1", "AWS::ApiGateway::Model", "api1|Order", "DELETE")] });
    let script = Script::new()
        .json_error(&["DeleteResource "], "ConcurrentOperationException", "x")
        .json(&["ListResourceRequests"], 200, ours)
        .json(STATUS, 200, event("SUCCESS"));
    let mut bench = Bench::new("AWS::ApiGateway::Model", "Order", json!({ "RestApiId": "api1" }));
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
}

/// An update of it is waited for, not adopted.
#[tokio::test]
async fn a_list_that_is_denied_is_final_and_never_gone() {
    let script = Script::new().json_error(DELETE, "ConcurrentOperationException", "x").json_error(
        &["ListResourceRequests"],
        "ResourceNotFoundException",
        "x",
    );
    assert_eq!(bench().step(&script).await.unwrap_err().class, ErrorClass::Terminal);
}
