use serde_json::{Value, json};

use super::{Bench, QUEUE, TABLE, run};
use crate::graph::testing::rows_in;
use crate::payload::PlanNext;
use crate::state::Layout;
use crate::state::samples::{NESTED_CHILD, NESTED_PARENT, doc};
use crate::{Code, Graph, Outcome, Status};

const NESTED: &str = "AWS::CloudFormation::Stack";

/// `S` with a nested stack between `User` and `Base`, and these rows in it.
fn bench(child: Value, options: Value) -> Bench {
    let mut nodes = rows_in(
        "S",
        json!([["User", QUEUE, null, {}, ["N"]], ["N", NESTED, null, {}, ["Base"]], ["Base", QUEUE], ["NN", NESTED]]),
    );
    nodes.extend(rows_in("S~N", child));
    nodes.extend(rows_in("S~NN", json!([["Z", QUEUE]])));
    Bench::of(Graph::build(nodes).unwrap(), run(options))
}

// Child clean: parent row deleted; only now may the parent drop it, and the child's record goes.
#[test]
fn a_nested_row_goes_after_its_childrens_clean_end() {
    let mut bench = bench(json!([["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]), json!({}));
    let mut waves = Vec::new();
    bench.plan(&[]);
    while bench.record.answer.next == PlanNext::Wave {
        waves.push(bench.wave());
        assert_eq!(bench.record.stacks["S~N"].removed, bench.status("N") == Status::Deleted);
        let results = bench.all(Outcome::Deleted);
        bench.plan(&results);
    }
    assert_eq!(waves, [vec!["User", "S~NN/Z"], vec!["S~N/A"], vec!["S~N/B"], vec!["Base"]]);
    assert!(bench.record.stacks["S~N"].removed && bench.record.stacks["S~NN"].removed && !bench.record.stacks["S"].removed);
    assert!(bench.record.counts().is_clean());
}

// No child state: the row is deleted at once, without a step.
#[test]
fn a_nested_row_without_state_is_done() {
    let mut bench = Bench::of(
        Graph::build(rows_in("S", json!([["N", NESTED, null, {}, ["Base"]], ["Base", QUEUE]]))).unwrap(),
        run(json!({})),
    );
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    assert_eq!((bench.status("N"), bench.wave()), (Status::Deleted, vec!["Base".to_owned()]));
}

// Neither a dry run nor one that a guard refuses takes a nested stack apart: its record would go with it.
#[test]
fn nothing_nested_goes_before_the_looks_are_over() {
    let rows = || Graph::build(rows_in("S", json!([["N", NESTED, null, {}, ["T"]], ["T", TABLE]]))).unwrap();
    let mut dry = Bench::of(rows(), run(json!({"dryRun": true})));
    dry.record.stacks.insert("S~N".into(), dry.record.stacks["S"].clone());
    assert_eq!(dry.plan(&[]), PlanNext::Wave);
    let results = dry.all(Outcome::Pending);
    assert_eq!(dry.plan(&results), PlanNext::Finish);
    let mut refused = Bench::of(rows(), run(json!({})));
    refused.plan(&[]);
    let results = [refused.result("T", Outcome::Pending).because(&Code::Protected.name(), "protected")];
    assert_eq!(refused.plan(&results), PlanNext::Finish);
    for bench in [dry, refused] {
        assert_eq!(bench.status("N"), Status::Waiting);
        assert!(bench.record.stacks.values().all(|ledger| !ledger.removed));
    }
}

/// Everything is deleted but these, which come to that; the rest of the run is planned to its end.
fn outcome(bench: &mut Bench, odd: &str, outcome: Outcome, code: &str) {
    bench.plan(&[]);
    while bench.record.answer.next == PlanNext::Wave {
        let mut results = bench.all(Outcome::Deleted);
        if let Some(result) = results.iter_mut().find(|result| result.id == odd) {
            *result = bench.result(odd, outcome).because(code, "why");
        }
        bench.plan(&results);
    }
    assert_eq!(bench.record.answer.next, PlanNext::Finish);
}

// Child errors > 0: parent row FAILED, what it needs is kept.
#[test]
fn a_failed_child_fails_the_row() {
    let mut bench = bench(json!([["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]), json!({}));
    outcome(&mut bench, "S~N/A", Outcome::Failed, "AccessDenied");
    assert_eq!((bench.status("N"), bench.code("N")), (Status::Failed, Some("ChildFailed")));
    assert!(
        bench.reason("N").contains("1 of the nested stack's resources") && bench.reason("N").contains("S~N"),
        "{}",
        bench.reason("N")
    );
    assert_eq!((bench.status("S~N/B"), bench.status("Base")), (Status::Blocked, Status::Blocked));
    assert!(!bench.record.stacks["S~N"].removed && bench.record.stacks["S~NN"].removed);
}

// Child skipped > 0, no errors: parent row SKIPPED, "nested stack … skipped N resource(s)"; like any skip it does not block.
#[test]
fn a_skipped_child_skips_the_row() {
    let mut bench = bench(json!([["A", QUEUE], ["B", QUEUE]]), json!({}));
    outcome(&mut bench, "S~N/A", Outcome::Skipped, "MaskedAddress");
    assert_eq!((bench.status("N"), bench.code("N")), (Status::Skipped, Some("ChildSkipped")));
    assert!(bench.reason("N").contains("nested stack skipped 1 resource(s)"), "{}", bench.reason("N"));
    assert_eq!(bench.status("Base"), Status::Deleted);
    assert!(!bench.record.stacks["S~N"].removed);
}

// What a child keeps for a person to mend needs what the nested row needs: a custom resource's handler, a guarded bucket.
#[test]
fn a_child_that_keeps_something_keeps_what_the_row_needs() {
    let token = json!({"ServiceToken": "arn:aws:lambda:us-east-1:1:function:h"});
    let mut with_custom = bench(json!([["C", "Custom::X", null, token], ["H", "AWS::Lambda::Function", "h"]]), json!({}));
    outcome(&mut with_custom, "S~N/C", Outcome::Skipped, "HandlerGone");
    assert_eq!((with_custom.status("N"), with_custom.status("S~N/H")), (Status::Skipped, Status::Blocked));
    assert_eq!((with_custom.status("Base"), with_custom.reason("Base")), (Status::Blocked, "needed by S/N"));

    let mut guarded = bench(json!([["T", TABLE]]), json!({"skipGuarded": true}));
    outcome(&mut guarded, "S~N/T", Outcome::Pending, &Code::Protected.name());
    assert_eq!((guarded.status("S~N/T"), guarded.status("N")), (Status::Skipped, Status::Skipped));
    assert_eq!(guarded.status("Base"), Status::Blocked);
}

// What needs the nested row blocks its children; the row is blocked with them and has not failed itself.
#[test]
fn a_failed_user_blocks_the_whole_nested_stack() {
    let mut bench = bench(json!([["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]), json!({}));
    outcome(&mut bench, "S/User", Outcome::Failed, "AccessDenied");
    for id in ["S~N/A", "S~N/B", "S/N", "S/Base"] {
        assert_eq!(bench.status(id), Status::Blocked, "{id}");
    }
    assert!(bench.reason("Base").contains("S/User"), "{}", bench.reason("Base"));
    let counts = bench.record.counts();
    assert_eq!((counts.failed, counts.blocked, counts.deleted), (1, 4, 2));
}

// A retained resource of the child is clean.
#[test]
fn a_retained_resource_of_the_child_goes_with_its_record() {
    let mut bench = bench(json!([["A", QUEUE], ["B", QUEUE]]), json!({}));
    bench.record.resources.get_mut("S~N/A").unwrap().status = Status::Retained;
    outcome(&mut bench, "-", Outcome::Deleted, "");
    assert_eq!(bench.status("N"), Status::Deleted);
    assert!(bench.record.stacks["S~N"].removed);
}

// Grandchildren fail every row above them.
#[test]
fn a_failure_two_levels_down_is_told_on_each_level() {
    let mut nodes = rows_in("S", json!([["N", NESTED]]));
    nodes.extend(rows_in("S~N", json!([["M", NESTED], ["A", QUEUE]])));
    nodes.extend(rows_in("S~N~M", json!([["X", QUEUE]])));
    let mut bench = Bench::of(Graph::build(nodes).unwrap(), run(json!({})));
    outcome(&mut bench, "S~N~M/X", Outcome::Failed, "AccessDenied");
    for id in ["S~N/M", "S/N"] {
        assert_eq!((bench.status(id), bench.code(id)), (Status::Failed, Some("ChildFailed")), "{id}");
    }
    assert!(bench.record.stacks.values().all(|ledger| !ledger.removed));
}

// The planner goes on from trimmed states: what is deleted is not in the graph any more.
#[test]
fn a_nested_stack_settles_although_its_rows_left_the_state() {
    let mut nodes = crate::graph::testing::nodes("Storefront", &doc(NESTED_PARENT, Layout::Regional));
    let child = crate::graph::testing::nodes("Storefront~SearchNested1B", &doc(NESTED_CHILD, Layout::Regional));
    nodes.extend(child);
    let mut bench = Bench::of(Graph::build(nodes.clone()).unwrap(), run(json!({"deleteData": true, "removeProtection": true})));
    bench.plan(&[]);
    while bench.record.answer.next == PlanNext::Wave {
        let results = bench.all(Outcome::Deleted);
        let left = nodes.iter().filter(|node| bench.record.resources[&node.id].status != Status::Deleted).cloned().collect();
        bench.graph = Graph::build(left).unwrap();
        bench.weights = super::Weights::of(&bench.graph);
        bench.plan(&results);
    }
    assert!(bench.record.counts().is_clean(), "{:?}", bench.record.counts());
    assert!(bench.record.stacks["Storefront~SearchNested1B"].removed);
}
