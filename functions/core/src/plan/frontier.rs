//! The frontier: everything whose dependents are settled, and every pending resource whose time to look has come.

use super::apply::{HELPLESS, is_guard};
use super::board::Board;
use super::pacer::Pacer;
use super::schedule::Outlook;
use super::{EVENT_BUDGET, Moment, Standing, settle};
use crate::ending::{Ending, Refusal};
use crate::payload::PlanNext;
use crate::record::{Answer, Looked, ResourceRecord, RunRecord};
use crate::status::Status;
use crate::{Code, Millis, text};

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
pub(super) fn choose(board: &mut Board<'_>, moment: Moment) -> Answer {
    let answer = |next, seconds| Answer { next, seconds };
    let dry_run = board.record.run.dry_run;
    let mut items = to_look_at(board);
    let looking = !items.is_empty();
    let mut held = None;
    if !looking {
        if dry_run {
            return answer(PlanNext::Finish, 0);
        }
        guard(board);
        if board.record.refusal.is_some() {
            return answer(PlanNext::Finish, 0);
        }
        let standings = settle::blocked_and_nested(board);
        let mut free = free(board, &standings);
        board.weights.sort(&mut free);
        held = Pacer::of(board).hold_back(&mut free);
        items = free;
        items.extend(due(board, !items.is_empty(), held));
    }
    if items.is_empty() {
        return quiet(board, held);
    }
    if moment.paused && !dry_run {
        return budget(board.record, 0).unwrap_or(answer(PlanNext::Wait, PAUSED_WAIT));
    }
    if let Some(again) = budget(board.record, items.len().min(MAX_ITEMS)) {
        return again;
    }
    board.weights.sort(&mut items);
    items.truncate(MAX_ITEMS);
    board.record.wave += 1;
    let (at, wave) = (board.record.at, board.record.wave);
    for node in items {
        if let Some(resource) = board.row_mut(node) {
            resource.look = looking;
            resource.attempt = resource.attempt.max(1);
            if resource.started_at == 0 {
                resource.started_at = at;
                resource.wave = wave;
            }
        }
        board.set(node, Status::InFlight);
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
fn to_look_at(board: &Board<'_>) -> Vec<usize> {
    let run = &board.record.run;
    // With both words only a type without a provider refuses.
    let all = run.dry_run || !(run.options.remove_protection && run.options.delete_data);
    let unlooked = board.with_status(Status::Waiting).filter(|(_, row)| row.looked.is_none()).map(|(n, _)| n);
    let looked_at = |&n: &usize| {
        let known = board.weights.known(n);
        known.looked_at && (all || known.is_unknown())
    };
    unlooked.filter(looked_at).collect()
}

impl ResourceRecord {
    /// What would make the run refuse before its first delete. A row that is settled without a delete asks no guard.
    pub fn guard(&self) -> Option<&Looked> {
        let looked = self.looked.as_ref().filter(|_| self.status == Status::Waiting)?;
        looked.code.as_deref().is_some_and(is_guard).then_some(looked)
    }
}

/// What would refuse is named all at once: the run refuses before anything is lost, or leaves those and what they need.
fn guard(board: &mut Board<'_>) {
    let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
    let said = |looked: &Looked| format!("{}: {}", or_nothing(&looked.code), or_nothing(&looked.reason));
    let guarded: Vec<(usize, String)> =
        board.graph.by_id().iter().filter_map(|&n| Some((n, said(board.row(n)?.guard()?)))).collect();
    if guarded.is_empty() {
        return;
    }
    if board.record.run.options.skip_guarded {
        for (node, reason) in guarded {
            board.explain(node, Code::Guarded.name(), reason);
            board.set(node, Status::Skipped);
        }
        return;
    }
    let name = |(node, reason): &(usize, String)| format!("{} ({reason})", text::display(board.id(*node)));
    let named: Vec<String> = guarded.iter().take(8).map(name).collect();
    let more = guarded.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message =
        format!("guards refuse before the first delete: {}{more}. {}", text::cut(&named.join("; "), 800), what_helps(&guarded));
    board.record.refusal = Some(Refusal::new(Ending::Refused, message));
}

/// The words that let the run go on.
fn what_helps(guarded: &[(usize, String)]) -> &'static str {
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
fn free(board: &Board<'_>, standings: &[Standing]) -> Vec<usize> {
    let graph = board.graph;
    let waiting = board.with_status(Status::Waiting).map(|(n, _)| n).filter(|&n| !graph.nodes()[n].row.is_nested_stack());
    waiting.filter(|n| graph.needed_by(*n).iter().all(|&by| standings[by] == Standing::Free)).collect()
}

/// Every pending resource that is due, or almost so when a wave goes anyway. When there is nothing else to do, also what is due
/// soon and what is watched, unless that would make somebody miss the turn that its pace gives it.
fn due(board: &Board<'_>, wave: bool, held: Option<Millis>) -> Vec<usize> {
    let at = board.record.at;
    let due = |ahead: &dyn Fn(&ResourceRecord) -> Millis| -> Vec<usize> {
        board.with_status(Status::Pending).filter(|(_, r)| r.look_at <= at + ahead(r)).map(|(n, _)| n).collect()
    };
    // An error is left alone as long as it asked for.
    let under_way = |r: &ResourceRecord, ahead| if r.code.is_none() { ahead } else { TOGETHER };
    if wave || !due(&|_| TOGETHER).is_empty() {
        return due(&|r| under_way(r, (at.saturating_sub(r.started_at) / 40).max(TOGETHER)));
    }
    let rows = board.rows();
    let outlook = Outlook::of(board.record, &rows, board.weights);
    let pending = board.with_status(Status::Pending).filter(|(_, r)| r.code.is_none());
    let watched = |n| held.is_none() && outlook.is_watched(n);
    let soon = |r: &ResourceRecord| r.look_at <= held.unwrap_or(Millis::MAX).min(at + SOON);
    pending.filter(|&(n, r)| soon(r) || watched(n)).map(|(n, _)| n).collect()
}

/// Nothing to do now: wait for what is pending or `held` back by its pace, else finish.
fn quiet(board: &Board<'_>, held: Option<Millis>) -> Answer {
    let next_look = board.with_status(Status::Pending).map(|(_, r)| r.look_at).min();
    match next_look.into_iter().chain(held).min() {
        Some(until) => wait_until(board.record, until),
        None => Answer { next: PlanNext::Finish, seconds: 0 },
    }
}

/// A wait, cut so that the lock is looked at in between; in a new drive when this one's history is full.
pub(super) fn wait_until(record: &RunRecord, until: Millis) -> Answer {
    let wait = until.saturating_sub(record.at).clamp(1, MAX_WAIT);
    budget(record, 0).unwrap_or(Answer { next: PlanNext::Wait, seconds: wait.div_ceil(1000) })
}
