use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const DELETE: &[&str] = &["DELETE", "/v1/pipes/orders"];
const DESCRIBE: &[&str] = &["GET", "/v1/pipes/orders"];

fn pipe() -> Bench {
    Bench::new("AWS::Pipes::Pipe", "orders", json!({}))
}

fn described(state: &str) -> Value {
    json!({ "Name": "orders", "CurrentState": state, "StateReason": "the role is gone" })
}

/// The delete is accepted, then the looks answer `states`.
fn looks(states: &[&str]) -> Script {
    let script = Script::new().json(DELETE, 200, json!({ "Name": "orders", "CurrentState": "DELETING" }));
    states.iter().fold(script, |script, state| script.json(DESCRIBE, 200, described(state)))
}

fn waits(step: &Result<Step, ebb_core::DeleteError>) -> Option<u64> {
    match step {
        Ok(Step::Pending { look_again, .. }) => Some(look_again.as_secs()),
        _ => None,
    }
}

/// The delete and all looks but the last are pending; what the last answers.
async fn last(states: &[&str]) -> Result<Step, ebb_core::DeleteError> {
    let script = looks(states);
    let mut bench = pipe();
    for _ in 0..states.len() {
        assert_eq!(waits(&bench.step(&script).await), Some(5), "{states:?}");
        bench.pass(5);
    }
    let step = bench.step(&script).await;
    script.assert_done();
    step
}

#[tokio::test]
async fn a_pipe_is_watched_until_it_is_not_found() {
    for id in ["orders", "arn:aws:pipes:us-east-1:123456789012:pipe/orders"] {
        // What is read before DELETING shows may be old.
        let script = looks(&["RUNNING", "RUNNING", "STOP_FAILED", "DELETING"]).json_error(DESCRIBE, "NotFoundException", "no");
        let mut bench = Bench::new("AWS::Pipes::Pipe", id, json!({}));
        for _ in 0..5 {
            assert_eq!(waits(&bench.step(&script).await), Some(5));
            bench.pass(5);
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_pipe_that_is_not_there_is_gone() {
    let script = Script::new().json_error(DELETE, "NotFoundException", "no");
    assert_eq!(pipe().step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

#[tokio::test]
async fn a_delete_that_failed_fails_the_row() {
    for states in [
        &["DELETE_FAILED"][..],
        &["DELETE_ROLLBACK_FAILED"],
        &["DELETING", "STOP_FAILED"],
        &["DELETING", "UPDATE_ROLLBACK_FAILED"],
    ] {
        let error = last(states).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, *states.last().unwrap()));
        assert!(error.message.contains("the role is gone"), "{}", error.message);
    }
}

// One such read may be old, two are the answer.
#[tokio::test]
async fn a_delete_that_rolled_back_fails_the_row() {
    for states in [["DELETING", "RUNNING", "RUNNING"], ["DELETING", "STOPPED", "RUNNING"]] {
        assert_eq!(last(&states).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    }
    assert_eq!(waits(&last(&["DELETING", "RUNNING", "DELETING", "RUNNING"]).await), Some(5));
}

// An accepted delete counts as gone after ten minutes, unless nothing ever showed that it is under way.
#[tokio::test]
async fn a_pipe_that_stays_deleting_is_let_go_and_one_that_never_was_fails() {
    for (state, gone) in [("DELETING", true), ("RUNNING", false), ("UPDATING", false)] {
        let script = looks(&[state, state]);
        let mut bench = pipe();
        for _ in 0..2 {
            assert_eq!(waits(&bench.step(&script).await), Some(5));
            bench.pass(300);
        }
        assert_eq!(bench.step(&script).await == Ok(Step::DELETED), gone, "{state}");
        script.assert_done();
    }
}

#[tokio::test]
async fn what_passes_passes_within_its_budget() {
    for (code, wait, give_up) in [("ConflictException", 5, 300), ("ThrottlingException", 2, 60), ("InternalException", 3, 60)] {
        assert_passes(pipe(), || Script::new().json_error(DELETE, code, ""), wait, give_up).await;
    }
    for (code, class) in [("ValidationException", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
        let script = Script::new().json_error(DELETE, code, "no");
        assert_eq!(pipe().step(&script).await.map_err(|e| e.class), Err(class), "{code}");
    }
    let script = looks(&[]).json_error(DESCRIBE, "ThrottlingException", "slow").json_error(DESCRIBE, "NotFoundException", "no");
    let mut bench = pipe();
    for _ in 0..2 {
        assert!(waits(&bench.step(&script).await).is_some());
    }
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "what was accepted is remembered over a throttle");
}

#[tokio::test]
async fn what_is_not_addressed_makes_no_call() {
    let with = |id: &str| Bench::new("AWS::Pipes::Pipe", id, json!({}));
    assert_not_addressed(with("arn:aws:pipes:eu-west-1:123456789012:pipe/orders"), Code::WrongRegion).await;
    assert_not_addressed(with(""), Code::MalformedPhysicalId).await;
    assert_not_addressed(with(".."), Code::MalformedPhysicalId).await;
    assert_not_addressed(with("arn:aws:pipes:us-east-1:123456789012:rule/orders"), Code::MalformedPhysicalId).await;
    assert_not_addressed(with("***"), Code::MaskedAddress).await;
}

#[tokio::test]
async fn a_row_of_cloud_control_comes_here_too_and_a_shut_fence_stops_it() {
    let mut bench = pipe();
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    assert_eq!(waits(&bench.step(&looks(&[])).await), Some(5));
    assert_fenced(pipe(), Script::new()).await;
}
