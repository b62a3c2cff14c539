use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const DELETE: &[&str] = &[".DeleteNamespace", "\"Id\":\"ns-1\""];
const SERVICES: &[&str] = &[".ListServices", "\"NAMESPACE_ID\"", "\"ns-1\""];

fn look(operation: &str) -> [String; 2] {
    [".GetOperation".into(), format!("\"OperationId\":\"{operation}\"")]
}

trait Operations: Sized {
    fn operation(self, id: &str, kind: &str, status: &str) -> Self;
}

impl Operations for Script {
    fn operation(self, id: &str, kind: &str, status: &str) -> Self {
        let wants = look(id);
        let wants: Vec<&str> = wants.iter().map(String::as_str).collect();
        let body = json!({ "Operation": {
            "Id": id, "Type": kind, "Status": status, "ErrorCode": "ACCESS_DENIED", "ErrorMessage": "the hosted zone stays"
        } });
        self.json(&wants, 200, body)
    }
}

fn http() -> Bench {
    Bench::new("AWS::ServiceDiscovery::HttpNamespace", "ns-1", json!({}))
}

fn namespaces() -> [(Bench, u64); 3] {
    [
        (http(), 5),
        (Bench::new("AWS::ServiceDiscovery::PrivateDnsNamespace", "ns-1", json!({})), 15),
        (Bench::new("AWS::ServiceDiscovery::PublicDnsNamespace", "ns-1", json!({})), 15),
    ]
}

fn waits(step: &Result<Step, ebb_core::DeleteError>) -> Option<u64> {
    match step {
        Ok(Step::Pending { look_again, .. }) => Some(look_again.as_secs()),
        _ => None,
    }
}

fn accepted(operation: &str) -> Value {
    json!({ "OperationId": operation })
}

#[tokio::test]
async fn a_namespace_is_gone_when_its_operation_says_so() {
    for (mut bench, seconds) in namespaces() {
        let script = Script::new()
            .json(DELETE, 200, accepted("op-1"))
            .operation("op-1", "DELETE_NAMESPACE", "SUBMITTED")
            .operation("op-1", "DELETE_NAMESPACE", "PENDING")
            .operation("op-1", "DELETE_NAMESPACE", "SUCCESS");
        for _ in 0..3 {
            assert_eq!(waits(&bench.step(&script).await), Some(seconds));
            bench.pass(seconds);
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_namespace_that_is_not_there_is_gone() {
    for id in ["ns-1", "arn:aws:servicediscovery:us-east-1:123456789012:namespace/ns-1"] {
        let script = Script::new().json_error(DELETE, "NamespaceNotFound", "no");
        let mut bench = Bench::new("AWS::ServiceDiscovery::HttpNamespace", id, json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
}

#[tokio::test]
async fn an_operation_that_fails_fails_the_row_with_its_reason() {
    let script = Script::new().json(DELETE, 200, accepted("op-1")).operation("op-1", "DELETE_NAMESPACE", "FAIL");
    let mut bench = http();
    assert_eq!(waits(&bench.step(&script).await), Some(5));
    let error = bench.step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "ACCESS_DENIED"));
    assert_eq!(error.message, "the hosted zone stays");
}

fn duplicate(operation: Value) -> Script {
    let body = json!({ "__type": "DuplicateRequest", "Message": "in progress", "DuplicateOperationId": operation });
    Script::new().with_headers(DELETE, 400, &body.to_string(), &[("x-amzn-errortype", "DuplicateRequest")])
}

#[tokio::test]
async fn an_operation_that_runs_already_is_looked_at() {
    let script = duplicate(json!("op-0")).operation("op-0", "DELETE_NAMESPACE", "SUCCESS");
    let mut bench = http();
    assert_eq!(waits(&bench.step(&script).await), Some(5));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    assert_passes(http(), || duplicate(Value::Null), 5, 300).await;
}

// The end of an update is not the end of the namespace.
#[tokio::test]
async fn another_operation_on_it_is_waited_for_and_the_delete_asked_again() {
    for end in ["SUCCESS", "FAIL"] {
        let script = duplicate(json!("op-0"))
            .operation("op-0", "UPDATE_NAMESPACE", end)
            .json(DELETE, 200, accepted("op-1"))
            .operation("op-1", "DELETE_NAMESPACE", "SUCCESS");
        let mut bench = http();
        assert_eq!(waits(&bench.step(&script).await), Some(5));
        assert_eq!(waits(&bench.step(&script).await), Some(5));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn an_operation_that_is_forgotten_starts_the_delete_over() {
    let script = Script::new()
        .json(DELETE, 200, accepted("op-1"))
        .json_error(&[".GetOperation"], "OperationNotFound", "no")
        .json_error(DELETE, "NamespaceNotFound", "no");
    let mut bench = http();
    assert_eq!(waits(&bench.step(&script).await), Some(5));
    assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
    let script = Script::new().json(DELETE, 200, json!({}));
    assert_eq!(waits(&http().step(&script).await), Some(5), "no operation to look at: asked again");
}

// ECS Service Connect takes its own services away some minutes after the ECS service: they are in no plan.
#[tokio::test]
async fn the_services_of_a_namespace_are_named_and_waited_for() {
    let services = json!({ "Services": [{ "Id": "srv-1", "Name": "web" }] });
    for (bench, _) in namespaces() {
        let failing = || {
            Script::new().json_error(DELETE, "ResourceInUse", "Namespace has associated services.").json(
                SERVICES,
                200,
                services.clone(),
            )
        };
        let mut once = http();
        let step = once.step(&failing()).await;
        let named = "ResourceInUse: held by srv-1 (service web)";
        assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
        assert_passes(bench, failing, 10, 330).await;
    }
    let script = Script::new().json_error(DELETE, "ResourceInUse", "in use").json_error(SERVICES, "AccessDeniedException", "no");
    assert!(matches!(http().step(&script).await, Ok(Step::Pending { note, .. }) if note.contains("could not be listed")));
}

#[tokio::test]
async fn the_rest_of_a_namespaces_errors() {
    assert_passes(http(), || Script::new().json_error(DELETE, "RequestLimitExceeded", "slow"), 2, 60).await;
    for (code, class) in [("InvalidInput", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
        let script = Script::new().json_error(DELETE, code, "no");
        assert_eq!(http().step(&script).await.map_err(|e| e.class), Err(class));
    }
    assert_fenced(http(), Script::new()).await;
}

#[tokio::test]
async fn what_is_not_addressed_makes_no_call() {
    for (name, kind) in
        [("AWS::ServiceDiscovery::PrivateDnsNamespace", "namespace/ns-1"), ("AWS::ServiceDiscovery::Service", "service/srv-1")]
    {
        let with = |id: &str| Bench::new(name, id, json!({}));
        assert_not_addressed(with(&format!("arn:aws:servicediscovery:eu-west-1:1:{kind}")), Code::WrongRegion).await;
        assert_not_addressed(with(""), Code::MalformedPhysicalId).await;
        assert_not_addressed(with("arn:aws:servicediscovery:us-east-1:1:other/x"), Code::MalformedPhysicalId).await;
        assert_not_addressed(with("***"), Code::MaskedAddress).await;
    }
}

const DELETE_SERVICE: &[&str] = &[".DeleteService", "\"Id\":\"srv-1\""];
const INSTANCES: &[&str] = &[".ListInstances", "\"ServiceId\":\"srv-1\""];

fn service() -> Bench {
    Bench::new("AWS::ServiceDiscovery::Service", "srv-1", json!({}))
}

fn in_use() -> Script {
    Script::new()
        .json_error(DELETE_SERVICE, "ResourceInUse", "Service contains registered instances")
        .json(INSTANCES, 200, json!({ "Instances": [{ "Id": "task-1" }], "NextToken": "more" }))
        .json(&[".ListInstances", "\"NextToken\":\"more\""], 200, json!({ "Instances": [{ "Id": "task-2" }] }))
}

#[tokio::test]
async fn a_service_goes_in_one_call() {
    for id in ["srv-1", "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-1"] {
        let script = Script::new().json(DELETE_SERVICE, 200, json!({})).json_error(DELETE_SERVICE, "ServiceNotFound", "no");
        let mut bench = Bench::new("AWS::ServiceDiscovery::Service", id, json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
    assert_passes(service(), || Script::new().json_error(DELETE_SERVICE, "RequestLimitExceeded", "slow"), 2, 60).await;
    assert_fenced(service(), Script::new()).await;
}

// In use is normal for a minute or more after the ECS service was told to go.
#[tokio::test]
async fn registered_instances_are_named_and_waited_for() {
    let step = service().step(&in_use()).await;
    let named = "ResourceInUse: held by task-1 (registered instance), task-2 (registered instance)";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
    assert_passes(service(), in_use, 10, 900).await;
}

// What is still there after the drain was registered by something else: it goes with consent only.
#[tokio::test]
async fn instances_that_outlast_the_drain_are_deregistered_with_consent() {
    let mut bench = service();
    bench.run.options.delete_data = true;
    let early = in_use();
    assert_eq!(waits(&bench.step(&early).await), Some(10));
    early.assert_done();
    bench.pass(300);
    let late = in_use()
        .json(&[".DeregisterInstance", "\"ServiceId\":\"srv-1\"", "\"task-1\""], 200, json!({ "OperationId": "op" }))
        .json_error(&[".DeregisterInstance", "\"task-2\""], "ResourceInUse", "busy");
    assert!(waits(&bench.step(&late).await).is_some());
    late.assert_done();
    let script = Script::new().json(DELETE_SERVICE, 200, json!({}));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));

    let mut bench = service();
    bench.pass(300);
    let script = in_use();
    assert!(waits(&bench.step(&script).await).is_some(), "no consent, no call");
    script.assert_done();
}

#[tokio::test]
async fn no_instance_is_deregistered_behind_a_shut_fence() {
    let mut bench = service();
    bench.run.options.delete_data = true;
    bench.pass(300);
    bench.shut_after(1);
    let script = in_use().json(&[".DeregisterInstance", "task-1"], 200, json!({ "OperationId": "op" }));
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    script.assert_done();
}
