//! One simulated world: time, bucket, AWS, executions, functions and what is noted of them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ebb_core::{Clock, Millis};
use ebb_store::{MemoryBucket, VirtualClock};

use super::aws::Aws;
use super::executions::Executions;
use super::functions::Fleet;
use super::invariants::Invariant;
use super::log::{Log, Trace};
use super::rng::Rng;
use super::scenario::Scenario;
use super::truth::Truth;

/// When every simulation begins: 2026-08-15.
pub const START: Millis = 1_786_786_212_123;

/// A marker that stands in secrets and must never be seen anywhere else.
pub const SECRET: &str = "S3cretMarker";

/// Streams of chance, one for each part.
#[derive(Debug)]
pub struct Streams {
    pub bucket: Rng,
    pub aws: Rng,
    pub functions: Rng,
    pub machines: Rng,
    pub neighbours: Rng,
}

/// Who acts. Carried with the task that acts, so that the bucket and AWS know whom they serve.
#[derive(Clone, Debug)]
pub struct Actor {
    /// `planner`, `worker`, `lock-keeper`, `finalizer`, `cdkd`, `old cdkd`, `operator`, `handler`.
    pub name: &'static str,
    /// Number of the invocation, one per delivery.
    pub invocation: u64,
    /// The run it works for, when its payload says so.
    pub run: Option<RunName>,
}

/// What identifies a run's locks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunName {
    pub owner: String,
    pub timestamp: Millis,
}

impl Actor {
    /// Whether it is a function of Ebb, that the protocol binds.
    pub fn is_ebb(&self) -> bool {
        matches!(self.name, "planner" | "worker" | "lock-keeper" | "finalizer")
    }
}

tokio::task_local! {
    /// Who acts in this task.
    pub static ACTOR: Actor;
}

/// Who acts now; the world itself when nobody does.
pub fn actor() -> Actor {
    ACTOR.try_with(Clone::clone).unwrap_or(Actor { name: "world", invocation: 0, run: None })
}

/// The world of one seed.
pub struct Sim {
    pub scenario: Scenario,
    pub time: VirtualClock,
    pub rng: Streams,
    pub log: Log,
    pub bucket: MemoryBucket,
    pub aws: Aws,
    pub truth: Truth,
    pub executions: Executions,
    pub fleet: OnceLock<Fleet>,
}

impl Sim {
    /// A world as `scenario` draws it, empty.
    pub fn new(scenario: Scenario, trace: Trace) -> Arc<Sim> {
        let time = VirtualClock::starting_at(START);
        let seed = scenario.seed;
        let bucket = match scenario.versioned {
            true => MemoryBucket::versioned(&scenario.bucket, Arc::new(time)),
            false => MemoryBucket::plain(&scenario.bucket, Arc::new(time)),
        };
        let stream = |part| Rng::new(seed, part);
        let sim = Arc::new(Sim {
            scenario,
            time,
            rng: Streams {
                bucket: stream("bucket"),
                aws: stream("aws"),
                functions: stream("functions"),
                machines: stream("machines"),
                neighbours: stream("neighbours"),
            },
            log: Log::new(trace),
            bucket,
            aws: Aws::default(),
            truth: Truth::default(),
            executions: Executions::default(),
            fleet: OnceLock::new(),
        });
        let fleet = Fleet::new(&sim);
        assert!(sim.fleet.set(fleet).is_ok(), "a world has one fleet");
        sim
    }

    /// The functions.
    pub fn fleet(&self) -> &Fleet {
        self.fleet.get().expect("set by new")
    }

    /// True time.
    pub fn now(&self) -> Millis {
        self.time.now()
    }

    /// Since the start.
    pub fn elapsed(&self) -> Millis {
        self.now() - START
    }

    /// Lets time pass.
    pub async fn sleep(&self, duration: Duration) {
        self.time.sleep(duration).await;
    }

    /// Whether faults may still be injected.
    pub fn is_stormy(&self) -> bool {
        self.elapsed() < self.scenario.calm_after
    }

    /// `per_mille`, while faults are injected at all.
    pub fn odds(&self, per_mille: u64) -> u64 {
        if self.is_stormy() { per_mille } else { 0 }
    }

    /// Notes an event.
    pub fn event(&self, text: impl FnOnce() -> String) {
        self.log.notes().event(self.elapsed(), text);
    }

    /// Notes that a fault was injected.
    pub fn fault(&self, kind: &'static str) {
        let (at, now) = (self.elapsed(), self.now());
        let mut notes = self.log.notes();
        *notes.faults.entry(kind).or_default() += 1;
        notes.last_fault = now;
        notes.event(at, || format!("fault: {kind}"));
    }

    /// Checks an invariant.
    pub fn check(&self, invariant: Invariant, holds: bool, what: impl FnOnce() -> String) {
        self.log.notes().check(invariant, self.elapsed(), holds, what);
    }

    /// Counts something that was done.
    pub fn count(&self, what: &'static str) {
        self.log.notes().count(what);
    }
}
