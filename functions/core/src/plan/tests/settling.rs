use serde_json::json;

use super::{Bench, QUEUE, run};
use crate::graph::testing::rows_in;
use crate::payload::PlanNext;
use crate::{Graph, Outcome, Status};

// A failed row blocks the rows it needs, transitively, and nothing else; the report names the blocker.
#[test]
fn a_failure_blocks_exactly_what_it_needs() {
    let mut bench = Bench::new(json!([
        ["A", QUEUE, null, {}, ["B"]],
        ["B", QUEUE, null, {}, ["C"]],
        ["C", QUEUE, null, {}, ["D"]],
        ["D", QUEUE],
        ["X", QUEUE, null, {}, ["C"]],
        ["Y", QUEUE, null, {}, ["Z"]],
        ["Z", QUEUE],
    ]));
    bench.plan(&[]);
    let mut results = bench.all(Outcome::Deleted);
    results.retain(|result| result.id != "S/A");
    results.push(bench.result("A", Outcome::Failed).because("AccessDenied", "no"));
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!(bench.wave(), ["Z"]);
    assert_eq!(bench.delete_all(), PlanNext::Finish);
    for (id, status, reason) in [
        ("A", Status::Failed, "no"),
        ("B", Status::Blocked, "needed by S/A"),
        ("C", Status::Blocked, "needed by S/B, which waits for S/A"),
        ("D", Status::Blocked, "needed by S/C, which waits for S/A"),
    ] {
        assert_eq!((bench.status(id), bench.reason(id)), (status, reason), "{id}");
    }
    for id in ["X", "Y", "Z"] {
        assert_eq!(bench.status(id), Status::Deleted, "{id}");
    }
    assert_eq!(bench.code("B"), Some("Blocked"));
    let counts = bench.record.counts();
    assert_eq!((counts.deleted, counts.failed, counts.blocked), (3, 1, 3));
}

// SKIPPED and retained rows do not block: the thing may have disappeared with its parent.
#[test]
fn what_was_skipped_or_retained_does_not_block() {
    let mut bench = Bench::new(json!([["Stage", QUEUE, null, {}, ["Api"]], ["Api", QUEUE]]));
    bench.plan(&[]);
    let skipped = bench.result("Stage", Outcome::Skipped).because("MaskedAddress", "ApiId is masked");
    assert_eq!(bench.plan(&[skipped]), PlanNext::Wave);
    assert_eq!(bench.wave(), ["Api"]);

    let mut bench = Bench::new(json!([["Kept", QUEUE, null, {}, ["Base"]], ["Base", QUEUE]]));
    bench.record.resources.get_mut("S/Kept").unwrap().status = Status::Retained;
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    assert_eq!(bench.wave(), ["Base"]);
}

const HOLDERS: [(&str, &str); 6] = [
    ("AWS::S3Tables::TableBucket", "AWS::S3Tables::Table"),
    ("AWS::S3Tables::TableBucket", "AWS::S3Tables::Namespace"),
    ("AWS::S3Tables::Namespace", "AWS::S3Tables::Table"),
    ("AWS::S3Vectors::VectorBucket", "AWS::S3Vectors::Index"),
    ("AWS::Glue::Database", "AWS::Glue::Table"),
    ("AWS::Logs::LogGroup", "AWS::Logs::LogStream"),
];

// What stays in a container whose delete empties it would go with it: the container is blocked, and what that needs.
// Nothing else is.
#[test]
fn what_stays_in_a_container_that_is_emptied_blocks_it() {
    for (holder, held) in HOLDERS {
        for status in [Status::Retained, Status::Skipped] {
            let mut bench = Bench::new(json!([
                ["Kept", held, null, {}, ["Holder", "Role"]],
                ["Holder", holder, null, {}, ["Key"]],
                ["Key", QUEUE],
                ["Role", QUEUE],
            ]));
            bench.record.resources.get_mut("S/Kept").unwrap().status = status;
            // What is retained stays in every run; a skipped row can be mended.
            let code = if status == Status::Retained { "HoldsRetained" } else { "Blocked" };
            assert_eq!(bench.plan(&[]), PlanNext::Wave);
            assert_eq!(bench.wave(), ["Role"], "{holder}");
            for (id, reason) in [
                ("Holder", "needed by S/Kept, which stays and would go with it"),
                ("Key", "needed by S/Holder, which waits for S/Kept"),
            ] {
                assert_eq!((bench.status(id), bench.reason(id)), (Status::Blocked, reason), "{holder}");
                assert_eq!(bench.code(id), Some(code), "{holder}");
            }
            assert_eq!(bench.delete_all(), PlanNext::Finish);
            assert!(!bench.record.counts().is_clean());
        }
    }
}

// It blocks from the first plan on, so that a dry run tells it; a container of another kind, or whose rows all go, goes.
#[test]
fn only_what_stays_blocks_its_container() {
    let rows = || json!([["Kept", "AWS::Glue::Table", null, {}, ["Holder"]], ["Holder", "AWS::Glue::Database"]]);
    let mut dry = Bench::with(rows(), json!({"dryRun": true}));
    dry.record.resources.get_mut("S/Kept").unwrap().status = Status::Retained;
    assert_eq!((dry.plan(&[]), dry.status("Holder")), (PlanNext::Finish, Status::Blocked));

    let mut all = Bench::new(rows());
    assert_eq!(all.plan(&[]), PlanNext::Wave);
    assert_eq!((all.delete_all(), all.status("Holder")), (PlanNext::Finish, Status::Deleted));

    let mut other =
        Bench::new(json!([["Kept", "AWS::Glue::Table", null, {}, ["Holder"]], ["Holder", "AWS::S3Vectors::VectorBucket"]]));
    other.record.resources.get_mut("S/Kept").unwrap().status = Status::Retained;
    assert_eq!((other.plan(&[]), other.wave()), (PlanNext::Wave, vec!["Holder".to_owned()]));
}

// The table and its bucket may be of different stacks: a nested stack's row stands for its members.
#[test]
fn what_stays_blocks_its_container_across_nested_stacks() {
    const NESTED: &str = "AWS::CloudFormation::Stack";
    let build = |parent, child| {
        let mut nodes = rows_in("S", parent);
        nodes.extend(rows_in("S~N", child));
        Bench::of(Graph::build(nodes).unwrap(), run(json!({})))
    };
    let (bucket, table) = ("AWS::S3Tables::TableBucket", "AWS::S3Tables::Table");
    let reason = |id: &str| format!("needed by {id}, which stays and would go with it");

    let mut below = build(json!([["N", NESTED, null, {}, ["Holder"]], ["Holder", bucket]]), json!([["Kept", table]]));
    below.record.resources.get_mut("S~N/Kept").unwrap().status = Status::Retained;
    assert_eq!(below.plan(&[]), PlanNext::Finish);
    assert_eq!((below.status("Holder"), below.reason("Holder")), (Status::Blocked, &*reason("S~N/Kept")));

    let mut above = build(
        json!([["Kept", table, null, {}, ["N"]], ["N", NESTED]]),
        json!([["Policy", QUEUE, null, {}, ["Holder"]], ["Holder", bucket]]),
    );
    above.record.resources.get_mut("S/Kept").unwrap().status = Status::Retained;
    assert_eq!(above.plan(&[]), PlanNext::Wave);
    assert_eq!((above.status("S~N/Holder"), above.reason("S~N/Holder")), (Status::Blocked, &*reason("S/Kept")));
    assert_eq!((above.delete_all(), above.status("N")), (PlanNext::Finish, Status::Blocked));
}

// A skipped custom resource blocks its handler and what that needs, so that a person can mend and retry.
#[test]
fn a_skipped_custom_resource_keeps_its_handler() {
    for resource_type in ["Custom::Seed", "AWS::CloudFormation::CustomResource"] {
        let mut bench = Bench::new(json!([
            ["Seed", resource_type, null, {"ServiceToken": "arn:aws:lambda:us-east-1:1:function:handler"}],
            ["Handler", "AWS::Lambda::Function", "handler", {"Role": "role"}], ["Role", "AWS::IAM::Role", "role"],
            ["Policy", "AWS::IAM::Policy", "p", {"Roles": ["role"]}], ["Other", QUEUE],
        ]));
        bench.plan(&[]);
        let mut results = vec![bench.result("Seed", Outcome::Skipped).because("HandlerDidNotComplete", "no answer")];
        results.push(bench.result("Other", Outcome::Deleted));
        assert_eq!(bench.plan(&results), PlanNext::Finish);
        for id in ["Handler", "Role", "Policy"] {
            assert_eq!(bench.status(id), Status::Blocked, "{id}");
        }
        assert_eq!(bench.status("Other"), Status::Deleted);
    }
}

// A result counts once: only for the step that asked, and only for what is in flight.
#[test]
fn late_and_foreign_results_change_nothing() {
    let mut bench = Bench::new(json!([["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]));
    bench.plan(&[]);
    let first = bench.all(Outcome::Deleted);
    let mut stray = vec![bench.result("B", Outcome::Deleted), bench.result("Nobody", Outcome::Deleted)];
    stray.extend(first.clone());
    bench.plan(&stray);
    assert_eq!((bench.status("A"), bench.status("B")), (Status::Deleted, Status::InFlight), "B was not asked for then");
    let step = bench.record.step;
    // The same results again, now late: B's own answer is missing.
    bench.plan(&stray);
    assert_eq!((bench.status("B"), bench.row("B").crashes), (Status::Pending, 1));
    assert_eq!(bench.record.step, step + 1);
}

// A worker never answers what only the planner gives; taking it for done would lose the resource.
#[test]
fn an_outcome_that_is_not_the_workers_fails_the_row() {
    for outcome in [Outcome::Retained, Outcome::Blocked] {
        let mut bench = Bench::new(json!([["A", QUEUE]]));
        bench.plan(&[]);
        let results = bench.all(outcome);
        bench.plan(&results);
        assert_eq!((bench.status("A"), bench.code("A")), (Status::Failed, Some("UnexpectedOutcome")));
    }
}

// What was found gone is told apart; the record keeps no memo of what is done.
#[test]
fn what_was_gone_already_is_remembered() {
    let mut bench = Bench::new(json!([["A", QUEUE]]));
    bench.plan(&[]);
    let mut result = bench.result("A", Outcome::Pending);
    result.look_again_ms = Some(0);
    result.memo = Some(json!({"token": "t"}));
    bench.plan(&[result]);
    let mut result = bench.result("A", Outcome::Deleted);
    (result.already, result.ms) = (true, 40);
    bench.plan(&[result]);
    let row = bench.row("A");
    assert_eq!((row.already, row.memo.clone(), row.ms, row.ended_at), (true, None, 40, bench.now));
}

// A run without rows has nothing to do.
#[test]
fn an_empty_run_finishes_at_once() {
    let mut bench = Bench::new(json!([]));
    assert_eq!(bench.plan(&[]), PlanNext::Finish);
    assert_eq!((bench.record.step, bench.record.wave), (1, 0));
}
