use serde_json::json;

use super::super::testing::{graph, nodes, rows, rows_in};
use crate::state::samples::{NETWORK, changed};
use crate::{Ending, Graph};

const ANY: &str = "AWS::SQS::Queue";

// A.dependencies contains B: A is deleted before B.
#[test]
fn a_row_goes_before_what_it_depends_on() {
    let graph = graph(json!([["A", ANY, null, {}, ["B", "C"]], ["B", ANY, null, {}, ["C"]], ["C", ANY]]));
    assert_eq!(graph.arrows(), ["A>B", "A>C", "B>C"]);
    let order: Vec<&str> = graph.in_order().iter().map(|&n| graph.nodes()[n].row.logical_id.as_str()).collect();
    assert_eq!(order, ["A", "B", "C"]);
    assert!(graph.warnings.is_empty());
}

// level(X) = 0 if X needs nothing, else 1 + max(level(needed)); waves are the levels in descending order.
#[test]
fn levels_are_counted_from_what_needs_nothing() {
    let graph = graph(json!([
        ["A", ANY, null, {}, ["B"]],
        ["B", ANY, null, {}, ["D"]],
        ["C", ANY, null, {}, ["D"]],
        ["D", ANY],
        ["E", ANY],
    ]));
    let waves: Vec<Vec<&str>> =
        graph.levels().iter().map(|wave| wave.iter().map(|&n| graph.nodes()[n].row.logical_id.as_str()).collect()).collect();
    assert_eq!(waves, [vec!["A"], vec!["B", "C"], vec!["D", "E"]]);
    assert_eq!(Graph::build(Vec::new()).unwrap().levels(), Vec::<Vec<usize>>::new());
}

// Ids not in `resources` are ignored with one warning each.
#[test]
fn a_dangling_dependency_is_ignored_with_a_warning() {
    let graph = graph(json!([["A", ANY, null, {}, ["Gone", "B"]], ["B", ANY]]));
    assert_eq!(graph.arrows(), ["A>B"]);
    assert_eq!(graph.warnings.len(), 1);
    assert!(graph.warnings[0].contains("S/A depends on Gone"), "{:?}", graph.warnings);
}

// Self edge in `dependencies`: dropped with a warning.
#[test]
fn a_row_that_depends_on_itself_is_warned_of() {
    let graph = graph(json!([["A", ANY, null, {"X": {"Ref": "A"}}, ["A"]]]));
    assert_eq!(graph.arrows(), Vec::<String>::new());
    assert_eq!(graph.warnings, ["S/A depends on itself; ignored"]);
}

// Unresolved intrinsics left in properties count; Ref to parameters and pseudo parameters does not.
#[test]
fn intrinsics_that_were_left_are_recorded_edges() {
    let graph = graph(json!([
        ["A", ANY, null, {"P": {"Ref": "B"}, "Q": {"Fn::GetAtt": ["C", "Arn"]}, "R": {"Fn::Sub": "x-${D.Arn}-${AWS::Region}"},
                          "T": {"Ref": "AWS::StackId"}, "U": {"Ref": "SomeParameter"}}],
        ["B", ANY], ["C", ANY], ["D", ANY],
    ]));
    assert_eq!(graph.arrows(), ["A>B", "A>C", "A>D"]);
    assert!(graph.warnings.is_empty(), "a parameter is no row that was removed");
    let cycle = Graph::build(rows(json!([["A", ANY, null, {"P": {"Ref": "B"}}], ["B", ANY, null, {}, ["A"]]])));
    assert_eq!(cycle.unwrap_err().ending, Ending::CircularDependency);
}

// Duplicate edges are harmless.
#[test]
fn an_edge_counts_once() {
    let graph = graph(json!([["A", ANY, null, {"P": {"Ref": "B"}}, ["B", "B"]], ["B", ANY]]));
    assert_eq!(graph.arrows(), ["A>B"]);
    assert_eq!(graph.needed_by(graph.node("S/B")), [graph.node("S/A")]);
}

// A cycle made of recorded edges only: refuse before any delete; name the cycle, ids sanitised.
#[test]
fn a_recorded_cycle_is_refused_and_named() {
    let nodes = nodes(
        "EdgeNetwork",
        &changed(NETWORK, |state| state["resources"]["WorkerGroup16"]["dependencies"] = json!(["Worker19"])),
    );
    let refusal = Graph::build(nodes).unwrap_err();
    assert_eq!(refusal.ending, Ending::CircularDependency);
    assert!(refusal.message.starts_with("Circular dependency detected: "), "{refusal}");
    for id in ["EdgeNetwork/Worker19", "EdgeNetwork/WorkerGroup16"] {
        assert!(refusal.message.contains(id), "{refusal}");
    }
    assert!(!refusal.message.contains("Tick23"), "only the cycle is named: {refusal}");

    let hostile = Graph::build(rows(json!([["A\u{1b}[2J", ANY, null, {}, ["B"]], ["B", ANY, null, {}, ["A\u{1b}[2J"]]])));
    assert!(!hostile.unwrap_err().message.contains('\u{1b}'));
}

// A nested stack's rows are ordered after everything that needs the nested row and before everything it needs.
#[test]
fn a_nested_stacks_rows_stand_in_for_its_row() {
    const NESTED: &str = "AWS::CloudFormation::Stack";
    // Deepest first: the order in which stacks are given does not matter.
    let mut all = rows_in("P~N~M", json!([["X", ANY]]));
    all.extend(rows_in("P~N", json!([["M", NESTED, null, {}, ["C"]], ["C", ANY]])));
    all.extend(rows_in("P", json!([["User", ANY, null, {}, ["N"]], ["N", NESTED, null, {}, ["Base"]], ["Base", ANY]])));
    // A neighbour with a longer name is no child.
    all.extend(rows_in("P~NN", json!([["Y", ANY]])));
    let graph = Graph::build(all).unwrap();
    let before = |a: &str, b: &str| {
        let (mut open, mut seen) = (vec![graph.node(a)], vec![false; graph.nodes().len()]);
        while let Some(n) = open.pop() {
            if graph.nodes()[n].id == b {
                return true;
            }
            if !std::mem::replace(&mut seen[n], true) {
                open.extend(graph.needs(n));
            }
        }
        false
    };
    for (a, b) in [
        ("P/User", "P~N/M"),
        ("P/User", "P~N/C"),
        ("P/User", "P~N~M/X"),
        ("P~N~M/X", "P~N/M"),
        ("P~N/M", "P~N/C"),
        ("P~N/C", "P/N"),
        ("P/N", "P/Base"),
        ("P~N~M/X", "P/Base"),
    ] {
        assert!(before(a, b), "{a} before {b}");
    }
    assert!(!before("P/User", "P~NN/Y") && !before("P~NN/Y", "P/N"));
}

// Names of one stack mean nothing in another.
#[test]
fn stacks_do_not_see_each_others_rows() {
    let mut all = rows_in("P", json!([["A", ANY, null, {}, ["B"]]]));
    all.extend(rows_in("P~N", json!([["B", ANY], ["Sg", "AWS::EC2::SecurityGroup"]])));
    all.extend(rows_in("P", json!([["F", "AWS::Lambda::Function", null, {"VpcConfig": "***"}]])));
    let graph = Graph::build(all).unwrap();
    assert_eq!(graph.edges(), []);
    assert_eq!(graph.warnings.len(), 1);
}
