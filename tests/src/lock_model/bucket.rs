//! The modelled bucket: one lock object, conditional requests, and what can go wrong on the way.

use ebb_core::Millis;
use ebb_core::lock::{Ask, LockBody, Reply};

use super::{Ebb, LATE, Scene, State};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is answered.
    Answered,
    /// It happens, and the answer is lost.
    AnswerLost,
    /// There is no answer, and it happens later or never.
    GivenUp,
    /// 503: it does not happen.
    Refused,
}

/// A request that was given up and may still take effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limbo {
    who: String,
    ask: Ask,
    /// After this it is lost for good.
    until: Millis,
}

/// Equal bodies have equal ETags.
fn etag(body: &LockBody) -> String {
    format!("\"{}/{}/{}/{}\"", body.owner, body.timestamp, body.expires_at, body.operation)
}

impl Scene {
    /// Which fates a request can have.
    pub(super) fn fates(&self, state: &State, ask: &Ask) -> Vec<Fate> {
        match ask {
            Ask::Pause(_) => vec![Fate::Answered],
            _ if state.faults == 0 => vec![Fate::Answered],
            Ask::Get => vec![Fate::Answered, Fate::Refused],
            _ => vec![Fate::Answered, Fate::AnswerLost, Fate::GivenUp, Fate::Refused],
        }
    }

    /// Sends `ask` for the holder named `who`.
    pub(super) fn send(&self, state: &mut State, who: &str, ask: Ask, fate: Fate) -> Reply {
        if fate != Fate::Answered {
            state.faults -= 1;
        }
        match fate {
            Fate::Answered => self.apply(state, who, ask),
            Fate::AnswerLost => {
                self.apply(state, who, ask);
                Reply::Unknown
            }
            Fate::GivenUp => {
                let until = state.now + LATE;
                state.limbo.push(Limbo { who: who.to_owned(), ask, until });
                Reply::Unknown
            }
            Fate::Refused => Reply::Unavailable,
        }
    }

    /// A request takes effect late; nobody hears the answer.
    pub(super) fn late(&self, state: &mut State, index: usize) {
        let Limbo { who, ask, .. } = state.limbo.remove(index);
        self.apply(state, &who, ask);
    }

    fn apply(&self, state: &mut State, who: &str, ask: Ask) -> Reply {
        match ask {
            Ask::Pause(_) => Reply::Paused,
            Ask::Get => match &state.lock {
                None => Reply::Missing,
                Some(body) => Reply::Found { body: body.to_json().into_bytes(), etag: Some(etag(body)), date: Some(state.now) },
            },
            Ask::PutIfAbsent(_) if state.lock.is_some() => Reply::Precondition,
            Ask::PutIfAbsent(body) => {
                self.replace(state, Some(body));
                Reply::Written
            }
            Ask::PutIfMatch { etag: asked, body } => match &state.lock {
                None => Reply::Missing,
                Some(there) if etag(there) != asked => Reply::Precondition,
                Some(_) => {
                    self.replace(state, Some(body));
                    Reply::Written
                }
            },
            Ask::DeleteIfMatch { etag: asked } => match &state.lock {
                None => Reply::Missing,
                Some(there) if etag(there) != asked => Reply::Precondition,
                Some(there) => {
                    if there.owner != who && there.expires_at > state.now {
                        state.foreign_delete = Some(format!("{who} deleted the lock of {}", there.owner));
                    }
                    self.replace(state, None);
                    Reply::Deleted
                }
            },
        }
    }

    /// A delete without a condition: the old client's and the operator's.
    pub(super) fn delete_whatever(&self, state: &mut State, who: &str, allowed: bool) {
        if let Some(there) = &state.lock
            && there.owner != who
            && !allowed
        {
            state.foreign_delete = Some(format!("{who} deleted the lock of {}", there.owner));
        }
        self.replace(state, None);
    }

    /// Puts `body` there and notes whose open lock went away or came.
    pub(super) fn replace(&self, state: &mut State, body: Option<LockBody>) {
        let open = |body: &Option<LockBody>, owner: &str| {
            body.as_ref().is_some_and(|body| body.owner == owner && body.operation == ebb_core::lock::OPEN)
        };
        for (index, ebb) in state.ebbs.iter_mut().enumerate() {
            let owner = self.ebb_identity(index).owner;
            match (open(&state.lock, &owner), open(&body, &owner)) {
                (true, false) => ebb.lost_at = Some(state.now),
                (_, true) => ebb.lost_at = None,
                _ => {}
            }
        }
        state.lock = body;
    }

    /// The next instant at which anything may be decided otherwise: leases, fences, calls, time-outs.
    pub(super) fn next_instant(&self, state: &State) -> Option<Millis> {
        let mut instants: Vec<Millis> = Vec::new();
        if let Some(lock) = &state.lock {
            let end = lock.expires_at;
            instants.push(end);
            // The last moment at which a fence opens.
            if state.ebbs.iter().any(Ebb::may_look) {
                instants.push(end - 61_000);
            }
            instants.extend(self.ebbs.iter().map(|skew| end.saturating_add_signed(-skew)));
        }
        for (index, ebb) in state.ebbs.iter().enumerate() {
            instants.extend(ebb.open_until.map(|until| until.saturating_add_signed(-self.ebbs[index])));
            instants.extend(ebb.instants());
        }
        instants.extend(state.cdkd.iter().filter_map(|cdkd| cdkd.lease));
        instants.extend(state.limbo.iter().map(|limbo| limbo.until));
        instants.extend(state.operator.instant());
        instants.into_iter().filter(|at| *at > state.now).min()
    }

    /// Time moves on; what had to be over by then is over.
    pub(super) fn advance(&self, state: &mut State) {
        let Some(at) = self.next_instant(state) else { return };
        state.now = at;
        state.advances -= 1;
        state.limbo.retain(|limbo| limbo.until > at);
        for (index, ebb) in state.ebbs.iter_mut().enumerate() {
            ebb.pass(at, at.saturating_add_signed(self.ebbs[index]));
        }
    }
}
