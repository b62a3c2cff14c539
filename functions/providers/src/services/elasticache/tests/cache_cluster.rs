use ebb_core::{Code, ErrorClass, Step};
use serde_json::json;

use crate::testing::{Bench, Script, pending};

const NAME: &str = "orders-final-20251206-054640";
const DELETE: &[&str] = &["Action=DeleteCacheCluster&", "CacheClusterId=orders"];

fn cluster() -> Bench {
    Bench::new("AWS::ElastiCache::CacheCluster", "orders", json!({}))
}

fn saving() -> Bench {
    let mut bench = cluster();
    bench.resource.snapshot = true;
    bench
}

fn look(status: Option<&str>, more: &str) -> Script {
    let one = |id: &str, status: &str, more: &str| {
        format!(
            "<CacheCluster><CacheClusterId>{id}</CacheClusterId><CacheClusterStatus>{status}</CacheClusterStatus>{more}</CacheCluster>"
        )
    };
    let ours = status.map(|status| one("orders", status, more)).unwrap_or_default();
    let list = format!("<CacheClusters>{}{ours}</CacheClusters>", one("orders-2", "available", ""));
    Script::new().query(&["Action=DescribeCacheClusters&", "CacheClusterId=orders"], "DescribeCacheClusters", &list)
}

fn delete(script: Script, more: &[&str]) -> Script {
    script.query(&[DELETE, more].concat(), "DeleteCacheCluster", "")
}

#[tokio::test]
async fn a_cluster_is_deleted_and_watched_until_it_is_not_there() {
    for id in ["orders", "arn:aws:elasticache:us-east-1:123456789012:cluster:orders"] {
        let mut bench = Bench::new("AWS::ElastiCache::CacheCluster", id, json!({}));
        let script = delete(look(Some("available"), ""), &[]);
        assert_eq!(pending(bench.step(&script).await).0, 30);
        assert!(!script.seen()[1].contains("FinalSnapshotIdentifier"), "{:?}", script.seen());
        pending(bench.next(look(Some("deleting"), "")).await);
        assert_eq!(bench.next(look(None, "")).await, Ok(Step::DELETED));
    }
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    assert_eq!(cluster().next(look(None, "")).await, Ok(Step::ALREADY_GONE));
    for code in ["CacheClusterNotFound", "CacheClusterNotFoundFault"] {
        let script = Script::new().query_error(&["DescribeCacheClusters"], code, "no");
        assert_eq!(cluster().next(script).await, Ok(Step::ALREADY_GONE));
        let script = look(Some("available"), "").query_error(DELETE, code, "no");
        assert_eq!(cluster().next(script).await, Ok(Step::ALREADY_GONE));
    }
}

/// A delete of one that is going would be answered with a state fault.
#[tokio::test]
async fn one_that_is_going_already_is_only_watched() {
    let mut bench = saving();
    pending(bench.next(look(Some("deleting"), "")).await);
    assert_eq!(bench.next(look(None, "")).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn a_cluster_in_transition_has_half_an_hour() {
    let busy = || look(Some("modifying"), "").query_error(DELETE, "InvalidCacheClusterState", "modifying");
    let mut bench = cluster();
    assert_eq!(pending(bench.next(busy()).await).0, 15);
    bench.pass(1799);
    pending(bench.next(busy()).await);
    bench.pass(1);
    assert_eq!(bench.next(busy()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

/// Members of a replication group are deleted through the group.
#[tokio::test]
async fn a_member_of_a_replication_group_is_not_deleted_one_by_one() {
    let script = look(Some("available"), "<ReplicationGroupId>shop</ReplicationGroupId>");
    let error = cluster().next(script).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
    assert!(error.message.contains("replication group shop"), "{}", error.message);
}

#[tokio::test]
async fn the_delete_takes_a_final_snapshot_and_the_report_names_it() {
    let mut bench = saving();
    assert_eq!(pending(bench.next(look(Some("available"), "")).await).0, 0);
    for _ in 0..2 {
        bench.pass(15);
        let script = look(Some("snapshotting"), "");
        let named = format!("FinalSnapshotIdentifier={NAME}");
        let wants = [DELETE, &[&named]].concat();
        pending(bench.next(script.query_error(&wants, "InvalidCacheClusterState", "snapshotting")).await);
    }
    let script = delete(look(Some("available"), ""), &[&format!("FinalSnapshotIdentifier={NAME}")]);
    assert!(pending(bench.next(script).await).1.ends_with(NAME));
    pending(bench.next(look(Some("deleting"), "")).await);
    assert_eq!(bench.next(look(None, "")).await, Ok(Step::gone_with(format!("final snapshot: {NAME}"))));
}

/// Somebody else's delete was first.
#[tokio::test]
async fn a_snapshot_that_nobody_saw_taken_is_not_promised() {
    let mut bench = saving();
    pending(bench.next(look(Some("available"), "")).await);
    let script = look(Some("available"), "").query_error(DELETE, "CacheClusterNotFound", "no");
    let gone = bench.next(script).await;
    assert!(matches!(&gone, Ok(Step::GoneWith { note }) if note.contains("look whether") && note.contains(NAME)), "{gone:?}");
}

/// Memcached has no snapshots; a full quota: the cluster stays.
#[tokio::test]
async fn a_failed_snapshot_keeps_the_cluster() {
    let mut bench = saving();
    pending(bench.next(look(Some("available"), "")).await);
    for code in [
        "SnapshotFeatureNotSupportedFault",
        "SnapshotQuotaExceededFault",
        "InvalidParameterCombination",
        "InvalidParameterValue",
        "SnapshotNotFoundFault",
    ] {
        let script = look(Some("available"), "").query_error(DELETE, code, "not found");
        let error = bench.next(script).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, code));
    }
    let script = look(Some("modifying"), "").query_error(DELETE, "SnapshotAlreadyExistsFault", "exists");
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "it may be the delete's own");
}

/// Whoever took it: nothing says that the cluster's last state is in it.
#[tokio::test]
async fn a_taken_name_of_a_cluster_that_stays_available_is_replaced() {
    let mut bench = saving();
    pending(bench.next(look(Some("available"), "")).await);
    bench.pass(60);
    let script = look(Some("available"), "").query_error(DELETE, "SnapshotAlreadyExistsFault", "exists");
    let (_, note) = pending(bench.next(script).await);
    assert!(note.ends_with("orders-final-20251206-054740"), "{note}");
    let script = delete(look(Some("available"), ""), &["FinalSnapshotIdentifier=orders-final-20251206-054740"]);
    pending(bench.next(script).await);
}

/// An accepted delete took it and failed afterwards.
#[tokio::test]
async fn the_snapshot_of_a_delete_that_failed_is_not_the_last() {
    let mut bench = saving();
    pending(bench.next(look(Some("available"), "")).await);
    pending(bench.next(delete(look(Some("available"), ""), &[])).await);
    bench.pass(60);
    let script = look(Some("available"), "").query_error(DELETE, "SnapshotAlreadyExistsFault", "exists");
    assert!(pending(bench.next(script).await).1.ends_with("orders-final-20251206-054740"));
}

#[tokio::test]
async fn malformed_ids_other_regions_and_a_shut_fence() {
    for id in ["arn:aws:elasticache:us-east-1:1:cluster:", "arn:aws:elasticache:us-east-1:1:replicationgroup:x"] {
        let answer = Bench::new("AWS::ElastiCache::CacheCluster", id, json!({})).next(Script::new()).await;
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{id}");
    }
    let mut bench = Bench::new("AWS::ElastiCache::CacheCluster", "arn:aws:elasticache:eu-west-1:1:cluster:orders", json!({}));
    assert_eq!(bench.next(Script::new()).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
    let mut bench = cluster();
    bench.fence(false);
    assert_eq!(bench.next(look(Some("available"), "")).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
