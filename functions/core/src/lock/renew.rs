//! Renewing: our own open lock gets a full lease again. A closed, foreign or missing lock is left alone, and an error
//! loses nothing: the next tick tries again.

use super::{Ask, Identity, LockBody, Machine, Progress, REREADS, Reading, Reply, Trouble};
use crate::Millis;

/// A renewal under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Renew {
    me: Identity,
    write: Option<(String, LockBody)>,
    /// What our last write said; a reading of exactly this is that write.
    sent: Option<LockBody>,
    rereads: u8,
}

/// What a renewal came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Renewed {
    /// The lease goes on.
    Held {
        /// Until when.
        expires_at: Millis,
    },
    /// Ours, closed: nobody renews it.
    Closed,
    /// Somebody else's, or not a lock at all: left alone.
    NotOurs,
    /// There is none.
    Missing,
    /// Not renewed this time; the lease that is there goes on.
    NotNow(Trouble),
}

impl Renew {
    /// Begins with the read.
    pub fn new(identity: Identity) -> Self {
        Renew { me: identity, write: None, sent: None, rereads: 0 }
    }

    fn reread(mut self, reply: &Reply) -> Progress<Self, Renewed> {
        if self.rereads >= REREADS {
            return Progress::Done(Renewed::NotNow(match reply {
                Reply::Precondition => Trouble::Restless,
                other => Trouble::of(other),
            }));
        }
        self.rereads += 1;
        self.sent = self.write.take().map(|(_, body)| body);
        Progress::Next(self)
    }
}

impl Machine for Renew {
    type Verdict = Renewed;

    fn ask(&self) -> Ask {
        match &self.write {
            None => Ask::Get,
            Some((etag, body)) => Ask::PutIfMatch { etag: etag.clone(), body: body.clone() },
        }
    }

    fn told(mut self, reply: Reply, now: Millis) -> Progress<Self, Renewed> {
        match (&self.write, reply) {
            (_, Reply::Missing) => Progress::Done(Renewed::Missing),
            (None, Reply::Found { body, etag, .. }) => {
                let seen = match Reading::of(&body) {
                    Reading::Lock(seen) if seen.is(&self.me) => seen,
                    _ => return Progress::Done(Renewed::NotOurs),
                };
                match (etag, &self.sent) {
                    _ if !seen.is_open() => Progress::Done(Renewed::Closed),
                    (_, Some(sent)) if seen.is_exactly(sent) => Progress::Done(Renewed::Held { expires_at: sent.expires_at }),
                    (None, _) => Progress::Done(Renewed::NotNow(Trouble::NoEtag)),
                    (Some(etag), _) => {
                        self.write = Some((etag, LockBody::open(&self.me, now)));
                        Progress::Next(self)
                    }
                }
            }
            (Some((_, body)), Reply::Written) => Progress::Done(Renewed::Held { expires_at: body.expires_at }),
            (Some(_), reply @ (Reply::Precondition | Reply::Unknown)) => self.reread(&reply),
            (_, other) => Progress::Done(Renewed::NotNow(Trouble::of(&other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TTL;
    use super::super::testing::{T, found, me, ours, ours_closed, play, theirs};
    use super::*;
    use Reply::*;

    fn expect(replies: Vec<Reply>, asked: &str, verdict: Renewed) {
        assert_eq!(play(Renew::new(me()), replies), (asked.to_owned(), Some(verdict)));
    }

    const HELD: Renewed = Renewed::Held { expires_at: T + TTL };

    /// PUT with `If-Match`; same owner, timestamp and operation, `expiresAt = now + TTL`.
    #[test]
    fn our_open_lock_gets_a_full_lease() {
        expect(vec![ours(T + 5), Written], "get put", HELD);
        expect(vec![ours(0), Written], "get put", HELD);
        let Progress::Next(writing) = Renew::new(me()).told(ours(T + 5), T) else { panic!() };
        assert_eq!(writing.ask(), Ask::PutIfMatch { etag: "\"e\"".into(), body: LockBody::open(&me(), T) });
    }

    /// Closed, foreign or missing locks are left alone.
    #[test]
    fn nothing_else_is_renewed() {
        expect(vec![ours_closed()], "get", Renewed::Closed);
        expect(vec![theirs(0, T)], "get", Renewed::NotOurs);
        expect(vec![found("{", T)], "get", Renewed::NotOurs);
        expect(vec![found("[]", T)], "get", Renewed::NotOurs);
        expect(vec![Missing], "get", Renewed::Missing);
    }

    /// 412: GET; ours (a retried PUT that had succeeded, or our own close) → go on or stop; else lost.
    #[test]
    fn a_lock_that_changed_is_read_again() {
        expect(vec![ours(0), Precondition, ours(T + TTL)], "get put get", HELD);
        expect(vec![ours(0), Precondition, ours(5), Written], "get put get put", HELD);
        expect(vec![ours(0), Precondition, ours_closed()], "get put get", Renewed::Closed);
        expect(vec![ours(0), Precondition, theirs(T + 1, T)], "get put get", Renewed::NotOurs);
        expect(vec![ours(0), Unknown, ours(T + TTL)], "get put get", HELD);
        expect(vec![ours(0), Missing], "get put", Renewed::Missing);
        let restless = [ours(0), Precondition].iter().cycle().take(8).cloned().collect();
        expect(restless, "get put get put get put get put", Renewed::NotNow(Trouble::Restless));
    }

    /// 409, 429, 5xx, throttling, timeout, network, 403, NoSuchBucket: not lost, the next tick tries again.
    #[test]
    fn an_error_loses_nothing() {
        for (reply, trouble) in [
            (Unavailable, Trouble::Unavailable),
            (Denied, Trouble::Denied),
            (NoSuchBucket, Trouble::NoSuchBucket),
            (Conflict, Trouble::Conflict),
            (Other, Trouble::Other),
        ] {
            expect(vec![reply.clone()], "get", Renewed::NotNow(trouble));
            expect(vec![ours(0), reply], "get put", Renewed::NotNow(trouble));
        }
        expect(vec![Unknown], "get", Renewed::NotNow(Trouble::NoAnswer));
    }
}
