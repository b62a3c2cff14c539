//! Closing: our lock says `destroy-stopping` and lapses within five minutes. From then on every fence is shut, nobody
//! renews or reopens it, and the run can be settled under it.

use super::{Ask, Identity, LockBody, Machine, Progress, REREADS, Reading, Reply, Trouble, jittered};
use crate::Millis;

/// A close under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Close {
    me: Identity,
    at: At,
    rereads: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Look,
    Write { etag: String, body: LockBody },
    Backoff { since: Millis },
}

/// What a close came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Closed {
    /// It is ours and closed, now or before.
    Closed,
    /// Somebody else's, or not a lock at all: left alone.
    NotOurs,
    /// There is none.
    Missing,
    /// It may still be open: try again.
    Failed(Trouble),
}

impl Close {
    /// Begins with the read.
    pub fn new(identity: Identity) -> Self {
        Close { me: identity, at: At::Look, rereads: 0 }
    }

    fn again(mut self, at: At, reply: &Reply) -> Progress<Self, Closed> {
        if self.rereads >= REREADS {
            return Progress::Done(Closed::Failed(match reply {
                Reply::Precondition => Trouble::Restless,
                other => Trouble::of(other),
            }));
        }
        self.rereads += 1;
        self.at = at;
        Progress::Next(self)
    }
}

impl Machine for Close {
    type Verdict = Closed;

    fn ask(&self) -> Ask {
        match &self.at {
            At::Look => Ask::Get,
            At::Write { etag, body } => Ask::PutIfMatch { etag: etag.clone(), body: body.clone() },
            At::Backoff { since } => Ask::Pause(jittered(&self.me, *since)),
        }
    }

    fn told(mut self, reply: Reply, now: Millis) -> Progress<Self, Closed> {
        match (&self.at, reply) {
            (At::Look | At::Write { .. }, Reply::Missing) => Progress::Done(Closed::Missing),
            (At::Look, Reply::Found { body, etag, date }) => match (Reading::of(&body), etag) {
                (Reading::Lock(seen), _) if seen.is(&self.me) && !seen.is_open() => Progress::Done(Closed::Closed),
                (Reading::Lock(seen), Some(etag)) if seen.is(&self.me) => {
                    // By the later clock: a slow one of ours would let others in while calls are still under way.
                    let now = now.max(date.unwrap_or(0));
                    self.at = At::Write { etag, body: LockBody::closed(&self.me, seen.expires_at, now) };
                    Progress::Next(self)
                }
                (Reading::Lock(seen), None) if seen.is(&self.me) => Progress::Done(Closed::Failed(Trouble::NoEtag)),
                _ => Progress::Done(Closed::NotOurs),
            },
            (At::Write { .. }, Reply::Written) => Progress::Done(Closed::Closed),
            (At::Write { .. }, reply @ (Reply::Precondition | Reply::Unknown)) => self.again(At::Look, &reply),
            (At::Write { .. }, reply @ Reply::Conflict) => self.again(At::Backoff { since: now }, &reply),
            (At::Backoff { .. }, _) => {
                self.at = At::Look;
                Progress::Next(self)
            }
            (_, other) => Progress::Done(Closed::Failed(Trouble::of(&other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, found, me, ours, ours_closed, play, theirs};
    use super::super::{CLOSE_LEASE, TTL};
    use super::*;
    use Reply::*;

    fn expect(replies: Vec<Reply>, asked: &str, verdict: Closed) {
        assert_eq!(play(Close::new(me()), replies), (asked.to_owned(), Some(verdict)));
    }

    /// Close rewrites the lock with `operation: destroy-stopping`, `expiresAt = min(expiresAt, now + 5 min)`.
    #[test]
    fn our_lock_is_closed_with_a_short_lease() {
        expect(vec![ours(T + TTL), Written], "get put", Closed::Closed);
        for (end, then) in [(T + TTL, T + CLOSE_LEASE), (T + 9, T + 9)] {
            let Progress::Next(writing) = Close::new(me()).told(ours(end), T) else { panic!() };
            let Ask::PutIfMatch { body, etag } = writing.ask() else { panic!() };
            assert_eq!((body.expires_at, body.operation, etag.as_str()), (then, "destroy-stopping", "\"e\""));
        }
    }

    #[test]
    fn a_slow_clock_does_not_close_with_a_lease_that_is_over() {
        let Progress::Next(writing) = Close::new(me()).told(ours(T + TTL), T - 2 * CLOSE_LEASE) else { panic!() };
        let Ask::PutIfMatch { body, .. } = writing.ask() else { panic!() };
        assert_eq!(body.expires_at, T + CLOSE_LEASE, "the response's Date is later than the local clock");
    }

    /// Nobody reopens a closed lock; a foreign or missing one is left alone.
    #[test]
    fn nothing_else_is_written() {
        expect(vec![ours_closed()], "get", Closed::Closed);
        expect(vec![theirs(0, T)], "get", Closed::NotOurs);
        expect(vec![found("{", T)], "get", Closed::NotOurs);
        expect(vec![Missing], "get", Closed::Missing);
        expect(vec![ours(0), Missing], "get put", Closed::Missing);
    }

    /// A 412 is read again: ours and changed → retry; not ours → lost.
    #[test]
    fn a_lock_that_changed_is_read_again() {
        expect(vec![ours(0), Precondition, ours(5), Written], "get put get put", Closed::Closed);
        expect(vec![ours(0), Unknown, ours_closed()], "get put get", Closed::Closed);
        expect(vec![ours(0), Precondition, theirs(T, T)], "get put get", Closed::NotOurs);
        expect(vec![ours(0), Conflict, Paused, ours(5), Written], "get put pause get put", Closed::Closed);
        let restless = [ours(0), Precondition].iter().cycle().take(8).cloned().collect();
        expect(restless, "get put get put get put get put", Closed::Failed(Trouble::Restless));
    }

    /// Whatever else went wrong is said, so that the state machine tries again.
    #[test]
    fn an_error_is_no_close() {
        for (reply, trouble) in [(Denied, Trouble::Denied), (Unavailable, Trouble::Unavailable), (Other, Trouble::Other)] {
            expect(vec![reply.clone()], "get", Closed::Failed(trouble));
            expect(vec![ours(0), reply], "get put", Closed::Failed(trouble));
        }
    }
}
