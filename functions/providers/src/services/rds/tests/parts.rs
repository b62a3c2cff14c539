//! Subnet groups, proxies, their endpoints and target groups.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::Value;

use super::*;
use crate::testing::pending;

const GROUPS: [fn() -> Bench; 3] = [
    || Bench::new("AWS::RDS::DBSubnetGroup", "private", json!({})),
    || Bench::new("AWS::DocDB::DBSubnetGroup", "private", json!({})),
    || Bench::new("AWS::Neptune::DBSubnetGroup", "private", json!({})),
];
const DELETE_GROUP: &[&str] = &["Action=DeleteDBSubnetGroup&", "DBSubnetGroupName=private"];

#[tokio::test]
async fn a_subnet_group_goes_at_once() {
    for new in GROUPS {
        assert_eq!(new().next(Script::new().query(DELETE_GROUP, "DeleteDBSubnetGroup", "")).await, Ok(Step::DELETED));
        let script = Script::new().query_error(DELETE_GROUP, "DBSubnetGroupNotFoundFault", "no");
        assert_eq!(new().next(script).await, Ok(Step::ALREADY_GONE));
        let script = Script::new().query_error(DELETE_GROUP, "AccessDenied", "not found");
        assert_eq!(new().next(script).await.map_err(|e| e.class), Err(ErrorClass::Denied));
        let mut bench = new();
        bench.fence(false);
        assert_eq!(bench.next(Script::new()).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    }
}

/// "Still in use" is a state fault here; what stands in the group is named.
#[tokio::test]
async fn a_subnet_group_in_use_waits_for_what_stands_in_it() {
    let held = || {
        let clusters = "<DBClusters><DBCluster><DBClusterIdentifier>orders</DBClusterIdentifier><DBSubnetGroup>private</DBSubnetGroup>\
                        </DBCluster><DBCluster><DBClusterIdentifier>other</DBClusterIdentifier><DBSubnetGroup>public</DBSubnetGroup>\
                        </DBCluster></DBClusters>";
        let instances = "<DBInstances><DBInstance><DBInstanceIdentifier>orders-a</DBInstanceIdentifier><DBSubnetGroup>\
                         <DBSubnetGroupName>private</DBSubnetGroupName></DBSubnetGroup></DBInstance><DBInstance>\
                         <DBInstanceIdentifier>alone</DBInstanceIdentifier></DBInstance></DBInstances>";
        Script::new()
            .query_error(DELETE_GROUP, "InvalidDBSubnetGroupStateFault", "in use")
            .query(&["DescribeDBClusters"], "DescribeDBClusters", clusters)
            .query(&["DescribeDBInstances"], "DescribeDBInstances", instances)
    };
    for new in GROUPS {
        let mut bench = new();
        let note = "InvalidDBSubnetGroupStateFault: held by orders (cluster), orders-a (instance)";
        assert_eq!(pending(bench.next(held()).await), (15, note.to_owned()));
        bench.pass(1800);
        let error = bench.next(held()).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Terminal);
        assert!(error.message.ends_with("held by orders (cluster), orders-a (instance))"), "{}", error.message);

        let unknown = Script::new()
            .query_error(DELETE_GROUP, "InvalidDBSubnetGroupStateFault", "in use")
            .query_error(&["DescribeDBClusters"], "AccessDenied", "no")
            .query_error(&["DescribeDBInstances"], "AccessDenied", "no");
        assert!(pending(new().next(unknown).await).1.contains("clusters could not be listed (AccessDenied)"));

        let mut bench = new();
        for seconds in [0, 599] {
            bench.pass(seconds);
            let script = Script::new().query_error(DELETE_GROUP, "InvalidDBSubnetStateFault", "a subnet");
            pending(bench.next(script).await);
        }
        bench.pass(1);
        let script = Script::new().query_error(DELETE_GROUP, "InvalidDBSubnetStateFault", "a subnet");
        assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    }
}

fn proxy() -> Bench {
    Bench::new("AWS::RDS::DBProxy", "pool", json!({}))
}

const PROXY_ARN: &str = "arn:aws:rds:us-east-1:123456789012:db-proxy:prx-0f3c";
const DELETE_PROXY: &[&str] = &["Action=DeleteDBProxy&", "DBProxyName=pool"];

fn proxies(script: Script, wants: &[&str], status: Option<&str>) -> Script {
    let one = |name: &str, arn: &str, status: &str| {
        format!("<member><DBProxyName>{name}</DBProxyName><DBProxyArn>{arn}</DBProxyArn><Status>{status}</Status></member>")
    };
    let ours = status.map(|status| one("pool", PROXY_ARN, status)).unwrap_or_default();
    let list = format!("<DBProxies>{}{ours}</DBProxies>", one("pool-2", "arn:aws:rds:us-east-1:1:db-proxy:prx-2", "available"));
    script.query(&[&["Action=DescribeDBProxies&"], wants].concat(), "DescribeDBProxies", &list)
}

#[tokio::test]
async fn a_proxy_is_deleted_and_watched() {
    for (id, by) in [("pool", &["DBProxyName=pool"][..]), (PROXY_ARN, &[])] {
        let mut bench = Bench::new("AWS::RDS::DBProxy", id, json!({}));
        let script = proxies(Script::new(), by, Some("available")).query(DELETE_PROXY, "DeleteDBProxy", "");
        assert_eq!(pending(bench.next(script).await).0, 15);
        pending(bench.next(proxies(Script::new(), by, Some("deleting"))).await);
        assert_eq!(bench.next(proxies(Script::new(), by, None)).await, Ok(Step::DELETED));
        let mut gone = Bench::new("AWS::RDS::DBProxy", id, json!({}));
        assert_eq!(gone.next(proxies(Script::new(), by, None)).await, Ok(Step::ALREADY_GONE));
    }
    let script = Script::new().query_error(&["DescribeDBProxies"], "DBProxyNotFoundFault", "no");
    assert_eq!(proxy().next(script).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn a_proxy_in_transition_has_fifteen_minutes() {
    let busy =
        || proxies(Script::new(), &[], Some("modifying")).query_error(DELETE_PROXY, "InvalidDBProxyStateFault", "modifying");
    let mut bench = proxy();
    assert_eq!(pending(bench.next(busy()).await).0, 10);
    bench.pass(899);
    pending(bench.next(busy()).await);
    bench.pass(1);
    assert_eq!(bench.next(busy()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn a_proxy_that_cannot_be_addressed_or_may_not_go_stays() {
    let mut bench = Bench::new("AWS::RDS::DBProxy", "arn:aws:rds:us-east-1:1:target-group:prx-tg-1", json!({}));
    assert!(matches!(bench.next(Script::new()).await, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
    let mut bench = Bench::new("AWS::RDS::DBProxy", "arn:aws:rds:eu-west-1:1:db-proxy:prx-1", json!({}));
    assert_eq!(bench.next(Script::new()).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
    let mut bench = proxy();
    bench.fence(false);
    let script = proxies(Script::new(), &[], Some("available"));
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}

fn endpoint() -> Bench {
    Bench::new("AWS::RDS::DBProxyEndpoint", "readers", json!({}))
}

const DELETE_ENDPOINT: &[&str] = &["Action=DeleteDBProxyEndpoint&", "DBProxyEndpointName=readers"];

fn endpoints(status: Option<&str>, more: &str) -> Script {
    let one = |name: &str, status: &str, more: &str| {
        format!("<member><DBProxyEndpointName>{name}</DBProxyEndpointName><Status>{status}</Status>{more}</member>")
    };
    let ours = status.map(|status| one("readers", status, more)).unwrap_or_default();
    let list = format!("<DBProxyEndpoints>{}{ours}</DBProxyEndpoints>", one("readers-2", "available", ""));
    let wants = ["Action=DescribeDBProxyEndpoints&", "DBProxyEndpointName=readers"];
    Script::new().query(&wants, "DescribeDBProxyEndpoints", &list)
}

#[tokio::test]
async fn an_endpoint_is_deleted_and_watched() {
    let mut bench = endpoint();
    let script = endpoints(Some("available"), "").query(DELETE_ENDPOINT, "DeleteDBProxyEndpoint", "");
    assert_eq!(pending(bench.next(script).await).0, 15);
    pending(bench.next(endpoints(Some("deleting"), "")).await);
    assert_eq!(bench.next(endpoints(None, "")).await, Ok(Step::DELETED));
    let mut bench = endpoint();
    bench.fence(false);
    assert_eq!(bench.next(endpoints(Some("available"), "")).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}

/// A proxy takes its endpoints along.
#[tokio::test]
async fn an_endpoint_whose_proxy_is_gone_is_gone() {
    for code in ["DBProxyEndpointNotFoundFault", "DBProxyNotFoundFault"] {
        let script = Script::new().query_error(&["DescribeDBProxyEndpoints"], code, "no");
        assert_eq!(endpoint().next(script).await, Ok(Step::ALREADY_GONE), "{code}");
        let script = endpoints(Some("available"), "").query_error(DELETE_ENDPOINT, code, "no");
        assert_eq!(endpoint().next(script).await, Ok(Step::ALREADY_GONE), "{code}");
    }
    assert_eq!(endpoint().next(endpoints(None, "")).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn an_endpoint_in_transition_has_ten_minutes() {
    for code in ["InvalidDBProxyEndpointStateFault", "InvalidDBProxyStateFault"] {
        let busy = || endpoints(Some("modifying"), "").query_error(DELETE_ENDPOINT, code, "modifying");
        let mut bench = endpoint();
        assert_eq!(pending(bench.next(busy()).await).0, 10);
        bench.pass(599);
        pending(bench.next(busy()).await);
        bench.pass(1);
        assert_eq!(bench.next(busy()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    }
}

#[tokio::test]
async fn the_default_endpoint_is_not_deleted_on_its_own() {
    let error = endpoint().next(endpoints(Some("available"), "<IsDefault>true</IsDefault>")).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
    assert!(error.message.contains("default endpoint"));
}

fn targets(properties: Value) -> Bench {
    Bench::new("AWS::RDS::DBProxyTargetGroup", "arn:aws:rds:us-east-1:123456789012:target-group:prx-tg-1", properties)
}

const DEREGISTER: &[&str] = &["Action=DeregisterDBProxyTargets&", "DBProxyName=pool"];

fn ok(script: Script, wants: &[&str]) -> Script {
    script.query(&[DEREGISTER, wants].concat(), "DeregisterDBProxyTargets", "")
}

/// The group itself is never deleted; only its registrations are.
#[tokio::test]
async fn registrations_are_taken_out_of_a_target_group() {
    let cluster = "DBClusterIdentifiers.member.1=orders";
    let script = ok(Script::new(), &["TargetGroupName=default", cluster]);
    let mut bench = targets(json!({ "DBProxyName": "pool", "DBClusterIdentifiers": ["orders"] }));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    assert!(!script.seen()[0].contains("DBInstanceIdentifiers"), "{:?}", script.seen());
    let wants = ["TargetGroupName=blue", "DBInstanceIdentifiers.member.1=a", "DBInstanceIdentifiers.member.2=b"];
    let mut bench = targets(json!({ "DBProxyName": "pool", "TargetGroupName": "blue", "DBInstanceIdentifiers": ["a", "b"] }));
    assert_eq!(bench.next(ok(Script::new(), &wants)).await, Ok(Step::DELETED));
    // Cloud Control would not know how: the road is the same.
    let mut bench = targets(json!({ "DBProxyName": "pool", "DBClusterIdentifiers": ["orders"] }));
    bench.resource.provisioned_by = ebb_core::provider::ProvisionedBy::CloudControl;
    assert_eq!(bench.next(ok(Script::new(), &[cluster])).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn a_target_group_without_targets_needs_no_call() {
    for properties in [json!({ "DBProxyName": "pool" }), json!({ "DBProxyName": "pool", "DBClusterIdentifiers": [] })] {
        assert_eq!(targets(properties).next(Script::new()).await, Ok(Step::DELETED));
    }
}

/// One missing target fails the call for all of them.
#[tokio::test]
async fn the_other_targets_go_when_one_is_missing() {
    let three = || targets(json!({ "DBProxyName": "pool", "DBClusterIdentifiers": ["c"], "DBInstanceIdentifiers": ["a", "b"] }));
    let missing = |script: Script, wants: &[&str]| {
        script.query_error(&[DEREGISTER, wants].concat(), "DBProxyTargetNotFoundFault", "not registered")
    };
    let cluster = "DBClusterIdentifiers.member.1=c";
    let (a, b) = ("DBInstanceIdentifiers.member.1=a", "DBInstanceIdentifiers.member.1=b");
    let script = missing(Script::new(), &[cluster, a]);
    let script = missing(ok(ok(script, &[cluster]), &[a]), &[b]);
    assert_eq!(three().next(script).await, Ok(Step::DELETED));
    let script = [&[cluster][..], &[a], &[b]].iter().fold(missing(Script::new(), &[a]), |script, one| missing(script, one));
    assert_eq!(three().next(script).await, Ok(Step::ALREADY_GONE));
    // The fence shuts between two targets.
    let mut bench = three();
    bench.shut_after(1);
    let answer = bench.next(ok(missing(Script::new(), &[a]), &[cluster])).await;
    assert_eq!(answer.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    let mut late = three();
    late.soft_budget = 0;
    assert_eq!(pending(late.next(missing(Script::new(), &[a])).await).0, 0);
}

#[tokio::test]
async fn a_target_group_of_a_proxy_that_is_gone_is_gone() {
    for code in ["DBProxyNotFoundFault", "DBProxyTargetGroupNotFoundFault", "DBProxyTargetNotFoundFault"] {
        let mut bench = targets(json!({ "DBProxyName": "pool", "DBClusterIdentifiers": ["orders"] }));
        assert_eq!(bench.next(Script::new().query_error(DEREGISTER, code, "no")).await, Ok(Step::ALREADY_GONE), "{code}");
    }
    let busy = || Script::new().query_error(DEREGISTER, "InvalidDBProxyStateFault", "modifying");
    let mut bench = targets(json!({ "DBProxyName": "pool", "DBClusterIdentifiers": ["orders"] }));
    assert_eq!(pending(bench.next(busy()).await).0, 10);
    bench.pass(600);
    assert_eq!(bench.next(busy()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn targets_that_cannot_be_addressed_make_no_call() {
    for (properties, code) in [
        (json!({}), Code::MissingAddress),
        (json!({ "DBProxyName": "***", "DBClusterIdentifiers": ["orders"] }), Code::MaskedAddress),
        (json!({ "DBProxyName": "pool", "TargetGroupName": "***", "DBClusterIdentifiers": ["orders"] }), Code::MaskedAddress),
        (json!({ "DBProxyName": "pool", "DBClusterIdentifiers": ["{{resolve:ssm:x}}"] }), Code::MaskedAddress),
        (json!({ "DBProxyName": "pool", "DBInstanceIdentifiers": [{ "Ref": "Db" }] }), Code::MissingAddress),
        (json!({ "DBProxyName": "pool", "DBInstanceIdentifiers": "orders" }), Code::MissingAddress),
    ] {
        let answer = targets(properties.clone()).next(Script::new()).await;
        assert!(matches!(&answer, Ok(Step::Skipped { code: c, .. }) if *c == code), "{properties}: {answer:?}");
    }
}
