//! What the functions reach of the world outside: executions, accounts and their buckets, time. The Lambdas get AWS,
//! the simulation a modelled one; the code in between is the same.

use std::sync::Arc;

use async_trait::async_trait;
use ebb_core::{Clock, Millis, Refusal, Run, Target};

use crate::bucket::Bucket;

/// An execution of the teardown machine, as DescribeExecution tells it.
#[derive(Clone, PartialEq, Eq)]
pub struct Execution {
    /// The input, JSON text: the request.
    pub input: String,
    /// `startDate` in milliseconds: the `timestamp` of the run's locks.
    pub started_at: Millis,
    /// Whether it still runs (`RUNNING`; also `PENDING_REDRIVE` is not running).
    pub running: bool,
    /// Whether it was redriven: it would resume in the middle with its lock long gone.
    pub redriven: bool,
    /// How it ended, once it has.
    pub end: Option<End>,
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq)]
pub struct End {
    /// `SUCCEEDED`, `FAILED`, `TIMED_OUT`, `ABORTED`.
    pub status: String,
    /// The output of one that succeeded, JSON text.
    pub output: Option<String>,
    /// The error name of one that failed.
    pub error: Option<String>,
    /// The Cause of one that failed.
    pub cause: Option<String>,
}

/// DescribeExecution. Its quota is low and it is eventually consistent, so only Check, Renew and Announce call it.
#[async_trait]
pub trait Executions: Send + Sync {
    /// The execution; `None` when it is not learnt yet.
    async fn describe(&self, execution_arn: &str) -> Result<Option<Execution>, ExecutionsError>;
}

/// DescribeExecution failed; whether the execution runs is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("DescribeExecution: {0}")]
pub struct ExecutionsError(pub String);

/// A state bucket that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketPlace {
    /// Its name.
    pub name: String,
    /// Its own region.
    pub region: String,
    /// What a person should know (the legacy default bucket is deprecated …).
    pub warnings: Vec<String>,
}

/// Accounts: the app's own, or a target's through its role.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// The account that calls for `target` (or without one the app itself) reach: STS GetCallerIdentity.
    async fn account(&self, target: Option<&Target>, run_id: &str) -> Result<String, Refusal>;

    /// Finds the state bucket and its region: `name` verbatim, else cdkd's default for the account
    /// (`cdkd-state-{account}`, before that `cdkd-state-{account}-{region}`).
    async fn find_bucket(
        &self,
        target: Option<&Target>,
        run_id: &str,
        account: &str,
        name: Option<&str>,
        stack_region: Option<&str>,
    ) -> Result<BucketPlace, Refusal>;

    /// The state bucket of a run, through its target's role.
    async fn bucket(&self, run: &Run) -> Result<Arc<dyn Bucket>, Refusal>;
}

/// Everything a function needs from outside.
#[derive(Clone)]
pub struct World {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// DescribeExecution.
    pub executions: Arc<dyn Executions>,
    /// Accounts and buckets.
    pub accounts: Arc<dyn Accounts>,
}
