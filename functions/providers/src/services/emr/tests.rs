use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const DESCRIBE: &[&str] = &[".DescribeCluster", "\"ClusterId\":\"j-ABC1\""];
const TERMINATE: &[&str] = &[".TerminateJobFlows", "\"JobFlowIds\":[\"j-ABC1\"]"];
const OFF: &[&str] = &[".SetTerminationProtection", "[\"j-ABC1\"]", "\"TerminationProtected\":false"];
const ON: &[&str] = &[".SetTerminationProtection", "[\"j-ABC1\"]", "\"TerminationProtected\":true"];
const PROTECTED: &str = "Could not shut down one or more job flows since they are termination protected.";

fn cluster() -> Bench {
    Bench::new("AWS::EMR::Cluster", "j-ABC1", json!({}))
}

fn unprotecting() -> Bench {
    let mut bench = cluster();
    bench.run.options.remove_protection = true;
    bench
}

fn described(state: &str, protected: bool) -> Value {
    json!({ "Cluster": { "Id": "j-ABC1", "Status": { "State": state }, "TerminationProtected": protected } })
}

fn waits(step: &Result<Step, ebb_core::DeleteError>) -> Option<u64> {
    match step {
        Ok(Step::Pending { look_again, .. }) => Some(look_again.as_secs()),
        _ => None,
    }
}

// A cluster that still runs bills by the hour: accepted is not gone.
#[tokio::test]
async fn a_cluster_is_terminated_and_watched_until_it_is() {
    for end in ["TERMINATED", "TERMINATED_WITH_ERRORS"] {
        let script = Script::new()
            .json(DESCRIBE, 200, described("WAITING", false))
            .json(TERMINATE, 200, json!({}))
            .json(DESCRIBE, 200, described("TERMINATING", false))
            .json(DESCRIBE, 200, described(end, false));
        let mut bench = cluster();
        assert_eq!(waits(&bench.step(&script).await), Some(30));
        bench.pass(1800);
        assert_eq!(waits(&bench.step(&script).await), Some(30));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_cluster_that_has_ended_is_gone() {
    for end in ["TERMINATED", "TERMINATED_WITH_ERRORS"] {
        let script = Script::new().json(DESCRIBE, 200, described(end, true));
        assert_eq!(cluster().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
    let script = Script::new().json_error(DESCRIBE, "InvalidRequestException", "Cluster id 'j-ABC1' is not valid.");
    assert_eq!(cluster().step(&script).await, Ok(Step::ALREADY_GONE));
}

// EMR words an id that it cannot read like one that it does not know.
#[tokio::test]
async fn an_id_that_is_none_is_not_asked_for() {
    for id in ["", "ABC1", "j-", "j-***", "j-{{resolve:ssm:id}}", "arn:aws:elasticmapreduce:us-east-1:1:cluster/j-ABC1"] {
        assert_not_addressed(Bench::new("AWS::EMR::Cluster", id, json!({})), Code::MalformedPhysicalId).await;
    }
}

#[tokio::test]
async fn a_termination_that_did_not_take_is_asked_for_again() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("RUNNING", false))
        .json(TERMINATE, 200, json!({}))
        .json(DESCRIBE, 200, described("RUNNING", false))
        .json(TERMINATE, 200, json!({}))
        .json_error(DESCRIBE, "InvalidRequestException", "no");
    let mut bench = cluster();
    assert_eq!(waits(&bench.step(&script).await), Some(30));
    assert_eq!(waits(&bench.step(&script).await), Some(30));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_passes_passes_within_its_budget() {
    for code in ["InternalServerError", "InternalServerException", "ThrottlingException"] {
        let failing = || Script::new().json(DESCRIBE, 200, described("WAITING", false)).json_error(TERMINATE, code, "");
        assert_passes(cluster(), failing, 5, 120).await;
    }
    assert_passes(cluster(), || Script::new().json_error(DESCRIBE, "ThrottlingException", "slow"), 5, 120).await;
    for (code, class) in [("ValidationException", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
        let script = Script::new().json(DESCRIBE, 200, described("WAITING", false)).json_error(TERMINATE, code, "no");
        assert_eq!(cluster().step(&script).await.map_err(|e| e.class), Err(class), "{code}");
    }
}

#[tokio::test]
async fn a_protected_cluster_stays_unless_asked() {
    let script =
        Script::new().json(DESCRIBE, 200, described("WAITING", true)).json_error(TERMINATE, "ValidationException", PROTECTED);
    let error = cluster().step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
    assert!(error.message.contains("removeProtection") && error.message.contains(PROTECTED), "{}", error.message);
    script.assert_done();
}

#[tokio::test]
async fn a_look_names_the_protection_of_what_still_runs() {
    for (state, protected, refuses) in
        [("WAITING", true, true), ("WAITING", false, false), ("TERMINATING", true, false), ("TERMINATED", true, false)]
    {
        let script = Script::new().json(DESCRIBE, 200, described(state, protected));
        let look = cluster().look(&script).await;
        assert_eq!(matches!(look, Ok(Look::Refuses { code: Code::Protected, .. })), refuses, "{state} {protected}");
    }
    let script = Script::new().json(DESCRIBE, 200, described("WAITING", true));
    assert_eq!(unprotecting().look(&script).await, Ok(Look::Clear));
    let script = Script::new().json_error(DESCRIBE, "InvalidRequestException", "no");
    assert_eq!(cluster().look(&script).await, Ok(Look::Clear));
}

#[tokio::test]
async fn protection_is_remembered_switched_off_and_the_cluster_terminated() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("WAITING", true))
        .json(DESCRIBE, 200, described("WAITING", true))
        .json(OFF, 200, json!({}))
        .json(TERMINATE, 200, json!({}))
        .json(DESCRIBE, 200, described("TERMINATED", false));
    let mut bench = unprotecting();
    assert_eq!(waits(&bench.step(&script).await), Some(0));
    assert_eq!(waits(&bench.step(&script).await), Some(30));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_termination_that_fails_for_good_puts_the_protection_back() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("WAITING", true))
        .json(DESCRIBE, 200, described("WAITING", true))
        .json(OFF, 200, json!({}))
        .json_error(TERMINATE, "AccessDeniedException", "no")
        .json(ON, 200, json!({}));
    let mut bench = unprotecting();
    assert_eq!(waits(&bench.step(&script).await), Some(0));
    assert_eq!(bench.step(&script).await.map_err(|e| e.message), Err("no (deletion protection is on again)".into()));
    script.assert_done();
}

#[tokio::test]
async fn a_shut_fence_lets_looks_pass_and_nothing_else() {
    assert_fenced(cluster(), Script::new().json(DESCRIBE, 200, described("WAITING", false))).await;
    for (resource_type, role, cluster) in [
        ("AWS::EMR::InstanceGroupConfig", "InstanceRole", "JobFlowId"),
        ("AWS::EMR::InstanceFleetConfig", "InstanceFleetType", "ClusterId"),
    ] {
        assert_fenced(Bench::new(resource_type, "ig-1", json!({ role: "TASK", cluster: "j-ABC1" })), Script::new()).await;
    }
}

// There is no delete API: both end with their cluster, and only TASK can be shrunk to nothing before.
#[tokio::test]
async fn a_task_group_or_fleet_is_shrunk_and_the_others_end_with_their_cluster() {
    let group = |properties: Value| Bench::new("AWS::EMR::InstanceGroupConfig", "ig-1", properties);
    let fleet = |properties: Value| Bench::new("AWS::EMR::InstanceFleetConfig", "if-1", properties);
    let shrink_group =
        &[".ModifyInstanceGroups", "\"ClusterId\":\"j-ABC1\"", "\"InstanceGroupId\":\"ig-1\"", "\"InstanceCount\":0"];
    let shrink_fleet = &[
        ".ModifyInstanceFleet",
        "\"ClusterId\":\"j-ABC1\"",
        "\"InstanceFleetId\":\"if-1\"",
        "\"TargetOnDemandCapacity\":0",
        "\"TargetSpotCapacity\":0",
    ];
    let script = Script::new()
        .json(shrink_group, 200, json!({}))
        .json(shrink_fleet, 200, json!({}))
        .json_error(shrink_group, "InvalidRequestException", "Cluster is not valid")
        .json_error(shrink_fleet, "AccessDeniedException", "no");
    for _ in 0..2 {
        assert_eq!(group(json!({ "InstanceRole": "TASK", "JobFlowId": "j-ABC1" })).step(&script).await, Ok(Step::DELETED));
        assert_eq!(fleet(json!({ "InstanceFleetType": "TASK", "ClusterId": "j-ABC1" })).step(&script).await, Ok(Step::DELETED));
    }
    script.assert_done();

    let script = Script::new();
    for role in ["MASTER", "CORE"] {
        assert_eq!(group(json!({ "InstanceRole": role, "JobFlowId": "j-ABC1" })).step(&script).await, Ok(Step::DELETED));
        assert_eq!(fleet(json!({ "InstanceFleetType": role, "ClusterId": "j-ABC1" })).step(&script).await, Ok(Step::DELETED));
    }
    assert_eq!(group(json!({})).step(&script).await, Ok(Step::DELETED));
    assert_eq!(fleet(json!({ "InstanceFleetType": "TASK" })).step(&script).await, Ok(Step::DELETED));
    assert_eq!(group(json!({ "InstanceRole": "TASK", "JobFlowId": "***" })).step(&script).await, Ok(Step::DELETED));
    assert_eq!(fleet(json!({ "InstanceFleetType": "TASK", "ClusterId": "***" })).step(&script).await, Ok(Step::DELETED));
    assert_eq!(script.seen(), Vec::<String>::new());
}
