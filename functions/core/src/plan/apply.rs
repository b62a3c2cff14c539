//! What the results of a wave change.

use std::collections::HashMap;

use super::schedule::look_again;
use super::{QUIET, explain, set};
use crate::graph::Graph;
use crate::record::{Looked, RunRecord};
use crate::status::Status;
use crate::wave::{Outcome, StepResult};
use crate::{Code, catalogue, text};

/// Crashes of a worker on one resource before it fails.
const MAX_CRASHES: u32 = 3;
/// How soon a step that crashed or met a shut fence is repeated, in milliseconds.
const REPEAT: u64 = 1_000;

/// Applies each result once: it counts only for a resource that is in flight in the very step that it answers.
pub(super) fn results(record: &mut RunRecord, graph: &Graph, asked: u64, results: &[StepResult]) {
    let answers: HashMap<&str, &StepResult> = results.iter().filter(|r| r.step == asked).map(|r| (r.id.as_str(), r)).collect();
    let in_flight: Vec<usize> = (0..graph.nodes().len())
        .filter(|&n| record.resources.get(&graph.nodes()[n].id).is_some_and(|r| r.status == Status::InFlight))
        .collect();
    for node in in_flight {
        let id = &graph.nodes()[node].id;
        match answers.get(id.as_str()) {
            Some(result) => one(record, graph, node, result),
            // The wave ended without it: its worker may have done anything.
            None => {
                let lost = StepResult::new(id, asked, Outcome::Pending).because(&Code::WorkerCrashed.name(), "no answer");
                one(record, graph, node, &lost);
            }
        }
    }
}

fn one(record: &mut RunRecord, graph: &Graph, node: usize, result: &StepResult) {
    let node = &graph.nodes()[node];
    let (id, now) = (node.id.as_str(), record.at);
    let crashed = result.code.as_deref() == Some(&*Code::WorkerCrashed.name());
    let again = crashed || result.code.as_deref() == Some(&*Code::FenceShut.name());
    let in_vpc = node.row.properties.contains_key("VpcConfig");
    let known = catalogue::lookup(&node.row.resource_type, in_vpc);
    let Some(resource) = record.resources.get_mut(id) else { return };
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
        explain(record, id, Code::WorkerCrashed.name(), "its worker crashed four times");
        set(record, id, Status::Failed);
        quiet(record, was_look);
        return;
    }
    if crashed || result.retry > 0 {
        quiet(record, was_look);
    }
    let Some(resource) = record.resources.get_mut(id) else { return };
    if was_look {
        if !again || resource.crashes > MAX_CRASHES {
            resource.looked = Some(looked(result));
        }
        if let Some(Looked { code: Some(code), .. }) = resource.looked.clone()
            && !is_guard(&code)
        {
            let reason = result.reason.as_deref().unwrap_or_default();
            record.warnings.push(text::display(&format!("{id}: could not be looked at beforehand ({code}: {reason})")));
            if let Some(resource) = record.resources.get_mut(id) {
                resource.looked = Some(Looked { code: None, reason: None });
            }
        }
        if let Some(resource) = record.resources.get_mut(id) {
            // Nothing was begun: the attempt's own crashes are counted from its first delete.
            resource.started_at = 0;
            resource.wave = 0;
            if resource.looked.is_some() {
                resource.crashes = 0;
            }
        }
        set(record, id, Status::Waiting);
        return;
    }
    resource.code.clone_from(&result.code);
    resource.reason = result.reason.as_deref().map(text::display);
    if let Some(memo) = &result.memo {
        resource.memo = Some(memo.clone());
    }
    match result.outcome {
        Outcome::Deleted => {
            resource.already = result.already;
            set(record, id, Status::Deleted);
        }
        Outcome::Skipped => set(record, id, Status::Skipped),
        Outcome::Failed => set(record, id, Status::Failed),
        Outcome::Pending => {
            let elapsed = now.saturating_sub(resource.started_at);
            // A step that did nothing is repeated soon; the type's own pace is for deletes that are under way.
            let asked = result.look_again_ms.or(again.then_some(REPEAT));
            resource.look_at = now + look_again(id, record.step, elapsed, asked, &known);
            set(record, id, Status::Pending);
        }
        // A worker never answers these; taking them for done would lose the resource.
        Outcome::Retained | Outcome::Blocked => {
            explain(record, id, "UnexpectedOutcome", "the worker answered an outcome that only the planner gives");
            set(record, id, Status::Failed);
        }
    }
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

/// Whether a look's code says that the delete would be refused.
pub(super) fn is_guard(code: &str) -> bool {
    code == Code::DataGuard.name() || code == Code::Protected.name()
}
