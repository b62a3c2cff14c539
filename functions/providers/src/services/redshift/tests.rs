//! The snapshot comes first, then the cluster has to calm down, then Cloud Control deletes it.

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, pending};

const NAME: &str = "sales-final-20251206-054640";
const DELETE: &[&str] = &["CloudApiService.DeleteResource ", "AWS::Redshift::Cluster", "\"Identifier\":\"sales\""];
const STATUS: &[&str] = &["CloudApiService.GetResourceRequestStatus", "\"RequestToken\":\"token-1\""];
/// A retention of -1 is for ever: the cluster's own default may be a day.
const CREATE: &[&str] = &[
    "Action=CreateClusterSnapshot&",
    "ClusterIdentifier=sales",
    "SnapshotIdentifier=sales-final-20251206-054640",
    "ManualSnapshotRetentionPeriod=-1",
];

fn cluster(snapshot: bool) -> Bench {
    let mut bench = Bench::new("AWS::Redshift::Cluster", "sales", json!({}));
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    bench.resource.snapshot = snapshot;
    bench
}

fn event(status: &str) -> Value {
    json!({ "ProgressEvent": { "RequestToken": "token-1", "OperationStatus": status } })
}

fn described(script: Script, status: Option<&str>) -> Script {
    let one = |id: &str, status: &str| {
        format!("<Cluster><ClusterIdentifier>{id}</ClusterIdentifier><ClusterStatus>{status}</ClusterStatus></Cluster>")
    };
    let ours = status.map(|status| one("sales", status)).unwrap_or_default();
    let list = format!("<Clusters>{}{ours}</Clusters>", one("sales-2", "available"));
    script.query(&["Action=DescribeClusters&", "ClusterIdentifier=sales"], "DescribeClusters", &list)
}

fn snapshot(name: &str, cluster: &str, status: &str) -> String {
    format!(
        "<Snapshot><SnapshotIdentifier>{name}</SnapshotIdentifier><ClusterIdentifier>{cluster}</ClusterIdentifier>\
         <Status>{status}</Status></Snapshot>"
    )
}

/// Finished ones may be of an earlier cluster of this name.
fn snapshots(ours: &str) -> String {
    let neighbours = [
        snapshot("sales-final-20240101-000000", "sales", "available"),
        snapshot("sales-final-20240101-000001", "sales-2", "creating"),
        snapshot("sales-before-upgrade", "sales", "creating"),
    ];
    format!("<Snapshots>{}{ours}</Snapshots>", neighbours.concat())
}

fn listed(script: Script, ours: &str) -> Script {
    let wants = ["Action=DescribeClusterSnapshots&", "ClusterIdentifier=sales", "SnapshotType=manual"];
    script.query(&wants, "DescribeClusterSnapshots", &snapshots(ours))
}

fn by_name(status: Option<&str>) -> Script {
    let ours = status.map(|status| snapshot(NAME, "sales", status)).unwrap_or_default();
    let wants = ["Action=DescribeClusterSnapshots&", &format!("SnapshotIdentifier={NAME}")];
    Script::new().query(&wants, "DescribeClusterSnapshots", &snapshots(&ours))
}

fn here() -> Script {
    listed(described(Script::new(), Some("available")), "")
}

async fn taking() -> Bench {
    let mut bench = cluster(true);
    let script = here().query(CREATE, "CreateClusterSnapshot", "");
    assert_eq!(pending(bench.next(script).await), (5, format!("its final snapshot {NAME} is being taken")));
    bench
}

#[tokio::test]
async fn without_the_policy_cloud_control_deletes_it_at_once() {
    for made in [ProvisionedBy::Sdk, ProvisionedBy::CloudControl] {
        let mut bench = cluster(false);
        bench.resource.provisioned_by = made;
        pending(bench.next(Script::new().json(DELETE, 200, event("IN_PROGRESS"))).await);
        assert_eq!(bench.next(Script::new().json(STATUS, 200, event("SUCCESS"))).await, Ok(Step::DELETED));
    }
}

/// Contract 5.4: snapshot, cluster available again, five seconds more, delete; the report names the snapshot.
#[tokio::test]
async fn the_snapshot_comes_first_and_the_cluster_calms_down() {
    let mut bench = taking().await;
    pending(bench.next(by_name(Some("creating"))).await);
    let script = described(by_name(Some("available")), Some("modifying"));
    assert_eq!(pending(bench.next(script).await).0, 15);
    pending(bench.next(described(Script::new(), Some("modifying"))).await);
    assert_eq!(pending(bench.next(described(Script::new(), Some("available"))).await).0, 5);
    pending(bench.next(Script::new().json(DELETE, 200, event("IN_PROGRESS"))).await);
    let gone = bench.next(Script::new().json(STATUS, 200, event("SUCCESS"))).await;
    assert_eq!(gone, Ok(Step::gone_with(format!("final snapshot: {NAME}"))));
}

/// The wait for the cluster is soft.
#[tokio::test]
async fn a_cluster_that_does_not_calm_down_is_deleted_after_twenty_minutes() {
    let mut bench = taking().await;
    pending(bench.next(described(by_name(Some("available")), Some("modifying"))).await);
    bench.pass(1199);
    pending(bench.next(described(Script::new(), Some("modifying"))).await);
    bench.pass(1);
    let script = described(Script::new(), Some("modifying")).json(DELETE, 200, event("SUCCESS"));
    assert_eq!(bench.next(script).await, Ok(Step::gone_with(format!("final snapshot: {NAME}"))));
}

#[tokio::test]
async fn one_that_is_still_being_taken_is_used() {
    let name = "sales-final-20251206-054600";
    let script = listed(described(Script::new(), Some("available")), &snapshot(name, "sales", "creating"));
    assert!(pending(cluster(true).next(script).await).1.contains(name));
    let script = described(Script::new(), Some("available")).query_error(&["DescribeClusterSnapshots"], "AccessDenied", "no");
    pending(cluster(true).next(script.query(CREATE, "CreateClusterSnapshot", "")).await);
}

/// At most ten pages are read.
#[tokio::test]
async fn the_search_for_one_that_is_being_taken_ends() {
    let mut script = described(Script::new(), Some("available"));
    for page in 0..10 {
        let more = format!("<Marker>m{page}</Marker>{}", snapshots(""));
        script = script.query(&["DescribeClusterSnapshots"], "DescribeClusterSnapshots", &more);
    }
    pending(cluster(true).next(script.query(CREATE, "CreateClusterSnapshot", "")).await);
}

#[tokio::test]
async fn a_cluster_that_is_going_or_gone_needs_no_snapshot() {
    let gone = |script: Script| script.json_error(DELETE, "ResourceNotFoundException", "no");
    for status in [None, Some("deleting"), Some("final-snapshot")] {
        assert_eq!(cluster(true).next(gone(described(Script::new(), status))).await, Ok(Step::ALREADY_GONE));
    }
    let script = Script::new().query_error(&["DescribeClusters"], "ClusterNotFound", "no");
    assert_eq!(cluster(true).next(gone(script)).await, Ok(Step::ALREADY_GONE));
    let script = here().query_error(CREATE, "ClusterNotFound", "no");
    assert_eq!(cluster(true).next(gone(script)).await, Ok(Step::ALREADY_GONE));
    let script = described(here().query_error(CREATE, "InvalidClusterState", "deleting"), Some("deleting"));
    assert_eq!(cluster(true).next(gone(script)).await, Ok(Step::ALREADY_GONE));
}

/// The same state fault says that a cluster is paused or being resized: it is neither saved nor deleted.
#[tokio::test]
async fn a_paused_cluster_is_not_deleted_without_its_snapshot() {
    let paused = || {
        let script = listed(described(Script::new(), Some("paused")), "");
        described(script.query_error(&["CreateClusterSnapshot"], "InvalidClusterState", "paused"), Some("paused"))
    };
    let mut bench = cluster(true);
    assert_eq!(pending(bench.next(paused()).await).0, 15);
    bench.pass(1799);
    pending(bench.next(paused()).await);
    bench.pass(1);
    assert_eq!(bench.next(paused()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn a_failed_snapshot_keeps_the_cluster() {
    for code in ["ClusterSnapshotQuotaExceeded", "TagLimitExceededFault", "ResourceNotFoundException"] {
        let script = here().query_error(CREATE, code, "not found");
        assert_eq!(cluster(true).next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{code}");
    }
    let script = here().query_error(CREATE, "ClusterSnapshotAlreadyExists", "taken");
    assert_eq!(pending(cluster(true).next(script).await).0, 5);
    for status in ["failed", "cancelled", "deleted"] {
        let mut bench = taking().await;
        let error = bench.next(by_name(Some(status))).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::FinalSnapshotFailed.name()), "{status}");
    }
    let mut bench = taking().await;
    let script = Script::new().query_error(&["DescribeClusterSnapshots"], "ClusterNotFound", "an odd answer");
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn a_snapshot_that_is_not_found_is_never_gone() {
    let mut bench = taking().await;
    for _ in 0..24 {
        bench.pass(5);
        let script = Script::new().query_error(&["DescribeClusterSnapshots"], "ClusterSnapshotNotFound", "not found");
        pending(bench.next(script).await);
    }
    bench.pass(5);
    assert_eq!(bench.next(by_name(None)).await.map_err(|e| e.code), Err(Code::FinalSnapshotFailed.name()));
}

#[tokio::test]
async fn a_snapshot_has_an_hour() {
    let mut bench = taking().await;
    bench.pass(3599);
    pending(bench.next(by_name(Some("creating"))).await);
    bench.pass(1);
    assert_eq!(bench.next(by_name(Some("creating"))).await.map_err(|e| e.code), Err(Code::FinalSnapshotTimeout.name()));
}

/// No status shows the tail of the snapshot; the handler's refusal passes within twenty minutes.
#[tokio::test]
async fn an_operation_that_is_running_on_the_cluster_passes() {
    let busy = || {
        let text = "There is an operation running on the Cluster. Please try to delete it at a later time.";
        let event = json!({ "ProgressEvent": {
            "RequestToken": "token-1", "OperationStatus": "FAILED", "ErrorCode": "GeneralServiceException", "StatusMessage": text
        } });
        Script::new().json(DELETE, 200, event)
    };
    let mut bench = cluster(false);
    assert_eq!(pending(bench.next(busy()).await).0, 15);
    bench.pass(1199);
    pending(bench.next(busy()).await);
    bench.pass(1);
    assert_eq!(bench.next(busy()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_made_or_deleted() {
    let mut bench = cluster(true);
    bench.fence(false);
    assert_eq!(bench.next(here()).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    let mut bench = cluster(false);
    bench.fence(false);
    assert_eq!(bench.next(Script::new()).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
