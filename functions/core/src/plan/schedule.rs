//! When to look again, how long to wait inside a step, and what to do first: longest remaining path first. What can be
//! late without the run being late is looked at rarely; what the run waits for, often; and the longer the run, the rarer.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Millis;
use crate::catalogue::{self, Entry};
use crate::graph::Graph;
use crate::provider::is_custom_resource;
use crate::record::{ResourceRecord, RunRecord};
use crate::state::Policy;
use crate::status::Status;

/// Looks are never closer than this many seconds, nor further apart than [`LONGEST`].
const SHORTEST: f64 = 1.0;
const LONGEST: f64 = 120.0;
/// A look costs as much as being late by this share of the whole run: who waits for an hour minds a second less.
const LOOK_COST: f64 = 0.0013;
/// The share of the typical time before which nobody looks.
const FIRST_LOOK: f64 = 0.3;
/// The share of its slack that a delete may be gone unnoticed.
const UNNOTICED: f64 = 0.1;

/// The longest wait inside a step, in seconds: a Lambda's minute holds it, the last call and that call's retries.
const PATIENCE: f64 = 25.0;
/// A custom resource's next step may have to listen to its handler for 45 s.
const CUSTOM_PATIENCE: f64 = 8.0;
/// The longest wait in a wave of more than [`CROWD`] items.
const SHORT_PATIENCE: f64 = 3.0;
/// A step that waits at all waits so long, whatever it costs the others: waves must not chase each other.
const LEAST_PATIENCE: f64 = 0.5;
/// A wave of more items than this holds up its own when each waits long.
const CROWD: usize = 20;
/// Looks that are worth it closer together than so many seconds cost less inside a step than a wait and a wave for each.
const CLOSE: f64 = 40.0;
/// The chance that a delete ends within the wait which makes the wait worth it.
const LIKELY: f64 = 0.4;
/// The chance at which a delete counts as early; the others of its wave do not wait longer.
const EARLY: f64 = 0.2;
/// The share of a slack that is used: it is an estimate.
const TRUSTED: f64 = 0.25;

/// Seconds until the next look at a delete is worth it, when a look costs as much as being late by `cost` seconds. Looks are
/// densest, for their number, at the square root of the hazard over twice the cost of a look.
fn spacing(known: &Entry, elapsed: f64, cost: f64) -> f64 {
    let mut next = elapsed.max(known.p50_s / 4.0);
    for _ in 0..8 {
        let wait = (2.0 * cost / known.hazard(elapsed + next / 2.0).max(1e-9)).sqrt();
        next = (next + wait) / 2.0;
    }
    next.max(known.p50_s * FIRST_LOOK - elapsed)
}

/// What a step said of the next look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Asked {
    /// Nothing.
    Nothing,
    /// The delete is under way, and something may change after so many milliseconds.
    After(Millis),
    /// It met an error, and wants to try again after so many.
    RetryAfter(Millis),
}

/// How long until the next look is worth it, in milliseconds. An error is left alone as long as it asks for, and at least a
/// tenth of what has passed; a delete under way is looked at after `spacing` seconds, or sooner when the step says so and has
/// not said it for long, but the more seldom the more `slack` (seconds) it has. Jittered by a tenth so that looks do not march
/// in step. A step that asks for no wait at all (more pages to empty) gets none.
pub(super) fn look_again(id: &str, step: u64, elapsed: Millis, asked: Asked, spacing: f64, slack: f64) -> Millis {
    let elapsed = seconds(elapsed);
    let seldom = slack * UNNOTICED;
    let wait = match asked {
        Asked::After(0) | Asked::RetryAfter(0) => return 0,
        Asked::RetryAfter(ms) => seconds(ms).max(elapsed / 10.0),
        Asked::After(ms) => spacing.min(seconds(ms).max(elapsed / 3.0)).max(seldom).min(LONGEST),
        Asked::Nothing => spacing.max(seldom).min(LONGEST),
    };
    let wait = millis(wait.max(SHORTEST));
    let mut hasher = DefaultHasher::new();
    (id, step).hash(&mut hasher);
    wait - wait / 20 + hasher.finish() % (wait / 10).max(1)
}

fn seconds(ms: Millis) -> f64 {
    ms as f64 / 1000.0
}

fn millis(seconds: f64) -> Millis {
    (seconds * 1000.0) as Millis
}

/// For each node, the typical seconds from its start until the last resource that it holds up is gone.
#[derive(Debug)]
pub struct Weights {
    known: Vec<Entry>,
    behind: Vec<f64>,
    /// Seconds that the pace of its type makes a node wait for its turn.
    turn: Vec<f64>,
    /// Where each node comes in the order of work.
    place: Vec<usize>,
}

impl Weights {
    /// The remaining paths of a graph.
    pub fn of(graph: &Graph) -> Self {
        let nodes = graph.nodes().len();
        let known: Vec<Entry> = (0..nodes).map(|node| own(graph, node)).collect();
        let mut behind = vec![0.0; nodes];
        for &node in graph.in_order().iter().rev() {
            behind[node] = graph.needs(node).iter().map(|&n| behind[n] + known[n].p50_s).fold(0.0, f64::max);
        }
        let turn = turns(&known, &behind);
        let mut weights = Weights { known, behind, turn, place: vec![0; nodes] };
        // Equal ones by id, so that a plan is the same every time.
        let mut order = graph.by_id().to_vec();
        order.sort_by(|&a, &b| weights.remaining(b).total_cmp(&weights.remaining(a)));
        order.into_iter().enumerate().for_each(|(place, node)| weights.place[node] = place);
        weights
    }

    /// Seconds of the longest chain of the graph.
    pub fn longest(&self) -> f64 {
        (0..self.known.len()).map(|n| self.turn[n] + self.remaining(n)).fold(0.0, f64::max)
    }

    /// Longest remaining path first.
    pub(super) fn sort(&self, nodes: &mut [usize]) {
        nodes.sort_unstable_by_key(|&node| self.place[node]);
    }

    /// What is known of a node's type.
    pub(super) fn known(&self, node: usize) -> &Entry {
        &self.known[node]
    }

    fn remaining(&self, node: usize) -> f64 {
        self.behind[node] + self.known[node].p50_s
    }
}

fn own(graph: &Graph, node: usize) -> Entry {
    let row = &graph.nodes()[node].row;
    match row.policy() == Policy::Retain || row.is_nested_stack() {
        true => catalogue::NOTHING,
        false => catalogue::of(row),
    }
}

/// Of the rows that share a pace, each waits for those with more behind them.
fn turns(known: &[Entry], behind: &[f64]) -> Vec<f64> {
    let mut paced: HashMap<&str, Vec<usize>> = HashMap::new();
    for (node, pace) in known.iter().enumerate().filter_map(|(node, known)| Some((node, known.pace?))) {
        paced.entry(pace.key).or_default().push(node);
    }
    let mut turns = vec![0.0; known.len()];
    for mut nodes in paced.into_values() {
        nodes.sort_by(|&a, &b| behind[b].total_cmp(&behind[a]).then(a.cmp(&b)));
        for (place, &node) in nodes.iter().enumerate() {
            turns[node] = known[node].pace.map_or(0.0, |pace| (place / pace.most) as f64 * seconds(pace.per_ms));
        }
    }
    turns
}

/// How the run stands in time.
pub(super) struct Outlook<'a> {
    at: Millis,
    /// What the record knows of each node.
    resources: &'a [Option<&'a ResourceRecord>],
    weights: &'a Weights,
    /// Likely seconds to the end of the run.
    longest: f64,
    /// What a look costs, in seconds of being late.
    look_cost: f64,
    /// More is in flight and pending than waits well inside steps.
    crowded: bool,
}

impl<'a> Outlook<'a> {
    /// `resources` are those of the record, by node.
    pub(super) fn of(record: &RunRecord, resources: &'a [Option<&'a ResourceRecord>], weights: &'a Weights) -> Self {
        let mut outlook = Outlook { at: record.at, resources, weights, longest: 0.0, look_cost: 0.0, crowded: false };
        let open = outlook.resources.iter().enumerate().filter_map(|(n, r)| Some((n, r.filter(|r| !r.status.is_settled())?)));
        outlook.longest = open.map(|(n, resource)| outlook.left(n, resource)).fold(0.0, f64::max);
        outlook.look_cost = LOOK_COST * (seconds(record.at.saturating_sub(record.started_at)) + outlook.longest);
        let under_way = |r: &&ResourceRecord| matches!(r.status, Status::InFlight | Status::Pending);
        outlook.crowded = outlook.resources.iter().flatten().filter(|r| under_way(r)).count() > CROWD;
        outlook
    }

    fn resource(&self, node: usize) -> Option<&'a ResourceRecord> {
        self.resources[node]
    }

    /// Seconds since the delete began.
    fn elapsed(&self, resource: &ResourceRecord) -> f64 {
        if resource.started_at == 0 { 0.0 } else { seconds(self.at.saturating_sub(resource.started_at)) }
    }

    /// Seconds from now until the last resource that the node holds up is likely gone.
    fn left(&self, node: usize, resource: &ResourceRecord) -> f64 {
        let turn = if resource.started_at == 0 { self.weights.turn[node] } else { 0.0 };
        turn + self.weights.known[node].left(self.elapsed(resource), 0.5) + self.weights.behind[node]
    }

    /// Likely seconds that a node can be late without the run being late.
    pub(super) fn slack(&self, node: usize) -> f64 {
        self.resource(node).map_or(0.0, |resource| (self.longest - self.left(node, resource)).max(0.0))
    }

    /// Seconds until the next look at a node is worth it, if it has no slack.
    pub(super) fn spacing(&self, node: usize) -> f64 {
        let elapsed = self.resource(node).map_or(0.0, |resource| self.elapsed(resource));
        spacing(&self.weights.known[node], elapsed, self.look_cost)
    }

    /// Whether looks at a node are worth it so close together that it is watched from inside its steps.
    pub(super) fn is_watched(&self, node: usize) -> bool {
        !self.crowded && self.is_close(node)
    }

    fn is_close(&self, node: usize) -> bool {
        self.spacing(node).max(self.slack(node) * UNNOTICED) < CLOSE * self.most(node) / PATIENCE
    }

    /// The longest wait inside a node's step, in seconds.
    fn most(&self, node: usize) -> f64 {
        let is_custom = self.resource(node).is_some_and(|resource| is_custom_resource(&resource.resource_type));
        if is_custom { CUSTOM_PATIENCE } else { PATIENCE }
    }

    /// How long each item of the wave may wait inside its step, in milliseconds: as long as its delete may well end within
    /// it, and no longer than the others can do without the wave's end.
    pub(super) fn patience(&self, wave: &[usize]) -> Vec<Millis> {
        let pending = |&n: &usize| self.resource(n).is_some_and(|r| r.status == Status::Pending);
        let outside = (0..self.resources.len()).filter(pending).map(|n| self.bears(n)).fold(f64::MAX, f64::min);
        let bears: Vec<f64> = wave.iter().map(|&n| self.bears(n)).collect();
        // The least of all others is the least of all, but for the one that is it.
        let least = (0..bears.len()).min_by(|&a, &b| bears[a].total_cmp(&bears[b]));
        let others = |i: usize| {
            let rest = bears.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, &bears)| bears);
            match least {
                Some(least) if least != i => bears[least],
                _ => rest.fold(f64::MAX, f64::min),
            }
        };
        let crowded = wave.len() > CROWD;
        let patience = wave.iter().enumerate().map(|(i, &n)| {
            let wanted = self.wanted(n, if crowded { SHORT_PATIENCE } else { PATIENCE });
            millis(wanted.min(others(i).min(outside).max(LEAST_PATIENCE)))
        });
        patience.collect()
    }

    /// Seconds that a node does well without the end of the wave.
    fn bears(&self, node: usize) -> f64 {
        let Some(resource) = self.resource(node) else { return f64::MAX };
        let slack = self.slack(node) * TRUSTED;
        match resource.status {
            Status::InFlight if self.weights.behind[node] > 0.0 => {
                self.weights.known[node].left(self.elapsed(resource), EARLY) + slack
            }
            Status::Pending => seconds(resource.look_at.saturating_sub(self.at)) + slack,
            _ => f64::MAX,
        }
    }

    /// Seconds that a node's step would wait if it were alone.
    fn wanted(&self, node: usize, most: f64) -> f64 {
        let Some(resource) = self.resource(node) else { return 0.0 };
        let most = most.min(self.most(node));
        let (known, elapsed) = (&self.weights.known[node], self.elapsed(resource));
        if known.left(elapsed, LIKELY) < most || self.is_close(node) {
            return most;
        }
        // Looked at a little ahead of its time, to save a wait: then at least until that time.
        match resource.look_at.saturating_sub(self.at) {
            0 => 0.0,
            early => (seconds(early) + SHORTEST).min(most),
        }
    }
}

#[cfg(test)]
mod tests;
