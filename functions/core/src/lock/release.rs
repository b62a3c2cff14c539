//! Releasing: our lock, open or closed, is deleted on the condition that it is still the one just read. Whatever goes
//! wrong, it lapses by itself, and a run's result never changes for it.

use super::{Ask, Identity, Machine, Progress, Reading, Reply, Trouble};
use crate::Millis;

/// A release under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    me: Identity,
    delete: Option<String>,
    reread: bool,
}

/// What a release came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Released {
    /// It was ours and is gone.
    Released,
    /// There was none.
    Missing,
    /// Somebody else's, or not a lock at all: left alone.
    NotOurs,
    /// It is still there, ours, and lapses at its expiry.
    Left(Trouble),
}

impl Release {
    /// Begins with the read.
    pub fn new(identity: Identity) -> Self {
        Release { me: identity, delete: None, reread: false }
    }
}

impl Machine for Release {
    type Verdict = Released;

    fn ask(&self) -> Ask {
        match &self.delete {
            None => Ask::Get,
            Some(etag) => Ask::DeleteIfMatch { etag: etag.clone() },
        }
    }

    fn told(mut self, reply: Reply, _now: Millis) -> Progress<Self, Released> {
        match (&self.delete, reply) {
            // After a delete whose answer was lost, its absence is our doing.
            (None, Reply::Missing) if self.reread => Progress::Done(Released::Released),
            (_, Reply::Missing) => Progress::Done(Released::Missing),
            (None, Reply::Found { body, etag, .. }) => match (Reading::of(&body), etag) {
                (Reading::Lock(seen), Some(etag)) if seen.is(&self.me) => {
                    self.delete = Some(etag);
                    Progress::Next(self)
                }
                (Reading::Lock(seen), None) if seen.is(&self.me) => Progress::Done(Released::Left(Trouble::NoEtag)),
                _ => Progress::Done(Released::NotOurs),
            },
            (Some(_), Reply::Deleted) => Progress::Done(Released::Released),
            (Some(_), Reply::Precondition | Reply::Unknown) if !self.reread => {
                self.reread = true;
                self.delete = None;
                Progress::Next(self)
            }
            (Some(_), Reply::Precondition) => Progress::Done(Released::Left(Trouble::Restless)),
            (_, other) => Progress::Done(Released::Left(Trouble::of(&other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, found, me, ours, ours_closed, play, theirs};
    use super::*;
    use Reply::*;

    fn expect(replies: Vec<Reply>, asked: &str, verdict: Released) {
        assert_eq!(play(Release::new(me()), replies), (asked.to_owned(), Some(verdict)));
    }

    /// DELETE `If-Match` → 204: released, open or closed, expired or not.
    #[test]
    fn our_lock_is_deleted() {
        for lock in [ours(T + 5), ours(0), ours_closed()] {
            expect(vec![lock, Deleted], "get delete", Released::Released);
        }
    }

    /// owner + timestamp ours → continue; otherwise leave, warn. 404: already gone: success.
    #[test]
    fn nothing_else_is_deleted() {
        expect(vec![theirs(0, T)], "get", Released::NotOurs);
        expect(vec![found("{", T)], "get", Released::NotOurs);
        expect(vec![found("[]", T)], "get", Released::NotOurs);
        expect(vec![Missing], "get", Released::Missing);
        expect(vec![ours(0), Missing], "get delete", Released::Missing);
    }

    /// 412: not ours any more: leave, warn; retried once if the body is still ours.
    #[test]
    fn a_lock_that_changed_is_read_again_once() {
        expect(vec![ours(0), Precondition, ours(5), Deleted], "get delete get delete", Released::Released);
        expect(vec![ours(0), Precondition, theirs(T, T)], "get delete get", Released::NotOurs);
        expect(vec![ours(0), Precondition, ours(5), Precondition], "get delete get delete", Released::Left(Trouble::Restless));
        expect(vec![ours(0), Unknown, Missing], "get delete get", Released::Released);
        expect(vec![ours(0), Unknown, ours(0), Unknown], "get delete get delete", Released::Left(Trouble::NoAnswer));
    }

    /// 403, 501: leave the lock, warn; no unconditional fallback. 409, 5xx: a warning too.
    #[test]
    fn what_cannot_be_deleted_lapses() {
        for (reply, trouble) in [
            (Denied, Trouble::Denied),
            (NotImplemented, Trouble::NotConditional),
            (Conflict, Trouble::Conflict),
            (Unavailable, Trouble::Unavailable),
        ] {
            expect(vec![ours(0), reply.clone()], "get delete", Released::Left(trouble));
            expect(vec![reply], "get", Released::Left(trouble));
        }
    }
}
