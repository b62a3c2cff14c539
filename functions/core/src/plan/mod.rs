//! The planner's decisions, pure: results of a wave in, the next wave out. The same code plans in the Lambda, in the
//! simulation and in the benches.
//!
//! A plan is a function of (record, graph, results, now). It never starts a resource before everything that needs it is
//! settled, looks at guards before the first delete, and lets a failure block only what the failed resource needs.

mod apply;
mod begin;
mod frontier;
mod pacer;
mod schedule;
mod settle;

#[cfg(test)]
mod tests;

pub use begin::begin;
pub use frontier::MAX_ITEMS;
pub use schedule::Weights;

use std::time::Duration;

use schedule::Outlook;

use crate::ending::{Ending, Refusal};
use crate::graph::Graph;
use crate::payload::PlanNext;
use crate::record::{Answer, RunRecord};
use crate::status::{Status, transition};
use crate::wave::{Item, StepResult};
use crate::{Code, Millis};

/// A Lambda's time-out plus a margin: how long a step that crashed or was retried may still be running.
pub const QUIET: Duration = Duration::from_secs(75);
/// Estimated events after which a drive hands over to the next; an execution's history holds 25,000.
pub const EVENT_BUDGET: u64 = 15_000;

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Local clock.
    pub now: Millis,
    /// The drive that asks.
    pub drive: u32,
    /// The app is paused: no wave is emitted, the run waits with its lock kept.
    pub paused: bool,
}

/// The next step of the run. `results` are those of the wave that the record has in flight.
pub fn advance(mut record: RunRecord, graph: &Graph, weights: &Weights, results: &[StepResult], moment: Moment) -> RunRecord {
    let asked = record.step;
    record.step += 1;
    record.at = moment.now.max(record.at);
    for ledger in record.stacks.values_mut() {
        ledger.before.clone_from(&ledger.after);
    }
    if moment.drive != record.drive {
        record.drive = moment.drive;
        record.events = 0;
    }
    let pending = apply::results(&mut record, graph, asked, results);
    settle::deadlines(&mut record, graph, pending.iter().map(|&(n, _)| n));
    settle::blocked_rows(&mut record, graph);
    apply::look_times(&mut record, graph, weights, pending);
    record.answer = if record.refusal.is_some() {
        Answer { next: PlanNext::Finish, seconds: 0 }
    } else {
        frontier::choose(&mut record, graph, weights, moment)
    };
    if record.answer.next == PlanNext::Finish && record.quiet_at > record.at {
        record.answer = frontier::wait_until(&record, record.quiet_at);
    }
    record.events += frontier::events_of(&record);
    record
}

/// The items of the wave that is in flight, longest remaining path first: what the planner answers, the first time and
/// every time it is asked again.
pub fn items(record: &RunRecord, graph: &Graph, weights: &Weights) -> Vec<Item> {
    let mut in_flight: Vec<(usize, &str)> = graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, node)| record.resources.get(&node.id).is_some_and(|r| r.status == Status::InFlight))
        .map(|(n, node)| (n, node.id.as_str()))
        .collect();
    weights.sort(&mut in_flight);
    let wave: Vec<usize> = in_flight.iter().map(|&(n, _)| n).collect();
    let patience = Outlook::of(record, graph, weights).patience(&wave);
    in_flight
        .into_iter()
        .zip(patience)
        .filter_map(|((_, id), patience_ms)| {
            let resource = record.resources.get(id)?;
            Some(Item {
                id: id.to_owned(),
                resource_type: resource.resource_type.clone(),
                step: record.step,
                attempt: resource.attempt,
                started_at: resource.started_at,
                look: resource.look,
                memo: resource.memo.clone(),
                patience_ms,
                span: None,
            })
        })
        .collect()
}

/// Gives a resource a new status. An illegal change is a fault of ours: the run stops rather than goes on from nonsense.
fn set(record: &mut RunRecord, id: &str, to: Status) {
    let at = record.at;
    let Some(resource) = record.resources.get_mut(id) else { return };
    match transition(resource.status, to) {
        Ok(status) => {
            resource.status = status;
            if status.is_settled() {
                resource.ended_at = at;
                // The next attempt of another run starts afresh; a custom resource's deliveries are found by its attempt.
                resource.memo = resource.memo.take().filter(|_| status != Status::Deleted);
            }
        }
        Err(illegal) => {
            let message = format!("{}: {illegal}", crate::text::display(id));
            record.refusal.get_or_insert(Refusal::new(Ending::Error, message));
        }
    }
}

fn explain(record: &mut RunRecord, id: &str, code: impl Into<String>, reason: impl AsRef<str>) {
    if let Some(resource) = record.resources.get_mut(id) {
        resource.code = Some(code.into());
        resource.reason = Some(crate::text::display(reason.as_ref())).filter(|r| !r.is_empty());
    }
}

/// What a row means for the rows that it needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Not settled: they wait.
    Open,
    /// Settled, and in nobody's way.
    Free,
    /// Settled, and it keeps them.
    Keeps,
}

/// The standing of every node. One that the record does not know was never this run's to delete and is in nobody's way.
fn standings(record: &RunRecord, graph: &Graph) -> Vec<Standing> {
    let mut all = vec![Standing::Free; graph.nodes().len()];
    for &n in graph.in_order() {
        all[n] = standing(record, graph, n, &all);
    }
    all
}

/// The standing of a node; `all` knows that of what needs it.
fn standing(record: &RunRecord, graph: &Graph, n: usize, all: &[Standing]) -> Standing {
    let node = &graph.nodes()[n];
    let Some(resource) = record.resources.get(&node.id) else { return Standing::Free };
    let keeps = match resource.status {
        Status::Failed | Status::Blocked => true,
        // A nested stack of which something is kept is kept like it.
        Status::Skipped if node.row.is_nested_stack() => graph.needed_by(n).iter().any(|&by| all[by] == Standing::Keeps),
        // A custom resource whose handler did not answer keeps its handler, so that a person can mend and retry; a
        // guarded resource keeps what it stands on. Others may have gone with their parent.
        Status::Skipped => {
            crate::graph::is_custom(&node.row.resource_type) || resource.code.as_deref() == Some(&*Code::Guarded.name())
        }
        Status::Deleted | Status::Retained => false,
        Status::Waiting | Status::InFlight | Status::Pending => return Standing::Open,
    };
    if keeps { Standing::Keeps } else { Standing::Free }
}
