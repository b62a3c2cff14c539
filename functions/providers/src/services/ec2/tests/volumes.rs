//! Volumes and their final snapshots. How a volume goes is in `slow.rs`.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::json;

use super::{done, list, next, pending, seconds};
use crate::testing::{Bench, Script};

fn bench(snapshot: bool) -> Bench {
    let mut bench = Bench::new("AWS::EC2::Volume", "vol-1", json!({}));
    bench.resource.snapshot = snapshot;
    bench
}

fn volumes(state: Option<&str>, more: &str) -> String {
    let one = |id: &str, state: &str, more: &str| format!("<volumeId>{id}</volumeId><status>{state}</status>{more}");
    let neighbour = one("vol-9", "available", "");
    let all: Vec<String> = std::iter::once(neighbour).chain(state.map(|s| one("vol-1", s, more))).collect();
    list("DescribeVolumes", "volumeSet", &all)
}

const ATTACHED: &str = "<attachmentSet><item><instanceId>i-1</instanceId><status>attached</status></item></attachmentSet>";

/// Our final snapshot, or one that only looks like it.
fn snapshot(id: &str, volume: &str, state: &str, tag: (&str, &str)) -> String {
    let (key, value) = tag;
    format!(
        "<snapshotId>{id}</snapshotId><volumeId>{volume}</volumeId><status>{state}</status>\
         <tagSet><item><key>{key}</key><value>{value}</value></item></tagSet>"
    )
}

const TAG: (&str, &str) = ("cdkd:final-snapshot-of", "vol-1");

/// Snapshots of other volumes, with other tags, in states that save nothing.
fn neighbours() -> Vec<String> {
    vec![
        snapshot("snap-2", "vol-2", "completed", ("cdkd:final-snapshot-of", "vol-2")),
        snapshot("snap-3", "vol-1", "completed", ("Name", "vol-1")),
        snapshot("snap-4", "vol-2", "completed", TAG),
        snapshot("snap-5", "vol-1", "error", TAG),
    ]
}

fn snapshots(ours: &[String]) -> String {
    list("DescribeSnapshots", "snapshotSet", &[neighbours(), ours.to_vec()].concat())
}

fn here(script: Script) -> Script {
    script.on(&["DescribeVolumes", "VolumeId.1=vol-1"], 200, volumes(Some("available"), ""))
}

fn search(script: Script, ours: &[String]) -> Script {
    let wants = ["DescribeSnapshots", "Owner.1=self", "Name=tag%3Acdkd%3Afinal-snapshot-of", "Value.1=vol-1"];
    script.on(&wants, 200, snapshots(ours))
}

fn create(script: Script, state: &str) -> Script {
    let wants = [
        "CreateSnapshot",
        "VolumeId=vol-1",
        "TagSpecification.1.ResourceType=snapshot",
        "Tag.1.Key=cdkd%3Afinal-snapshot-of",
        "Tag.1.Value=vol-1",
    ];
    let body = format!(
        "<CreateSnapshotResponse><snapshotId>snap-1</snapshotId><volumeId>vol-1</volumeId><status>{state}</status></CreateSnapshotResponse>"
    );
    script.on(&wants, 200, body)
}

fn by_id(script: Script, state: Option<&str>) -> Script {
    let ours: Vec<String> = state.map(|s| snapshot("snap-1", "vol-1", s, TAG)).into_iter().collect();
    script.on(&["DescribeSnapshots", "SnapshotId.1=snap-1"], 200, snapshots(&ours))
}

/// The delete of a volume that goes at once.
fn delete(script: Script) -> Script {
    script.on(&["DeleteVolume", "VolumeId=vol-1"], 200, done("DeleteVolume")).on(&["DescribeVolumes"], 200, volumes(None, ""))
}

/// Contract 5.4: search, create, wait until complete, delete.
#[test]
fn the_snapshot_comes_first() {
    let mut bench = bench(true);
    let script = create(search(here(Script::new()), &[]), "pending");
    assert_eq!(pending(next(&mut bench, script)).0, seconds(5));
    for _ in 0..2 {
        bench.pass(5);
        pending(next(&mut bench, by_id(here(Script::new()), Some("pending"))));
    }
    let script = delete(by_id(here(Script::new()), Some("completed")));
    assert_eq!(next(&mut bench, script), Ok(Step::gone_with("final snapshot: snap-1")));
}

/// The report says where the data is, however long the volume takes to go.
#[test]
fn the_snapshot_is_told_of_when_the_volume_is_gone() {
    let mut bench = bench(true);
    let completed = snapshot("snap-1", "vol-1", "completed", TAG);
    let script = search(here(Script::new()), &[completed]).on(&["DeleteVolume"], 200, done("DeleteVolume"));
    pending(next(&mut bench, script.on(&["DescribeVolumes"], 200, volumes(Some("deleting"), ""))));
    let gone = next(&mut bench, Script::new().on(&["DescribeVolumes"], 200, volumes(None, "")));
    assert_eq!(gone, Ok(Step::gone_with("final snapshot: snap-1")));
}

#[test]
fn without_the_policy_there_is_none() {
    assert_eq!(next(&mut bench(false), delete(Script::new())), Ok(Step::DELETED));
}

/// A step that was killed after the create, or an earlier run: the tag finds it.
#[test]
fn an_earlier_snapshot_is_used() {
    let completed = snapshot("snap-1", "vol-1", "completed", TAG);
    let under_way = snapshot("snap-0", "vol-1", "pending", TAG);
    for ours in [vec![completed.clone()], vec![under_way.clone(), completed.clone()], vec![completed, under_way.clone()]] {
        let answer = next(&mut bench(true), delete(search(here(Script::new()), &ours)));
        assert_eq!(answer, Ok(Step::gone_with("final snapshot: snap-1")));
    }
    let mut bench = bench(true);
    pending(next(&mut bench, search(here(Script::new()), &[under_way])));
    assert_eq!(bench.memo.as_ref().unwrap()["step"]["snapshot"], "snap-0");
}

/// More can be written to an attached volume: it is neither saved nor deleted yet.
#[test]
fn an_attached_volume_waits() {
    let run = |bench: &mut Bench| next(bench, Script::new().on(&["DescribeVolumes"], 200, volumes(Some("in-use"), ATTACHED)));
    let mut saved = bench(true);
    let (look_again, note) = pending(run(&mut saved));
    assert_eq!((look_again, note.as_str()), (seconds(10), "VolumeInUse: held by i-1 (attached)"));
    saved.pass(600);
    assert_eq!(run(&mut saved).map_err(|e| e.class), Err(ErrorClass::Terminal));

    let script = Script::new().ec2_error(&["DeleteVolume"], "VolumeInUse", "attached").on(
        &["DescribeVolumes"],
        200,
        volumes(Some("in-use"), ATTACHED),
    );
    assert_eq!(pending(next(&mut bench(false), script)).1, "VolumeInUse: held by i-1 (attached)");
}

/// A snapshot that did not work never lets the volume go.
#[test]
fn a_failed_snapshot_keeps_the_volume() {
    for state in ["error", "recoverable"] {
        let mut bench = bench(true);
        pending(next(&mut bench, create(search(here(Script::new()), &[]), "pending")));
        let error = next(&mut bench, by_id(here(Script::new()), Some(state))).unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::FinalSnapshotFailed.name()), "{state}");
    }
    for (code, class) in [("UnauthorizedOperation", ErrorClass::Denied), ("SnapshotLimitExceeded", ErrorClass::Terminal)] {
        let script = search(here(Script::new()), &[]).ec2_error(&["CreateSnapshot"], code, "m");
        assert_eq!(next(&mut bench(true), script).map_err(|e| e.class), Err(class));
    }
    for (code, wait) in
        [("SnapshotCreationPerVolumeRateExceeded", 15), ("ConcurrentSnapshotLimitExceeded", 30), ("IncorrectState", 5)]
    {
        let script = search(here(Script::new()), &[]).ec2_error(&["CreateSnapshot"], code, "m");
        assert_eq!(pending(next(&mut bench(true), script)).0, seconds(wait), "{code}");
    }
}

/// Contract 5.9: a not-found of the snapshot is no not-found of the volume.
#[test]
fn a_snapshot_that_is_not_found_is_never_gone() {
    let mut bench = bench(true);
    pending(next(&mut bench, create(search(here(Script::new()), &[]), "pending")));
    for _ in 0..24 {
        bench.pass(5);
        let script = here(Script::new()).ec2_error(&["DescribeSnapshots"], "InvalidSnapshot.NotFound", "not found");
        pending(next(&mut bench, script));
    }
    // However often it was looked for, it is given two minutes to appear.
    pending(next(&mut bench, by_id(here(Script::new()), None)));
    bench.pass(5);
    let error = next(&mut bench, by_id(here(Script::new()), None)).unwrap_err();
    assert_eq!(error.code, Code::FinalSnapshotFailed.name());

    let script = here(Script::new()).ec2_error(&["DescribeSnapshots"], "InvalidVolume.NotFound", "an odd answer");
    let mut bench = self::bench(true);
    assert_eq!(next(&mut bench, script).map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[test]
fn a_snapshot_has_an_hour() {
    let mut bench = bench(true);
    pending(next(&mut bench, create(search(here(Script::new()), &[]), "pending")));
    bench.pass(3599);
    pending(next(&mut bench, by_id(here(Script::new()), Some("pending"))));
    bench.pass(1);
    let error = next(&mut bench, by_id(here(Script::new()), Some("pending"))).unwrap_err();
    assert_eq!(error.code, Code::FinalSnapshotTimeout.name());
}

/// There is nothing left to save.
#[test]
fn a_volume_that_is_gone_needs_no_snapshot() {
    let gone = |script: Script| {
        script.ec2_error(&["DeleteVolume"], "InvalidVolume.NotFound", "m").on(&["DescribeVolumes"], 200, volumes(None, ""))
    };
    let script = gone(Script::new().on(&["DescribeVolumes"], 200, volumes(None, "")));
    assert_eq!(next(&mut bench(true), script), Ok(Step::ALREADY_GONE));
    let script = gone(search(here(Script::new()), &[]).ec2_error(&["CreateSnapshot"], "InvalidVolume.NotFound", "m"));
    assert_eq!(next(&mut bench(true), script), Ok(Step::ALREADY_GONE));
}

/// A volume that is going answers IncorrectState; it is watched, and not saved any more.
#[test]
fn a_volume_that_is_going_is_watched() {
    let going = || volumes(Some("deleting"), "");
    let mut bench = bench(true);
    let script = Script::new()
        .on(&["DescribeVolumes"], 200, going())
        .ec2_error(&["DeleteVolume"], "IncorrectState", "deleting")
        .on(&["DescribeVolumes"], 200, going())
        .on(&["DescribeVolumes"], 200, going());
    pending(next(&mut bench, script));
    assert_eq!(next(&mut bench, Script::new().on(&["DescribeVolumes"], 200, volumes(None, ""))), Ok(Step::DELETED));

    let script = Script::new().ec2_error(&["DeleteVolume"], "IncorrectState", "creating").on(
        &["DescribeVolumes"],
        200,
        volumes(Some("creating"), ""),
    );
    let (look_again, note) = pending(next(&mut self::bench(false), script));
    assert_eq!((look_again, note.as_str()), (seconds(5), "IncorrectState: creating"));
}

#[test]
fn nothing_is_made_behind_a_shut_fence() {
    let mut bench = bench(true);
    bench.fence(false);
    let answer = next(&mut bench, search(here(Script::new()), &[]));
    assert_eq!(answer.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
