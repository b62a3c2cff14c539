//! What is still in AWS after a run, and what nothing else tells of: the state of a stack that ended clean is gone, so this
//! is the last word on it.

use ebb_core::record::RunRecord;
use ebb_core::{Ending, Status, text};
use serde::Serialize;

use crate::unprotected::{WHAT, is_unprotected};

/// Something that is still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leftover {
    /// `retained`, `orphan`, `pendingDeletion`, `deregistered`, `underWay`, `unprotected` or `note`.
    pub kind: &'static str,
    /// `stack/LogicalId`.
    pub id: String,
    /// Its type, when it is known.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub resource_type: String,
    /// Its physical id, when it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub physical_id: String,
    /// What it is about it.
    pub what: String,
}

/// What the user must be told of.
pub(super) fn of(record: &RunRecord, ending: Ending) -> Vec<Leftover> {
    if record.run.dry_run {
        return Vec::new();
    }
    let forgotten = matches!(ending, Ending::Deleted | Ending::Empty);
    let memory = if forgotten { "no state records it any more" } else { "the state still records it" };
    let mut left = Vec::new();
    for (id, row) in &record.resources {
        let mut tell = |kind, what: String| {
            left.push(Leftover {
                kind,
                id: text::display(id),
                resource_type: text::display(&row.resource_type),
                physical_id: text::display(&row.physical_id),
                what,
            });
        };
        match (row.status, row.resource_type.as_str()) {
            (Status::Retained, _) => tell("retained", format!("kept by its DeletionPolicy; {memory}")),
            (Status::Deleted, "AWS::KMS::Key") => {
                tell("pendingDeletion", "scheduled for deletion; until then CancelKeyDeletion keeps it".into());
            }
            (Status::Deleted, "AWS::ECS::TaskDefinition") => tell("deregistered", "deregistered; it stays as INACTIVE".into()),
            (Status::InFlight | Status::Pending, _) => {
                tell("underWay", "its delete was under way when the run ended; AWS may still finish it".into());
            }
            _ => {}
        }
        if is_unprotected(row) {
            tell("unprotected", WHAT.into());
        }
        // A snapshot that was taken, a handler that was gone, a protection that could not be put back.
        if let Some(reason) = row.reason.as_deref().filter(|_| row.status == Status::Deleted) {
            tell("note", text::display(reason));
        }
    }
    left.extend(record.orphans.iter().map(|id| Leftover {
        kind: "orphan",
        id: text::display(id),
        resource_type: String::new(),
        physical_id: String::new(),
        what: format!("left in AWS by an earlier rollback, not deleted by this run; {memory}"),
    }));
    left
}
