//! The clients around the machines: what they begin when, and what they may do under a lock they hold.

use ebb_core::Millis;
use ebb_core::lock::{
    Acquire, Acquired, Close, Closed, FENCE_AGE, FenceView, Identity, LockBody, Machine, RENEW_EVERY, ReadAt, Reading, Release,
    Released, Renew, Renewed, TTL, fence,
};

use super::{Action, FUNCTION, Fate, OPERATOR_WAITS, START, Scene, State, note_acquired, tell};

/// One teardown, its worker and its keeper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ebb {
    /// The execution.
    pub phase: Phase,
    /// The acquire function, and when it times out.
    pub acquire: Option<(Acquire, Millis)>,
    acquires_left: u8,
    /// Whether a drive goes on. After a stop it may still do so; only a normal end waits for its workers.
    pub driving: bool,
    /// Until when (local clock) the worker's last reading lets a call start.
    pub open_until: Option<Millis>,
    /// When the call under way ends at the latest.
    pub call: Option<Millis>,
    calls_left: u8,
    looks_left: u8,
    /// The keeper.
    pub keeper: Keeper,
    /// When the function that it called times out.
    keeper_until: Option<Millis>,
    renewals_left: u8,
    renewed_at: Millis,
    /// When our open lock was closed, released or removed.
    pub lost_at: Option<Millis>,
}

/// The teardown's execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Running,
    /// Finish releases the lock, or times out then.
    Finishing(Release, Millis),
    Over,
}

/// The keeper's execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Keeper {
    Waiting,
    Renewing(Renew),
    Closing(Close),
    Draining(Millis),
    Releasing(Release),
    /// `left`: the bucket refused the release, so the lock lapses by itself.
    Ended {
        left: bool,
    },
}

/// A cdkd process that renews and releases on conditions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cdkd {
    begun: bool,
    machine: Option<CdkdMachine>,
    /// The lease that it knows of; it works while that goes on.
    pub lease: Option<Millis>,
    renewals_left: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CdkdMachine {
    Acquire(Acquire),
    Renew(Renew),
    Release(Release),
}

/// The operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    Watching,
    /// The lock was forced open then.
    Forced(Millis),
}

impl Operator {
    pub(super) fn instant(&self) -> Option<Millis> {
        if let Operator::Forced(at) = self { Some(at + OPERATOR_WAITS) } else { None }
    }
}

impl Ebb {
    /// The first run has a keeper and can be stopped; the others only work and end by themselves, which keeps the number
    /// of states in bounds.
    pub(super) fn new(scene: &Scene, index: usize) -> Self {
        Ebb {
            phase: Phase::Running,
            acquire: None,
            acquires_left: scene.acquires,
            driving: false,
            open_until: None,
            call: None,
            calls_left: scene.calls,
            looks_left: scene.looks,
            keeper: if index == 0 { Keeper::Waiting } else { Keeper::Ended { left: true } },
            keeper_until: None,
            renewals_left: if index == 0 { scene.renewals } else { 0 },
            renewed_at: START,
            lost_at: None,
        }
    }

    /// Instants at which something of this run times out or comes due.
    pub(super) fn instants(&self) -> impl Iterator<Item = Millis> {
        let due =
            (self.phase == Phase::Running && self.renewals_left > 0 && self.driving).then_some(self.renewed_at + RENEW_EVERY);
        let drained = if let Keeper::Draining(until) = self.keeper { Some(until) } else { None };
        let finish = if let Phase::Finishing(_, until) = self.phase { Some(until) } else { None };
        let acquire = self.acquire.as_ref().map(|(_, until)| *until);
        [self.call, acquire, due, drained, finish, self.keeper_until].into_iter().flatten()
    }

    /// Whether a worker may read the lock some time.
    pub(super) fn may_look(&self) -> bool {
        self.looks_left > 0 && (self.driving || self.phase == Phase::Running)
    }

    /// Forgets what decides nothing any more, so that states that differ in nothing else are one.
    pub(super) fn forget(&mut self) {
        if self.driving || self.phase != Phase::Running {
            self.acquires_left = 0;
        }
        if self.phase != Phase::Running || self.renewals_left == 0 {
            self.renewals_left = 0;
            self.renewed_at = START;
        }
        if self.calls_left == 0 || (!self.driving && self.phase != Phase::Running) {
            self.calls_left = 0;
            self.looks_left = 0;
            self.open_until = None;
            self.lost_at = None;
        }
    }

    /// What is over at `at`.
    pub(super) fn pass(&mut self, at: Millis, local: Millis) {
        self.call = self.call.filter(|until| *until > at);
        self.acquire = self.acquire.take().filter(|(_, until)| *until > at);
        self.open_until = self.open_until.filter(|until| *until > local);
        if matches!(self.phase, Phase::Finishing(_, until) if until <= at) {
            self.phase = Phase::Over;
        }
        if self.keeper_until.is_some_and(|until| until <= at) {
            self.keeper_until = None;
            // The state machine tries again.
            self.keeper = if matches!(self.keeper, Keeper::Releasing(_)) { Keeper::Draining(at) } else { Keeper::Waiting };
        }
    }
}

impl Cdkd {
    pub(super) fn new(scene: &Scene) -> Self {
        Cdkd { begun: false, machine: None, lease: None, renewals_left: scene.renewals }
    }
}

impl Scene {
    pub(super) fn ebb_identity(&self, index: usize) -> Identity {
        Identity { owner: format!("ebb-{index}"), timestamp: START }
    }

    fn cdkd_identity(&self, index: usize) -> Identity {
        Identity { owner: format!("cdkd-{index}"), timestamp: START }
    }

    fn local(&self, state: &State, index: usize) -> Millis {
        state.now.saturating_add_signed(self.ebbs[index])
    }

    /// Which clients may start a mutating call now, Ebb by its fence, cdkd by the lease it knows of; `except` one run.
    pub(super) fn may_start(&self, state: &State, except: Option<usize>) -> usize {
        let open = |(index, ebb): &(usize, &Ebb)| Some(*index) != except && self.is_open(state, *index, ebb);
        let ebbs = state.ebbs.iter().enumerate().filter(open).count();
        ebbs + state.cdkd.iter().filter(|cdkd| cdkd.lease.is_some_and(|lease| state.now < lease)).count()
    }

    fn is_open(&self, state: &State, index: usize, ebb: &Ebb) -> bool {
        ebb.open_until.is_some_and(|until| FenceView::Open { until }.is_open(self.local(state, index)))
    }

    /// Whether each call of Ebb's under way is the only thing that goes on.
    pub(super) fn calls_are_alone(&self, state: &State) -> bool {
        let mut calling = (0..state.ebbs.len()).filter(|index| state.ebbs[*index].call.is_some());
        match (calling.next(), calling.next()) {
            (None, _) => true,
            (one, None) => self.may_start(state, one) == 0,
            _ => false,
        }
    }

    /// Whether a keeper that ended, and whose release the bucket did not refuse, left no lock.
    pub(super) fn nothing_is_stuck(&self, state: &State) -> bool {
        state.ebbs.iter().enumerate().filter(|(_, ebb)| ebb.keeper == Keeper::Ended { left: false }).all(|(index, _)| {
            let owner = self.ebb_identity(index).owner;
            state.lock.as_ref().is_none_or(|lock| lock.owner != owner)
        })
    }

    pub(super) fn ebb_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, ebb) in state.ebbs.iter().enumerate() {
            let running = ebb.phase == Phase::Running;
            if running && index == 0 {
                actions.push(Action::Stop(index));
            }
            if running && ebb.acquire.is_none() && !ebb.driving && ebb.acquires_left > 0 {
                actions.push(Action::Acquire(index));
            }
            if let Some((machine, _)) = &ebb.acquire {
                actions.extend(self.fates(state, &machine.ask()).into_iter().map(|fate| Action::AcquireSends(index, fate)));
                if state.faults > 0 {
                    actions.push(Action::AcquireCrashes(index));
                }
            }
            if ebb.driving && ebb.looks_left > 0 && ebb.open_until.is_none() {
                actions.push(Action::Look(index));
            }
            if self.is_open(state, index, ebb) && ebb.calls_left > 0 && ebb.call.is_none() {
                actions.push(Action::Call(index));
            }
            if ebb.call.is_some() {
                actions.push(Action::CallEnds(index));
            } else if running && ebb.driving {
                actions.push(Action::Finish(index));
            }
            if let Phase::Finishing(machine, _) = &ebb.phase {
                actions.extend(self.fates(state, &machine.ask()).into_iter().map(|fate| Action::FinishSends(index, fate)));
            }
            let ask = match &ebb.keeper {
                Keeper::Waiting if ebb.phase == Phase::Over => None,
                Keeper::Waiting if running && ebb.renewals_left > 0 && state.now >= ebb.renewed_at + RENEW_EVERY => None,
                Keeper::Draining(until) if state.now >= *until => None,
                Keeper::Waiting | Keeper::Draining(_) | Keeper::Ended { .. } => continue,
                Keeper::Renewing(machine) => Some(machine.ask()),
                Keeper::Closing(machine) => Some(machine.ask()),
                Keeper::Releasing(machine) => Some(machine.ask()),
            };
            match ask {
                None => actions.push(Action::Tick(index)),
                Some(ask) => {
                    actions.extend(self.fates(state, &ask).into_iter().map(|fate| Action::KeeperSends(index, fate)));
                }
            }
        }
    }

    pub(super) fn cdkd_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, cdkd) in state.cdkd.iter().enumerate() {
            match &cdkd.machine {
                Some(machine) => {
                    let ask = match machine {
                        CdkdMachine::Acquire(machine) => machine.ask(),
                        CdkdMachine::Renew(machine) => machine.ask(),
                        CdkdMachine::Release(machine) => machine.ask(),
                    };
                    actions.extend(self.fates(state, &ask).into_iter().map(|fate| Action::CdkdSends(index, fate)));
                }
                None if !cdkd.begun => {
                    // The operator's process is the last one.
                    let operators = self.operator && index + 1 == state.cdkd.len();
                    if !operators || state.operator.instant().is_some_and(|at| state.now >= at) {
                        actions.push(Action::CdkdAcquires(index));
                    }
                }
                None if cdkd.lease.is_some() => {
                    if cdkd.renewals_left > 0 {
                        actions.push(Action::CdkdRenews(index));
                    }
                    actions.push(Action::CdkdReleases(index));
                }
                None => {}
            }
        }
        match state.old {
            Some(false) if state.lock.is_none() => actions.push(Action::OldAcquires),
            Some(true) => actions.push(Action::OldReleases),
            _ => {}
        }
        if self.operator && state.operator == Operator::Watching && state.lock.is_some() {
            actions.push(Action::ForceUnlock);
        }
    }

    pub(super) fn act(&self, state: &mut State, action: Action) {
        match action {
            Action::Advance => self.advance(state),
            Action::Late(index) => self.late(state, index),
            Action::Stop(index) => state.ebbs[index].phase = Phase::Over,
            Action::Acquire(index) => {
                let machine = Acquire::new(self.ebb_identity(index), self.local(state, index));
                let ebb = &mut state.ebbs[index];
                ebb.acquires_left -= 1;
                ebb.acquire = Some((machine, state.now + FUNCTION));
            }
            Action::AcquireCrashes(index) => {
                state.faults -= 1;
                state.ebbs[index].acquire = None;
            }
            Action::AcquireSends(index, fate) => self.acquire_sends(state, index, fate),
            Action::Look(index) => {
                let now = self.local(state, index);
                let at = ReadAt { asked: now, now, date: Some(state.now) };
                let reading = state.lock.as_ref().map(|lock| Reading::of(lock.to_json().as_bytes()));
                state.ebbs[index].looks_left -= 1;
                state.ebbs[index].open_until = match fence(reading.as_ref(), &self.ebb_identity(index), at) {
                    FenceView::Open { until } => Some(until),
                    FenceView::Shut(_) => None,
                };
            }
            Action::Call(index) => {
                let now = state.now;
                let ebb = &mut state.ebbs[index];
                ebb.calls_left -= 1;
                ebb.call = Some(now + self.call);
                if ebb.lost_at.is_some_and(|at| now > at + FENCE_AGE) {
                    state.late_start = true;
                }
            }
            Action::CallEnds(index) => state.ebbs[index].call = None,
            Action::Finish(index) => {
                let machine = Release::new(self.ebb_identity(index));
                let now = state.now;
                let ebb = &mut state.ebbs[index];
                ebb.driving = false;
                ebb.open_until = None;
                ebb.phase = Phase::Finishing(machine, now + FUNCTION);
            }
            Action::FinishSends(index, fate) => {
                let Phase::Finishing(machine, until) = state.ebbs[index].phase.clone() else { return };
                let reply = self.send(state, &self.ebb_identity(index).owner, machine.ask(), fate);
                let now = self.local(state, index);
                state.ebbs[index].phase = tell(machine, reply, now).map_or(Phase::Over, |next| Phase::Finishing(next, until));
            }
            Action::Tick(index) => {
                let identity = self.ebb_identity(index);
                let ebb = &mut state.ebbs[index];
                ebb.keeper_until = Some(state.now + FUNCTION);
                ebb.keeper = match ebb.keeper {
                    Keeper::Draining(_) => Keeper::Releasing(Release::new(identity)),
                    _ if ebb.phase == Phase::Over => Keeper::Closing(Close::new(identity)),
                    _ => {
                        ebb.renewals_left -= 1;
                        ebb.renewed_at = state.now;
                        Keeper::Renewing(Renew::new(identity))
                    }
                };
            }
            Action::KeeperSends(index, fate) => self.keeper_sends(state, index, fate),
            Action::CdkdAcquires(index) => {
                state.cdkd[index].begun = true;
                state.cdkd[index].machine = Some(CdkdMachine::Acquire(Acquire::new(self.cdkd_identity(index), state.now)));
            }
            Action::CdkdRenews(index) => {
                state.cdkd[index].renewals_left -= 1;
                state.cdkd[index].machine = Some(CdkdMachine::Renew(Renew::new(self.cdkd_identity(index))));
            }
            Action::CdkdReleases(index) => {
                state.cdkd[index].lease = None;
                state.cdkd[index].machine = Some(CdkdMachine::Release(Release::new(self.cdkd_identity(index))));
            }
            Action::CdkdSends(index, fate) => self.cdkd_sends(state, index, fate),
            Action::OldAcquires => {
                let lease = LockBody { expires_at: state.now + TTL, ..LockBody::open(&old(), state.now) };
                self.replace(state, Some(lease));
                state.old = Some(true);
            }
            Action::OldReleases => {
                self.delete_whatever(state, &old().owner, false);
                state.old = None;
            }
            Action::ForceUnlock => {
                self.delete_whatever(state, "the operator", true);
                state.operator = Operator::Forced(state.now);
            }
        }
    }

    fn acquire_sends(&self, state: &mut State, index: usize, fate: Fate) {
        let Some((machine, until)) = state.ebbs[index].acquire.clone() else { return };
        let reply = self.send(state, &self.ebb_identity(index).owner, machine.ask(), fate);
        let now = self.local(state, index);
        match tell(machine, reply, now) {
            Ok(next) => state.ebbs[index].acquire = Some((next, until)),
            Err(verdict) => {
                note_acquired(state, &verdict);
                let ebb = &mut state.ebbs[index];
                ebb.acquire = None;
                match verdict {
                    Acquired::Held { .. } => {
                        ebb.driving = ebb.phase == Phase::Running;
                        ebb.renewed_at = state.now;
                    }
                    Acquired::Lost | Acquired::Failed(_) => ebb.phase = Phase::Over,
                    // The request may be willing to wait.
                    Acquired::Contended(_) => {}
                }
            }
        }
    }

    fn keeper_sends(&self, state: &mut State, index: usize, fate: Fate) {
        let who = self.ebb_identity(index).owner;
        let now = self.local(state, index);
        let drained = state.now + self.drain;
        let keeper = state.ebbs[index].keeper.clone();
        state.ebbs[index].keeper = match keeper {
            Keeper::Renewing(machine) => {
                let reply = self.send(state, &who, machine.ask(), fate);
                tell(machine, reply, now).map_or(Keeper::Waiting, Keeper::Renewing)
            }
            Keeper::Closing(machine) => {
                let reply = self.send(state, &who, machine.ask(), fate);
                match tell(machine, reply, now) {
                    Ok(next) => Keeper::Closing(next),
                    // The state machine tries every error again.
                    Err(Closed::Failed(_)) => Keeper::Waiting,
                    Err(_) => Keeper::Draining(drained),
                }
            }
            Keeper::Releasing(machine) => {
                let reply = self.send(state, &who, machine.ask(), fate);
                match tell(machine, reply, now) {
                    Ok(next) => Keeper::Releasing(next),
                    Err(verdict) => {
                        state.kept |= verdict == Released::Released;
                        Keeper::Ended { left: matches!(verdict, Released::Left(_)) }
                    }
                }
            }
            other => other,
        };
        let ebb = &mut state.ebbs[index];
        if matches!(ebb.keeper, Keeper::Waiting | Keeper::Draining(_) | Keeper::Ended { .. }) {
            ebb.keeper_until = None;
        }
    }

    fn cdkd_sends(&self, state: &mut State, index: usize, fate: Fate) {
        let who = self.cdkd_identity(index).owner;
        let Some(machine) = state.cdkd[index].machine.clone() else { return };
        let now = state.now;
        let (machine, lease) = match machine {
            CdkdMachine::Acquire(machine) => {
                let reply = self.send(state, &who, machine.ask(), fate);
                match tell(machine, reply, now) {
                    Ok(next) => (Some(CdkdMachine::Acquire(next)), None),
                    Err(verdict) => {
                        note_acquired(state, &verdict);
                        (None, if let Acquired::Held { expires_at, .. } = verdict { Some(expires_at) } else { None })
                    }
                }
            }
            CdkdMachine::Renew(machine) => {
                let known = state.cdkd[index].lease;
                let reply = self.send(state, &who, machine.ask(), fate);
                match tell(machine, reply, now) {
                    Ok(next) => (Some(CdkdMachine::Renew(next)), known),
                    Err(Renewed::Held { expires_at }) => (None, Some(expires_at)),
                    Err(Renewed::NotNow(_)) => (None, known),
                    Err(_) => (None, None),
                }
            }
            CdkdMachine::Release(machine) => {
                let reply = self.send(state, &who, machine.ask(), fate);
                (tell(machine, reply, now).ok().map(CdkdMachine::Release), None)
            }
        };
        state.cdkd[index].machine = machine;
        state.cdkd[index].lease = lease;
    }
}

fn old() -> Identity {
    Identity { owner: "cdkd-old".into(), timestamp: START }
}
