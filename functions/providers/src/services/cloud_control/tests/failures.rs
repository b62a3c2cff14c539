//! Failures: how long each passes for passing, and what is told of those that do not.

use ebb_core::{DeleteError, ErrorClass, Step};
use serde_json::json;

use super::{DELETE, STATUS, bench, event, failed, then};
use crate::testing::{Bench, Script};

/// One request that fails, from a fresh or a carried memo.
async fn round(bench: &mut Bench, code: &str, message: &str) -> Result<Step, DeleteError> {
    bench.step(&Script::new().json(DELETE, 200, event("IN_PROGRESS"))).await?;
    bench.step(&Script::new().json(STATUS, 200, failed(code, message))).await
}

/// Seconds between the requests of a failure that goes on, until it is final.
async fn waits(code: &str, message: &str) -> (Vec<u64>, DeleteError) {
    let mut bench = bench();
    let mut waits = Vec::new();
    loop {
        match round(&mut bench, code, message).await {
            Ok(Step::Pending { look_again, error, .. }) => {
                assert_eq!(error.as_deref(), Some(code), "left alone for that long");
                waits.push(look_again.as_secs());
                bench.pass(look_again.as_secs());
            }
            Err(error) => return (waits, error),
            other => panic!("{code}: {other:?}"),
        }
        assert!(waits.len() < 200, "{code} never ends");
    }
}

#[tokio::test]
async fn a_failure_passes_as_often_as_its_code_deserves() {
    for (code, expected) in [
        ("ServiceInternalError", vec![5; 4]),
        ("NetworkFailure", vec![5; 4]),
        ("InternalFailure", vec![5; 2]),
        ("ServiceTimeout", vec![10; 2]),
    ] {
        let (waits, error) = waits(code, "x").await;
        assert_eq!((waits, error.class, error.code.as_str()), (expected, ErrorClass::Terminal, code));
    }
    let (conflict, error) = waits("ResourceConflict", "another change").await;
    assert_eq!(conflict.iter().sum::<u64>(), 605, "ten minutes");
    assert_eq!((conflict[0], conflict[1], error.class), (5, 10, ErrorClass::Terminal));
}

/// A dependency or in-use text passes for ten minutes.
#[tokio::test]
async fn a_hold_passes_for_ten_minutes() {
    for message in [
        "DependencyViolation: The vpc has dependencies",
        "The role is in use by a service",
        "It cannot be deleted while members remain",
        "network has a dependent object",
    ] {
        for code in ["GeneralServiceException", "InvalidRequest"] {
            let (waits, error) = waits(code, message).await;
            assert_eq!((waits.len(), waits[0], error.class), (60, 10, ErrorClass::Terminal), "{code} {message}");
        }
    }
}

/// Throttles and what does not stabilise go on until the row's deadline.
#[tokio::test]
async fn a_throttle_passes_until_the_deadline() {
    let mut bench = bench();
    for (n, expected) in [4, 8, 12, 16, 16].into_iter().enumerate() {
        let answer = round(&mut bench, "Throttling", "x").await;
        assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == expected), "{n}: {answer:?}");
    }
    for _ in 0..30 {
        let answer = round(&mut bench, "NotStabilized", "x").await;
        assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 15), "{answer:?}");
    }
}

/// A failure of another kind in between starts the count anew.
#[tokio::test]
async fn each_code_is_counted_by_itself() {
    let mut bench = bench();
    for code in ["InternalFailure", "InternalFailure", "ServiceTimeout", "InternalFailure", "InternalFailure"] {
        assert!(matches!(round(&mut bench, code, "x").await, Ok(Step::Pending { .. })), "{code}");
    }
    assert_eq!(round(&mut bench, "InternalFailure", "x").await.unwrap_err().class, ErrorClass::Terminal);
}

#[tokio::test]
async fn what_does_not_pass_is_final_at_once() {
    for code in [
        "ServiceLimitExceeded",
        "InvalidCredentials",
        "UnauthorizedTaggingOperation",
        "AlreadyExists",
        "NotUpdatable",
        "InvalidRequest",
        "GeneralServiceException",
    ] {
        let error = then(failed(code, "Model validation failed")).await.1.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, code));
    }
}

/// The caller's login is fine: the handler's own call was refused.
#[tokio::test]
async fn a_refusal_of_the_handlers_call_is_told_as_such() {
    let text = |service: &str| format!("not authorized (Service: {service}, Status Code: 403, Request ID: r)");
    for code in ["AccessDenied", "GeneralServiceException", "InvalidCredentials"] {
        let error = then(failed(code, &text("Athena"))).await.1.unwrap_err();
        assert_eq!(error.class, ErrorClass::Denied, "{code}");
        assert!(error.message.starts_with("Cloud Control's handler was refused by Athena"), "{}", error.message);
    }
    let ours = then(failed("AccessDenied", &text("CloudControl"))).await.1.unwrap_err();
    assert_eq!((ours.class, ours.message.contains("handler")), (ErrorClass::Denied, false));
}

/// The names that people choose hold any word a rule looks for.
#[tokio::test]
async fn a_name_does_not_flip_the_verdict() {
    for name in ["MyDependencyViolationSub", "role-in use", "deletion protection"] {
        let mut bench = Bench::new("AWS::Athena::WorkGroup", name, json!({}));
        let message = format!("Resource {name} is malformed");
        let script = Script::new().json(&["DeleteResource "], 200, failed("InvalidRequest", &message));
        assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::Terminal, "{name}");
    }
}

/// Exceptions of the call itself (Cloud Control API reference): those that pass, for how long, and those that do not.
#[tokio::test]
async fn exceptions_of_the_call() {
    for (code, wait, budget) in [
        ("ConcurrentModificationException", 5, 300),
        ("ResourceConflictException", 5, 600),
        ("ServiceInternalErrorException", 5, 25),
        ("NetworkFailureException", 5, 25),
        ("HandlerInternalFailureException", 5, 15),
        ("HandlerFailureException", 5, 5),
    ] {
        let mut bench = bench();
        let script = || Script::new().json_error(DELETE, code, "x");
        let answer = bench.step(&script()).await;
        assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == wait), "{code}: {answer:?}");
        bench.pass(budget - 1);
        assert!(matches!(bench.step(&script()).await, Ok(Step::Pending { .. })), "{code}");
        bench.pass(1);
        assert_eq!(bench.step(&script()).await.unwrap_err().class, ErrorClass::Terminal, "{code}");
    }
    assert!(matches!(
        bench().step(&Script::new().json_error(DELETE, "ThrottlingException", "x")).await,
        Ok(Step::Pending { .. })
    ));
    for code in [
        "ServiceLimitExceededException",
        "InvalidRequestException",
        "GeneralServiceException",
        "UnsupportedActionException",
        "TypeNotFoundException",
        "PrivateTypeException",
        "InvalidCredentialsException",
    ] {
        let error = bench().step(&Script::new().json_error(DELETE, code, "x does not exist")).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, code));
    }
    let denied = bench().step(&Script::new().json_error(DELETE, "AccessDeniedException", "x")).await.unwrap_err();
    assert_eq!(denied.class, ErrorClass::Denied);
}

/// The message rules run before an invalid request is final: dependency texts appear here too.
#[tokio::test]
async fn an_invalid_request_that_names_a_hold_passes() {
    let script = Script::new().json_error(DELETE, "InvalidRequestException", "the group has dependencies");
    let answer = bench().step(&script).await;
    assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 10), "{answer:?}");
}

/// Another try with the same client token would get the same answer.
#[tokio::test]
async fn what_asks_for_a_new_client_token_gets_one() {
    for (code, tries) in [("NotStabilizedException", 3), ("ClientTokenConflictException", 2)] {
        let mut bench = bench();
        let mut tokens = std::collections::BTreeSet::new();
        for n in 1..=tries {
            let script = Script::new().json_error(DELETE, code, "x");
            let answer = bench.step(&script).await;
            tokens.insert(script.seen()[0].clone());
            assert_eq!(answer.is_ok(), n < tries, "{code} {n}: {answer:?}");
        }
        assert_eq!(tokens.len(), tries, "{code}");
    }
}
