use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use super::seconds;
use crate::testing::{Bench, Script, assert_not_addressed, assert_passes};

const SERVICE: &str = "arn:aws:ecs:us-east-1:123456789012:service/shop/web";
const SCALING: &[&str] =
    &["DeregisterScalableTarget", "\"service/shop/web\"", "\"ecs:service:DesiredCount\"", "\"ServiceNamespace\":\"ecs\""];
const UPDATE: &[&str] = &[".UpdateService", "\"cluster\":\"shop\"", "\"desiredCount\":0"];
const DELETE: &[&str] = &[".DeleteService", "\"cluster\":\"shop\"", "\"force\":true"];
const DESCRIBE: &[&str] = &[".DescribeServices", "\"cluster\":\"shop\""];

fn service() -> Bench {
    Bench::new("AWS::ECS::Service", SERVICE, json!({}))
}

fn described(status: &str) -> Value {
    json!({ "services": [{ "serviceName": "webs", "status": "ACTIVE" }, { "serviceName": "web", "status": status }], "failures": [] })
}

fn missing() -> Value {
    json!({ "services": [], "failures": [{ "arn": SERVICE, "reason": "MISSING" }] })
}

/// The calls that ask for the delete.
fn asked() -> Script {
    Script::new().json(SCALING, 200, json!({})).json(UPDATE, 200, json!({})).json(DELETE, 200, json!({}))
}

// DRAINING holds interfaces, target registrations and Cloud Map instances: it is not gone.
#[tokio::test]
async fn a_service_is_scaled_to_nothing_deleted_and_watched_until_it_is_inactive() {
    for end in [described("INACTIVE"), missing()] {
        let script = asked()
            .json(DESCRIBE, 200, described("DRAINING"))
            .json(DESCRIBE, 200, described("DRAINING"))
            .json(DESCRIBE, 200, end);
        let mut bench = service();
        for _ in 0..2 {
            assert_eq!(seconds(&bench.step(&script).await), Some(15));
            bench.pass(15);
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_service_without_tasks_is_gone_at_once() {
    let script = asked().json(DESCRIBE, 200, described("INACTIVE"));
    assert_eq!(service().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_service_that_is_not_there_is_gone() {
    for code in ["ServiceNotFoundException", "ClusterNotFoundException"] {
        let script = Script::new().json(SCALING, 200, json!({})).json_error(UPDATE, code, "no");
        assert_eq!(service().step(&script).await, Ok(Step::ALREADY_GONE), "{code}");
        let script = Script::new().json(SCALING, 200, json!({})).json(UPDATE, 200, json!({})).json_error(DELETE, code, "no");
        assert_eq!(service().step(&script).await, Ok(Step::ALREADY_GONE), "{code}");
    }
    let script = asked().json_error(DESCRIBE, "ClusterNotFoundException", "no");
    assert_eq!(service().step(&script).await, Ok(Step::DELETED));
}

// A step that starts over after the delete was accepted meets this code while the service still drains.
#[tokio::test]
async fn not_active_is_not_gone() {
    let not_active = "ServiceNotActiveException";
    let script = Script::new()
        .json(SCALING, 200, json!({}))
        .json_error(UPDATE, not_active, "Service was not ACTIVE.")
        .json(DESCRIBE, 200, described("DRAINING"))
        .json(DESCRIBE, 200, described("INACTIVE"));
    let mut bench = service();
    assert_eq!(seconds(&bench.step(&script).await), Some(15));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new()
        .json(SCALING, 200, json!({}))
        .json(UPDATE, 200, json!({}))
        .json_error(DELETE, not_active, "Service was not ACTIVE.")
        .json(DESCRIBE, 200, described("DRAINING"));
    assert_eq!(seconds(&service().step(&script).await), Some(15));
    script.assert_done();

    let script = Script::new().json(SCALING, 200, json!({})).json_error(UPDATE, not_active, "Service was not ACTIVE.").json(
        DESCRIBE,
        200,
        described("INACTIVE"),
    );
    assert_eq!(service().step(&script).await, Ok(Step::ALREADY_GONE));
}

// A DAEMON service has no desired count to set.
#[tokio::test]
async fn a_daemon_service_is_deleted_all_the_same() {
    let daemon = "The daemon scheduling strategy does not support a desired count for services.";
    let script = Script::new()
        .json(SCALING, 200, json!({}))
        .json_error(UPDATE, "InvalidParameterException", daemon)
        .json(DELETE, 200, json!({}))
        .json(DESCRIBE, 200, described("INACTIVE"));
    assert_eq!(service().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let script = Script::new().json(SCALING, 200, json!({})).json_error(UPDATE, "InvalidParameterException", "bad input");
    assert_eq!(service().step(&script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn scaling_that_cannot_be_dropped_does_not_hold_the_delete() {
    for code in ["ObjectNotFoundException", "AccessDeniedException", "ConcurrentUpdateException"] {
        let script = Script::new()
            .json_error(SCALING, code, "no")
            .json(UPDATE, 200, json!({}))
            .json(DELETE, 200, json!({}))
            .json(DESCRIBE, 200, described("INACTIVE"));
        assert_eq!(service().step(&script).await, Ok(Step::DELETED), "{code}");
        script.assert_done();
    }
}

#[tokio::test]
async fn a_service_that_is_active_again_is_deleted_again() {
    let script = asked().json(DESCRIBE, 200, described("DRAINING"));
    let mut bench = service();
    assert_eq!(seconds(&bench.step(&script).await), Some(15));
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE"))
        .json(SCALING, 200, json!({}))
        .json(UPDATE, 200, json!({}))
        .json(DELETE, 200, json!({}))
        .json(DESCRIBE, 200, missing());
    assert_eq!(seconds(&bench.step(&script).await), Some(15));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

// Without a cluster the API looks into the one called "default" and answers not found, while the service lives on.
#[tokio::test]
async fn the_cluster_is_always_named() {
    let cluster = "arn:aws:ecs:us-east-1:123456789012:cluster/shop";
    let old_arn = "arn:aws:ecs:us-east-1:123456789012:service/web";
    let both = format!("{SERVICE}|{cluster}");
    let turned = format!("{cluster}|web");
    let named = json!({ "Cluster": "shop" });
    let masked = json!({ "Cluster": "***" });
    for (id, properties, sent) in [
        (SERVICE, json!({}), "\"cluster\":\"shop\""),
        (SERVICE, masked.clone(), "\"cluster\":\"shop\""),
        (SERVICE, json!({ "Cluster": cluster }), cluster),
        (old_arn, named.clone(), "\"cluster\":\"shop\""),
        ("web", named.clone(), "\"cluster\":\"shop\""),
        (both.as_str(), json!({}), cluster),
        (turned.as_str(), json!({}), cluster),
        (turned.as_str(), masked.clone(), cluster),
    ] {
        let script = Script::new()
            .json(SCALING, 200, json!({}))
            .json(&[".UpdateService", sent], 200, json!({}))
            .json(&[".DeleteService", sent], 200, json!({}))
            .json(&[".DescribeServices", sent], 200, described("INACTIVE"));
        let mut bench = Bench::new("AWS::ECS::Service", id, properties);
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
        assert!(!script.seen()[1].contains('|'), "{}", script.seen()[1]);
    }
    assert_not_addressed(Bench::new("AWS::ECS::Service", "web", json!({})), Code::MissingAddress).await;
    assert_not_addressed(Bench::new("AWS::ECS::Service", old_arn, json!({})), Code::MissingAddress).await;
    assert_not_addressed(Bench::new("AWS::ECS::Service", "web", masked), Code::MaskedAddress).await;
    assert_not_addressed(Bench::new("AWS::ECS::Service", "***", named), Code::MaskedAddress).await;
}

#[tokio::test]
async fn a_malformed_service_fails_without_a_call() {
    for id in ["", "web|shop", "|", "a|b|c", "arn:aws:ecs:us-east-1:1:task/shop/web", "arn:aws:ecs:us-east-1:1:service/shop/"] {
        let bench = || Bench::new("AWS::ECS::Service", id, json!({ "Cluster": "shop" }));
        assert!(bench().step(&Script::new()).await.is_err(), "{id}");
        assert_not_addressed(bench(), Code::MalformedPhysicalId).await;
    }
}

#[tokio::test]
async fn a_cluster_in_the_id_and_another_in_the_properties_are_not_chosen_between() {
    for id in [SERVICE, "arn:aws:ecs:us-east-1:123456789012:cluster/shop|web"] {
        let bench = Bench::new("AWS::ECS::Service", id, json!({ "Cluster": "other" }));
        assert_not_addressed(bench, Code::MalformedPhysicalId).await;
    }
}

#[tokio::test]
async fn another_region_is_refused_before_any_call() {
    let elsewhere = "arn:aws:ecs:eu-west-1:123456789012";
    for id in [format!("{elsewhere}:service/shop/web"), format!("{elsewhere}:cluster/shop|web")] {
        assert_not_addressed(Bench::new("AWS::ECS::Service", &id, json!({})), Code::WrongRegion).await;
    }
}

#[tokio::test]
async fn what_passes_of_a_service_passes_within_its_budget() {
    for (code, text, wait, give_up) in [
        ("ServerException", "", 3, 60),
        ("InvalidParameterException", "a deployment is running", 10, 600),
        ("ThrottlingException", "", 2, 60),
    ] {
        let failing = || Script::new().json(SCALING, 200, json!({})).json_error(UPDATE, code, text);
        assert_passes(service(), failing, wait, give_up).await;
    }
}

#[tokio::test]
async fn a_shut_fence_stops_each_of_the_calls() {
    for (checks, script) in [
        (0, Script::new()),
        (1, Script::new().json(SCALING, 200, json!({}))),
        (2, Script::new().json(SCALING, 200, json!({})).json(UPDATE, 200, json!({}))),
    ] {
        let mut bench = service();
        bench.shut_after(checks);
        assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
        script.assert_done();
    }
}
