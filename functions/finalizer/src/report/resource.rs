//! One resource of a report.

use ebb_core::record::{ResourceRecord, RunRecord};
use ebb_core::{Code, Millis, Outcome, Status, text};
use serde::Serialize;

/// What became of a resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReport {
    /// `stack/LogicalId`.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Its physical id, as recorded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub physical_id: String,
    /// What became of it; nothing for what a dry run would delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// It was found gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// Row code or AWS error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why; for a blocked one, what blocks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<&'static str>,
    /// The wave of its first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<u64>,
    /// Attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// When its first step was planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// From start to end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Time its steps took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worked_ms: Option<u64>,
    #[serde(skip)]
    pub(super) started: Millis,
    #[serde(skip)]
    pub(super) ended: Millis,
}

/// All of them: what was begun in the order of its beginning, then the rest by id.
pub(super) fn all(record: &RunRecord) -> Vec<ResourceReport> {
    let mut rows: Vec<ResourceReport> = record.resources.iter().map(|(id, row)| one(record, id, row)).collect();
    // Stable: equal ones stay in the order of their ids.
    rows.sort_by_key(|row| if row.started == 0 { Millis::MAX } else { row.started });
    rows
}

fn one(record: &RunRecord, id: &str, row: &ResourceRecord) -> ResourceReport {
    let planned = record.run.dry_run && row.status == Status::Waiting;
    // What was looked at and not begun has only the look's word.
    let looked = row.looked.as_ref().filter(|_| row.status == Status::Waiting);
    let code = row.code.as_deref().or(looked.and_then(|looked| looked.code.as_deref()));
    // A guarded row is mended by what its look found.
    let found = looked.and_then(|looked| looked.code.as_deref()).filter(|_| row.code == Some(Code::Guarded.name()));
    let reason = match row.reason.as_deref().or(looked.and_then(|looked| looked.reason.as_deref())) {
        Some(reason) => Some(text::display(reason)),
        None if planned => None,
        None if row.status == Status::Waiting => Some("not begun when the run ended".into()),
        None if !row.status.is_settled() => Some("under way when the run ended; AWS may still finish it".into()),
        None => None,
    };
    let settled = row.status.is_settled() && row.ended_at > 0;
    let begun = row.started_at > 0;
    ResourceReport {
        id: text::display(id),
        resource_type: text::display(&row.resource_type),
        physical_id: text::display(&row.physical_id),
        outcome: (!planned).then_some(row.status.outcome()),
        already: row.already,
        code: code.map(text::display),
        reason,
        todo: found.or(code).filter(|_| row.status != Status::Deleted).and_then(super::advice::of_code),
        wave: (row.wave > 0).then_some(row.wave),
        attempts: (row.attempt > 0 && begun).then_some(row.attempt),
        started_at: begun.then(|| text::iso(row.started_at)),
        ended_at: settled.then(|| text::iso(row.ended_at)),
        duration_ms: (begun && settled).then(|| row.ended_at.saturating_sub(row.started_at)),
        worked_ms: (row.ms > 0).then_some(row.ms),
        started: row.started_at,
        ended: if settled { row.ended_at } else { 0 },
    }
}
