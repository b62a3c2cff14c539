//! The lock, model-checked: Ebb's runs, their keepers, cdkd's processes and an operator on one lock object, with lost
//! replies, late effects, crashes, stops, skewed clocks and leases that end. Every decision is taken by the machines of
//! `ebb_core::lock` that the functions run; only the bucket, the clients around the machines and time are modelled.

mod bucket;
mod clients;
mod run;
pub mod scenes;

use ebb_core::Millis;
use ebb_core::lock::{Acquired, How, LockBody, Machine, Progress};
use stateright::{Model, Property};

pub use bucket::{Fate, Limbo};
pub use clients::{Cdkd, Ebb, Keeper, Operator, Phase};
pub use run::{Report, check};

/// When the model begins; leases reach back and clocks may be slow.
pub(crate) const START: Millis = 10_000_000;
/// The longest that one SDK operation takes with its retries.
const OPERATION: Millis = 20_000;
/// The longest that a request is under way after its sender gave up.
const LATE: Millis = 10_000;
/// Every function's time-out.
const FUNCTION: Millis = 60_000;
/// What the keeper waits between close and finish.
const DRAIN: Millis = 75_000;
/// How long an operator waits after force-unlock before anything is started on the stack: until no call can start
/// (10 s) and those under way are over (20 s).
const OPERATOR_WAITS: Millis = 30_000;

/// Who takes part, and how much of everything.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What is shown.
    pub name: &'static str,
    /// Clocks of the Ebb runs against the store's, in milliseconds; the first run has a keeper and can be stopped.
    pub ebbs: Vec<i64>,
    /// cdkd processes that renew and release on conditions.
    pub cdkd: u8,
    /// A cdkd process of old: never renews, works on past its lease, and deletes the lock without a condition.
    pub old_cdkd: bool,
    /// An operator who forces the lock open once and starts a cdkd process later.
    pub operator: bool,
    /// Requests that may go wrong.
    pub faults: u8,
    /// Deliveries of an acquire per run.
    pub acquires: u8,
    /// Renewals per holder.
    pub renewals: u8,
    /// Mutating calls per run, and readings of the lock by its workers.
    pub calls: u8,
    pub looks: u8,
    /// How often time moves to the next instant at which something changes.
    pub advances: u8,
    /// The drain; shorter than designed in the scene that must fail.
    pub drain: Millis,
    /// The longest mutating call; longer than designed in the scene that must fail.
    pub call: Millis,
}

impl Scene {
    /// One Ebb run by itself, as designed.
    pub fn new(name: &'static str) -> Self {
        Scene {
            name,
            ebbs: vec![0],
            cdkd: 0,
            old_cdkd: false,
            operator: false,
            faults: 1,
            acquires: 2,
            renewals: 1,
            calls: 1,
            looks: 2,
            advances: 10,
            drain: DRAIN,
            call: OPERATION,
        }
    }
}

/// Everything at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The store's clock.
    pub now: Millis,
    /// The lock object.
    pub lock: Option<LockBody>,
    /// Runs with their keepers.
    pub ebbs: Vec<Ebb>,
    /// cdkd processes; the operator's, if any, comes last.
    pub cdkd: Vec<Cdkd>,
    /// The old process: whether it believes that it holds the lock.
    pub old: Option<bool>,
    /// The operator.
    pub operator: Operator,
    /// Requests that were given up and may still take effect.
    pub limbo: Vec<Limbo>,
    /// What is left of the scene's budgets.
    pub faults: u8,
    pub advances: u8,
    /// Somebody deleted a lock that was neither theirs nor over.
    pub foreign_delete: Option<String>,
    /// An Ebb call started more than 10 s after its lock was closed, released or removed.
    pub late_start: bool,
    /// For the reachability checks.
    pub took_over: bool,
    pub recognised: bool,
    pub kept: bool,
}

/// What can happen next. `usize` is the client's place in its list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Time moves to the next instant at which something changes.
    Advance,
    /// The teardown's execution is stopped, or ends badly.
    Stop(usize),
    /// The acquire function is invoked.
    Acquire(usize),
    /// The acquire function crashes.
    AcquireCrashes(usize),
    /// The acquire function sends its next request.
    AcquireSends(usize, Fate),
    /// A worker reads the lock.
    Look(usize),
    /// A worker starts a mutating call.
    Call(usize),
    /// The call ends.
    CallEnds(usize),
    /// Everything is deleted: the run ends by itself.
    Finish(usize),
    /// Finish's release sends its next request.
    FinishSends(usize, Fate),
    /// The keeper's next turn.
    Tick(usize),
    /// The keeper sends its next request.
    KeeperSends(usize, Fate),
    /// A cdkd process begins, renews, or ends its work.
    CdkdAcquires(usize),
    CdkdRenews(usize),
    CdkdReleases(usize),
    /// A cdkd process sends its next request.
    CdkdSends(usize, Fate),
    /// The old process creates the lock, or deletes it.
    OldAcquires,
    OldReleases,
    /// The operator.
    ForceUnlock,
    /// A request that was given up takes effect after all.
    Late(usize),
}

/// How a run's acquire ended, for the flags.
pub(crate) fn note_acquired(state: &mut State, verdict: &Acquired) {
    if let Acquired::Held { how, .. } = verdict {
        match how {
            How::TookOver { .. } => state.took_over = true,
            How::Ours => state.recognised = true,
            How::Created => {}
        }
    }
}

/// Tells a machine and splits the outcome.
pub(crate) fn tell<M: Machine>(machine: M, reply: ebb_core::lock::Reply, now: Millis) -> Result<M, M::Verdict> {
    match machine.told(reply, now) {
        Progress::Next(next) => Ok(next),
        Progress::Done(verdict) => Err(verdict),
    }
}

impl Model for Scene {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let operators = u8::from(self.operator);
        vec![State {
            now: START,
            lock: None,
            ebbs: (0..self.ebbs.len()).map(|index| Ebb::new(self, index)).collect(),
            cdkd: (0..self.cdkd + operators).map(|_| Cdkd::new(self)).collect(),
            old: self.old_cdkd.then_some(false),
            operator: Operator::Watching,
            limbo: Vec::new(),
            faults: self.faults,
            advances: self.advances,
            foreign_delete: None,
            late_start: false,
            took_over: false,
            recognised: false,
            kept: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // What was to be found is found: nothing beyond it is of interest.
        if state.foreign_delete.is_some() || state.late_start {
            return;
        }
        if state.advances > 0 && self.next_instant(state).is_some() {
            actions.push(Action::Advance);
        }
        self.ebb_actions(state, actions);
        self.cdkd_actions(state, actions);
        actions.extend((0..state.limbo.len()).map(Action::Late));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.act(&mut state, action);
        for ebb in &mut state.ebbs {
            ebb.forget();
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("no two clients may start a mutating call at the same instant", |scene: &Scene, state: &State| {
                scene.may_start(state, None) <= 1
            }),
            Property::always("nobody may start a call while one of Ebb's is under way for another", |scene: &Scene, state| {
                scene.calls_are_alone(state)
            }),
            Property::always(
                "only its holder, a take-over of an expired one or the operator removes a lock",
                |_, state: &State| state.foreign_delete.is_none(),
            ),
            Property::always("no call starts later than 10 s after a close, a release or a removal", |_, state: &State| {
                !state.late_start
            }),
            Property::always(
                "a keeper that ended leaves no lock, unless the bucket refused the release",
                |scene: &Scene, state: &State| scene.nothing_is_stuck(state),
            ),
            Property::sometimes("a run holds the lock and works", |_, state: &State| {
                state.ebbs.iter().any(|ebb| ebb.call.is_some())
            }),
            Property::sometimes("a keeper releases the lock of a run that was stopped", |_, state: &State| state.kept),
        ];
        if self.acquires > 1 && self.faults > 0 {
            properties
                .push(Property::sometimes("a repeated acquire recognises its own lock", |_, state: &State| state.recognised));
        }
        if self.ebbs.len() > 1 || self.cdkd > 0 {
            properties.push(Property::sometimes("an expired lock is taken over", |_, state: &State| state.took_over));
        }
        properties
    }
}
