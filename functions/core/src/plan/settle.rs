//! What is settled without a step: deadlines, rows that a failure blocks, nested stacks whose children are done.

use std::collections::HashMap;

use super::{Standing, explain, set, standing, standings};
use crate::graph::Graph;
use crate::record::{ResourceRecord, RunRecord};
use crate::status::Status;
use crate::{Code, catalogue, text};

/// A delete that is still pending past its type's deadline has failed; its record stays and AWS may still finish it. Only
/// of what has `answered` just now: what nobody has looked at since, as in a pause, may be gone long ago. A crash is no
/// answer.
pub(super) fn deadlines(record: &mut RunRecord, graph: &Graph, answered: impl Iterator<Item = usize>) {
    let crashed = Code::WorkerCrashed.name();
    for (n, node) in answered.map(|n| (n, &graph.nodes()[n])) {
        let pending = |r: &&ResourceRecord| r.status == Status::Pending && r.code.as_deref() != Some(&*crashed);
        let Some(resource) = record.resources.get(&node.id).filter(pending) else { continue };
        let known = catalogue::of(&node.row);
        let deadline = known.deadline();
        if record.at.saturating_sub(resource.started_at) < deadline.as_millis() as u64 {
            continue;
        }
        let last = match (&resource.code, &resource.reason) {
            (Some(code), Some(reason)) => format!("; last: {code}: {reason}"),
            (Some(last), None) | (None, Some(last)) => format!("; last: {last}"),
            (None, None) => String::new(),
        };
        let mut reason = format!("not gone after {} min{last}", deadline.as_secs() / 60);
        let mut code = Code::ResourceTimeout;
        // AWS does not delete what is in use, however often the run is started.
        let by = graph.needed_by(n).iter().map(|&by| &graph.nodes()[by].id).find(|id| is_retained(record, id));
        if let Some(by) = by.filter(|_| resource.code.is_some()) {
            code = Code::HoldsRetained;
            reason = format!("{reason}; {} is retained and needs it", text::display(by));
        }
        explain(record, &node.id, code.name(), reason);
        set(record, &node.id, Status::Failed);
    }
}

fn is_retained(record: &RunRecord, id: &str) -> bool {
    record.resources.get(id).is_some_and(|resource| resource.status == Status::Retained)
}

/// What a failure blocks, in the order of the graph, so that a blocked row blocks in turn. Nested stacks stay as they are:
/// to settle one can remove it.
pub(super) fn blocked_rows(record: &mut RunRecord, graph: &Graph) {
    settle(record, graph, false);
}

/// What a failure blocks, and nested stacks whose children are settled. Not in a dry run, and not before the looks are over.
pub(super) fn blocked_and_nested(record: &mut RunRecord, graph: &Graph) -> Vec<Standing> {
    settle(record, graph, true)
}

fn settle(record: &mut RunRecord, graph: &Graph, nested_too: bool) -> Vec<Standing> {
    let mut settling = Settling { standings: standings(record, graph), roots: HashMap::new(), record, graph };
    for &node in graph.in_order() {
        if settling.record.resources.get(&graph.nodes()[node].id).is_none_or(|r| r.status != Status::Waiting) {
            continue;
        }
        if !graph.nodes()[node].row.is_nested_stack() {
            if let Some(by) = settling.keeper(node) {
                settling.block(node, by);
            }
        } else if nested_too {
            settling.nested(node);
        }
        settling.standings[node] = standing(settling.record, graph, node, &settling.standings);
    }
    settling.standings
}

struct Settling<'a> {
    record: &'a mut RunRecord,
    graph: &'a Graph,
    standings: Vec<Standing>,
    /// What each chain of blocked rows comes from, as far as chains were followed.
    roots: HashMap<usize, usize>,
}

impl Settling<'_> {
    /// The first row that needs `node` and keeps it.
    fn keeper(&self, node: usize) -> Option<usize> {
        let keeps = |by: &usize| self.standings[*by] == Standing::Keeps;
        self.graph.needed_by(node).iter().copied().find(keeps).or_else(|| self.kept_in(node))
    }

    /// The first row that stays and that the delete of `node` would take along. Those of a nested stack need what its row
    /// needs, and what needs the row needs its members.
    fn kept_in(&self, node: usize) -> Option<usize> {
        let nodes = self.graph.nodes();
        let takes = catalogue::of(&nodes[node].row).takes;
        if takes.is_empty() {
            return None;
        }
        let is_parent = |&&n: &&usize| nodes[n].row.is_nested_stack() && nodes[n].stack != nodes[node].stack;
        let above = self.graph.needs(node).iter().filter(is_parent);
        let of_parent = above.flat_map(|&n| self.graph.needed_by(n).iter().filter(move |&&by| nodes[by].stack == nodes[n].stack));
        self.graph.needed_by(node).iter().chain(of_parent).find_map(|&by| self.stays(by, takes))
    }

    /// The row itself, or one of the nested stack that it stands for, when it is of these types and stays.
    fn stays(&self, by: usize, types: &[&str]) -> Option<usize> {
        let nodes = self.graph.nodes();
        if nodes[by].row.is_nested_stack() {
            let members = self.graph.needed_by(by).iter().filter(|&&member| nodes[member].stack != nodes[by].stack);
            return members.into_iter().find_map(|&member| self.stays(member, types));
        }
        let status = self.record.resources.get(&nodes[by].id)?.status;
        let stays = matches!(status, Status::Retained | Status::Skipped);
        (stays && types.contains(&nodes[by].row.resource_type.as_str())).then_some(by)
    }

    fn block(&mut self, node: usize, by: usize) {
        let root = self.root_of(by);
        self.roots.insert(node, root);
        let name = |n: usize| text::display(&self.graph.nodes()[n].id);
        let reason = match self.standings[by] {
            Standing::Keeps if root == by => format!("needed by {}", name(by)),
            Standing::Keeps => format!("needed by {}, which waits for {}", name(by), name(root)),
            Standing::Open | Standing::Free => format!("needed by {}, which stays and would go with it", name(by)),
        };
        let id = &self.graph.nodes()[node].id;
        let code = match is_retained(self.record, &self.graph.nodes()[root].id) {
            true => Code::HoldsRetained.name(),
            false => format!("{:?}", Status::Blocked),
        };
        explain(self.record, id, code, reason);
        set(self.record, id, Status::Blocked);
    }

    /// What a chain of blocked rows comes from: a failure, or something that stays and keeps what it needs.
    fn root_of(&self, mut node: usize) -> usize {
        while self.record.resources.get(&self.graph.nodes()[node].id).is_some_and(|r| r.status == Status::Blocked) {
            if let Some(&root) = self.roots.get(&node) {
                return root;
            }
            match self.keeper(node) {
                Some(by) => node = by,
                None => break,
            }
        }
        node
    }

    /// A nested stack's row follows its children: failed or skipped with one of them, blocked with all of them by what
    /// needs it, else it goes and its record with it (cdkd: the parent drops the row only after the child's clean end).
    fn nested(&mut self, node: usize) {
        if self.graph.needed_by(node).iter().any(|&by| self.standings[by] == Standing::Open) {
            return;
        }
        let row = &self.graph.nodes()[node];
        let (id, child) = (row.id.as_str(), format!("{}~{}", row.stack, row.row.logical_id));
        let (mut failed, mut skipped) = (0, 0);
        for (id, resource) in self.record.resources.range(child.clone()..).take_while(|(id, _)| id.starts_with(&child)) {
            // Its own rows and those of the stacks nested in it, not those of a neighbour with a longer name.
            if id[child.len()..].starts_with(['/', '~']) {
                failed += usize::from(resource.status == Status::Failed);
                skipped += usize::from(resource.status == Status::Skipped);
            }
        }
        if failed > 0 {
            let reason = format!("{failed} of the nested stack's resources failed; see {child}");
            explain(self.record, id, "ChildFailed", reason);
            set(self.record, id, Status::Failed);
        } else if skipped > 0 {
            let reason = format!("nested stack skipped {skipped} resource(s); see {child}");
            explain(self.record, id, "ChildSkipped", reason);
            set(self.record, id, Status::Skipped);
        } else if let Some(by) = self.keeper(node) {
            self.block(node, by);
        } else {
            if let Some(ledger) = self.record.stacks.get_mut(&child) {
                ledger.removed = true;
            }
            set(self.record, id, Status::Deleted);
        }
    }
}
