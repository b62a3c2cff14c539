use serde_json::json;

use super::{Bench, QUEUE};
use crate::payload::PlanNext;
use crate::{Outcome, Status};

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
