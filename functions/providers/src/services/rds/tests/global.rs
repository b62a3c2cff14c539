//! Clusters in a global cluster: AWS deletes no member.

use ebb_core::{ErrorClass, Step};

use super::*;
use crate::testing::pending;

const ARN: &str = "arn:aws:rds:us-east-1:123456789012:cluster:orders";
const LISTED: &str = "<GlobalClusterIdentifier>world</GlobalClusterIdentifier>";

fn global(id: &str, members: &[&str]) -> String {
    let members: String = members
        .iter()
        .map(|arn| format!("<GlobalClusterMember><DBClusterArn>{arn}</DBClusterArn></GlobalClusterMember>"))
        .collect();
    format!(
        "<GlobalClusterMember><GlobalClusterIdentifier>{id}</GlobalClusterIdentifier>\
         <GlobalClusterMembers>{members}</GlobalClusterMembers></GlobalClusterMember>"
    )
}

/// A look at the global cluster, with the same cluster elsewhere, another one here, and another global cluster.
fn members(script: Script, ours: bool) -> Script {
    let elsewhere = "arn:aws:rds:eu-west-1:123456789012:cluster:orders";
    let neighbour = "arn:aws:rds:us-east-1:123456789012:cluster:orders-2";
    let ours: &[&str] = if ours { &[elsewhere, neighbour, ARN] } else { &[elsewhere, neighbour] };
    let list = format!("<GlobalClusters>{}{}</GlobalClusters>", global("moon", &[ARN]), global("world", ours));
    script.query(&["Action=DescribeGlobalClusters&", "GlobalClusterIdentifier=world"], "DescribeGlobalClusters", &list)
}

fn leave(script: Script) -> Script {
    script.query(&LEAVE, "RemoveFromGlobalCluster", "")
}

const LEAVE: [&str; 3] = [
    "Action=RemoveFromGlobalCluster&",
    "GlobalClusterIdentifier=world",
    "DbClusterIdentifier=arn%3Aaws%3Ards%3Aus-east-1%3A123456789012%3Acluster%3Aorders",
];

/// Contract 5.4. It is asynchronous: the delete waits until the cluster is no longer listed.
#[tokio::test]
async fn a_member_leaves_its_global_cluster_first() {
    for (recorded, live) in [(json!({}), LISTED), (json!({ "GlobalClusterIdentifier": "world" }), "")] {
        let mut bench = Bench::new("AWS::RDS::DBCluster", ID, recorded);
        let script = leave(members(look(Script::new(), &bench, Some("available"), live), true));
        assert_eq!(pending(bench.next(script).await), (30, "the cluster is leaving its global cluster".to_owned()));
        let script = members(look(Script::new(), &bench, Some("available"), live), true);
        let script = script.query_error(&LEAVE, "InvalidGlobalClusterStateFault", "is being removed");
        assert_eq!(pending(bench.next(script).await).0, 30);
        let script = members(look(Script::new(), &bench, Some("available"), live), false);
        pending(bench.next(delete(script, &bench, &[])).await);
    }
}

/// The global cluster, or the membership, went meanwhile: that is not the cluster.
#[tokio::test]
async fn a_global_cluster_that_is_not_found_is_not_the_cluster() {
    for code in ["GlobalClusterNotFoundFault", "DBClusterNotFoundFault"] {
        let mut bench = CLUSTERS[0]();
        let script = look(Script::new(), &bench, Some("available"), LISTED);
        let script = script.query_error(&["DescribeGlobalClusters"], code, "no");
        pending(bench.next(delete(script, &bench, &[])).await);
        let mut bench = CLUSTERS[0]();
        let script = members(look(Script::new(), &bench, Some("available"), LISTED), true);
        let script = script.query_error(&LEAVE, code, "no");
        pending(bench.next(delete(script, &bench, &[])).await);
    }
}

#[tokio::test]
async fn a_member_that_may_not_leave_is_not_deleted() {
    let mut bench = CLUSTERS[0]();
    bench.run.options.remove_protection = true;
    let script = look(Script::new(), &bench, Some("available"), &[PROTECTED, LISTED].concat());
    pending(bench.next(script).await);
    let script = look(Script::new(), &bench, Some("available"), &[PROTECTED, LISTED].concat());
    pending(bench.next(switch(script, &bench, false)).await);
    let script = members(look(Script::new(), &bench, Some("available"), LISTED), true);
    let script = switch(script.query_error(&LEAVE, "AccessDenied", "no"), &bench, true);
    let error = bench.next(script).await.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Denied, "no (deletion protection is on again)"));
}

#[tokio::test]
async fn a_protected_member_does_not_leave() {
    let mut bench = CLUSTERS[0]();
    let script = look(Script::new(), &bench, Some("available"), &[PROTECTED, LISTED].concat());
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Protected));
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_leaves() {
    let mut bench = CLUSTERS[0]();
    bench.fence(false);
    let script = members(look(Script::new(), &bench, Some("available"), LISTED), true);
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}

#[tokio::test]
async fn a_masked_global_cluster_is_not_sent() {
    let mut bench = Bench::new("AWS::RDS::DBCluster", ID, json!({ "GlobalClusterIdentifier": "***" }));
    let script = look(Script::new(), &bench, Some("available"), "");
    assert!(matches!(bench.next(script).await, Ok(Step::Skipped { .. })));
}

/// They wait until somebody takes them out.
#[tokio::test]
async fn clusters_of_the_other_families_do_not_leave_by_themselves() {
    for new in [CLUSTERS[1], CLUSTERS[2]] {
        let mut bench = new();
        let script = look(Script::new(), &bench, Some("available"), LISTED);
        let script = refuse(script, &bench, "InvalidDBClusterStateFault", "is a part of a global cluster");
        assert_eq!(pending(bench.next(script).await).0, 30);
    }
}
