//! What is settled without a step: deadlines, rows that a failure blocks, nested stacks whose children are done.

use std::collections::HashMap;

use super::board::Board;
use super::{Standing, standing, standings};
use crate::record::ResourceRecord;
use crate::status::Status;
use crate::{Code, text};

/// A delete that is still pending past its type's deadline has failed; its record stays and AWS may still finish it. Only
/// of what has `answered` just now: what nobody has looked at since, as in a pause, may be gone long ago. A crash is no
/// answer.
pub(super) fn deadlines(board: &mut Board<'_>, answered: impl Iterator<Item = usize>) {
    let crashed = Code::WorkerCrashed.name();
    for node in answered {
        let pending = |r: &&ResourceRecord| r.status == Status::Pending && r.code.as_deref() != Some(&*crashed);
        let Some(resource) = board.row(node).filter(pending) else { continue };
        let deadline = board.weights.known(node).deadline();
        if board.record.at.saturating_sub(resource.started_at) < deadline.as_millis() as u64 {
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
        let by = board.graph.needed_by(node).iter().find(|&&by| board.status(by) == Some(Status::Retained));
        if let Some(&by) = by.filter(|_| is_in_use(resource)) {
            code = Code::HoldsRetained;
            reason = format!("{reason}; {} is retained and needs it", text::display(board.id(by)));
        }
        board.explain(node, code.name(), reason);
        board.set(node, Status::Failed);
    }
}

/// Whether the last thing heard is that something holds the resource: its code says so, or the step found what does it.
/// Throttles, silence and codes of ours (`FenceShut`, a bucket or role that could not be reached) say nothing of that.
fn is_in_use(resource: &ResourceRecord) -> bool {
    const IN_USE: &[&str] = &["AssociatedItem", "ClusterContains", "DeleteConflict", "DependencyViolation", "InUse"];
    let Some(code) = resource.code.as_deref() else { return false };
    let found = resource.reason.as_deref().and_then(|reason| reason.strip_prefix(code));
    IN_USE.iter().any(|word| code.contains(word)) || found.is_some_and(|rest| rest.starts_with(": held by "))
}

/// What a failure blocks, in the order of the graph, so that a blocked row blocks in turn. Nested stacks stay as they are:
/// to settle one can remove it.
pub(super) fn blocked_rows(board: &mut Board<'_>) {
    settle(board, false);
}

/// What a failure blocks, and nested stacks whose children are settled. Not in a dry run, and not before the looks are over.
pub(super) fn blocked_and_nested(board: &mut Board<'_>) -> Vec<Standing> {
    settle(board, true)
}

fn settle(board: &mut Board<'_>, nested_too: bool) -> Vec<Standing> {
    let graph = board.graph;
    let mut settling = Settling { standings: standings(board), roots: HashMap::new(), board };
    for &node in graph.in_order() {
        if settling.board.status(node) != Some(Status::Waiting) {
            continue;
        }
        if !graph.nodes()[node].row.is_nested_stack() {
            if let Some(by) = settling.keeper(node) {
                settling.block(node, by);
            }
        } else if nested_too {
            settling.nested(node);
        }
        settling.standings[node] = standing(settling.board, node, &settling.standings);
    }
    settling.standings
}

struct Settling<'a, 'b> {
    board: &'a mut Board<'b>,
    standings: Vec<Standing>,
    /// What each chain of blocked rows comes from, as far as chains were followed.
    roots: HashMap<usize, usize>,
}

impl Settling<'_, '_> {
    /// The first row that needs `node` and keeps it.
    fn keeper(&self, node: usize) -> Option<usize> {
        let keeps = |by: &usize| self.standings[*by] == Standing::Keeps;
        self.board.graph.needed_by(node).iter().copied().find(keeps).or_else(|| self.kept_in(node))
    }

    /// The first row that stays and that the delete of `node` would take along. Those of a nested stack need what its row
    /// needs, and what needs the row needs its members.
    fn kept_in(&self, node: usize) -> Option<usize> {
        let nodes = self.board.graph.nodes();
        let takes = self.board.weights.known(node).takes;
        if takes.is_empty() {
            return None;
        }
        let is_parent = |&&n: &&usize| nodes[n].row.is_nested_stack() && nodes[n].stack != nodes[node].stack;
        let above = self.board.graph.needs(node).iter().filter(is_parent);
        let of_parent =
            above.flat_map(|&n| self.board.graph.needed_by(n).iter().filter(move |&&by| nodes[by].stack == nodes[n].stack));
        self.board.graph.needed_by(node).iter().chain(of_parent).find_map(|&by| self.stays(by, takes))
    }

    /// The row itself, or one of the nested stack that it stands for, when it is of these types and stays.
    fn stays(&self, by: usize, types: &[&str]) -> Option<usize> {
        let nodes = self.board.graph.nodes();
        if nodes[by].row.is_nested_stack() {
            let members = self.board.graph.needed_by(by).iter().filter(|&&member| nodes[member].stack != nodes[by].stack);
            return members.into_iter().find_map(|&member| self.stays(member, types));
        }
        let stays = matches!(self.board.status(by)?, Status::Retained | Status::Skipped);
        (stays && types.contains(&nodes[by].row.resource_type.as_str())).then_some(by)
    }

    fn block(&mut self, node: usize, by: usize) {
        let root = self.root_of(by);
        self.roots.insert(node, root);
        let name = |n: usize| text::display(self.board.id(n));
        let reason = match self.standings[by] {
            Standing::Keeps if root == by => format!("needed by {}", name(by)),
            Standing::Keeps => format!("needed by {}, which waits for {}", name(by), name(root)),
            Standing::Open | Standing::Free => format!("needed by {}, which stays and would go with it", name(by)),
        };
        let code = match self.board.status(root) {
            Some(Status::Retained) => Code::HoldsRetained.name(),
            _ => format!("{:?}", Status::Blocked),
        };
        self.board.explain(node, code, reason);
        self.board.set(node, Status::Blocked);
    }

    /// What a chain of blocked rows comes from: a failure, or something that stays and keeps what it needs.
    fn root_of(&self, mut node: usize) -> usize {
        while self.board.status(node) == Some(Status::Blocked) {
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
        if self.board.graph.needed_by(node).iter().any(|&by| self.standings[by] == Standing::Open) {
            return;
        }
        let nodes = self.board.graph.nodes();
        let child = format!("{}~{}", nodes[node].stack, nodes[node].row.logical_id);
        let by_id = self.board.graph.by_id();
        let within = &by_id[by_id.partition_point(|&n| *nodes[n].id < *child)..];
        let (mut failed, mut skipped) = (0, 0);
        for &n in within.iter().take_while(|&&n| nodes[n].id.starts_with(&child)) {
            // Its own rows and those of the stacks nested in it, not those of a neighbour with a longer name.
            if nodes[n].id[child.len()..].starts_with(['/', '~']) {
                failed += usize::from(self.board.status(n) == Some(Status::Failed));
                skipped += usize::from(self.board.status(n) == Some(Status::Skipped));
            }
        }
        if failed > 0 {
            let reason = format!("{failed} of the nested stack's resources failed; see {child}");
            self.board.explain(node, "ChildFailed", reason);
            self.board.set(node, Status::Failed);
        } else if skipped > 0 {
            let reason = format!("nested stack skipped {skipped} resource(s); see {child}");
            self.board.explain(node, "ChildSkipped", reason);
            self.board.set(node, Status::Skipped);
        } else if let Some(by) = self.keeper(node) {
            self.block(node, by);
        } else {
            if let Some(ledger) = self.board.record.stacks.get_mut(&child) {
                ledger.removed = true;
            }
            self.board.set(node, Status::Deleted);
        }
    }
}
