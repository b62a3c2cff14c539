//! How a run can end: one table of name, exit class, what it means and what to do next. The names are what a state
//! machine, an alarm or a person matches on; renaming one is a breaking change.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::text;

/// The result of a run, or the error name it failed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ending {
    Deleted,
    Empty,
    NothingToDo,
    DryRun,
    Partial,
    LockLost,
    StateConflict,
    RunRecordLost,
    LedgerNotDeletable,
    ActiveImports,
    Interrupted,
    InvalidRequest,
    StackNotFound,
    BucketNotFound,
    AccessDenied,
    MalformedState,
    UnsupportedVersion,
    RegionMismatch,
    CircularDependency,
    NestedChild,
    Refused,
    LockHeld,
    LockError,
    Error,
}

/// One row of the table.
struct Row(Ending, &'static str, u8, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row(Ending::Deleted, "Deleted", 0, "every resource is gone or retained by its policy; the record is removed", "nothing"),
    Row(Ending::Empty, "Empty", 0, "the stack had no resources; its record is removed", "nothing"),
    Row(Ending::NothingToDo, "NothingToDo", 0, "the stack's record went away between the check and the lock", "nothing"),
    Row(Ending::DryRun, "DryRun", 0, "the plan was made and nothing was changed", "start again with `confirm` to delete"),
    Row(Ending::Partial, "Partial", 2, "some resources failed, were skipped or are blocked; their records are kept", "mend what the report names, then start again"),
    Row(Ending::LockLost, "LockLost", 2, "the stack's lock was taken, removed or closed while the run worked", "find out who holds the stack, then start again"),
    Row(Ending::StateConflict, "StateConflict", 2, "the state was changed by someone who does not hold the lock", "look at the state's versions, then start again"),
    Row(Ending::RunRecordLost, "RunRecordLost", 2, "the run's record is missing or belongs to another execution", "start again; what was deleted is found gone"),
    Row(Ending::LedgerNotDeletable, "LedgerNotDeletable", 2, "create-tokens.json could not be deleted, so the state is kept", "grant s3:DeleteObject on it, then start again"),
    Row(Ending::ActiveImports, "ActiveImports", 2, "other stacks import this stack's exports", "tear the importing stacks down first"),
    Row(Ending::Interrupted, "Interrupted", 130, "the execution was stopped; what it had not begun is kept", "start again to go on"),
    Row(Ending::InvalidRequest, "InvalidRequest", 1, "the request cannot be read as a teardown", "mend the field that the message names"),
    Row(Ending::StackNotFound, "StackNotFound", 1, "no state of this stack in this bucket, prefix and region", "check stack, region, bucket and prefix"),
    Row(Ending::BucketNotFound, "BucketNotFound", 1, "the state bucket does not exist", "name the bucket, or run `cdkd bootstrap`"),
    Row(Ending::AccessDenied, "AccessDenied", 1, "a call that the check needs was denied", "grant the action that the message names"),
    Row(Ending::MalformedState, "MalformedState", 1, "the state cannot be read as cdkd writes it", "repair the state file; nothing was changed"),
    Row(Ending::UnsupportedVersion, "UnsupportedVersion", 1, "the state has a schema version this release does not know", "upgrade Ebb"),
    Row(Ending::RegionMismatch, "RegionMismatch", 1, "the state names another region than its key", "repair the state's region; deleting elsewhere would lose resources"),
    Row(Ending::CircularDependency, "CircularDependency", 1, "the recorded dependencies form a cycle", "repair the dependencies that the message names"),
    Row(Ending::NestedChild, "NestedChild", 1, "the stack is nested in another one", "tear the parent down, or set allowNestedChild"),
    Row(Ending::Refused, "Refused", 1, "a guard or rail refused", "do what the message says, or let the app's owner change the parameter that it names"),
    Row(Ending::LockHeld, "LockHeld", 1, "someone else holds the stack's lock", "wait for its owner, or force-unlock when it is dead"),
    Row(Ending::LockError, "LockError", 1, "the lock could not be read or written", "mend what the message names, then start again"),
    Row(Ending::Error, "Error", 1, "a part of Ebb failed", "read the message, then start again: the keeper settles the run"),
];

/// What a person does after a look that found what would make the real run refuse.
pub const TODO_GUARDED: &str = "mend what is named as guarded, or say removeProtection, deleteData, skipFinalSnapshot or skipGuarded; then start again with `confirm`";

impl Ending {
    /// Every ending, in the table's order.
    pub fn all() -> impl Iterator<Item = Ending> {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> &'static Row {
        // The table is in the enum's order; a test holds it there.
        &TABLE[self as usize]
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// 0 clean, 1 refused or broken before work, 2 work left behind, 130 interrupted (cdkd's exit codes).
    pub fn exit_class(self) -> u8 {
        self.row().2
    }

    /// What happened, in one clause.
    pub fn meaning(self) -> &'static str {
        self.row().3
    }

    /// What a person does next.
    pub fn todo(self) -> &'static str {
        self.row().4
    }

    /// Whether the execution ends as succeeded.
    pub fn succeeds(self) -> bool {
        self.exit_class() == 0
    }

    /// The kind of end, as events tell it: `completed`, `partial`, `refused` (nothing was deleted), `interrupted`, `failed`.
    pub fn outcome(self) -> &'static str {
        match self {
            Ending::Deleted | Ending::Empty | Ending::NothingToDo | Ending::DryRun => "completed",
            Ending::Partial | Ending::LedgerNotDeletable => "partial",
            Ending::Interrupted => "interrupted",
            Ending::LockLost | Ending::StateConflict | Ending::RunRecordLost | Ending::LockError | Ending::Error => "failed",
            Ending::ActiveImports
            | Ending::InvalidRequest
            | Ending::StackNotFound
            | Ending::BucketNotFound
            | Ending::AccessDenied
            | Ending::MalformedState
            | Ending::UnsupportedVersion
            | Ending::RegionMismatch
            | Ending::CircularDependency
            | Ending::NestedChild
            | Ending::Refused
            | Ending::LockHeld => "refused",
        }
    }

    /// The ending of that name.
    pub fn from_name(name: &str) -> Option<Ending> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a run does not go on: the ending and a display-safe message. A value, not a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The error name.
    pub ending: Ending,
    /// What exactly, for a person; display-safe.
    pub message: String,
}

impl Refusal {
    /// A refusal with a display-safe message.
    pub fn new(ending: Ending, message: impl AsRef<str>) -> Self {
        Refusal { ending, message: text::display(message.as_ref()) }
    }

    /// The Cause of the failed execution: JSON text that says what happened and what to do. `whose` are the members that
    /// say of what, a run's ([`crate::run::told`]) or a sweep's.
    pub fn cause(&self, whose: Value) -> String {
        let mut cause = json!({"result": self.ending.name(), "exitClass": self.ending.exit_class()});
        if let (Some(members), Value::Object(whose)) = (cause.as_object_mut(), whose) {
            members.extend(whose);
        }
        cause["message"] = self.message.as_str().into();
        cause["todo"] = self.ending.todo().into();
        cause.to_string()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.ending, self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_enums_order_and_names_are_the_variants() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, i, "{}", row.1);
            assert_eq!(format!("{:?}", row.0), row.1);
            assert_eq!(Ending::from_name(row.1), Some(row.0));
        }
        assert_eq!(TABLE.last().map(|r| r.0), Some(Ending::Error));
    }

    #[test]
    fn exit_classes_are_cdkds() {
        let of = |class| Ending::all().filter(|e| e.exit_class() == class).count();
        assert_eq!((of(0), of(2), of(130)), (4, 6, 1));
        assert_eq!(of(1), Ending::all().count() - 11);
    }
}
