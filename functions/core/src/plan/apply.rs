//! What the results of a wave change.

use std::collections::HashMap;

use super::QUIET;
use super::board::Board;
use super::frontier::SOON;
use super::schedule::{Asked, Outlook, look_again};
use crate::record::{Looked, RunRecord};
use crate::status::Status;
use crate::wave::{Outcome, StepResult};
use crate::{Code, Millis, text};

/// Crashes of a worker on one resource before it fails.
const MAX_CRASHES: u32 = 3;
/// How soon a step that crashed or met a shut fence is repeated, in milliseconds.
const REPEAT: u64 = 1_000;

/// Applies each result once: it counts only for a resource that is in flight in the very step that it answers.
/// Answers the rows that became pending, and what their steps said of the next look.
pub(super) fn results(board: &mut Board<'_>, asked: u64, results: &[StepResult]) -> Vec<(usize, Asked)> {
    let answers: HashMap<&str, &StepResult> = results.iter().filter(|r| r.step == asked).map(|r| (r.id.as_str(), r)).collect();
    let in_flight: Vec<usize> = board.with_status(Status::InFlight).map(|(n, _)| n).collect();
    let mut pending = Vec::new();
    for node in in_flight {
        let id = board.id(node);
        match answers.get(id) {
            Some(result) => pending.extend(one(board, node, result)),
            // The wave ended without it: its worker may have done anything.
            None => {
                let lost = StepResult::new(id, asked, Outcome::Pending).because(&Code::WorkerCrashed.name(), "no answer");
                pending.extend(one(board, node, &lost));
            }
        }
    }
    pending
}

/// When each row that became pending is looked at again: asked when all results are in, for the slack of one depends on
/// the others.
pub(super) fn look_times(board: &mut Board<'_>, pending: Vec<(usize, Asked)>) {
    if pending.is_empty() {
        return;
    }
    let rows = board.rows();
    let outlook = Outlook::of(board.record, &rows, board.weights);
    let outlooks: Vec<_> = pending.iter().map(|&(node, _)| (outlook.spacing(node), outlook.slack(node))).collect();
    let (at, step) = (board.record.at, board.record.step);
    for ((node, asked), (spacing, slack)) in pending.into_iter().zip(outlooks) {
        let (id, known) = (board.id(node), board.weights.known(node));
        let Some(resource) = board.row_mut(node).filter(|r| r.status == Status::Pending) else { continue };
        let elapsed = at.saturating_sub(resource.started_at);
        let last_look = resource.started_at + known.deadline().as_millis() as Millis + SOON;
        let wanted = at + look_again(id, step, elapsed, asked, spacing, slack);
        // What is looked at too early for its deadline is looked at right after it, not minutes later.
        resource.look_at = if at < last_look { wanted.min(last_look) } else { wanted };
    }
}

fn one(board: &mut Board<'_>, node: usize, result: &StepResult) -> Option<(usize, Asked)> {
    let crashed = result.code.as_deref() == Some(&*Code::WorkerCrashed.name());
    let again = crashed || result.code.as_deref() == Some(&*Code::FenceShut.name());
    let resource = board.row_mut(node)?;
    resource.ms += result.ms;
    let was_look = std::mem::take(&mut resource.look);
    // A look changes nothing: it may still be running when the run ends, and it is not repeated for ever.
    if crashed || (was_look && again) {
        resource.crashes += 1;
    }
    if crashed && resource.crashes > MAX_CRASHES {
        if was_look {
            // Nothing was begun.
            (resource.started_at, resource.wave) = (0, 0);
        }
        board.explain(node, Code::WorkerCrashed.name(), "its worker crashed four times");
        board.set(node, Status::Failed);
        quiet(board.record, was_look);
        return None;
    }
    if crashed || result.retry > 0 {
        quiet(board.record, was_look);
    }
    let resource = board.row_mut(node)?;
    if was_look {
        if !again || resource.crashes > MAX_CRASHES {
            resource.looked = Some(looked(result));
        }
        if let Some(Looked { code: Some(code), .. }) = resource.looked.clone()
            && !is_guard(&code)
        {
            let reason = result.reason.as_deref().unwrap_or_default();
            board
                .record
                .warnings
                .push(text::display(&format!("{}: could not be looked at beforehand ({code}: {reason})", board.id(node))));
            if let Some(resource) = board.row_mut(node) {
                resource.looked = Some(Looked { code: None, reason: None });
            }
        }
        if let Some(resource) = board.row_mut(node) {
            // Nothing was begun: the attempt's own crashes are counted from its first delete.
            resource.started_at = 0;
            resource.wave = 0;
            if resource.looked.is_some() {
                resource.crashes = 0;
            }
        }
        board.set(node, Status::Waiting);
        return None;
    }
    resource.code.clone_from(&result.code);
    resource.reason = result.reason.as_deref().map(text::display);
    if let Some(memo) = &result.memo {
        resource.memo = Some(memo.clone());
    }
    match result.outcome {
        Outcome::Deleted => {
            resource.already = result.already;
            board.set(node, Status::Deleted);
        }
        Outcome::Skipped => board.set(node, Status::Skipped),
        Outcome::Failed => board.set(node, Status::Failed),
        Outcome::Pending => {
            board.set(node, Status::Pending);
            let asked = match (result.look_again_ms, &result.code) {
                (Some(ms), None) => Asked::After(ms),
                (Some(ms), Some(_)) => Asked::RetryAfter(ms),
                // A step that did nothing is repeated soon; the type's own pace is for deletes that are under way.
                (None, _) if again => Asked::RetryAfter(REPEAT),
                (None, _) => Asked::Nothing,
            };
            return Some((node, asked));
        }
        // A worker never answers these; taking them for done would lose the resource.
        Outcome::Retained | Outcome::Blocked => {
            board.explain(node, "UnexpectedOutcome", "the worker answered an outcome that only the planner gives");
            board.set(node, Status::Failed);
        }
    }
    None
}

/// The run does not end while a delivery of a step may still be running.
fn quiet(record: &mut RunRecord, was_look: bool) {
    if !was_look {
        record.quiet_at = record.quiet_at.max(record.at + QUIET.as_millis() as u64);
    }
}

fn looked(result: &StepResult) -> Looked {
    Looked { code: result.code.clone(), reason: result.reason.as_deref().map(text::display) }
}

/// Codes that say that the delete would be refused, and that no word of the request but `skipGuarded` helps.
pub(super) const HELPLESS: &[Code] = &[Code::NoProvider, Code::NoProperties, Code::NoServiceToken, Code::BadServiceToken];

/// Whether a code says that the delete would be refused.
pub(super) fn is_guard(code: &str) -> bool {
    let others = [Code::DataGuard, Code::Protected, Code::FinalSnapshotUnsupported];
    others.iter().chain(HELPLESS).any(|guard| code == guard.name())
}
