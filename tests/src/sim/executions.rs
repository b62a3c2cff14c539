//! Executions of the machines: start, stop, redrive, describe, and the event that a dead teardown sends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ebb_core::Millis;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::asl::{Machine, machines};
use super::invariants::Invariant;
use super::log::brief;
use super::machine::{Fault, Runner};
use super::scenario::{Notice, Sabotage};
use super::world::{SECRET, Sim};

/// Which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Teardown,
    Drive,
    Keeper,
    Sweep,
}

impl Kind {
    /// By the name that a definition is filled in with.
    pub fn of(name: &str) -> Result<Kind, String> {
        match name {
            "teardown" => Ok(Kind::Teardown),
            "drive" => Ok(Kind::Drive),
            "keeper" => Ok(Kind::Keeper),
            "sweep" => Ok(Kind::Sweep),
            other => Err(format!("there is no machine {other}")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Teardown => "teardown",
            Kind::Drive => "drive",
            Kind::Keeper => "keeper",
            Kind::Sweep => "sweep",
        }
    }

    fn machine(self) -> &'static Machine {
        match self {
            Kind::Teardown => &machines().teardown,
            Kind::Drive => &machines().drive,
            Kind::Keeper => &machines().keeper,
            Kind::Sweep => &machines().sweep,
        }
    }
}

/// How an execution stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    Running,
    Succeeded(Value),
    Failed { error: String, cause: String },
    TimedOut,
    Aborted,
}

/// One execution.
pub struct Execution {
    pub arn: String,
    pub kind: Kind,
    pub name: String,
    pub input: Value,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    pub standing: Standing,
    pub redrives: u32,
    pub events: u64,
    parent: Option<String>,
    /// The state it is in and its input: where a redrive goes on.
    at: (String, Value),
    task: Option<AbortHandle>,
    over: watch::Sender<bool>,
}

/// All executions, in the order of their start.
#[derive(Default)]
pub struct Executions(Mutex<Vec<Execution>>);

impl Executions {
    /// The executions.
    pub fn all(&self) -> MutexGuard<'_, Vec<Execution>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, arn: &str, what: impl FnOnce(&mut Execution) -> T) -> Option<T> {
        self.all().iter_mut().find(|execution| execution.arn == arn).map(what)
    }

    /// StartExecution. The same name with the same input is the same execution while it runs.
    pub fn start(
        &self,
        sim: &Arc<Sim>,
        region: &str,
        kind: Kind,
        name: &str,
        input: Value,
        parent: Option<&str>,
    ) -> Result<String, Fault> {
        let arn = format!("arn:aws:states:{region}:{ACCOUNT}:execution:ebb-{}:{name}", kind.name());
        if let Some((same, running)) = self.with(&arn, |e| (e.input == input, e.standing == Standing::Running)) {
            if same && running && parent.is_none() {
                return Ok(arn);
            }
            return Err(Fault::error("StepFunctions.ExecutionAlreadyExistsException", "the name is taken"));
        }
        let secret = input.to_string().contains(SECRET);
        sim.check(Invariant::Secrets, !secret, || format!("in the input of {name}"));
        sim.count(match kind {
            Kind::Teardown => "teardowns",
            Kind::Drive => "drives",
            Kind::Keeper => "keepers",
            Kind::Sweep => "sweeps",
        });
        sim.event(|| format!("start {arn} {}", brief(&input)));
        if kind == Kind::Keeper && sim.scenario.sabotage == Some(Sabotage::NoKeeper) {
            return Ok(arn);
        }
        let start_at = kind.machine().start_at.clone();
        self.all().push(Execution {
            arn: arn.clone(),
            kind,
            name: name.to_owned(),
            input: input.clone(),
            started_at: sim.now(),
            ended_at: None,
            standing: Standing::Running,
            redrives: 0,
            events: 0,
            parent: parent.map(str::to_owned),
            at: (start_at.clone(), input.clone()),
            task: None,
            over: watch::channel(false).0,
        });
        self.spawn(sim, &arn, start_at, input);
        Ok(arn)
    }

    fn spawn(&self, sim: &Arc<Sim>, arn: &str, from: String, input: Value) {
        let Some((kind, name)) = self.with(arn, |e| (e.kind, e.name.clone())) else { return };
        let runner = Runner { sim: sim.clone(), arn: arn.to_owned(), name: format!("{} {name}", kind.name()) };
        let (sim, of) = (sim.clone(), arn.to_owned());
        let task = tokio::spawn(async move {
            let result = runner.run(kind.machine(), &from, input).await;
            let standing = match result {
                Ok(output) => Standing::Succeeded(output),
                Err(Fault::Error { error, .. }) if error == "States.Timeout" => Standing::TimedOut,
                Err(Fault::Error { error, cause }) => Standing::Failed { error, cause },
                Err(Fault::Runtime(broken)) => {
                    sim.check(Invariant::Machine, false, || format!("{}: {broken}", runner.name));
                    Standing::Failed { error: "States.Runtime".into(), cause: broken }
                }
            };
            sim.executions.ended(&sim, &of, standing);
        });
        self.with(arn, |e| e.task = Some(task.abort_handle()));
    }

    fn ended(&self, sim: &Arc<Sim>, arn: &str, standing: Standing) {
        let text = match &standing {
            Standing::Succeeded(output) => output.to_string(),
            Standing::Failed { cause, .. } => cause.clone(),
            _ => String::new(),
        };
        sim.check(Invariant::Secrets, !text.contains(SECRET), || format!("in the output of {arn}"));
        sim.event(|| format!("end {arn} {standing:?}"));
        let Some((kind, name)) = self.with(arn, |e| {
            e.standing = standing.clone();
            e.ended_at = Some(sim.now());
            e.over.send_replace(true);
            (e.kind, e.name.clone())
        }) else {
            return;
        };
        if kind == Kind::Teardown {
            sim.truth.teardown_ended(sim, arn, &standing);
            if !matches!(standing, Standing::Succeeded(_)) {
                self.notify(sim, arn, &name);
            }
        }
    }

    /// The EventBridge rule: late, twice or never.
    fn notify(&self, sim: &Arc<Sim>, arn: &str, name: &str) {
        let delays: Vec<u64> = match sim.scenario.notice {
            Notice::Prompt => vec![sim.rng.machines.between(1, 20)],
            Notice::Late => vec![sim.rng.machines.between(60, 1_200)],
            Notice::Twice => vec![sim.rng.machines.between(1, 30), sim.rng.machines.between(1, 600)],
            Notice::Never => Vec::new(),
        };
        if sim.scenario.notice != Notice::Prompt {
            sim.fault("death event late, twice or never");
        }
        let region = arn.split(':').nth(3).unwrap_or_default().to_owned();
        for (n, seconds) in delays.into_iter().enumerate() {
            let (sim, region, arn) = (sim.clone(), region.clone(), arn.to_owned());
            let redrives = self.with(&arn, |e| e.redrives).unwrap_or_default();
            let name = format!("event-{n}-{redrives}-{name}");
            sim.truth.pending(1);
            tokio::spawn(async move {
                sim.sleep(std::time::Duration::from_secs(seconds)).await;
                let started = sim.executions.start(&sim, &region, Kind::Keeper, &name, json!({"execution": arn}), None);
                sim.event(|| format!("death event of {arn}: {started:?}"));
                sim.truth.pending(-1);
            });
        }
    }

    /// StopExecution. What it waits for is stopped too, at best effort; functions run on.
    pub fn stop(&self, sim: &Arc<Sim>, arn: &str, children_too: bool) -> bool {
        let task = self.with(arn, |e| if e.standing == Standing::Running { e.task.take() } else { None }).flatten();
        let Some(task) = task else { return false };
        task.abort();
        sim.event(|| format!("stop {arn}"));
        self.ended(sim, arn, Standing::Aborted);
        let children: Vec<String> =
            self.all().iter().filter(|e| e.parent.as_deref() == Some(arn)).map(|e| e.arn.clone()).collect();
        for child in children.iter().filter(|_| children_too) {
            self.stop(sim, child, true);
        }
        true
    }

    /// RedriveExecution: it goes on in the state in which it ended badly.
    pub fn redrive(&self, sim: &Arc<Sim>, arn: &str) -> bool {
        let from = self.with(arn, |e| {
            if matches!(e.standing, Standing::Running | Standing::Succeeded(_)) {
                return None;
            }
            e.standing = Standing::Running;
            e.ended_at = None;
            e.redrives += 1;
            e.over.send_replace(false);
            Some(e.at.clone())
        });
        let Some((state, input)) = from.flatten() else { return false };
        sim.event(|| format!("redrive {arn} at {state}"));
        self.spawn(sim, arn, state, input);
        true
    }

    /// Waits until the execution is over: its output, or the Cause of its failure.
    pub async fn outcome(&self, arn: &str) -> Result<Value, String> {
        let Some(mut over) = self.with(arn, |e| e.over.subscribe()) else { return Err(String::new()) };
        if over.wait_for(|over| *over).await.is_err() {
            return Err("the simulation ended".into());
        }
        match self.with(arn, |e| e.standing.clone()) {
            Some(Standing::Succeeded(output)) => Ok(output),
            other => Err(described(arn, other).to_string()),
        }
    }

    /// Notes where an execution is.
    pub fn entered(&self, arn: &str, state: &str, input: &Value) {
        self.with(arn, |e| {
            // Only teardowns are redriven here.
            if e.kind == Kind::Teardown {
                e.at = (state.to_owned(), input.clone());
            }
        });
    }

    /// Adds to an execution's history, and answers how long it is.
    pub fn add_events(&self, arn: &str, more: u64) -> u64 {
        self.with(arn, |e| {
            e.events += more;
            e.events
        })
        .unwrap_or_default()
    }

    /// Whether anything runs.
    pub fn any_running(&self) -> bool {
        self.all().iter().any(|e| e.standing == Standing::Running)
    }
}

/// What Step Functions says of a failed child, in the Cause of the task that waited for it.
fn described(arn: &str, standing: Option<Standing>) -> Value {
    let (status, error, cause) = match standing {
        Some(Standing::Failed { error, cause }) => ("FAILED", Some(error), Some(cause)),
        Some(Standing::TimedOut) => ("TIMED_OUT", None, None),
        _ => ("ABORTED", None, None),
    };
    json!({"ExecutionArn": arn, "Status": status, "Error": error, "Cause": cause})
}

/// The account of everything.
pub const ACCOUNT: &str = "123456789012";
