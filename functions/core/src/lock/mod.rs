//! The lock's decisions: small state machines that say which request on `lock.json` comes next and are told its reply.
//! The store drives them against S3 and the model checker against a modelled bucket, so both run the very same table.
//! Pure: a request here is a value, time is an argument.

mod acquire;
mod body;
mod close;
mod contention;
mod fence;
mod release;
mod renew;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod testing;

pub use acquire::{Acquire, Acquired, How, Trouble};
pub use body::{Identity, LockBody, Reading, Seen};
pub use close::{Close, Closed};
pub use contention::{Contention, ForceUnlockInput, Why};
pub use fence::{FenceView, ReadAt, Shut, fence};
pub use release::{Release, Released};
pub use renew::{Renew, Renewed};

use std::time::Duration;

use crate::Millis;

/// How long a lease lasts from the instant it is written.
pub const TTL: Millis = 30 * 60 * 1000;
/// How often the keeper renews.
pub const RENEW_EVERY: Millis = 2 * 60 * 1000;
/// No mutating call starts with this much lease or less.
pub const FENCE_MARGIN: Millis = 60 * 1000;
/// How old the reading of a lock may be when a mutating call starts.
pub const FENCE_AGE: Millis = 10 * 1000;
/// The longest lease that a closed lock keeps.
pub const CLOSE_LEASE: Millis = 5 * 60 * 1000;
/// The operation of an open lock of ours.
pub const OPEN: &str = "destroy";
/// The operation of a closed lock of ours: nobody renews or reopens it.
pub const CLOSED: &str = "destroy-stopping";

/// How often one machine reads a lock of ours again after it changed under its hands.
pub(crate) const REREADS: u8 = 3;

/// The request that a machine wants next. There is no unconditional write or delete to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// GetObject.
    Get,
    /// PutObject with `If-None-Match: *`.
    PutIfAbsent(LockBody),
    /// PutObject with `If-Match`.
    PutIfMatch {
        /// The ETag just read.
        etag: String,
        /// What to write.
        body: LockBody,
    },
    /// DeleteObject with `If-Match`.
    DeleteIfMatch {
        /// The ETag just read.
        etag: String,
    },
    /// No request: wait.
    Pause(Duration),
}

/// What came back, by meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The write happened. Its ETag is of no use: every conditional request reads afresh.
    Written,
    /// The delete happened.
    Deleted,
    /// The object.
    Found {
        /// Untrusted bytes.
        body: Vec<u8>,
        /// Its ETag, quotes included; `None` when the store gave none.
        etag: Option<String>,
        /// The response's `Date`.
        date: Option<Millis>,
    },
    /// The key is not there.
    Missing,
    /// 412.
    Precondition,
    /// 409.
    Conflict,
    /// 403.
    Denied,
    /// 501.
    NotImplemented,
    /// The bucket is not there.
    NoSuchBucket,
    /// 429 or 5xx after the SDK's retries: it did not happen.
    Unavailable,
    /// No answer: it may have happened.
    Unknown,
    /// Anything else that failed.
    Other,
    /// The pause is over.
    Paused,
}

/// A machine after a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Progress<M, V> {
    /// It wants another request.
    Next(M),
    /// It is decided.
    Done(V),
}

/// One operation on one lock.
pub trait Machine: Sized {
    /// What it comes to.
    type Verdict;

    /// The request it wants now.
    fn ask(&self) -> Ask;

    /// Takes the reply that came at `now`.
    fn told(self, reply: Reply, now: Millis) -> Progress<Self, Self::Verdict>;
}

/// Between a fifth and half a second, different for two holders that collide.
pub(crate) fn jittered(identity: &Identity, now: Millis) -> Duration {
    Duration::from_millis(200 + identity.timestamp.wrapping_mul(31).wrapping_add(now) % 301)
}
