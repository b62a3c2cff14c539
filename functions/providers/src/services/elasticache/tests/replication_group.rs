//! The snapshot comes first, then Cloud Control deletes the group.

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, pending};

const NAME: &str = "orders-final-20251206-054640";
const DELETE: &[&str] = &["CloudApiService.DeleteResource ", "AWS::ElastiCache::ReplicationGroup", "\"Identifier\":\"orders\""];
const STATUS: &[&str] = &["CloudApiService.GetResourceRequestStatus", "\"RequestToken\":\"token-1\""];
const CREATE: &[&str] = &["Action=CreateSnapshot&", "SnapshotName=orders-final-20251206-054640"];

/// Replication groups are made through Cloud Control, and their rows say so or nothing.
fn group(snapshot: bool) -> Bench {
    let mut bench = Bench::new("AWS::ElastiCache::ReplicationGroup", "orders", json!({}));
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    bench.resource.snapshot = snapshot;
    bench
}

fn event(status: &str) -> Value {
    json!({ "ProgressEvent": { "RequestToken": "token-1", "OperationStatus": status } })
}

fn failed(message: &str) -> Value {
    json!({ "ProgressEvent": {
        "RequestToken": "token-1", "OperationStatus": "FAILED", "ErrorCode": "InvalidRequest", "StatusMessage": message
    } })
}

fn described(status: Option<&str>, cluster_mode: bool) -> Script {
    let one = |id: &str, status: &str| {
        format!(
            "<ReplicationGroup><ReplicationGroupId>{id}</ReplicationGroupId><Status>{status}</Status>\
             <ClusterEnabled>{cluster_mode}</ClusterEnabled>\
             <MemberClusters><ClusterId>{id}-001</ClusterId><ClusterId>{id}-002</ClusterId></MemberClusters><NodeGroups><NodeGroup>\
             <NodeGroupMembers><NodeGroupMember><CacheClusterId>{id}-001</CacheClusterId><CurrentRole>replica</CurrentRole></NodeGroupMember>\
             <NodeGroupMember><CacheClusterId>{id}-002</CacheClusterId><CurrentRole>primary</CurrentRole></NodeGroupMember></NodeGroupMembers>\
             </NodeGroup></NodeGroups></ReplicationGroup>"
        )
    };
    let ours = status.map(|status| one("orders", status)).unwrap_or_default();
    let list = format!("<ReplicationGroups>{}{ours}</ReplicationGroups>", one("orders-2", "available"));
    let wants = ["Action=DescribeReplicationGroups&", "ReplicationGroupId=orders"];
    Script::new().query(&wants, "DescribeReplicationGroups", &list)
}

fn snapshot(name: &str, member: &str, status: &str) -> String {
    format!(
        "<Snapshot><SnapshotName>{name}</SnapshotName><CacheClusterId>{member}</CacheClusterId>\
         <SnapshotStatus>{status}</SnapshotStatus></Snapshot>"
    )
}

/// Finished ones may be of an earlier group of this name; others are of other groups, or have other names.
fn neighbours() -> String {
    [
        snapshot("orders-final-20240101-000000", "orders-002", "available"),
        snapshot("orders-final-20240101-000001", "orders-2-002", "creating"),
        snapshot("orders-nightly", "orders-002", "creating"),
    ]
    .concat()
}

fn listed(script: Script, ours: &str) -> Script {
    let list = format!("<Snapshots>{}{ours}</Snapshots>", neighbours());
    script.query(&["Action=DescribeSnapshots&", "CacheClusterId=orders-002", "SnapshotSource=user"], "DescribeSnapshots", &list)
}

fn by_name(name: &str, status: Option<&str>) -> Script {
    let ours = status.map(|status| snapshot(name, "orders-002", status)).unwrap_or_default();
    let list = format!("<Snapshots>{}{ours}</Snapshots>", neighbours());
    Script::new().query(&["Action=DescribeSnapshots&", &format!("SnapshotName={name}")], "DescribeSnapshots", &list)
}

/// Up to a snapshot that is being taken.
async fn taking() -> Bench {
    let mut bench = group(true);
    let script = listed(described(Some("available"), false), "").query(CREATE, "CreateSnapshot", "");
    assert_eq!(pending(bench.next(script).await), (5, format!("its final snapshot {NAME} is being taken")));
    bench
}

#[tokio::test]
async fn without_the_policy_cloud_control_deletes_it_at_once() {
    for made in [ProvisionedBy::Sdk, ProvisionedBy::CloudControl] {
        let mut bench = group(false);
        bench.resource.provisioned_by = made;
        pending(bench.next(Script::new().json(DELETE, 200, event("IN_PROGRESS"))).await);
        pending(bench.next(Script::new().json(STATUS, 200, event("IN_PROGRESS"))).await);
        assert_eq!(bench.next(Script::new().json(STATUS, 200, event("SUCCESS"))).await, Ok(Step::DELETED));
    }
    let gone = Script::new().json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(group(false).next(gone).await, Ok(Step::ALREADY_GONE));
}

/// Contract 5.4: create, wait until available, delete; the report names it.
#[tokio::test]
async fn the_snapshot_comes_first() {
    let mut bench = taking().await;
    for _ in 0..2 {
        bench.pass(5);
        pending(bench.next(by_name(NAME, Some("creating"))).await);
    }
    let script = by_name(NAME, Some("available")).json(DELETE, 200, event("IN_PROGRESS"));
    pending(bench.next(script).await);
    pending(bench.next(Script::new().json(STATUS, 200, event("IN_PROGRESS"))).await);
    let gone = bench.next(Script::new().json(STATUS, 200, event("SUCCESS"))).await;
    assert_eq!(gone, Ok(Step::gone_with(format!("final snapshot: {NAME}"))));
}

/// A group with cluster mode off is saved by its primary: AWS rejects the group's id. With cluster mode on it is the id.
#[tokio::test]
async fn the_snapshot_is_of_the_primary_unless_cluster_mode_is_on() {
    let script = listed(described(Some("available"), false), "").query(
        &[CREATE, &["CacheClusterId=orders-002"]].concat(),
        "CreateSnapshot",
        "",
    );
    group(true).step(&script).await.unwrap();
    assert!(!script.seen()[2].contains("ReplicationGroupId"), "{:?}", script.seen());
    script.assert_done();

    let script = described(Some("available"), true)
        .query(&["Action=DescribeSnapshots&", "ReplicationGroupId=orders"], "DescribeSnapshots", "<Snapshots></Snapshots>")
        .query(&[CREATE, &["ReplicationGroupId=orders"]].concat(), "CreateSnapshot", "");
    group(true).step(&script).await.unwrap();
    assert!(!script.seen()[2].contains("CacheClusterId"), "{:?}", script.seen());
    script.assert_done();
}

/// A step that was killed after the create, or an earlier run: one that is still being taken is waited for.
#[tokio::test]
async fn one_that_is_still_being_taken_is_used() {
    let mut bench = group(true);
    let name = "orders-final-20251206-054600";
    let script = listed(described(Some("snapshotting"), false), &snapshot(name, "orders-002", "creating"));
    assert!(pending(bench.next(script).await).1.contains(name));
    let script = by_name(name, Some("available")).json(DELETE, 200, event("SUCCESS"));
    assert_eq!(bench.next(script).await, Ok(Step::gone_with(format!("final snapshot: {name}"))));
}

#[tokio::test]
async fn what_cannot_be_listed_is_taken_anew() {
    let script = described(Some("available"), false).query_error(&["Action=DescribeSnapshots&"], "AccessDenied", "no").query(
        CREATE,
        "CreateSnapshot",
        "",
    );
    pending(group(true).next(script).await);
}

#[tokio::test]
async fn a_group_that_is_going_or_gone_needs_no_snapshot() {
    for status in [Some("deleting"), None] {
        let script = described(status, false).json_error(DELETE, "ResourceNotFoundException", "no");
        assert_eq!(group(true).next(script).await, Ok(Step::ALREADY_GONE));
    }
    let script = Script::new().query_error(&["DescribeReplicationGroups"], "ReplicationGroupNotFoundFault", "no");
    let script = script.json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(group(true).next(script).await, Ok(Step::ALREADY_GONE));
    let script = listed(described(Some("available"), false), "").query_error(CREATE, "ReplicationGroupNotFoundFault", "no");
    let script = script.json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(group(true).next(script).await, Ok(Step::ALREADY_GONE));
    let script = listed(described(Some("available"), false), "").query_error(CREATE, "InvalidReplicationGroupState", "deleting");
    let script = script
        .query(&["DescribeReplicationGroups"], "DescribeReplicationGroups", "<ReplicationGroups></ReplicationGroups>")
        .json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(group(true).next(script).await, Ok(Step::ALREADY_GONE));
}

/// The same state fault says that a group is being changed: it is neither saved nor deleted.
#[tokio::test]
async fn a_group_in_transition_is_not_deleted_without_its_snapshot() {
    for (code, wait, budget, looks_again) in [
        ("InvalidReplicationGroupState", 15, 1800, true),
        ("InvalidCacheClusterState", 15, 1800, false),
        ("SnapshotAlreadyExistsFault", 5, 60, false),
    ] {
        let busy = || {
            let script =
                listed(described(Some("modifying"), false), "").query_error(&["Action=CreateSnapshot&"], code, "modifying");
            if !looks_again {
                return script;
            }
            let again = "<ReplicationGroups><ReplicationGroup><ReplicationGroupId>orders</ReplicationGroupId>\
                         <Status>modifying</Status></ReplicationGroup></ReplicationGroups>";
            script.query(&["DescribeReplicationGroups"], "DescribeReplicationGroups", again)
        };
        let mut bench = group(true);
        assert_eq!(pending(bench.next(busy()).await).0, wait, "{code}");
        bench.pass(budget - 1);
        pending(bench.next(busy()).await);
        bench.pass(1);
        assert_eq!(bench.next(busy()).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{code}");
    }
}

/// Contract 5.9: whatever its words, a failed snapshot lets nothing go.
#[tokio::test]
async fn a_failed_snapshot_keeps_the_group() {
    for code in
        ["SnapshotQuotaExceededFault", "SnapshotFeatureNotSupportedFault", "CacheClusterNotFound", "ResourceNotFoundException"]
    {
        let script = listed(described(Some("available"), false), "").query_error(CREATE, code, "not found");
        assert_eq!(group(true).next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{code}");
    }
    for status in ["failed", "error", "cancelled", "deleted", "deleting"] {
        let mut bench = taking().await;
        let error = bench.next(by_name(NAME, Some(status))).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::FinalSnapshotFailed.name()), "{status}");
        assert!(error.message.contains(NAME));
    }
    let mut bench = taking().await;
    let script = Script::new().query_error(&["DescribeSnapshots"], "ReplicationGroupNotFoundFault", "an odd answer");
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    let memberless = "<ReplicationGroups><ReplicationGroup><ReplicationGroupId>orders</ReplicationGroupId></ReplicationGroup></ReplicationGroups>";
    let script = Script::new().query(&["DescribeReplicationGroups"], "DescribeReplicationGroups", memberless).query(
        &["DescribeSnapshots"],
        "DescribeSnapshots",
        "",
    );
    assert_eq!(group(true).next(script).await.map_err(|e| e.code), Err(Code::FinalSnapshotFailed.name()));
}

#[tokio::test]
async fn a_snapshot_that_is_not_found_is_never_gone() {
    let mut bench = taking().await;
    for n in 0..24 {
        bench.pass(5);
        let script = match n % 2 {
            0 => by_name(NAME, None),
            _ => Script::new().query_error(&["DescribeSnapshots"], "SnapshotNotFoundFault", "not found"),
        };
        pending(bench.next(script).await);
    }
    let mut found = group(true);
    found.memo.clone_from(&bench.memo);
    pending(found.next(by_name(NAME, Some("creating"))).await);
    pending(found.next(by_name(NAME, None)).await);
    bench.pass(5);
    assert_eq!(bench.next(by_name(NAME, None)).await.map_err(|e| e.code), Err(Code::FinalSnapshotFailed.name()));
}

#[tokio::test]
async fn a_snapshot_has_an_hour() {
    let mut bench = taking().await;
    bench.pass(3599);
    pending(bench.next(by_name(NAME, Some("creating"))).await);
    bench.pass(1);
    let error = bench.next(by_name(NAME, Some("creating"))).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::FinalSnapshotTimeout.name()));
}

/// The tail of the snapshot: "not available" passes, within half an hour, each try with a token of its own.
#[tokio::test]
async fn a_group_that_is_not_available_yet_is_deleted_later() {
    let mut bench = group(false);
    let busy = || Script::new().json(DELETE, 200, failed("Replication group orders is not available."));
    let script = busy();
    assert_eq!(pending(bench.step(&script).await).0, 15);
    bench.pass(1799);
    let again = busy();
    pending(bench.step(&again).await);
    assert_ne!(script.seen(), again.seen(), "another client token");
    bench.pass(1);
    let error = bench.next(busy()).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "InvalidRequest"));
    let refused = Script::new().json(DELETE, 200, failed("Model validation failed"));
    assert_eq!(group(false).next(refused).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn what_cloud_control_itself_says_holds_here_too() {
    for (code, wait) in [("ResourceConflictException", 5), ("ThrottlingException", 4)] {
        let mut bench = taking().await;
        let script = || by_name(NAME, Some("available")).json_error(DELETE, code, "x");
        assert_eq!(pending(bench.next(script()).await).0, wait, "{code}");
        // The snapshot is found again, and told of.
        let script = by_name(NAME, Some("available")).json_error(DELETE, "ResourceNotFoundException", "no");
        assert_eq!(bench.next(script).await, Ok(Step::gone_with(format!("final snapshot: {NAME}"))));
    }
    let denied = Script::new().json_error(DELETE, "AccessDeniedException", "not found");
    assert_eq!(group(false).next(denied).await.map_err(|e| e.class), Err(ErrorClass::Denied));
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_made_or_deleted() {
    let mut bench = group(true);
    bench.fence(false);
    let script = listed(described(Some("available"), false), "");
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    let mut bench = taking().await;
    bench.fence(false);
    assert_eq!(bench.next(by_name(NAME, Some("available"))).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}

/// What is remembered fits the 512 bytes of a memo, with the longest id and an error that goes on.
#[tokio::test]
async fn the_memo_stays_small() {
    let mut bench = Bench::new("AWS::ElastiCache::ReplicationGroup", &"o".repeat(40), json!({}));
    bench.resource.snapshot = true;
    let id = "o".repeat(40);
    let name = format!("{}-final-20251206-054640", "o".repeat(28));
    let group = format!(
        "<ReplicationGroups><ReplicationGroup><ReplicationGroupId>{id}</ReplicationGroupId>\
         <ClusterEnabled>true</ClusterEnabled></ReplicationGroup></ReplicationGroups>"
    );
    let script = Script::new()
        .query(&["DescribeReplicationGroups"], "DescribeReplicationGroups", &group)
        .query(&["DescribeSnapshots"], "DescribeSnapshots", "")
        .query(&["CreateSnapshot", &name], "CreateSnapshot", "");
    pending(bench.next(script).await);
    let list = format!("<Snapshots>{}</Snapshots>", snapshot(&name, "x", "available"));
    let token = json!({ "ProgressEvent": { "RequestToken": "0".repeat(36), "OperationStatus": "IN_PROGRESS" } });
    let script = Script::new().query(&["DescribeSnapshots"], "DescribeSnapshots", &list);
    pending(bench.next(script.json(&["DeleteResource "], 200, token)).await);
    let script = Script::new().json_error(&["GetResourceRequestStatus"], "HandlerInternalFailureException", "x");
    pending(bench.next(script).await);
    let memo = bench.memo.unwrap().to_string();
    assert!(memo.len() <= ebb_core::StepResult::MAX_MEMO_BYTES, "{}: {memo}", memo.len());
}
