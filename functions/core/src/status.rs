//! The status of a resource in the run record, and the one function that knows which changes are legal.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wave::Outcome;

/// Where a resource stands between plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// Not begun.
    #[default]
    Waiting,
    /// In the wave that is out.
    InFlight,
    /// Begun; to be looked at again.
    Pending,
    /// Gone.
    Deleted,
    /// Kept by its policy.
    Retained,
    /// Not addressed or not proven deleted; its record stays.
    Skipped,
    /// Not deleted; its record stays.
    Failed,
    /// Not attempted, because something that needs it is still there; its record stays.
    Blocked,
}

impl Status {
    /// Whether nothing more happens to it in this run.
    pub fn is_settled(self) -> bool {
        !matches!(self, Status::Waiting | Status::InFlight | Status::Pending)
    }

    /// The outcome it stands for; a resource that was not settled is reported as pending or, never begun, as blocked.
    pub fn outcome(self) -> Outcome {
        match self {
            Status::InFlight | Status::Pending => Outcome::Pending,
            Status::Deleted => Outcome::Deleted,
            Status::Retained => Outcome::Retained,
            Status::Skipped => Outcome::Skipped,
            Status::Failed => Outcome::Failed,
            Status::Waiting | Status::Blocked => Outcome::Blocked,
        }
    }
}

impl From<Outcome> for Status {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Deleted => Status::Deleted,
            Outcome::Pending => Status::Pending,
            Outcome::Retained => Status::Retained,
            Outcome::Skipped => Status::Skipped,
            Outcome::Failed => Status::Failed,
            Outcome::Blocked => Status::Blocked,
        }
    }
}

/// A change that must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalTransition {
    /// The status it has.
    pub from: Status,
    /// The status it was to get.
    pub to: Status,
}

impl fmt::Display for IllegalTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a resource that is {:?} cannot become {:?}", self.from, self.to)
    }
}

impl std::error::Error for IllegalTransition {}

/// The legal changes of a status.
pub fn transition(from: Status, to: Status) -> Result<Status, IllegalTransition> {
    use Status::{Blocked, Deleted, Failed, InFlight, Pending, Retained, Skipped, Waiting};
    match (from, to) {
        // Decided without a step: by policy, by its address, by what blocks it, or by its children.
        (Waiting, Retained | Skipped | Failed | Blocked | Deleted)
        // Into a wave.
        | (Waiting | Pending, InFlight)
        // Back from a wave; a look leaves it as it was.
        | (InFlight, Waiting | Pending | Deleted | Skipped | Failed)
        // A deadline ends a pending one.
        | (Pending, Failed) => Ok(to),
        _ => Err(IllegalTransition { from, to }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Status; 8] = [
        Status::Waiting,
        Status::InFlight,
        Status::Pending,
        Status::Deleted,
        Status::Retained,
        Status::Skipped,
        Status::Failed,
        Status::Blocked,
    ];

    #[test]
    fn what_is_settled_stays_settled() {
        for from in ALL.into_iter().filter(|s| s.is_settled()) {
            for to in ALL {
                assert_eq!(transition(from, to), Err(IllegalTransition { from, to }));
            }
        }
    }

    #[test]
    fn nothing_is_deleted_by_a_plan_while_it_is_out() {
        assert!(transition(Status::Pending, Status::Deleted).is_err());
        assert_eq!(transition(Status::InFlight, Status::Deleted), Ok(Status::Deleted));
        assert!(transition(Status::InFlight, Status::Blocked).is_err());
    }
}
