//! What the state machines and the functions say to each other; `docs/architecture.md` is the page for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ending::Refusal;
use crate::run::{Run, told};
use crate::sweep::payload as sweep;
use crate::wave::{Item, StepResult};

/// Where a plan stands: the step counter that makes plans and results count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCursor {
    /// The step the record had when this was answered.
    pub step: u64,
}

/// Requests to the planner.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum PlannerRequest {
    /// May this execution tear its stack down?
    Check {
        /// ARN of the teardown's execution.
        execution: String,
    },
    /// What is to be done now?
    Plan(Box<PlanRequest>),
    /// May this execution sweep, and where?
    Sweep {
        /// ARN of the sweep's execution.
        execution: String,
    },
    /// Which stacks of a place?
    Select(Box<sweep::SelectRequest>),
    /// Why could a place not be read, when this function crashed over it?
    Unread(sweep::UnreadRequest),
    /// May all that was chosen be swept?
    Admit(Box<sweep::AdmitRequest>),
    /// What of a group can be torn down now?
    Wave(Box<sweep::WaveRequest>),
    /// How did a stack's teardown end?
    Ended(Box<sweep::EndedRequest>),
    /// What came of the sweep?
    SumUp(Box<sweep::SumUpRequest>),
}

/// Asks for the next wave.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct PlanRequest {
    /// The run.
    pub run: Run,
    /// Number of the drive that asks, from 1.
    pub drive: u32,
    /// The step this drive knows.
    pub step: u64,
    /// What the wave's steps came to.
    #[serde(default)]
    pub results: Vec<StepResult>,
}

/// Answer of `check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// `lock`, `dryRun` or `refuse`.
    pub next: CheckNext,
    /// The run, unless refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Number of the first drive.
    pub drive: u32,
    /// Where the first plan starts.
    pub plan: PlanCursor,
    /// Error name of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Cause of a refusal, JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Where a teardown goes after the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckNext {
    /// Start the keeper and take the lock.
    Lock,
    /// Look only.
    DryRun,
    /// Fail with the error.
    Refuse,
}

impl CheckAnswer {
    /// Go on with `run`.
    pub fn go(run: Run) -> Self {
        let next = if run.dry_run { CheckNext::DryRun } else { CheckNext::Lock };
        CheckAnswer { next, run: Some(run), drive: 1, plan: PlanCursor::default(), error: None, cause: None }
    }

    /// Fail the execution with `refusal`.
    pub fn refuse(refusal: &Refusal, run: Option<&Run>) -> Self {
        CheckAnswer {
            next: CheckNext::Refuse,
            run: None,
            drive: 1,
            plan: PlanCursor::default(),
            error: Some(refusal.ending.name().into()),
            cause: Some(refusal.cause(told(run))),
        }
    }
}

/// Answer of `plan`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// What the drive does.
    pub next: PlanNext,
    /// The record's step; the next plan request carries it back.
    pub step: u64,
    /// Number of the wave, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u64>,
    /// The wave's items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
    /// How long to wait, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Error name of a stop (or of a finish after a refusal under the lock).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its Cause, JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// What a drive does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PlanNext {
    /// Work on the items.
    Wave,
    /// Nothing to do for a while.
    Wait,
    /// The execution's history is nearly full: go on in a new drive.
    Again,
    /// Nothing is left to do: settle and release.
    Finish,
    /// The lock, the state or the record is not ours any more: close, and let the keeper settle.
    Stop,
}

/// Requests to the worker.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum WorkerRequest {
    /// Take one resource one step closer to gone.
    Step(StepRequest),
}

/// One step.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct StepRequest {
    /// The run.
    pub run: Run,
    /// The resource to work on.
    pub item: Item,
    /// `$$.State.RetryCount`: above 0 this may be the second delivery of a step.
    #[serde(default)]
    pub retry: u32,
}

/// Requests to the lock-keeper.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum KeeperRequest {
    /// Take the lock of the stack and of every nested one, or none.
    Acquire {
        /// The run.
        run: Run,
    },
    /// Renew the locks of a run that still goes on.
    Renew {
        /// ARN of the teardown's execution.
        execution: String,
    },
    /// Remove a stack's lock whoever holds it: an operator's action, never automatic.
    ForceUnlock(ForceUnlockRequest),
}

/// Which lock to remove.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ForceUnlockRequest {
    /// The stack, exactly.
    pub stack: String,
    /// Its region; default: every region that has state of that name.
    #[serde(default)]
    pub region: Option<String>,
    /// The state bucket; default as for a teardown.
    #[serde(default)]
    pub bucket: Option<String>,
    /// The prefix; default as for a teardown.
    #[serde(default)]
    pub prefix: Option<String>,
    /// The role to work through.
    #[serde(default)]
    pub target: Option<crate::run::Target>,
}

/// Answer of `acquire`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcquireAnswer {
    /// `drive`, `wait` or `refuse`.
    pub next: AcquireNext,
    /// How long to wait before trying again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Error name of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its Cause, JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Where a teardown goes after trying to take the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AcquireNext {
    /// Every lock is held.
    Drive,
    /// Someone holds it and the request is willing to wait.
    Wait,
    /// Fail with the error.
    Refuse,
}

impl AcquireAnswer {
    /// Held.
    pub fn drive() -> Self {
        AcquireAnswer { next: AcquireNext::Drive, seconds: None, error: None, cause: None }
    }
    /// Try again later.
    pub fn wait(seconds: u64) -> Self {
        AcquireAnswer { next: AcquireNext::Wait, seconds: Some(seconds), error: None, cause: None }
    }
    /// Fail the execution.
    pub fn refuse(refusal: &Refusal, run: &Run) -> Self {
        AcquireAnswer {
            next: AcquireNext::Refuse,
            seconds: None,
            error: Some(refusal.ending.name().into()),
            cause: Some(refusal.cause(told(Some(run)))),
        }
    }
}

/// Answer of `renew`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenewAnswer {
    /// `held`, `over` or `end`.
    pub next: RenewNext,
    /// The run to settle, when it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
}

/// What the keeper does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RenewNext {
    /// The run goes on: renew again.
    Held,
    /// The run is over: close, drain, finish.
    Over,
    /// The execution never became a run: nothing to settle.
    End,
}

/// Requests to the finalizer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum FinalizerRequest {
    /// Shut the fence: nobody renews or reopens these locks any more.
    Close {
        /// The run.
        run: Run,
    },
    /// Settle the state, write the report, release the locks.
    Finish {
        /// The run.
        run: Run,
        /// Why the drive ended, when it was not because everything was done.
        #[serde(default)]
        error: Option<String>,
        /// The Cause that goes with it, JSON text.
        #[serde(default)]
        cause: Option<String>,
        /// Nobody finishes after this one: a lock that stays is an error, so that the keeper tries again.
        #[serde(default)]
        last: bool,
    },
    /// Say how an execution ended, for those who did not watch.
    Announce {
        /// ARN of the teardown's or sweep's execution.
        execution: String,
    },
}

/// Answer of `close`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseAnswer {
    /// Stacks whose lock was ours and is closed now.
    pub closed: Vec<String>,
}

/// Answer of `finish`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinishAnswer {
    /// `succeed` or `fail`.
    pub next: FinishNext,
    /// The run's output.
    pub output: Value,
    /// Error name of a failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The output with message and todo, JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// How the execution ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FinishNext {
    /// With its output.
    Succeed,
    /// With an error name.
    Fail,
}
