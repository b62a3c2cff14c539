//! Replays of Cloud Control: one request, its token in the memo, its status looked at until it ends.

use std::collections::BTreeSet;

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, DeleteError, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

mod catalogued;
mod failures;
mod guards;
mod protections;
mod requests;

const DELETE: &[&str] =
    &["CloudApiService.DeleteResource ", "\"TypeName\":\"AWS::Athena::WorkGroup\"", "\"Identifier\":\"reports|x\""];
const STATUS: &[&str] = &["CloudApiService.GetResourceRequestStatus", "\"RequestToken\":\"token-1\""];

fn bench() -> Bench {
    Bench::new("AWS::Athena::WorkGroup", "reports|x", json!({}))
}

fn event(status: &str) -> Value {
    json!({ "ProgressEvent": { "RequestToken": "token-1", "OperationStatus": status } })
}

fn failed(code: &str, message: &str) -> Value {
    json!({ "ProgressEvent": { "RequestToken": "token-1", "OperationStatus": "FAILED", "ErrorCode": code, "StatusMessage": message } })
}

/// A delete that was accepted, up to its first look.
async fn accepted() -> Bench {
    let mut bench = bench();
    let script = Script::new().json(DELETE, 200, event("IN_PROGRESS"));
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    bench
}

/// The look after an accepted delete.
async fn then(answer: Value) -> (Bench, Result<Step, DeleteError>) {
    let mut bench = accepted().await;
    let script = Script::new().json(STATUS, 200, answer);
    let answer = bench.step(&script).await;
    script.assert_done();
    (bench, answer)
}

/// The client token of the delete that a step makes.
async fn client_token(bench: &mut Bench) -> String {
    let script = Script::new().json(DELETE, 200, event("SUCCESS"));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    let seen = script.seen().pop().unwrap();
    let body: Value = serde_json::from_str(&seen[seen.find('{').unwrap()..]).unwrap();
    body["ClientToken"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_token_is_remembered_and_looked_at_until_success() {
    let mut bench = accepted().await;
    for status in ["PENDING", "IN_PROGRESS", "CANCEL_IN_PROGRESS", "SOMETHING_NEW"] {
        let script = Script::new().json(STATUS, 200, event(status));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })), "{status}");
        script.assert_done();
    }
    let script = Script::new().json(STATUS, 200, event("SUCCESS"));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// FAILED with ErrorCode NotFound, whatever the words; and ResourceNotFoundException of the call itself.
#[tokio::test]
async fn not_found_is_gone() {
    assert_eq!(then(failed("NotFound", "No Deployment Group found for name: x")).await.1, Ok(Step::ALREADY_GONE));
    let script = Script::new().json_error(DELETE, "ResourceNotFoundException", "x");
    assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
}

/// "does not exist" in a text may be about another resource.
#[tokio::test]
async fn not_found_in_words_alone_is_a_failure() {
    for code in ["GeneralServiceException", "InvalidRequest", "AccessDenied"] {
        let error = then(failed(code, "Role arn:… does not exist: not found")).await.1.unwrap_err();
        assert_ne!(error.class, ErrorClass::AlreadyGone, "{code}");
    }
}

/// The same token and input returns the first request's event, so a repeated step repeats the request; after a FAILED
/// event a new attempt needs a new token, or the old failure comes back.
#[tokio::test]
async fn every_generation_has_a_client_token_of_its_own() {
    let first = client_token(&mut bench()).await;
    assert_eq!(client_token(&mut bench()).await, first, "a repeated step repeats the request");
    let mut tokens = BTreeSet::from([first]);
    for code in [
        "Throttling",
        "ServiceInternalError",
        "ServiceTimeout",
        "NetworkFailure",
        "InternalFailure",
        "NotStabilized",
        "ResourceConflict",
    ] {
        let (mut bench, answer) = then(failed(code, "x")).await;
        assert!(matches!(answer, Ok(Step::Pending { .. })), "{code}: {answer:?}");
        tokens.insert(client_token(&mut bench).await);
    }
    assert_eq!(tokens.len(), 2, "all second generations share one token");
    let mut second_attempt = bench();
    second_attempt.attempt = 2;
    tokens.insert(client_token(&mut second_attempt).await);
    assert_eq!(tokens.len(), 3);
}

#[tokio::test]
async fn a_request_that_is_forgotten_is_made_again() {
    let mut bench = accepted().await;
    let script = Script::new().json_error(STATUS, "RequestTokenNotFoundException", "x");
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    let first = client_token(&mut self::bench()).await;
    assert_ne!(client_token(&mut bench).await, first);
}

#[tokio::test]
async fn a_request_that_somebody_cancelled_has_failed() {
    let error = then(event("CANCEL_COMPLETE")).await.1.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
    assert!(error.message.contains("cancelled"));
}

/// Dependency and in-use wording is retryable; protection and bad input are not.
#[tokio::test]
async fn general_failures_are_read_by_their_words() {
    let (mut held, answer) = then(failed("GeneralServiceException", "vpc-1 has dependencies and cannot be deleted")).await;
    assert!(matches!(answer, Ok(Step::Pending { .. })));
    let first = client_token(&mut bench()).await;
    assert_ne!(client_token(&mut held).await, first);

    let protected = then(failed("GeneralServiceException", "Cannot delete: deletion protection is enabled")).await.1.unwrap_err();
    assert_eq!(protected.class, ErrorClass::Protected);
    let bad = then(failed("InvalidRequest", "Model validation failed")).await.1.unwrap_err();
    assert_eq!((bad.class, bad.code.as_str()), (ErrorClass::Terminal, "InvalidRequest"));
    let denied = then(failed("AccessDenied", "User is not authorized")).await.1.unwrap_err();
    assert_eq!(denied.class, ErrorClass::Denied);
}

/// Another request on this resource is running.
#[tokio::test]
async fn a_concurrent_operation_is_waited_for() {
    let busy = || {
        let script = Script::new().json_error(DELETE, "ConcurrentOperationException", "x");
        script.json(&["ListResourceRequests"], 200, json!({ "ResourceRequestStatusSummaries": [] }))
    };
    let mut bench = bench();
    assert!(matches!(bench.step(&busy()).await, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 5));
    bench.pass(1799);
    assert!(matches!(bench.step(&busy()).await, Ok(Step::Pending { .. })));
    bench.pass(1);
    assert_eq!(bench.step(&busy()).await.unwrap_err().code, "ConcurrentOperationException");
}

#[tokio::test]
async fn an_answer_without_event_or_token_is_an_error() {
    for answer in [json!({}), json!({ "ProgressEvent": { "OperationStatus": "IN_PROGRESS" } })] {
        let script = Script::new().json(DELETE, 200, answer);
        assert_eq!(bench().step(&script).await.unwrap_err().class, ErrorClass::Terminal);
    }
}

/// Cloud Control has no parameter for a final snapshot.
#[tokio::test]
async fn a_final_snapshot_cannot_be_asked_for() {
    let mut bench = bench();
    bench.resource.snapshot = true;
    let script = Script::new();
    assert_eq!(bench.step(&script).await.unwrap_err().code, Code::FinalSnapshotUnsupported.name());
    assert_eq!(script.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_deleted_and_looks_go_on() {
    let mut bench = accepted().await;
    bench.fence(false);
    let script = Script::new().json(STATUS, 200, event("IN_PROGRESS"));
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    let mut fresh = self::bench();
    fresh.fence(false);
    assert_eq!(fresh.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut);
}

/// `provisionedBy = cc-api` is sticky for types with native steps too.
#[tokio::test]
async fn a_row_made_through_cloud_control_goes_that_way() {
    let mut bench = Bench::new("AWS::SQS::Queue", "https://sqs.us-east-1.amazonaws.com/123456789012/orders", json!({}));
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    let script = Script::new().json(&["CloudApiService.DeleteResource ", "AWS::SQS::Queue"], 200, event("SUCCESS"));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}
