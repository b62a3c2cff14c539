//! The planner's decisions, pure: results of a wave in, the next wave out. The same code plans in the Lambda, in the
//! simulation and in the benches.
//!
//! A plan is a function of (record, graph, results, now). It never starts a resource before everything that needs it is
//! settled, looks at guards before the first delete, and lets a failure block only what the failed resource needs.

mod apply;
mod begin;
mod board;
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

use board::Board;
use schedule::Outlook;

use crate::graph::Graph;
use crate::payload::PlanNext;
use crate::record::{Answer, RunRecord};
use crate::status::Status;
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
    let mut resources = std::mem::take(&mut record.resources);
    let mut board = Board::of(&mut record, &mut resources, graph, weights);
    let pending = apply::results(&mut board, asked, results);
    settle::deadlines(&mut board, pending.iter().map(|&(n, _)| n));
    settle::blocked_rows(&mut board);
    apply::look_times(&mut board, pending);
    let answer = match board.record.refusal {
        Some(_) => Answer { next: PlanNext::Finish, seconds: 0 },
        None => frontier::choose(&mut board, moment),
    };
    (record.answer, record.resources) = (answer, resources);
    if record.answer.next == PlanNext::Finish && record.quiet_at > record.at {
        record.answer = frontier::wait_until(&record, record.quiet_at);
    }
    record.events += frontier::events_of(&record);
    record
}

/// The items of the wave that is in flight, longest remaining path first: what the planner answers, the first time and
/// every time it is asked again.
pub fn items(record: &RunRecord, graph: &Graph, weights: &Weights) -> Vec<Item> {
    let rows = graph.by_node(&record.resources);
    let in_flight = |&n: &usize| rows[n].is_some_and(|row| row.status == Status::InFlight);
    let mut wave: Vec<usize> = (0..rows.len()).filter(in_flight).collect();
    weights.sort(&mut wave);
    let patience = Outlook::of(record, &rows, weights).patience(&wave);
    let items = wave.into_iter().zip(patience).filter_map(|(n, patience_ms)| {
        let row = rows[n]?;
        Some(Item {
            id: graph.nodes()[n].id.clone(),
            resource_type: row.resource_type.clone(),
            step: record.step,
            attempt: row.attempt,
            started_at: row.started_at,
            look: row.look,
            memo: row.memo.clone(),
            patience_ms,
            span: None,
        })
    });
    items.collect()
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
fn standings(board: &Board<'_>) -> Vec<Standing> {
    let mut all = vec![Standing::Free; board.graph.nodes().len()];
    for &n in board.graph.in_order() {
        all[n] = standing(board, n, &all);
    }
    all
}

/// The standing of a node; `all` knows that of what needs it.
fn standing(board: &Board<'_>, n: usize, all: &[Standing]) -> Standing {
    let row = &board.graph.nodes()[n].row;
    let Some(resource) = board.row(n) else { return Standing::Free };
    let keeps = match resource.status {
        Status::Failed | Status::Blocked => true,
        // A nested stack of which something is kept is kept like it.
        Status::Skipped if row.is_nested_stack() => board.graph.needed_by(n).iter().any(|&by| all[by] == Standing::Keeps),
        // A custom resource whose handler did not answer keeps its handler, so that a person can mend and retry; a
        // guarded resource keeps what it stands on. Others may have gone with their parent.
        Status::Skipped => {
            crate::graph::is_custom(&row.resource_type) || resource.code.as_deref() == Some(&*Code::Guarded.name())
        }
        Status::Deleted | Status::Retained => false,
        Status::Waiting | Status::InFlight | Status::Pending => return Standing::Open,
    };
    if keeps { Standing::Keeps } else { Standing::Free }
}
