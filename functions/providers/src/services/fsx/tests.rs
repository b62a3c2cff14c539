//! Replays of FSx. A neighbour stands in every listing.

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, pending};

fn bench() -> Bench {
    Bench::new("AWS::FSx::FileSystem", "fs-1", json!({}))
}

const DELETE: &[&str] = &["DeleteFileSystem", "\"FileSystemId\":\"fs-1\"", "\"ClientRequestToken\""];

fn look(kind: &str, lifecycle: Option<&str>) -> Script {
    let one = |id: &str, lifecycle: &str| json!({ "FileSystemId": id, "FileSystemType": kind, "Lifecycle": lifecycle });
    let all: Vec<Value> = [one("fs-9", "AVAILABLE")].into_iter().chain(lifecycle.map(|l| one("fs-1", l))).collect();
    Script::new().json(&["DescribeFileSystems", "\"FileSystemIds\":[\"fs-1\"]"], 200, json!({ "FileSystems": all }))
}

#[tokio::test]
async fn a_file_system_is_deleted_and_watched_until_it_is_not_there() {
    let mut bench = bench();
    let script = look("LUSTRE", Some("AVAILABLE")).json(DELETE, 200, json!({ "FileSystemId": "fs-1", "Lifecycle": "DELETING" }));
    assert_eq!(pending(bench.next(script).await).0, 30);
    for _ in 0..2 {
        bench.pass(600);
        assert_eq!(pending(bench.next(look("LUSTRE", Some("DELETING"))).await).0, 30);
    }
    assert_eq!(bench.next(look("LUSTRE", None)).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    assert_eq!(bench().next(look("WINDOWS", None)).await, Ok(Step::ALREADY_GONE));
    let script = Script::new().json_error(&["DescribeFileSystems"], "FileSystemNotFound", "no");
    assert_eq!(bench().next(script).await, Ok(Step::ALREADY_GONE));
    let script = look("WINDOWS", Some("AVAILABLE")).json_error(DELETE, "FileSystemNotFound", "no");
    assert_eq!(bench().next(script).await, Ok(Step::ALREADY_GONE));
}

/// Windows and OpenZFS take a final backup by themselves: the report names it.
#[tokio::test]
async fn the_final_backup_is_told_of() {
    for (kind, field) in [("WINDOWS", "WindowsResponse"), ("OPENZFS", "OpenZFSResponse")] {
        let mut bench = bench();
        let answer = json!({ "FileSystemId": "fs-1", field: { "FinalBackupId": "backup-1" } });
        let script = look(kind, Some("AVAILABLE")).json(DELETE, 200, answer);
        assert!(pending(bench.step(&script).await).1.contains("backup-1"));
        assert!(!script.seen()[1].contains("SkipFinalBackup"), "{:?}", script.seen());
        pending(bench.next(look(kind, Some("DELETING"))).await);
        assert_eq!(bench.next(look(kind, None)).await, Ok(Step::gone_with("final backup: backup-1")));
    }
}

#[tokio::test]
async fn the_final_backup_is_skipped_with_consent_alone() {
    for (kind, field) in [("WINDOWS", "WindowsConfiguration"), ("OPENZFS", "OpenZFSConfiguration")] {
        let mut bench = bench();
        bench.run.options.skip_final_snapshot = true;
        let skip = format!("\"{field}\":{{\"SkipFinalBackup\":true}}");
        let script = look(kind, Some("AVAILABLE")).json(&[DELETE, &[&skip]].concat(), 200, json!({ "FileSystemId": "fs-1" }));
        pending(bench.next(script).await);
        assert_eq!(bench.next(look(kind, None)).await, Ok(Step::DELETED));
    }
    for kind in ["LUSTRE", "ONTAP"] {
        let mut bench = bench();
        bench.run.options.skip_final_snapshot = true;
        let script = look(kind, Some("AVAILABLE")).json(DELETE, 200, json!({ "FileSystemId": "fs-1" }));
        pending(bench.step(&script).await);
        assert!(!script.seen()[1].contains("Configuration"), "{:?}", script.seen());
    }
}

/// It is half deleted and goes on costing.
#[tokio::test]
async fn a_delete_that_failed_is_a_failure() {
    let mut bench = bench();
    let delete = |script: Script| script.json(DELETE, 200, json!({ "FileSystemId": "fs-1" }));
    // One that never worked may go.
    pending(bench.next(delete(look("WINDOWS", Some("FAILED")))).await);
    let error = bench.next(look("WINDOWS", Some("FAILED"))).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
}

/// The same question again, also after a lost answer.
#[tokio::test]
async fn a_repeated_delete_has_the_same_token() {
    let token = |script: &Script| {
        let seen = script.seen().pop().unwrap();
        let body: Value = serde_json::from_str(&seen[seen.find('{').unwrap()..]).unwrap();
        body["ClientRequestToken"].as_str().unwrap().to_owned()
    };
    let (first, second) = (
        look("LUSTRE", Some("AVAILABLE")).json(DELETE, 200, json!({})),
        look("LUSTRE", Some("AVAILABLE")).json(DELETE, 200, json!({})),
    );
    bench().step(&first).await.unwrap();
    bench().step(&second).await.unwrap();
    assert_eq!(token(&first), token(&second));
}

#[tokio::test]
async fn passing_errors_pass_within_their_budgets() {
    for (code, message, wait, budget) in [
        ("BadRequest", "has one or more storage virtual machines", 30, 1800),
        ("BadRequest", "it has child volumes", 30, 1800),
        ("InternalServerError", "x", 10, 120),
    ] {
        let refuse = || look("ONTAP", Some("AVAILABLE")).json_error(DELETE, code, message);
        let mut bench = bench();
        assert_eq!(pending(bench.next(refuse()).await).0, wait, "{message}");
        bench.pass(budget - 1);
        pending(bench.next(refuse()).await);
        bench.pass(1);
        assert_eq!(bench.next(refuse()).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{message}");
    }
    for (code, class) in [
        ("ServiceLimitExceeded", ErrorClass::Terminal),
        ("IncompatibleParameterError", ErrorClass::Terminal),
        ("BadRequest", ErrorClass::Terminal),
        ("AccessDeniedException", ErrorClass::Denied),
    ] {
        let script = look("WINDOWS", Some("AVAILABLE")).json_error(DELETE, code, "not found");
        assert_eq!(bench().next(script).await.map_err(|e| e.class), Err(class), "{code}");
    }
}

/// Cloud Control cannot delete the type, whoever made it.
#[tokio::test]
async fn a_row_of_cloud_control_goes_the_same_way() {
    let mut bench = bench();
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    pending(bench.next(look("LUSTRE", Some("DELETING"))).await);
    bench.resource.snapshot = true;
    assert_eq!(bench.next(Script::new()).await.map_err(|e| e.code), Err(Code::FinalSnapshotUnsupported.name()));
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_deleted() {
    let mut bench = bench();
    bench.fence(false);
    assert_eq!(bench.next(look("LUSTRE", Some("AVAILABLE"))).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
