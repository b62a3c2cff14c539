//! Replays of EFS. Neighbours stand in every listing.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, pending};

fn file_system() -> Bench {
    Bench::new("AWS::EFS::FileSystem", "fs-1", json!({}))
}

fn mount_target() -> Bench {
    Bench::new("AWS::EFS::MountTarget", "fsmt-1", json!({}))
}

const DELETE_FS: &[&str] = &["DELETE", "/2015-02-01/file-systems/fs-1"];
const DELETE_TARGET: &[&str] = &["DELETE", "/2015-02-01/mount-targets/fsmt-1"];
const TARGETS_OF_FS: &[&str] = &["GET", "/mount-targets", "FileSystemId=fs-1"];
const REPLICATIONS: &[&str] = &["GET", "/replication-configurations", "FileSystemId=fs-1"];
const END_REPLICATION: &[&str] = &["DELETE", "/file-systems/fs-1/replication-configuration"];

fn target(id: &str, file_system: &str, state: &str) -> Value {
    json!({ "MountTargetId": id, "FileSystemId": file_system, "SubnetId": "subnet-1", "LifeCycleState": state })
}

fn replication(source: &str, destination: &str, status: &str) -> Value {
    json!({ "Replications": [{
        "SourceFileSystemId": source, "SourceFileSystemRegion": "us-east-1", "SourceFileSystemArn": "a",
        "OriginalSourceFileSystemArn": "a", "CreationTime": 1,
        "Destinations": [{ "Status": status, "FileSystemId": destination, "Region": "us-east-1" }]
    }] })
}

#[tokio::test]
async fn an_access_point_goes_at_once() {
    let delete = &["DELETE", "/2015-02-01/access-points/fsap-1"];
    for id in ["fsap-1", "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-1"] {
        let mut bench = Bench::new("AWS::EFS::AccessPoint", id, json!({}));
        assert_eq!(bench.next(Script::new().json(delete, 204, json!({}))).await, Ok(Step::DELETED));
        let script = Script::new().json_error(delete, "AccessPointNotFound", "no");
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
        bench.fence(false);
        assert_eq!(bench.next(Script::new()).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    }
}

/// An accepted delete counts as gone.
#[tokio::test]
async fn a_file_system_goes_at_once() {
    for id in ["fs-1", "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-1"] {
        let mut bench = Bench::new("AWS::EFS::FileSystem", id, json!({}));
        assert_eq!(bench.next(Script::new().json(DELETE_FS, 204, json!({}))).await, Ok(Step::DELETED));
        let script = Script::new().json_error(DELETE_FS, "FileSystemNotFound", "no");
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
    }
}

/// Refused while any mount target exists; the deletes of mount targets take a minute.
#[tokio::test]
async fn a_file_system_waits_for_its_mount_targets() {
    let held = || {
        let targets =
            [target("fsmt-1", "fs-1", "deleting"), target("fsmt-9", "fs-9", "available"), target("fsmt-2", "fs-1", "deleted")];
        Script::new().json_error(DELETE_FS, "FileSystemInUse", "has mount targets").json(
            TARGETS_OF_FS,
            200,
            json!({ "MountTargets": targets }),
        )
    };
    let mut bench = file_system();
    assert_eq!(pending(bench.next(held()).await), (10, "FileSystemInUse: held by fsmt-1 (mount target)".to_owned()));
    bench.pass(599);
    pending(bench.next(held()).await);
    bench.pass(1);
    let error = bench.next(held()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
    assert!(error.message.ends_with("held by fsmt-1 (mount target))"), "{}", error.message);
    let unknown =
        Script::new().json_error(DELETE_FS, "FileSystemInUse", "in use").json_error(TARGETS_OF_FS, "AccessDeniedException", "no");
    assert!(pending(file_system().next(unknown).await).1.contains("mount targets could not be listed"));
}

/// Its own replication ends first; the copy stays.
#[tokio::test]
async fn a_replication_of_its_own_is_ended() {
    for (code, message) in [("FileSystemInUse", "in use"), ("BadRequest", "the file system is in a replication configuration")] {
        let refused =
            || Script::new().json_error(DELETE_FS, code, message).json(TARGETS_OF_FS, 200, json!({ "MountTargets": [] }));
        let mut bench = file_system();
        let script = refused().json(REPLICATIONS, 200, replication("fs-1", "fs-copy", "ENABLED"));
        assert_eq!(pending(bench.next(script.json(END_REPLICATION, 204, json!({}))).await).0, 10);
        let script = refused().json(REPLICATIONS, 200, replication("fs-1", "fs-copy", "DELETING"));
        assert_eq!(pending(bench.next(script).await).0, 10);
        assert_eq!(bench.next(Script::new().json(DELETE_FS, 204, json!({}))).await, Ok(Step::DELETED));

        let script = refused().json(REPLICATIONS, 200, replication("fs-1", "fs-copy", "ENABLED"));
        let script = script.json_error(END_REPLICATION, "ReplicationNotFound", "no");
        pending(file_system().next(script).await);
    }
}

#[tokio::test]
async fn a_replication_of_another_file_system_is_named_and_left_alone() {
    let refused = |code, answer: Value| {
        Script::new()
            .json_error(DELETE_FS, code, "it is part of a replication")
            .json(TARGETS_OF_FS, 200, json!({ "MountTargets": [] }))
            .json(REPLICATIONS, 200, answer)
    };
    let script = refused("FileSystemInUse", replication("fs-main", "fs-1", "ENABLED"));
    assert_eq!(pending(file_system().next(script).await).1, "FileSystemInUse: held by fs-main (replicates to it)");
    let script = refused("BadRequest", replication("fs-main", "fs-1", "ENABLED"));
    assert_eq!(file_system().next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    let script = refused("BadRequest", replication("fs-8", "fs-9", "ENABLED"));
    assert_eq!(file_system().next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    let mut bench = file_system();
    bench.fence(false);
    assert_eq!(bench.next(Script::new()).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}

#[tokio::test]
async fn a_file_system_that_is_going_is_gone() {
    let refused = |state: &str| {
        let one = |id: &str, state: &str| {
            json!({ "OwnerId": "1", "CreationToken": "t", "FileSystemId": id, "CreationTime": 1, "LifeCycleState": state,
                    "NumberOfMountTargets": 0, "SizeInBytes": { "Value": 0 }, "PerformanceMode": "generalPurpose", "Tags": [] })
        };
        let all = json!({ "FileSystems": [one("fs-9", "deleting"), one("fs-1", state)] });
        Script::new().json_error(DELETE_FS, "IncorrectFileSystemLifeCycleState", "x").json(
            &["GET", "/file-systems", "FileSystemId=fs-1"],
            200,
            all,
        )
    };
    for state in ["deleting", "deleted"] {
        assert_eq!(file_system().next(refused(state)).await, Ok(Step::DELETED));
    }
    let mut bench = file_system();
    assert_eq!(pending(bench.next(refused("creating")).await).0, 10);
    bench.pass(300);
    assert_eq!(bench.next(refused("creating")).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

fn targets(state: Option<&str>) -> Script {
    let all: Vec<Value> =
        [target("fsmt-9", "fs-1", "available")].into_iter().chain(state.map(|s| target("fsmt-1", "fs-1", s))).collect();
    Script::new().json(&["GET", "/mount-targets", "MountTargetId=fsmt-1"], 200, json!({ "MountTargets": all }))
}

/// Each holds an interface in a subnet until it is really gone.
#[tokio::test]
async fn a_mount_target_is_gone_when_it_is_not_there() {
    let mut bench = mount_target();
    assert_eq!(pending(bench.next(targets(Some("available")).json(DELETE_TARGET, 204, json!({}))).await).0, 5);
    pending(bench.next(targets(Some("deleting"))).await);
    assert_eq!(bench.next(targets(None)).await, Ok(Step::DELETED));
    for code in ["MountTargetNotFound", "FileSystemNotFound"] {
        let script = Script::new().json_error(&["GET", "/mount-targets"], code, "no");
        assert_eq!(mount_target().next(script).await, Ok(Step::ALREADY_GONE));
        let script = targets(Some("available")).json_error(DELETE_TARGET, code, "no");
        assert_eq!(mount_target().next(script).await, Ok(Step::ALREADY_GONE));
    }
    assert_eq!(mount_target().next(targets(Some("deleted"))).await, Ok(Step::ALREADY_GONE));
}

/// cdkd waits two minutes; the report says so.
#[tokio::test]
async fn a_mount_target_that_goes_on_going_is_counted_as_gone() {
    let mut bench = mount_target();
    pending(bench.next(targets(Some("deleting"))).await);
    bench.pass(119);
    pending(bench.next(targets(Some("deleting"))).await);
    bench.pass(1);
    let gone = bench.next(targets(Some("deleting"))).await;
    assert!(matches!(&gone, Ok(Step::GoneWith { note }) if note.contains("still deleting")), "{gone:?}");
}

#[tokio::test]
async fn passing_errors_pass_within_their_budgets() {
    let refuse_fs = |code: &'static str| Script::new().json_error(DELETE_FS, code, "x");
    let refuse_target = |code: &'static str| targets(Some("available")).json_error(DELETE_TARGET, code, "x");
    let refuse_point = |code: &'static str| Script::new().json_error(&["DELETE", "/access-points/fsap-1"], code, "x");
    let point = || Bench::new("AWS::EFS::AccessPoint", "fsap-1", json!({}));
    type Refuse<'a> = &'a dyn Fn(&'static str) -> Script;
    let rows: [(Bench, Refuse<'_>, &str, u64, u64); 5] = [
        (file_system(), &refuse_fs, "InternalServerError", 5, 60),
        (mount_target(), &refuse_target, "DependencyTimeout", 10, 300),
        (mount_target(), &refuse_target, "InternalServerError", 5, 60),
        (mount_target(), &refuse_target, "IncorrectMountTargetState", 10, 300),
        (point(), &refuse_point, "InternalServerError", 5, 60),
    ];
    for (mut bench, refuse, code, wait, budget) in rows {
        assert_eq!(pending(bench.next(refuse(code)).await).0, wait, "{code}");
        bench.pass(budget - 1);
        pending(bench.next(refuse(code)).await);
        bench.pass(1);
        assert_eq!(bench.next(refuse(code)).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{code}");
    }
    for (mut bench, refuse) in
        [(file_system(), &refuse_fs as Refuse<'_>), (mount_target(), &refuse_target), (point(), &refuse_point)]
    {
        for (code, class) in [("BadRequest", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
            assert_eq!(bench.next(refuse(code)).await.map_err(|e| e.class), Err(class));
        }
    }
}

#[tokio::test]
async fn ids_that_cannot_be_read_and_other_regions_make_no_call() {
    for (name, kind, other) in
        [("AWS::EFS::FileSystem", "file-system", "access-point"), ("AWS::EFS::AccessPoint", "access-point", "file-system")]
    {
        for resource in [format!("{other}/x-1"), format!("{kind}/"), kind.to_owned()] {
            let id = format!("arn:aws:elasticfilesystem:us-east-1:1:{resource}");
            let answer = Bench::new(name, &id, json!({})).next(Script::new()).await;
            assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{id}");
        }
        let id = format!("arn:aws:elasticfilesystem:eu-west-1:1:{kind}/x-1");
        let answer = Bench::new(name, &id, json!({})).next(Script::new()).await;
        assert_eq!(answer.map_err(|e| e.code), Err(Code::WrongRegion.name()));
    }
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_deleted() {
    let mut bench = mount_target();
    bench.fence(false);
    assert_eq!(bench.next(targets(Some("available"))).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    // It shuts between the refused delete and the end of the replication.
    let mut bench = file_system();
    bench.shut_after(0);
    let script = Script::new()
        .json_error(DELETE_FS, "FileSystemInUse", "in use")
        .json(TARGETS_OF_FS, 200, json!({ "MountTargets": [] }))
        .json(REPLICATIONS, 200, replication("fs-1", "fs-copy", "ENABLED"));
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
