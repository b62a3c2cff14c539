use serde_json::json;

use super::{Bench, QUEUE, TABLE, TOKEN, crashed, run};
use crate::ending::TODO_GUARDED;
use crate::graph::testing;
use crate::payload::PlanNext;
use crate::{Code, Ending, Graph, Outcome, Status, StepResult};

fn guarded(bench: &Bench, id: &str) -> StepResult {
    bench.result(id, Outcome::Pending).because(&Code::DataGuard.name(), "it holds 3 objects")
}

fn rows() -> serde_json::Value {
    json!([
        ["User", QUEUE, null, {}, ["Bucket"]],
        ["Bucket", "AWS::S3::Bucket", "assets", {}, ["Key"]],
        ["Table", TABLE],
        ["Logs", "AWS::Logs::LogGroup"],
        ["Key", "AWS::KMS::Key"],
    ])
}

// Looks come first: rows with a protection or a data guard are looked at before anything is deleted, whatever needs them.
#[test]
fn guards_are_looked_at_before_the_first_delete() {
    let mut bench = Bench::new(rows());
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    let mut looks = bench.wave();
    looks.sort();
    assert_eq!(looks, ["Bucket", "Logs", "Table"]);
    assert!(bench.items().iter().all(|item| item.look));
    // Clear: the deletes begin, and nobody looks again.
    let results = bench.all(Outcome::Pending);
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!(bench.wave().len(), 3);
    assert!(bench.items().iter().all(|item| !item.look));
    assert_eq!(bench.delete_all(), PlanNext::Finish);
    assert!(bench.record.resources.values().all(|row| row.status == Status::Deleted));
}

// A look is no attempt: deadline and wave of a row count from its first delete.
#[test]
fn a_look_does_not_start_the_row() {
    let mut bench = Bench::new(rows());
    bench.plan(&[]);
    let looks = bench.all(Outcome::Pending);
    bench.now += 10_000;
    bench.plan(&looks);
    let row = bench.row("Table");
    assert_eq!((row.started_at, row.wave, row.attempt), (bench.now, 2, 1));
}

// What would refuse is named, all at once, before anything is deleted.
#[test]
fn a_guard_refuses_the_run_before_the_first_delete() {
    let mut bench = Bench::new(rows());
    bench.plan(&[]);
    let protected = bench.result("Table", Outcome::Pending).because(&Code::Protected.name(), "deletion protection is on");
    let results = [guarded(&bench, "Bucket"), protected, bench.result("Logs", Outcome::Pending)];
    assert_eq!(bench.plan(&results), PlanNext::Finish);
    let refusal = bench.record.refusal.clone().unwrap();
    assert_eq!(refusal.ending, Ending::Refused);
    for text in ["S/Bucket", "DataGuard: it holds 3 objects", "S/Table", "Protected: deletion protection is on", "skipGuarded"] {
        assert!(refusal.message.contains(text), "{text}: {refusal}");
    }
    assert!(bench.record.resources.values().all(|row| row.status == Status::Waiting), "nothing was touched");
    // It stays refused, however often it is asked.
    assert_eq!(bench.plan(&[]), PlanNext::Finish);
}

#[test]
fn many_guards_are_counted() {
    let rows: Vec<_> = (0..30).map(|n| json!([format!("T{n:02}"), TABLE])).collect();
    let mut bench = Bench::new(rows.into());
    bench.plan(&[]);
    let results: Vec<_> = bench.wave().iter().map(|id| guarded(&bench, id)).collect();
    bench.plan(&results);
    let refusal = bench.record.refusal.unwrap();
    assert!(refusal.message.contains("and 22 more") && refusal.message.len() <= 1024, "{refusal}");
}

// skipGuarded: leave guarded and protected resources and what they need, delete the rest.
#[test]
fn skip_guarded_leaves_them_and_what_they_need() {
    let mut bench = Bench::with(rows(), json!({"skipGuarded": true}));
    bench.plan(&[]);
    let results = [guarded(&bench, "Bucket"), bench.result("Table", Outcome::Pending), bench.result("Logs", Outcome::Pending)];
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!((bench.status("Bucket"), bench.code("Bucket")), (Status::Skipped, Some("Guarded")));
    assert_eq!((bench.status("Key"), bench.reason("Key")), (Status::Blocked, "needed by S/Bucket"));
    assert_eq!(bench.delete_all(), PlanNext::Finish);
    for id in ["User", "Table", "Logs"] {
        assert_eq!(bench.status(id), Status::Deleted, "{id}");
    }
}

// With both words nothing would refuse, so nobody looks.
#[test]
fn both_words_skip_the_looks() {
    let mut bench = Bench::with(rows(), json!({"deleteData": true, "removeProtection": true}));
    bench.plan(&[]);
    assert!(bench.items().iter().all(|item| !item.look));
    for options in [json!({"deleteData": true}), json!({"removeProtection": true})] {
        let mut bench = Bench::with(rows(), options);
        bench.plan(&[]);
        assert!(bench.items().iter().all(|item| item.look));
    }
}

// A dry run is a drive of such looks.
#[test]
fn a_dry_run_only_looks() {
    for options in [json!({"dryRun": true}), json!({"dryRun": true, "deleteData": true, "removeProtection": true})] {
        let mut bench = Bench::with(rows(), options);
        assert_eq!(bench.plan(&[]), PlanNext::Wave);
        assert!(bench.items().iter().all(|item| item.look));
        let results =
            [guarded(&bench, "Bucket"), bench.result("Table", Outcome::Pending), bench.result("Logs", Outcome::Pending)];
        assert_eq!(bench.plan(&results), PlanNext::Finish);
        assert!(bench.record.refusal.is_none(), "a dry run tells, it does not refuse");
        assert_eq!(bench.row("Bucket").looked.as_ref().unwrap().code.as_deref(), Some("DataGuard"));
        assert!(bench.record.resources.values().all(|row| row.status == Status::Waiting));
    }
    assert_eq!(Bench::with(json!([["Q", QUEUE]]), json!({"dryRun": true})).plan(&[]), PlanNext::Finish);
}

// A look that could not be made says so and does not stand in the way: the delete has its own checks.
#[test]
fn a_look_that_fails_is_a_warning() {
    let mut bench = Bench::new(json!([["Table", TABLE]]));
    bench.plan(&[]);
    let denied = bench.result("Table", Outcome::Failed).because("AccessDeniedException", "not allowed");
    assert_eq!(bench.plan(&[denied]), PlanNext::Wave);
    assert!(!bench.items()[0].look);
    assert!(bench.record.warnings[0].contains("S/Table") && bench.record.warnings[0].contains("AccessDeniedException"));
}

// A look that a crash or a shut fence cut short is made again, and not for ever.
#[test]
fn a_look_that_did_not_happen_is_repeated() {
    let mut bench = Bench::new(json!([["Table", TABLE]]));
    bench.plan(&[]);
    for _ in 0..3 {
        let result = crashed(&bench, "Table");
        assert_eq!(bench.plan(&[result]), PlanNext::Wave);
        assert!(bench.items()[0].look);
    }
    let result = bench.result("Table", Outcome::Pending);
    bench.plan(&[result]);
    assert!(!bench.items()[0].look);
    assert_eq!(bench.row("Table").crashes, 0, "the delete's crashes are counted for themselves");
    let result = bench.result("Table", Outcome::Deleted);
    assert_eq!(bench.plan(&[result]), PlanNext::Finish, "a look that may still be running changes nothing: no wait");

    let mut bench = Bench::new(json!([["Table", TABLE]]));
    bench.plan(&[]);
    let mut looks = 0;
    while bench.items()[0].look {
        looks += 1;
        assert!(looks < 10);
        let shut = bench.result("Table", Outcome::Pending).because(&Code::FenceShut.name(), "the lock is closed");
        bench.plan(&[shut]);
    }
    assert_eq!(looks, 4);
}

#[test]
fn a_look_whose_worker_crashes_every_time_fails_the_row() {
    let mut bench = Bench::new(json!([["Table", TABLE]]));
    bench.plan(&[]);
    for _ in 0..4 {
        let result = crashed(&bench, "Table");
        bench.plan(&[result]);
    }
    assert_eq!((bench.status("Table"), bench.code("Table")), (Status::Failed, Some("WorkerCrashed")));
}

const UNKNOWN: &str = "AWS::New::Thing";

fn unknown() -> serde_json::Value {
    json!([
        ["Thing", UNKNOWN, "thing", {}, ["Key"]],
        ["Seed", "Custom::Seed", null, {"ServiceToken": TOKEN}],
        ["Masked", UNKNOWN, "***"],
        ["Malformed", UNKNOWN, ""],
        ["Key", "AWS::KMS::Key"],
        ["Table", TABLE],
    ])
}

fn no_provider(bench: &Bench) -> Vec<StepResult> {
    let refuse = |result: StepResult| match result.id.as_str() {
        "S/Thing" => result.because(&Code::NoProvider.name(), "nothing deletes this type"),
        _ => result,
    };
    bench.all(Outcome::Pending).into_iter().map(refuse).collect()
}

// What nothing can delete is found before the first delete, whatever the request allows; a row that cannot be addressed
// refuses nothing.
#[test]
fn a_type_nobody_knows_refuses_before_the_first_delete() {
    for (options, looks) in
        [(json!({}), vec!["Table", "Thing"]), (json!({"deleteData": true, "removeProtection": true}), vec!["Thing"])]
    {
        let mut bench = Bench::with(unknown(), options);
        assert_eq!(bench.plan(&[]), PlanNext::Wave);
        let mut wave = bench.wave();
        wave.sort();
        assert_eq!(wave, looks);
        assert!(bench.items().iter().all(|item| item.look));
        let results = no_provider(&bench);
        assert_eq!(bench.plan(&results), PlanNext::Finish);
        let refusal = bench.record.refusal.clone().unwrap();
        assert_eq!(refusal.ending, Ending::Refused);
        assert!(refusal.message.contains("S/Thing (NoProvider: nothing deletes this type)"), "{refusal}");
        assert!(refusal.message.ends_with("Set skipGuarded to leave them and what they need"), "{refusal}");
        assert!(!refusal.message.contains("Masked") && !refusal.message.contains("Malformed"), "{refusal}");
        assert!(bench.record.resources.values().all(|row| row.status != Status::Deleted));
    }
}

#[test]
fn with_skip_guarded_what_nobody_can_delete_is_left_with_what_it_needs() {
    let mut bench = Bench::with(unknown(), json!({"skipGuarded": true}));
    bench.plan(&[]);
    let results = no_provider(&bench);
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!((bench.status("Thing"), bench.code("Thing")), (Status::Skipped, Some("Guarded")));
    assert_eq!(bench.status("Key"), Status::Blocked);
    assert_eq!(bench.delete_all(), PlanNext::Finish);
    assert_eq!((bench.status("Seed"), bench.status("Table")), (Status::Deleted, Status::Deleted));
}

// A dry run tells of it and refuses nothing.
#[test]
fn a_dry_run_looks_at_types_nobody_knows() {
    let mut bench = Bench::with(unknown(), json!({"dryRun": true, "deleteData": true, "removeProtection": true}));
    bench.plan(&[]);
    let results = no_provider(&bench);
    assert_eq!(bench.plan(&results), PlanNext::Finish);
    assert!(bench.record.refusal.is_none());
    assert_eq!(bench.row("Thing").looked.as_ref().unwrap().code.as_deref(), Some("NoProvider"));
}

// A look that met a mask or an address of another shape says nothing about the others.
#[test]
fn a_look_without_an_address_refuses_nothing() {
    for code in [Code::MaskedAddress, Code::MalformedPhysicalId, Code::MissingAddress] {
        let mut bench = Bench::new(json!([["Thing", UNKNOWN]]));
        bench.plan(&[]);
        let result = bench.result("Thing", Outcome::Skipped).because(&code.name(), "cannot be addressed");
        assert_eq!(bench.plan(&[result]), PlanNext::Wave, "{code:?}");
        assert!(!bench.items()[0].look && bench.record.refusal.is_none());
    }
}

/// A queue whose policy asks for a snapshot, a custom resource that names no handler, and others.
fn foreseen(options: serde_json::Value) -> Bench {
    let mut nodes = testing::rows(json!([
        ["Queue", QUEUE, null, {}, ["Key"]],
        ["Seed", "Custom::Seed", null, {"Name": "x"}, ["Role"]],
        ["Good", "Custom::Seed", null, {"ServiceToken": TOKEN}],
        ["Key", "AWS::KMS::Key"],
        ["Role", "AWS::IAM::Role"],
    ]));
    nodes[0].row.deletion_policy = Some("Snapshot".into());
    Bench::of(Graph::build(nodes).unwrap(), run(options))
}

// What the state alone says is said before the first delete, whatever else the request allows.
#[test]
fn what_a_row_itself_says_refuses_before_the_first_delete() {
    let queue = "S/Queue (FinalSnapshotUnsupported: no final snapshot can be taken of AWS::SQS::Queue";
    let seed = "S/Seed (NoServiceToken: no ServiceToken in state)";
    for (options, named, helps) in [
        (json!({}), vec![queue, seed], "Set skipGuarded: no other word helps all of them"),
        (json!({"deleteData": true, "removeProtection": true}), vec![queue, seed], "no other word helps all of them"),
        (json!({"skipFinalSnapshot": true}), vec![seed], "Set skipGuarded to leave them and what they need"),
    ] {
        let mut bench = foreseen(options);
        assert_eq!(bench.plan(&[]), PlanNext::Finish);
        let refusal = bench.record.refusal.clone().unwrap();
        assert_eq!(refusal.ending, Ending::Refused);
        assert!(named.iter().all(|text| refusal.message.contains(text)) && refusal.message.ends_with(helps), "{refusal}");
        assert_eq!(refusal.message.contains("S/Queue"), named.len() == 2, "{refusal}");
        assert!(!refusal.message.contains("S/Good"), "{refusal}");
        assert!(bench.record.resources.values().all(|row| row.status == Status::Waiting), "nothing was touched");
    }
}

#[test]
fn with_skip_guarded_what_a_row_itself_says_leaves_it_and_what_it_needs() {
    let mut bench = foreseen(json!({"skipGuarded": true}));
    assert_eq!((bench.plan(&[]), bench.wave()), (PlanNext::Wave, vec!["Good".to_owned()]));
    for id in ["Queue", "Seed"] {
        assert_eq!((bench.status(id), bench.code(id)), (Status::Skipped, Some("Guarded")), "{id}");
    }
    assert_eq!((bench.status("Key"), bench.status("Role")), (Status::Blocked, Status::Blocked));
    assert_eq!((bench.delete_all(), bench.status("Good")), (PlanNext::Finish, Status::Deleted));
}

// A dry run names them and refuses nothing.
#[test]
fn a_dry_run_tells_what_a_row_itself_says() {
    let mut bench = foreseen(json!({"dryRun": true}));
    assert_eq!(bench.plan(&[]), PlanNext::Finish);
    assert!(bench.record.refusal.is_none());
    let looked = |id: &str| bench.row(id).looked.as_ref().and_then(|looked| looked.code.as_deref());
    assert_eq!(
        (looked("Queue"), looked("Seed"), looked("Good")),
        (Some("FinalSnapshotUnsupported"), Some("NoServiceToken"), None)
    );
}

// The words that help are those of what was found.
#[test]
fn the_refusal_names_the_words_that_help() {
    for (tables, helps) in [
        (json!([]), "Set skipFinalSnapshot or skipGuarded"),
        (json!([["Table", TABLE]]), "Set removeProtection, deleteData, skipFinalSnapshot or skipGuarded"),
    ] {
        let mut nodes = testing::rows(json!([["Queue", QUEUE]]));
        nodes[0].row.deletion_policy = Some("Snapshot".into());
        nodes.extend(testing::rows(tables));
        let mut bench = Bench::of(Graph::build(nodes).unwrap(), run(json!({})));
        if bench.plan(&[]) == PlanNext::Wave {
            let protected = bench.result("Table", Outcome::Pending).because(&Code::Protected.name(), "on");
            assert_eq!(bench.plan(&[protected]), PlanNext::Finish);
        }
        let message = bench.record.refusal.unwrap().message;
        assert!(message.ends_with(helps), "{message}");
        let words = helps.trim_start_matches("Set ").split([' ', ',']).filter(|word| !word.is_empty() && *word != "or");
        for word in words {
            assert!(TODO_GUARDED.contains(word), "after a look the same words help: {word}");
        }
    }
}

// What stays before the looks are over asks no guard: the real run goes on, and its look says so.
#[test]
fn a_guard_of_what_is_blocked_refuses_nothing() {
    for dry_run in [false, true] {
        let mut nodes = testing::rows(json!([
            ["Hook", "Custom::Hook", null, {"ServiceToken": TOKEN, "Password": "***"}, ["Q"]],
            ["Q", QUEUE],
            ["Other", QUEUE],
        ]));
        nodes[1].row.deletion_policy = Some("Snapshot".into());
        let mut bench = Bench::of(Graph::build(nodes).unwrap(), run(json!({"dryRun": dry_run})));
        let looked = bench.row("Q").looked.clone().unwrap();
        assert_eq!((looked.code.as_deref(), bench.row("Q").guard()), (Some("FinalSnapshotUnsupported"), Some(&looked)));
        assert_eq!(bench.plan(&[]), if dry_run { PlanNext::Finish } else { PlanNext::Wave });
        assert!(bench.record.refusal.is_none());
        assert_eq!((bench.status("Hook"), bench.status("Q")), (Status::Skipped, Status::Blocked));
        assert_eq!(bench.row("Q").guard(), None);
        if !dry_run {
            assert_eq!(bench.wave(), ["Other"]);
        }
    }
}

// What a dry run knows to stay it counts; what it would delete it does not.
#[test]
fn a_dry_run_counts_as_blocked_what_it_knows_to_be() {
    let mut bench = Bench::with(
        json!([["Kept", "AWS::Logs::LogStream", null, {}, ["Group"]], ["Group", "AWS::Logs::LogGroup"], ["Q", QUEUE]]),
        json!({"dryRun": true}),
    );
    bench.record.resources.get_mut("S/Kept").unwrap().status = Status::Retained;
    assert_eq!(bench.plan(&[]), PlanNext::Finish);
    let counts = bench.record.counts();
    assert_eq!((counts.retained, counts.blocked, counts.left(), counts.deleted), (1, 1, 1, 0));
}
