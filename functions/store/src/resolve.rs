//! From an execution's ARN to the run it is. Identity is derived afresh each time and never stored.

use async_trait::async_trait;
use ebb_core::Run;

use crate::lambda::Failure;

/// What an execution is to the keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The state machines' service does not know it yet.
    NotLearnt,
    /// Its input is no request that could become a run: it never held a lock.
    NotARun,
    /// A run.
    Run {
        /// The run, as Check derived it.
        run: Box<Run>,
        /// Whether the execution still goes on.
        running: bool,
    },
}

/// Derives runs from executions.
#[async_trait]
pub trait ResolveRun: Send + Sync {
    /// What `execution_arn` is. An error means that nothing is known: neither that it runs nor that it is over.
    async fn resolve(&self, execution_arn: &str) -> Result<Resolution, Failure>;
}
