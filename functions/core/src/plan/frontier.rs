//! The frontier: everything whose dependents are settled, and every pending resource whose time to look has come.

use super::apply::is_guard;
use super::schedule::Weights;
use super::{EVENT_BUDGET, Moment, Standing, explain, set, settle};
use crate::ending::{Ending, Refusal};
use crate::graph::Graph;
use crate::payload::PlanNext;
use crate::record::{Answer, RunRecord};
use crate::status::Status;
use crate::{Code, Millis, catalogue, text};

/// The largest wave: a hundred items and their results fit a state's payload.
pub const MAX_ITEMS: usize = 100;
/// Looks that fall this close together share a wave.
const TOGETHER: Millis = 500;
/// The longest single wait; the planner looks at the lock in between.
const MAX_WAIT: Millis = 120_000;
/// How long a paused run waits before it asks again.
const PAUSED_WAIT: u64 = 60;

/// History events of one plan with its choice, of a wave beside its items, of an item, of a wait.
const PLAN_EVENTS: u64 = 8;
const WAVE_EVENTS: u64 = 5;
const ITEM_EVENTS: u64 = 9;
const WAIT_EVENTS: u64 = 2;

/// Chooses what to do now and claims it in the record.
pub(super) fn choose(record: &mut RunRecord, graph: &Graph, weights: &Weights, moment: Moment) -> Answer {
    let answer = |next, seconds| Answer { next, seconds };
    let mut items = to_look_at(record, graph);
    let looking = !items.is_empty();
    if !looking {
        if record.run.dry_run {
            return answer(PlanNext::Finish, 0);
        }
        guard(record);
        if record.refusal.is_some() {
            return answer(PlanNext::Finish, 0);
        }
        let standings = settle::blocked_and_nested(record, graph);
        items = ready(record, graph, &standings);
    }
    if items.is_empty() {
        return quiet(record);
    }
    if moment.paused && !record.run.dry_run {
        return budget(record, 0).unwrap_or(answer(PlanNext::Wait, PAUSED_WAIT));
    }
    if let Some(again) = budget(record, items.len().min(MAX_ITEMS)) {
        return again;
    }
    weights.sort(&mut items);
    items.truncate(MAX_ITEMS);
    record.wave += 1;
    let (at, wave) = (record.at, record.wave);
    for (_, id) in items {
        if let Some(resource) = record.resources.get_mut(id) {
            resource.look = looking;
            resource.attempt = resource.attempt.max(1);
            if resource.started_at == 0 {
                resource.started_at = at;
                resource.wave = wave;
            }
        }
        set(record, id, Status::InFlight);
    }
    answer(PlanNext::Wave, 0)
}

/// Hands over to a new drive before the history is full.
fn budget(record: &RunRecord, items: usize) -> Option<Answer> {
    let next = PLAN_EVENTS + WAIT_EVENTS + WAVE_EVENTS + ITEM_EVENTS * items as u64;
    (record.events + next > EVENT_BUDGET).then_some(Answer { next: PlanNext::Again, seconds: 0 })
}

/// Events that the answer just given adds to the drive's history.
pub(super) fn events_of(record: &RunRecord) -> u64 {
    let in_flight = || record.resources.values().filter(|r| r.status == Status::InFlight).count() as u64;
    PLAN_EVENTS
        + match record.answer.next {
            PlanNext::Wave => WAVE_EVENTS + ITEM_EVENTS * in_flight(),
            PlanNext::Wait => WAIT_EVENTS,
            PlanNext::Again | PlanNext::Finish | PlanNext::Stop => 0,
        }
}

/// Guarded and protectable resources that nobody has looked at. Looks come before the first delete.
fn to_look_at<'g>(record: &RunRecord, graph: &'g Graph) -> Vec<(usize, &'g str)> {
    let options = &record.run.options;
    if options.remove_protection && options.delete_data && !record.run.dry_run {
        return Vec::new();
    }
    let unlooked = |id: &str| record.resources.get(id).is_some_and(|r| r.status == Status::Waiting && r.looked.is_none());
    let nodes = graph.nodes().iter().enumerate();
    nodes
        .filter(|(_, node)| catalogue::lookup(&node.row.resource_type, false).looked_at && unlooked(&node.id))
        .map(|(n, node)| (n, node.id.as_str()))
        .collect()
}

/// What would refuse is named all at once: the run refuses before anything is lost, or leaves those and what they need.
fn guard(record: &mut RunRecord) {
    let guarded: Vec<(String, String)> = record
        .resources
        .iter()
        .filter(|(_, r)| r.status == Status::Waiting)
        .filter_map(|(id, r)| {
            let looked = r.looked.as_ref()?;
            let code = looked.code.as_deref().filter(|code| is_guard(code))?;
            Some((id.clone(), format!("{code}: {}", looked.reason.as_deref().unwrap_or_default())))
        })
        .collect();
    if guarded.is_empty() {
        return;
    }
    if record.run.options.skip_guarded {
        for (id, reason) in guarded {
            explain(record, &id, Code::Guarded.name(), reason);
            set(record, &id, Status::Skipped);
        }
        return;
    }
    let named: Vec<String> = guarded.iter().take(8).map(|(id, reason)| format!("{} ({reason})", text::display(id))).collect();
    let more = guarded.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!(
        "guards refuse before the first delete: {}{more}. Set removeProtection, deleteData or skipGuarded",
        text::cut(&named.join("; "), 800)
    );
    record.refusal = Some(Refusal::new(Ending::Refused, message));
}

/// Everything whose dependents are settled without blocking it, and every pending resource that is due.
fn ready<'g>(record: &RunRecord, graph: &'g Graph, standings: &[Standing]) -> Vec<(usize, &'g str)> {
    let nodes = graph.nodes().iter().enumerate();
    nodes
        .filter(|(n, node)| {
            let Some(resource) = record.resources.get(&node.id) else { return false };
            match resource.status {
                Status::Pending => resource.look_at <= record.at + TOGETHER,
                Status::Waiting => {
                    !node.row.is_nested_stack() && graph.needed_by(*n).iter().all(|&by| standings[by] == Standing::Free)
                }
                _ => false,
            }
        })
        .map(|(n, node)| (n, node.id.as_str()))
        .collect()
}

/// Nothing to do now: wait for what is pending, else finish.
fn quiet(record: &RunRecord) -> Answer {
    let next_look = record.resources.values().filter(|r| r.status == Status::Pending).map(|r| r.look_at).min();
    match next_look {
        Some(look_at) => wait_until(record, look_at),
        None => Answer { next: PlanNext::Finish, seconds: 0 },
    }
}

/// A wait, cut so that the lock is looked at in between; in a new drive when this one's history is full.
pub(super) fn wait_until(record: &RunRecord, until: Millis) -> Answer {
    let wait = until.saturating_sub(record.at).clamp(1, MAX_WAIT);
    budget(record, 0).unwrap_or(Answer { next: PlanNext::Wait, seconds: wait.div_ceil(1000) })
}
