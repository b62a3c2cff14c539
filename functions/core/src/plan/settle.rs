//! What is settled without a step: deadlines, rows that a failure blocks, nested stacks whose children are done.

use std::collections::HashMap;

use super::{blocks, explain, set};
use crate::graph::Graph;
use crate::record::RunRecord;
use crate::status::Status;
use crate::{Code, catalogue, text};

/// A delete that is still pending past its type's deadline has failed; its record stays and AWS may still finish it.
pub(super) fn deadlines(record: &mut RunRecord, graph: &Graph) {
    for node in graph.nodes() {
        let Some(resource) = record.resources.get(&node.id).filter(|r| r.status == Status::Pending) else { continue };
        let known = catalogue::lookup(&node.row.resource_type, node.row.properties.contains_key("VpcConfig"));
        let deadline = known.deadline();
        if record.at.saturating_sub(resource.started_at) < deadline.as_millis() as u64 {
            continue;
        }
        let last = match (&resource.code, &resource.reason) {
            (Some(code), Some(reason)) => format!("; last: {code}: {reason}"),
            (Some(last), None) | (None, Some(last)) => format!("; last: {last}"),
            (None, None) => String::new(),
        };
        explain(record, &node.id, Code::ResourceTimeout.name(), format!("not gone after {} min{last}", deadline.as_secs() / 60));
        set(record, &node.id, Status::Failed);
    }
}

/// What a failure blocks, in the order of the graph, so that a blocked row blocks in turn. Nested stacks stay as they are:
/// to settle one can remove it.
pub(super) fn blocked_rows(record: &mut RunRecord, graph: &Graph) {
    settle(record, graph, false);
}

/// What a failure blocks, and nested stacks whose children are settled. Not in a dry run, and not before the looks are over.
pub(super) fn blocked_and_nested(record: &mut RunRecord, graph: &Graph) {
    settle(record, graph, true);
}

fn settle(record: &mut RunRecord, graph: &Graph, nested_too: bool) {
    let mut roots = HashMap::new();
    for &node in graph.in_order() {
        let id = graph.nodes()[node].id.as_str();
        if record.resources.get(id).is_none_or(|r| r.status != Status::Waiting) {
            continue;
        }
        if !graph.nodes()[node].row.is_nested_stack() {
            if let Some(&by) = graph.needed_by(node).iter().find(|&&by| blocks(record, graph, by)) {
                blocked(record, graph, node, by, &mut roots);
            }
        } else if nested_too {
            nested(record, graph, node, &mut roots);
        }
    }
}

/// The failure at the end of each chain that was followed.
type Roots = HashMap<usize, usize>;

fn blocked(record: &mut RunRecord, graph: &Graph, node: usize, by: usize, roots: &mut Roots) {
    let root = root_of(record, graph, by, roots);
    roots.insert(node, root);
    let name = |n: usize| text::display(&graph.nodes()[n].id);
    let reason = match root == by {
        true => format!("needed by {}", name(by)),
        false => format!("needed by {}, which waits for {}", name(by), name(root)),
    };
    let id = graph.nodes()[node].id.clone();
    explain(record, &id, format!("{:?}", Status::Blocked), reason);
    set(record, &id, Status::Blocked);
}

/// What a chain of blocked rows comes from: a failure, or something that was skipped and keeps what it needs.
fn root_of(record: &RunRecord, graph: &Graph, mut node: usize, roots: &Roots) -> usize {
    while record.resources.get(&graph.nodes()[node].id).is_some_and(|r| r.status == Status::Blocked) {
        if let Some(&root) = roots.get(&node) {
            return root;
        }
        match graph.needed_by(node).iter().find(|&&by| blocks(record, graph, by)) {
            Some(&by) => node = by,
            None => break,
        }
    }
    node
}

/// A nested stack's row follows its children: failed or skipped with one of them, blocked with all of them by what needs
/// it, else it goes and its record with it (cdkd: the parent drops the row only after the child's clean end).
fn nested(record: &mut RunRecord, graph: &Graph, node: usize, roots: &mut Roots) {
    let all_settled =
        graph.needed_by(node).iter().all(|&by| record.resources.get(&graph.nodes()[by].id).is_none_or(|r| r.status.is_settled()));
    if !all_settled {
        return;
    }
    let row = &graph.nodes()[node];
    let child = format!("{}~{}", row.stack, row.row.logical_id);
    let (mut failed, mut skipped) = (0, 0);
    for (id, resource) in record.resources.range(child.clone()..).take_while(|(id, _)| id.starts_with(&child)) {
        // Its own rows and those of the stacks nested in it, not those of a neighbour with a longer name.
        if id[child.len()..].starts_with(['/', '~']) {
            failed += usize::from(resource.status == Status::Failed);
            skipped += usize::from(resource.status == Status::Skipped);
        }
    }
    let id = row.id.clone();
    if failed > 0 {
        explain(record, &id, "ChildFailed", format!("{failed} of the nested stack's resources failed; see {child}"));
        set(record, &id, Status::Failed);
    } else if skipped > 0 {
        explain(record, &id, "ChildSkipped", format!("nested stack skipped {skipped} resource(s); see {child}"));
        set(record, &id, Status::Skipped);
    } else if let Some(&by) = graph.needed_by(node).iter().find(|&&by| blocks(record, graph, by)) {
        blocked(record, graph, node, by, roots);
    } else {
        if let Some(ledger) = record.stacks.get_mut(&child) {
            ledger.removed = true;
        }
        set(record, &id, Status::Deleted);
    }
}
