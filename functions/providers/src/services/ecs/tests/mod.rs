mod service;

use ebb_core::{Code, DeleteError, ErrorClass, Step};
use serde_json::json;

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

fn seconds(step: &Result<Step, DeleteError>) -> Option<u64> {
    match step {
        Ok(Step::Pending { look_again, .. }) => Some(look_again.as_secs()),
        _ => None,
    }
}

#[tokio::test]
async fn another_region_is_refused_before_any_call() {
    let elsewhere = "arn:aws:ecs:eu-west-1:123456789012";
    for (name, kind) in [("AWS::ECS::Cluster", "cluster/shop"), ("AWS::ECS::TaskDefinition", "task-definition/web:7")] {
        assert_not_addressed(Bench::new(name, &format!("{elsewhere}:{kind}"), json!({})), Code::WrongRegion).await;
    }
}

const DELETE_CLUSTER: &[&str] = &[".DeleteCluster", "\"cluster\":\"shop\""];

fn cluster() -> Bench {
    Bench::new("AWS::ECS::Cluster", "shop", json!({}))
}

#[tokio::test]
async fn a_cluster_goes_in_one_call() {
    let inactive = json!({ "cluster": { "clusterName": "shop", "status": "INACTIVE" } });
    let script = Script::new().json(DELETE_CLUSTER, 200, inactive).json_error(DELETE_CLUSTER, "ClusterNotFoundException", "no");
    assert_eq!(cluster().step(&script).await, Ok(Step::DELETED));
    assert_eq!(cluster().step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();

    let arn = "arn:aws:ecs:us-east-1:123456789012:cluster/shop";
    let script = Script::new().json(&[".DeleteCluster", arn], 200, json!({}));
    assert_eq!(Bench::new("AWS::ECS::Cluster", arn, json!({})).step(&script).await, Ok(Step::DELETED));
    assert_not_addressed(
        Bench::new("AWS::ECS::Cluster", "arn:aws:ecs:us-east-1:1:service/shop", json!({})),
        Code::MalformedPhysicalId,
    )
    .await;
}

#[tokio::test]
async fn a_cluster_whose_capacity_providers_go_first_is_asked_again() {
    let script = Script::new()
        .json(DELETE_CLUSTER, 200, json!({ "cluster": { "clusterName": "shop", "status": "DEPROVISIONING" } }))
        .json_error(DELETE_CLUSTER, "UpdateInProgressException", "updating")
        .json(DELETE_CLUSTER, 200, json!({ "cluster": { "clusterName": "shop", "status": "INACTIVE" } }));
    let mut bench = cluster();
    assert_eq!(seconds(&bench.step(&script).await), Some(5));
    assert_eq!(seconds(&bench.step(&script).await), Some(10));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

// Stand-alone tasks are in no plan: whoever reads the outcome learns which they are.
#[tokio::test]
async fn what_a_cluster_holds_is_named_and_waited_for() {
    let arn = |what: &str| format!("arn:aws:ecs:us-east-1:123456789012:{what}");
    for (code, call, answer, named, wait, give_up) in [
        (
            "ClusterContainsServicesException",
            ".ListServices",
            json!({ "serviceArns": [arn("service/shop/web"), arn("service/shop/api")] }),
            "web (service), api (service)",
            10,
            900,
        ),
        ("ClusterContainsTasksException", ".ListTasks", json!({ "taskArns": [arn("task/shop/6a1f")] }), "6a1f (task)", 10, 900),
        (
            "ClusterContainsContainerInstancesException",
            ".ListContainerInstances",
            json!({ "containerInstanceArns": [arn("container-instance/shop/9b2e")] }),
            "9b2e (container instance)",
            15,
            1800,
        ),
        (
            "ClusterContainsCapacityProviderException",
            ".DescribeClusters",
            json!({ "clusters": [{ "clusterName": "shop", "capacityProviders": ["spot"] }], "failures": [] }),
            "spot (capacity provider)",
            10,
            600,
        ),
    ] {
        let failing =
            || Script::new().json_error(DELETE_CLUSTER, code, "still there").json(&[call, "\"shop\""], 200, answer.clone());
        let step = cluster().step(&failing()).await;
        let note = format!("{code}: held by {named}");
        assert!(matches!(&step, Ok(Step::Pending { note: n, .. }) if *n == note), "{step:?}");
        assert_passes(cluster(), failing, wait, give_up).await;
    }
    let script = Script::new().json_error(DELETE_CLUSTER, "ClusterContainsTasksException", "tasks").json_error(
        &[".ListTasks"],
        "AccessDeniedException",
        "no",
    );
    let step = cluster().step(&script).await;
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if note.contains("could not be listed (AccessDeniedException)")));
}

#[tokio::test]
async fn what_passes_of_a_cluster_passes_within_its_budget() {
    for (code, wait, give_up) in [("UpdateInProgressException", 10, 600), ("ServerException", 3, 60)] {
        assert_passes(cluster(), || Script::new().json_error(DELETE_CLUSTER, code, ""), wait, give_up).await;
    }
    for (code, class) in [("InvalidParameterException", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
        let script = Script::new().json_error(DELETE_CLUSTER, code, "no");
        assert_eq!(cluster().step(&script).await.map_err(|e| e.class), Err(class));
    }
    assert_fenced(cluster(), Script::new()).await;
}

const REVISION: &str = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7";
const DEREGISTER: &[&str] = &[".DeregisterTaskDefinition", "web:7\""];

fn task_definition() -> Bench {
    Bench::new("AWS::ECS::TaskDefinition", REVISION, json!({}))
}

#[tokio::test]
async fn a_task_definition_is_deregistered() {
    for id in [REVISION, "web:7"] {
        let script = Script::new().json(DEREGISTER, 200, json!({ "taskDefinition": { "status": "INACTIVE" } }));
        assert_eq!(Bench::new("AWS::ECS::TaskDefinition", id, json!({})).step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
    for (id, code) in
        [("web", Code::MalformedPhysicalId), ("web:latest", Code::MalformedPhysicalId), ("***", Code::MaskedAddress)]
    {
        assert_not_addressed(Bench::new("AWS::ECS::TaskDefinition", id, json!({})), code).await;
    }
}

// ClientException is this API's code for everything: only the text says that it is gone.
#[tokio::test]
async fn only_the_text_of_a_client_exception_says_gone() {
    let answer = |code: &'static str, text: &'static str| async move {
        task_definition().step(&Script::new().json_error(DEREGISTER, code, text)).await
    };
    for (code, text) in [
        ("ClientException", "The task definition does not exist."),
        ("ClientException", "Unable to describe task definition."),
        ("ClientException", "Task definition not found"),
        ("ClientException", "The specified task definition is inactive."),
        ("InvalidParameterException", "Task definition not found"),
    ] {
        assert_eq!(answer(code, text).await, Ok(Step::ALREADY_GONE), "{text}");
    }
    for (code, text) in [("ClientException", "bad request"), ("InvalidParameterException", "Invalid identifier")] {
        assert_eq!(answer(code, text).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{text}");
    }
    for (code, text, wait, give_up) in [
        ("ClientException", "Too many concurrent attempts to create a new revision", 2, 60),
        ("ServerException", "", 3, 60),
        ("ThrottlingException", "", 2, 60),
    ] {
        assert_passes(task_definition(), || Script::new().json_error(DEREGISTER, code, text), wait, give_up).await;
    }
    assert_fenced(task_definition(), Script::new()).await;
}
