//! Taking the lock: create it, recognise one's own, take over an expired one by a conditional delete and a create.
//! It never queues, never overwrites, and never deletes without a condition.

use super::contention::{Contention, Why};
use super::{Ask, Identity, LockBody, Machine, Progress, REREADS, Reading, Reply, Seen, jittered};
use crate::Millis;

/// How often in a row a lock may be gone when it is read, before that counts as contention.
const VANISHES: u8 = 3;

/// An acquire under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    me: Identity,
    at: At,
    /// What our last write said; a reading of exactly this is that write.
    sent: LockBody,
    /// The holder whose expired lock we removed.
    removed: Option<Seen>,
    vanished: u8,
    rewrites: u8,
    paused: bool,
    found_cleared: bool,
    own_seen: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    /// A1, and A6 after a take-over.
    Create,
    /// Before A1 once more.
    Backoff,
    /// A2.
    Look,
    /// Our own open lock is renewed.
    Rewrite { etag: String },
    /// A5.
    Remove { etag: String, seen: Seen },
}

/// What an acquire came to. Going on without looking at it is the worst failure of all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Acquired {
    /// The lock is ours.
    Held {
        /// When the lease ends.
        expires_at: Millis,
        /// How we came by it.
        how: How,
    },
    /// Somebody else has it: `LockHeld`.
    Contended(Contention),
    /// The lock could not be read or written, which says nothing about who holds it: `LockError`.
    Failed(Trouble),
    /// It was ours and is closed or gone: `LockLost`.
    Lost,
}

/// How a lock came to be held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// There was none.
    Created,
    /// It was ours already, from an earlier delivery of the same acquire.
    Ours,
    /// Its lease was over.
    TookOver {
        /// Whose it was.
        from: Seen,
    },
}

/// Why the store did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The bytes are not JSON: only force-unlock clears them.
    Unparseable,
    /// The store knows no conditional requests.
    NotConditional,
    /// The expired lock may not be deleted on a condition.
    TakeoverDenied,
    /// Reading or writing it is denied.
    Denied,
    /// The bucket is not there.
    NoSuchBucket,
    /// Another write of the lock was under way, twice.
    Conflict,
    /// It changes faster than it can be read.
    Restless,
    /// The store refused for now.
    Unavailable,
    /// The store did not answer.
    NoAnswer,
    /// The store gave an answer without ETag.
    NoEtag,
    /// Anything else.
    Other,
}

impl Trouble {
    /// What is wrong and how it is mended, in a clause.
    pub fn advice(self) -> &'static str {
        match self {
            Trouble::Unparseable => "the lock is not JSON; look at it, then force-unlock the stack",
            Trouble::NotConditional => "the bucket's store knows no conditional requests, which the lock needs",
            Trouble::TakeoverDenied => {
                "the lock's lease is over, but deleting it on a condition is denied; grant s3:DeleteObject and s3:GetObject on \
                 it, or force-unlock the stack"
            }
            Trouble::Denied => {
                "access to the lock is denied; grant s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket"
            }
            Trouble::NoSuchBucket => "the state bucket does not exist",
            Trouble::Conflict => "somebody else was writing the lock at the same time; start again",
            Trouble::Restless => "the lock changes faster than it can be read; start again",
            Trouble::Unavailable => "the bucket refused for now; start again",
            Trouble::NoAnswer => "the bucket did not answer; start again",
            Trouble::NoEtag => "the store answers without an ETag, which the lock needs",
            Trouble::Other => "the bucket refused the request",
        }
    }

    /// What a reply that no row of a table expects says.
    pub(crate) fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Denied => Trouble::Denied,
            Reply::NotImplemented => Trouble::NotConditional,
            Reply::NoSuchBucket => Trouble::NoSuchBucket,
            Reply::Conflict => Trouble::Conflict,
            Reply::Unavailable => Trouble::Unavailable,
            Reply::Unknown => Trouble::NoAnswer,
            _ => Trouble::Other,
        }
    }
}

impl Acquire {
    /// Begins with the create.
    pub fn new(identity: Identity, now: Millis) -> Self {
        Acquire {
            sent: LockBody::open(&identity, now),
            me: identity,
            at: At::Create,
            removed: None,
            vanished: 0,
            rewrites: 0,
            paused: false,
            found_cleared: false,
            own_seen: false,
        }
    }

    fn go(mut self, at: At) -> Progress<Self, Acquired> {
        self.at = at;
        Progress::Next(self)
    }

    fn create(mut self, now: Millis) -> Progress<Self, Acquired> {
        self.sent = LockBody::open(&self.me, now);
        self.go(At::Create)
    }

    fn held(self) -> Progress<Self, Acquired> {
        let how = match self.removed {
            Some(from) => How::TookOver { from },
            None if self.own_seen => How::Ours,
            None => How::Created,
        };
        Progress::Done(Acquired::Held { expires_at: self.sent.expires_at, how })
    }

    /// A2 → A3: there is a lock; whose, and may it be had?
    fn classify(mut self, body: &[u8], etag: Option<String>, date: Option<Millis>, now: Millis) -> Progress<Self, Acquired> {
        let seen = match Reading::of(body) {
            Reading::Unparseable => return failed(Trouble::Unparseable),
            Reading::NotAnObject => return contended(Why::NotAnObject, None),
            Reading::Lock(seen) => seen,
        };
        if seen.is(&self.me) {
            return match etag {
                _ if !seen.is_open() => Progress::Done(Acquired::Lost),
                _ if seen.is_exactly(&self.sent) => self.held(),
                _ if self.rewrites > REREADS => failed(Trouble::Restless),
                None => failed(Trouble::NoEtag),
                Some(etag) => {
                    self.rewrites += 1;
                    self.own_seen = true;
                    self.sent = LockBody::open(&self.me, now);
                    self.go(At::Rewrite { etag })
                }
            };
        }
        match etag {
            _ if self.own_seen => Progress::Done(Acquired::Lost),
            _ if self.removed.is_some() => contended(Why::Raced, Some(seen)),
            _ if !seen.expired(now, date) => contended(Why::Held, Some(seen)),
            None => contended(Why::NoEtag, Some(seen)),
            Some(etag) => self.go(At::Remove { etag, seen }),
        }
    }
}

impl Machine for Acquire {
    type Verdict = Acquired;

    fn ask(&self) -> Ask {
        match &self.at {
            At::Create => Ask::PutIfAbsent(self.sent.clone()),
            At::Backoff => Ask::Pause(jittered(&self.me, self.sent.expires_at)),
            At::Look => Ask::Get,
            At::Rewrite { etag } => Ask::PutIfMatch { etag: etag.clone(), body: self.sent.clone() },
            At::Remove { etag, .. } => Ask::DeleteIfMatch { etag: etag.clone() },
        }
    }

    fn told(mut self, reply: Reply, now: Millis) -> Progress<Self, Acquired> {
        match (self.at.clone(), reply) {
            // A1, A6
            (At::Create | At::Rewrite { .. }, Reply::Written) => self.held(),
            (At::Create, Reply::Precondition | Reply::Unknown) => self.go(At::Look),
            (At::Create, Reply::Conflict) if !self.paused && self.removed.is_none() => {
                self.paused = true;
                self.go(At::Backoff)
            }
            (At::Backoff, _) => self.create(now),
            // A2
            (At::Look, Reply::Found { body, etag, date }) => self.classify(&body, etag, date, now),
            (At::Look, Reply::Missing) if self.own_seen => Progress::Done(Acquired::Lost),
            (At::Look, Reply::Missing) if self.removed.is_some() => contended(Why::Raced, self.removed),
            (At::Look, Reply::Missing) if self.vanished >= VANISHES => contended(Why::Restless, None),
            (At::Look, Reply::Missing) => {
                self.vanished += 1;
                self.create(now)
            }
            // Our own open lock, renewed.
            (At::Rewrite { .. }, Reply::Precondition | Reply::Conflict | Reply::Unknown) => self.go(At::Look),
            (At::Rewrite { .. }, Reply::Missing) => Progress::Done(Acquired::Lost),
            // A5
            (At::Remove { seen, .. }, Reply::Deleted) => {
                self.removed = Some(seen);
                self.create(now)
            }
            (At::Remove { .. }, Reply::Missing) if !self.found_cleared => {
                self.found_cleared = true;
                self.create(now)
            }
            (At::Remove { seen, .. }, Reply::Missing | Reply::Precondition | Reply::Conflict) => {
                contended(Why::Raced, Some(seen))
            }
            (At::Remove { .. }, Reply::Denied | Reply::NotImplemented) => failed(Trouble::TakeoverDenied),
            (_, other) => failed(Trouble::of(&other)),
        }
    }
}

fn failed(trouble: Trouble) -> Progress<Acquire, Acquired> {
    Progress::Done(Acquired::Failed(trouble))
}

fn contended(why: Why, seen: Option<Seen>) -> Progress<Acquire, Acquired> {
    Progress::Done(Acquired::Contended(Contention::new(why, seen)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, found, me, ours, ours_closed, play, theirs};
    use super::super::{LockBody, TTL};
    use super::Acquired::{Contended, Failed, Held, Lost};
    use super::*;

    /// Plays an acquire that begins a second ago, so that no earlier write equals the one it sends.
    fn acquire(replies: Vec<Reply>) -> (String, Acquired) {
        let (asked, verdict) = play(Acquire::new(me(), T - 1000), replies);
        (asked.clone(), verdict.unwrap_or_else(|| panic!("not decided after {asked}")))
    }

    fn expect(replies: Vec<Reply>, asked: &str, verdict: Acquired) {
        assert_eq!(acquire(replies), (asked.to_owned(), verdict));
    }

    fn contended_for(replies: Vec<Reply>, asked: &str, why: Why) {
        match acquire(replies) {
            (got, Contended(contention)) => assert_eq!((got.as_str(), contention.why), (asked, why)),
            other => panic!("{other:?}"),
        }
    }

    fn created(at: Millis) -> Acquired {
        Held { expires_at: at + TTL, how: How::Created }
    }

    fn expired() -> Reply {
        theirs(T, T)
    }

    fn from() -> Seen {
        super::super::testing::seen(&format!(r#"{{"owner":"jo@host:1","timestamp":5,"expiresAt":{T},"operation":"deploy"}}"#))
    }

    use Reply::*;

    /// A1 200: held.
    #[test]
    fn a1_created() {
        expect(vec![Written], "create", created(T - 1000));
    }

    /// A1 412: somebody has it → A2; `expiresAt` finite and now < it: contended.
    #[test]
    fn a1_a3_held_by_someone() {
        contended_for(vec![Precondition, theirs(T + 1, T)], "create get", Why::Held);
        contended_for(vec![Precondition, theirs(T, T - 1)], "create get", Why::Held);
    }

    /// A1 409: one retry after a jittered 200–500 ms, then LockError.
    #[test]
    fn a1_concurrent_writer() {
        expect(vec![Conflict, Paused, Written], "create pause create", created(T));
        expect(vec![Conflict, Paused, Conflict], "create pause create", Failed(Trouble::Conflict));
        let Progress::Next(waiting) = Acquire::new(me(), T).told(Conflict, T) else { panic!() };
        let Ask::Pause(pause) = waiting.ask() else { panic!() };
        assert!((200..=500).contains(&pause.as_millis()), "{pause:?}");
    }

    /// A1 403, 5xx after SDK retries, NoSuchBucket: LockError, not contention. 501: refuse, never a plain PUT.
    #[test]
    fn a1_refused() {
        for (reply, trouble) in [
            (Denied, Trouble::Denied),
            (Unavailable, Trouble::Unavailable),
            (NoSuchBucket, Trouble::NoSuchBucket),
            (NotImplemented, Trouble::NotConditional),
            (Other, Trouble::Other),
        ] {
            expect(vec![reply], "create", Failed(trouble));
        }
    }

    /// A1 with an unknown result: GET; body exactly ours → held; otherwise continue as 412.
    #[test]
    fn a1_lost_reply() {
        expect(vec![Unknown, ours(T - 1000 + TTL)], "create get", created(T - 1000));
        contended_for(vec![Unknown, theirs(T + 1, T)], "create get", Why::Held);
        expect(vec![Unknown, Missing, Written], "create get create", created(T));
        // The SDK's own retry after a lost reply reads 412.
        expect(vec![Precondition, ours(T - 1000 + TTL)], "create get", created(T - 1000));
    }

    /// A2 404 NoSuchKey: back to A1 at most 3 times in a row; then contended.
    #[test]
    fn a2_released_meanwhile() {
        expect(vec![Precondition, Missing, Written], "create get create", created(T));
        let replies = [Precondition, Missing].iter().cycle().take(8).cloned().collect();
        contended_for(replies, "create get create get create get create get", Why::Restless);
    }

    /// A2 404 NoSuchBucket, 403: LockError.
    #[test]
    fn a2_unreadable() {
        expect(vec![Precondition, NoSuchBucket], "create get", Failed(Trouble::NoSuchBucket));
        expect(vec![Precondition, Denied], "create get", Failed(Trouble::Denied));
        expect(vec![Precondition, Unknown], "create get", Failed(Trouble::NoAnswer));
    }

    /// A3: not parseable JSON: LockError, never overwritten. JSON but not an object: contended.
    #[test]
    fn a3_garbage() {
        expect(vec![Precondition, found("{", T)], "create get", Failed(Trouble::Unparseable));
        contended_for(vec![Precondition, found("[]", T)], "create get", Why::NotAnObject);
    }

    /// The same owner and timestamp: our lock, whatever its `expiresAt`; an open one is renewed and held.
    #[test]
    fn our_own_open_lock_is_renewed_and_held() {
        let held = Held { expires_at: T + TTL, how: How::Ours };
        for end in [T + 60_000, T, 0] {
            expect(vec![Precondition, ours(end), Written], "create get put", held.clone());
        }
        expect(vec![Precondition, ours(0), Precondition, ours(5), Written], "create get put get put", held.clone());
        expect(vec![Precondition, ours(0), Unknown, ours(T + TTL)], "create get put get", held);
        let restless = [ours(0), Precondition].into_iter().cycle().take(9);
        let (_, verdict) = acquire([Precondition].into_iter().chain(restless).collect());
        assert_eq!(verdict, Failed(Trouble::Restless));
    }

    /// An acquire that meets its own closed lock answers LockLost, and so does one whose own lock goes away under it.
    #[test]
    fn our_own_closed_or_removed_lock_is_lost() {
        expect(vec![Precondition, ours_closed()], "create get", Lost);
        expect(vec![Precondition, ours(0), Missing], "create get put", Lost);
        expect(vec![Precondition, ours(0), Precondition, Missing], "create get put get", Lost);
        expect(vec![Precondition, ours(0), Precondition, theirs(T + 1, T)], "create get put get", Lost);
        expect(vec![Precondition, ours(0), Precondition, ours_closed()], "create get put get", Lost);
    }

    /// A4: GET gave no ETag: refuse the takeover.
    #[test]
    fn a4_no_etag() {
        let Found { body, date, .. } = expired() else { panic!() };
        contended_for(vec![Precondition, Found { body, date, etag: None }], "create get", Why::NoEtag);
    }

    /// A5 204, A6 200: held, the previous owner told.
    #[test]
    fn a5_a6_take_over() {
        let held = Held { expires_at: T + TTL, how: How::TookOver { from: from() } };
        expect(vec![Precondition, expired(), Deleted, Written], "create get delete create", held.clone());
        let Progress::Next(at_delete) = Acquire::new(me(), T).told(Precondition, T) else { panic!() };
        let Progress::Next(at_delete) = at_delete.told(expired(), T) else { panic!() };
        assert_eq!(at_delete.ask(), Ask::DeleteIfMatch { etag: "\"e\"".into() });
        // A6 with a lost reply recognises itself.
        expect(vec![Precondition, expired(), Deleted, Unknown, ours(T + TTL)], "create get delete create get", held);
    }

    /// A5 412 and 409: contended. 404: A1 once, then contended.
    #[test]
    fn a5_raced() {
        contended_for(vec![Precondition, expired(), Precondition], "create get delete", Why::Raced);
        contended_for(vec![Precondition, expired(), Conflict], "create get delete", Why::Raced);
        expect(vec![Precondition, expired(), Missing, Written], "create get delete create", created(T));
        contended_for(
            vec![Precondition, expired(), Missing, Precondition, expired(), Missing],
            "create get delete create get delete",
            Why::Raced,
        );
    }

    /// A5 403, 501: refuse, no unconditional delete ever. Other: LockError.
    #[test]
    fn a5_refused() {
        for reply in [Denied, NotImplemented] {
            expect(vec![Precondition, expired(), reply], "create get delete", Failed(Trouble::TakeoverDenied));
        }
        assert!(
            Trouble::TakeoverDenied.advice().contains("s3:GetObject")
                && Trouble::TakeoverDenied.advice().contains("force-unlock")
        );
        expect(vec![Precondition, expired(), Unknown], "create get delete", Failed(Trouble::NoAnswer));
        expect(vec![Precondition, expired(), Unavailable], "create get delete", Failed(Trouble::Unavailable));
    }

    /// A6 412: someone won the race: contended. Other: LockError.
    #[test]
    fn a6_raced_or_refused() {
        let upto = |reply| vec![Precondition, expired(), Deleted, reply];
        let with = |reply, then| vec![Precondition, expired(), Deleted, reply, then];
        contended_for(with(Precondition, theirs(T + 1, T)), "create get delete create get", Why::Raced);
        contended_for(with(Precondition, expired()), "create get delete create get", Why::Raced);
        contended_for(with(Precondition, Missing), "create get delete create get", Why::Raced);
        expect(upto(Unavailable), "create get delete create", Failed(Trouble::Unavailable));
        expect(upto(Conflict), "create get delete create", Failed(Trouble::Conflict));
        expect(upto(Denied), "create get delete create", Failed(Trouble::Denied));
    }

    /// Never: takeover by `PUT If-Match`.
    #[test]
    fn a_foreign_lock_is_never_written_over() {
        let (asked, _) = play(Acquire::new(me(), T), vec![Precondition, expired()]);
        assert!(!asked.contains("put"), "{asked}");
        assert_eq!(LockBody::open(&me(), T).timestamp, me().timestamp, "the timestamp is the run's, not the acquire's");
    }
}
