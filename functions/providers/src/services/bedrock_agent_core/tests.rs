use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, passes};

const DELETE: &[&str] = &["DELETE", "/runtimes/agent-1"];
const LOOK: &[&str] = &["GET", "/runtimes/agent-1"];
const EVALUATOR: &[&str] = &["DELETE", "/evaluators/ev-1"];

fn runtime(id: &str) -> Bench {
    Bench::new("AWS::BedrockAgentCore::Runtime", id, json!({}))
}

fn evaluator(id: &str) -> Bench {
    Bench::new("AWS::BedrockAgentCore::Evaluator", id, json!({}))
}

fn found(status: &str) -> Value {
    json!({
        "agentRuntimeArn": "arn:aws:bedrock-agentcore:us-east-1:1:runtime/agent-1", "agentRuntimeName": "agent",
        "agentRuntimeId": "agent-1", "agentRuntimeVersion": "1", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "roleArn": "arn:aws:iam::1:role/r", "status": status
    })
}

#[tokio::test]
async fn a_runtime_is_looked_at_until_it_is_gone() {
    for id in ["agent-1", "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/agent-1"] {
        let script = Script::new()
            .json(DELETE, 202, json!({ "status": "DELETING" }))
            .json(LOOK, 200, found("DELETING"))
            .json_error(LOOK, "ResourceNotFoundException", "no");
        let mut bench = runtime(id);
        for _ in 0..2 {
            let answer = bench.step(&script).await;
            assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 5), "{answer:?}");
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
    let gone = Script::new().json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(runtime("agent-1").step(&gone).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn a_runtime_that_fails_is_told_and_one_that_takes_long_is_let_go() {
    let mut bench = runtime("agent-1");
    bench.step(&Script::new().json(DELETE, 202, json!({ "status": "DELETING" }))).await.unwrap();
    let failed = bench.step(&Script::new().json(LOOK, 200, found("DELETE_FAILED"))).await.unwrap_err();
    assert_eq!((failed.class, failed.code.as_str()), (ErrorClass::Terminal, "DELETE_FAILED"));
    bench.pass(600);
    assert_eq!(bench.step(&Script::new().json(LOOK, 200, found("DELETING"))).await, Ok(Step::DELETED));
}

/// The call wants the id, the record holds the ARN.
#[tokio::test]
async fn an_evaluator_goes_by_the_id_in_its_arn() {
    for id in ["arn:aws:bedrock-agentcore:us-east-1:123456789012:evaluator/ev-1", "ev-1"] {
        let script =
            Script::new().json(EVALUATOR, 202, json!({ "evaluatorArn": "a", "evaluatorId": "ev-1", "status": "DELETING" }));
        assert_eq!(evaluator(id).step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
    let gone = Script::new().json_error(EVALUATOR, "ResourceNotFoundException", "no");
    assert_eq!(evaluator("ev-1").step(&gone).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn what_passes() {
    for (code, wait, budget) in
        [("ConflictException", 5, 300), ("ThrottlingException", 2, 60), ("InternalServerException", 3, 60)]
    {
        passes(|| runtime("agent-1"), DELETE, code, wait, budget).await;
    }
    for (code, wait, budget) in
        [("ConflictException", 5, 120), ("ThrottlingException", 2, 60), ("InternalServerException", 3, 60)]
    {
        passes(|| evaluator("ev-1"), EVALUATOR, code, wait, budget).await;
    }
}

/// The default browser and code interpreter belong to AWS: no call, gone.
#[tokio::test]
async fn what_belongs_to_aws_needs_no_call() {
    let script = Script::new();
    let mut browser =
        Bench::new("AWS::BedrockAgentCore::Browser", "arn:aws:bedrock-agentcore:us-east-1:aws:browser/x", json!({}));
    let mut interpreter = Bench::new("AWS::BedrockAgentCore::CodeInterpreter", "anything", json!({}));
    for bench in [&mut browser, &mut interpreter] {
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    }
    assert!(script.seen().is_empty());
}

#[tokio::test]
async fn what_cannot_be_addressed_makes_no_call() {
    let script = Script::new();
    for (mut bench, wrong) in [
        (runtime("arn:aws:bedrock-agentcore:us-east-1:1:memory/x"), Code::MalformedPhysicalId),
        (evaluator("arn:aws:bedrock-agentcore:us-east-1:1:evaluator/"), Code::MalformedPhysicalId),
    ] {
        assert!(matches!(bench.step(&script).await, Ok(Step::Skipped { code, .. }) if code == wrong));
    }
    for mut bench in [
        runtime("arn:aws:bedrock-agentcore:eu-west-1:1:runtime/agent-1"),
        evaluator("arn:aws:bedrock-agentcore:eu-west-1:1:evaluator/ev-1"),
    ] {
        assert_eq!(bench.step(&script).await.unwrap_err().code, Code::WrongRegion.name());
    }
    for mut bench in [runtime("agent-1"), evaluator("ev-1")] {
        bench.fence(false);
        assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    }
    assert!(script.seen().is_empty());
}
