//! The run record: what a run remembers between steps. It is written before anything else as the claim on a step, it is
//! the progress view, and report and event log are made of it. Names, types, ids and errors only: no property values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;
use crate::ending::{Ending, Refusal};
use crate::payload::PlanNext;
use crate::run::Run;
use crate::status::Status;
use crate::wave::Outcome;

/// The record's format. A newer one is refused; each release reads the one before.
pub const RECORD_VERSION: u64 = 1;

/// What a run remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// [`RECORD_VERSION`] of the release that wrote it.
    pub record_version: u64,
    /// The run. Its `execution` says whose record this is.
    pub run: Run,
    /// Counts plans and the finish; each writes it once, so a second delivery is told from the first.
    pub step: u64,
    /// When this step was claimed: the `lastModified` of the state that goes with it.
    pub at: Millis,
    /// When the first step was claimed.
    pub started_at: Millis,
    /// The drive that works, from 1.
    pub drive: u32,
    /// Estimated events in that drive's history.
    pub events: u64,
    /// Waves so far.
    pub wave: u64,
    /// What the planner answered at this step, beside the items in flight.
    pub answer: Answer,
    /// `done` is not answered before: a step that crashed or was retried may still be running.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub quiet_at: Millis,
    /// The state files of the run.
    pub stacks: BTreeMap<String, StackLedger>,
    /// Every resource, by `stack/LogicalId`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Orphans that the state lists (`stack/LogicalId`): left in AWS by earlier rollbacks, not deleted by this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<String>,
    /// What a person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Under the lock there was no state any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// Why the run stops before its end, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// How it ended: written after its last effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// What the planner answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// What the drive does.
    pub next: PlanNext,
    /// How long it waits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// Result or error name.
    pub result: Ending,
    /// When.
    pub at: Millis,
    /// For people; display-safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What this run has done to one state file. Digests tell its own writes from anybody else's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackLedger {
    /// sha256 of the body before this step's write.
    pub before: String,
    /// sha256 of the body that belongs to this step.
    pub after: String,
    /// The state file was removed with everything that belongs to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// One resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRecord {
    /// Its type.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Its physical id, as recorded in the state; display-safe.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub physical_id: String,
    /// Where it stands.
    pub status: Status,
    /// Attempts, from 1; 0 before the first.
    #[serde(skip_serializing_if = "is_zero_u32")]
    pub attempt: u32,
    /// Steps of this attempt whose worker crashed.
    #[serde(skip_serializing_if = "is_zero_u32")]
    pub crashes: u32,
    /// Whether it is in flight for a look only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub look: bool,
    /// What the look before the first delete said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
    /// When its first step was planned.
    #[serde(skip_serializing_if = "is_zero")]
    pub started_at: Millis,
    /// When it was settled.
    #[serde(skip_serializing_if = "is_zero")]
    pub ended_at: Millis,
    /// When to look again.
    #[serde(skip_serializing_if = "is_zero")]
    pub look_at: Millis,
    /// What the next step needs to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<Value>,
    /// Row code or AWS error code of what was last heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For people; display-safe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It was found gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// The wave of its first step.
    #[serde(skip_serializing_if = "is_zero")]
    pub wave: u64,
    /// Time its steps took, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub ms: u64,
}

/// What a look said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// `DataGuard` or `Protected`; nothing when the way is clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How many resources came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub deleted: usize,
    pub retained: usize,
    pub skipped: usize,
    pub failed: usize,
    pub blocked: usize,
}

impl Counts {
    /// How many are left, not on purpose.
    pub fn left(&self) -> usize {
        self.skipped + self.failed + self.blocked
    }

    /// Whether nothing is left to mend.
    pub fn is_clean(&self) -> bool {
        self.left() == 0
    }
}

impl RunRecord {
    /// What came of the resources; those that were not settled count as blocked. A dry run settles only what it knows to
    /// stay: the others would go.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for resource in self.resources.values().filter(|r| r.status.is_settled() || !self.run.dry_run) {
            match resource.status.outcome() {
                Outcome::Deleted => counts.deleted += 1,
                Outcome::Retained => counts.retained += 1,
                Outcome::Skipped => counts.skipped += 1,
                Outcome::Failed => counts.failed += 1,
                Outcome::Blocked | Outcome::Pending => counts.blocked += 1,
            }
        }
        counts
    }

    /// Logical ids of a stack's rows that are deleted.
    pub fn deleted_in<'a>(&'a self, stack: &'a str) -> impl Iterator<Item = &'a str> {
        self.in_stack(stack).filter(|(_, r)| r.status == Status::Deleted).map(|(id, _)| id)
    }

    /// A stack's rows by logical id.
    pub fn in_stack<'a>(&'a self, stack: &'a str) -> impl Iterator<Item = (&'a str, &'a ResourceRecord)> {
        let from = format!("{stack}/");
        self.resources.range(from..).map_while(move |(id, r)| Some((id.strip_prefix(stack)?.strip_prefix('/')?, r)))
    }

    /// Reads a record, refusing one of a newer release.
    pub fn parse(body: &[u8]) -> Result<RunRecord, RecordError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            record_version: u64,
        }
        let version: Version = serde_json::from_slice(body).map_err(|_| RecordError::Unreadable)?;
        if version.record_version > RECORD_VERSION {
            return Err(RecordError::Newer(version.record_version));
        }
        serde_json::from_slice(body).map_err(|_| RecordError::Unreadable)
    }
}

/// Why a record cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Not JSON, or not a record.
    #[error("the run record cannot be read")]
    Unreadable,
    /// Written by a newer release.
    #[error("the run record has version {0}, this release knows up to {RECORD_VERSION}")]
    Newer(u64),
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_zero_u32(value: &u32) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests;
