//! The frontier: everything whose dependents are settled, and every pending resource whose time to look has come.

use super::apply::{HELPLESS, is_guard};
use super::pacer::Pacer;
use super::schedule::Weights;
use super::{EVENT_BUDGET, Moment, Standing, explain, set, settle};
use crate::ending::{Ending, Refusal};
use crate::graph::{Graph, Node};
use crate::payload::PlanNext;
use crate::record::{Answer, ResourceRecord, RunRecord};
use crate::status::Status;
use crate::{Code, Millis, catalogue, text};

/// The largest wave: a hundred items and their results fit a state's payload.
pub const MAX_ITEMS: usize = 100;
/// Looks that fall this close together share a wave.
const TOGETHER: Millis = 500;
/// A wait this short is spent inside a step: a wave costs less than a wait and a wave.
pub(super) const SOON: Millis = 8_000;
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
    let mut held = None;
    if !looking {
        if record.run.dry_run {
            return answer(PlanNext::Finish, 0);
        }
        guard(record);
        if record.refusal.is_some() {
            return answer(PlanNext::Finish, 0);
        }
        let standings = settle::blocked_and_nested(record, graph);
        let mut free = free(record, graph, &standings);
        weights.sort(&mut free);
        held = Pacer::of(record, graph, weights).hold_back(&mut free);
        items = free;
        items.extend(due(record, graph, !items.is_empty()));
    }
    if items.is_empty() {
        return quiet(record, held);
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

/// Guarded and protectable resources that nobody has looked at, and those of types that nobody knows. Looks come before the
/// first delete.
fn to_look_at<'g>(record: &RunRecord, graph: &'g Graph) -> Vec<(usize, &'g str)> {
    let options = &record.run.options;
    // With both words only a type without a provider refuses.
    let all = record.run.dry_run || !(options.remove_protection && options.delete_data);
    let unlooked = |id: &str| record.resources.get(id).is_some_and(|r| r.status == Status::Waiting && r.looked.is_none());
    let nodes = graph.nodes().iter().enumerate();
    nodes
        .filter(|(_, node)| {
            let known = catalogue::lookup(&node.row.resource_type, false);
            known.looked_at && (all || known.is_unknown()) && unlooked(&node.id)
        })
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
    let message =
        format!("guards refuse before the first delete: {}{more}. {}", text::cut(&named.join("; "), 800), what_helps(&guarded));
    record.refusal = Some(Refusal::new(Ending::Refused, message));
}

/// The words that let the run go on.
fn what_helps(guarded: &[(String, String)]) -> &'static str {
    let count = |codes: &[Code]| {
        let is =
            |reason: &str| codes.iter().any(|code| reason.strip_prefix(&*code.name()).is_some_and(|rest| rest.starts_with(':')));
        guarded.iter().filter(|(_, reason)| is(reason)).count()
    };
    let (helpless, snapshots) = (count(HELPLESS), count(&[Code::FinalSnapshotUnsupported]));
    match (helpless, snapshots) {
        (helpless, _) if helpless == guarded.len() => "Set skipGuarded to leave them and what they need",
        (1.., _) => "Set skipGuarded: no other word helps all of them",
        (0, 0) => "Set removeProtection, deleteData or skipGuarded",
        (0, snapshots) if snapshots == guarded.len() => "Set skipFinalSnapshot or skipGuarded",
        (0, _) => "Set removeProtection, deleteData, skipFinalSnapshot or skipGuarded",
    }
}

/// Everything whose dependents are settled without blocking it.
fn free<'g>(record: &RunRecord, graph: &'g Graph, standings: &[Standing]) -> Vec<(usize, &'g str)> {
    with_status(record, graph, Status::Waiting)
        .filter(|(n, node, _)| {
            !node.row.is_nested_stack() && graph.needed_by(*n).iter().all(|&by| standings[by] == Standing::Free)
        })
        .map(|(n, node, _)| (n, node.id.as_str()))
        .collect()
}

/// Every pending resource that is due. When a wave goes anyway, or else nothing but a short wait would, also what is due soon.
fn due<'g>(record: &RunRecord, graph: &'g Graph, wave: bool) -> Vec<(usize, &'g str)> {
    let due = |ahead: &dyn Fn(&ResourceRecord) -> Millis| -> Vec<(usize, &'g str)> {
        with_status(record, graph, Status::Pending)
            .filter(|(_, _, r)| r.look_at <= record.at + ahead(r))
            .map(|(n, node, _)| (n, node.id.as_str()))
            .collect()
    };
    // An error is left alone as long as it asked for.
    let under_way = |r: &ResourceRecord, ahead| if r.code.is_none() { ahead } else { TOGETHER };
    if wave || !due(&|_| TOGETHER).is_empty() {
        return due(&|r| under_way(r, (record.at.saturating_sub(r.started_at) / 20).max(TOGETHER)));
    }
    due(&|r| under_way(r, SOON))
}

fn with_status<'r, 'g: 'r>(
    record: &'r RunRecord,
    graph: &'g Graph,
    status: Status,
) -> impl Iterator<Item = (usize, &'g Node, &'r ResourceRecord)> {
    let nodes = graph.nodes().iter().enumerate();
    nodes.filter_map(move |(n, node)| Some((n, node, record.resources.get(&node.id).filter(|r| r.status == status)?)))
}

/// Nothing to do now: wait for what is pending or `held` back by its pace, else finish.
fn quiet(record: &RunRecord, held: Option<Millis>) -> Answer {
    let next_look = record.resources.values().filter(|r| r.status == Status::Pending).map(|r| r.look_at).min();
    match next_look.into_iter().chain(held).min() {
        Some(until) => wait_until(record, until),
        None => Answer { next: PlanNext::Finish, seconds: 0 },
    }
}

/// A wait, cut so that the lock is looked at in between; in a new drive when this one's history is full.
pub(super) fn wait_until(record: &RunRecord, until: Millis) -> Answer {
    let wait = until.saturating_sub(record.at).clamp(1, MAX_WAIT);
    budget(record, 0).unwrap_or(Answer { next: PlanNext::Wait, seconds: wait.div_ceil(1000) })
}
