//! The fence: what a reading of the lock allows, and until when.

use super::{FENCE_AGE, FENCE_MARGIN, Identity, Reading};
use crate::Millis;

/// When a lock was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadAt {
    /// Local clock before the GET was sent: the reading may be as old as that.
    pub asked: Millis,
    /// Local clock when the answer was there.
    pub now: Millis,
    /// The answer's `Date`.
    pub date: Option<Millis>,
}

/// What a reading of the lock says about starting calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum FenceView {
    /// A mutating call may start while the local clock is before `until`; then the lock is read again.
    Open {
        /// Ten seconds after the GET was sent, or when 60 s of lease are left, whichever comes first.
        until: Millis,
    },
    /// Start nothing.
    Shut(Shut),
}

/// Why the fence is shut.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shut {
    /// There is no lock: it was forced open, or taken over and released.
    Missing,
    /// It cannot be read as a lock.
    Unreadable,
    /// Somebody else's; the owner is display-safe.
    Foreign {
        /// Whose.
        owner: String,
    },
    /// Ours, closed.
    Closed {
        /// Lease that is left by the later clock.
        left: Millis,
    },
    /// Ours and open, but 60 s of lease or less are left.
    ShortLease {
        /// Lease that is left by the later clock.
        left: Millis,
    },
    /// The reading itself is older than a call may rely on.
    StaleReading,
}

/// What `reading` (`None`: the key is not there) allows the holder `identity`.
pub fn fence(reading: Option<&Reading>, identity: &Identity, at: ReadAt) -> FenceView {
    let seen = match reading {
        None => return FenceView::Shut(Shut::Missing),
        Some(Reading::Lock(seen)) => seen,
        Some(_) => return FenceView::Shut(Shut::Unreadable),
    };
    if !seen.is(identity) {
        return FenceView::Shut(Shut::Foreign { owner: seen.owner.clone() });
    }
    let left = seen.lease_left(at.now, at.date);
    if !seen.is_open() {
        return FenceView::Shut(Shut::Closed { left });
    }
    if left <= FENCE_MARGIN {
        return FenceView::Shut(Shut::ShortLease { left });
    }
    let until = at.asked.saturating_add(FENCE_AGE).min(at.now.saturating_add(left - FENCE_MARGIN));
    if at.now >= until { FenceView::Shut(Shut::StaleReading) } else { FenceView::Open { until } }
}

impl FenceView {
    /// Whether a mutating call may start at `now`.
    pub fn is_open(&self, now: Millis) -> bool {
        matches!(self, FenceView::Open { until } if now < *until)
    }

    /// Whether the run may still be settled: the lock is ours, open or closed, and its lease goes on.
    pub fn may_settle(&self) -> bool {
        match self {
            FenceView::Open { .. } => true,
            FenceView::Shut(Shut::Closed { left } | Shut::ShortLease { left }) => *left > 0,
            FenceView::Shut(_) => false,
        }
    }

    /// Whether the lock is gone for good for this run: not only closed, short or read too slowly.
    pub fn is_lost(&self) -> bool {
        matches!(self, FenceView::Shut(Shut::Missing | Shut::Unreadable | Shut::Foreign { .. }))
    }
}

impl std::fmt::Display for Shut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shut::Missing => f.write_str("the lock is gone"),
            Shut::Unreadable => f.write_str("the lock cannot be read as a lock"),
            Shut::Foreign { owner } if owner.is_empty() => f.write_str("the lock is someone else's"),
            Shut::Foreign { owner } => write!(f, "the lock is held by {owner}"),
            Shut::Closed { .. } => f.write_str("the lock is closed: the run is being stopped"),
            Shut::ShortLease { left } => write!(f, "only {} s of the lock's lease are left", left / 1000),
            Shut::StaleReading => f.write_str("reading the lock took too long"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, me};
    use super::super::{LockBody, TTL};
    use super::*;

    fn view(json: Option<String>, asked: Millis, now: Millis, date: Option<Millis>) -> FenceView {
        fence(json.map(|json| Reading::of(json.as_bytes())).as_ref(), &me(), ReadAt { asked, now, date })
    }

    fn open(end: Millis) -> Option<String> {
        Some(LockBody { expires_at: end, ..LockBody::open(&me(), T) }.to_json())
    }

    /// It was read at most 10 s ago, counted from before the read.
    #[test]
    fn a_reading_opens_the_fence_for_ten_seconds() {
        let view_now = view(open(T + TTL), T, T + 400, Some(T));
        assert_eq!(view_now, FenceView::Open { until: T + FENCE_AGE });
        assert!(view_now.is_open(T + FENCE_AGE - 1) && !view_now.is_open(T + FENCE_AGE));
        assert_eq!(view(open(T + TTL), T, T + FENCE_AGE, None), FenceView::Shut(Shut::StaleReading));
    }

    /// No call starts with 60 s of lease or less, by the later of the local clock and the response's Date.
    #[test]
    fn a_lease_of_a_minute_or_less_shuts_the_fence() {
        for (end, now, date, until) in [
            (T + FENCE_MARGIN, T, Some(T), None),
            (T + FENCE_MARGIN + 1, T, Some(T), Some(T + 1)),
            (T + FENCE_MARGIN + 1, T, Some(T + 1), None),
            (T + FENCE_MARGIN + 5000, T, Some(T + 3000), Some(T + 2000)),
            (T + FENCE_MARGIN + 5000, T, None, Some(T + 5000)),
            (T - 1, T, None, None),
        ] {
            let got = view(open(end), T, now, date);
            match until {
                Some(until) => assert_eq!(got, FenceView::Open { until }),
                None => assert!(matches!(got, FenceView::Shut(Shut::ShortLease { .. })), "{got:?}"),
            }
        }
    }

    /// It is ours, and its `operation` is `destroy`.
    #[test]
    fn only_our_open_lock_opens_the_fence() {
        let closed = Some(LockBody::closed(&me(), None, T).to_json());
        assert!(matches!(view(closed, T, T, None), FenceView::Shut(Shut::Closed { .. })));
        let other = Some(open(T + TTL).unwrap().replace("ebb@1", "ebb@2"));
        assert!(matches!(view(other, T, T, None), FenceView::Shut(Shut::Foreign { .. })));
        assert_eq!(view(None, T, T, None), FenceView::Shut(Shut::Missing));
        assert_eq!(view(Some("{".into()), T, T, None), FenceView::Shut(Shut::Unreadable));
        assert_eq!(view(Some("[]".into()), T, T, None), FenceView::Shut(Shut::Unreadable));
        let deploy = Some(open(T + TTL).unwrap().replace("\"destroy\"", "\"deploy\""));
        assert!(matches!(view(deploy, T, T, None), FenceView::Shut(Shut::Closed { .. })));
    }

    /// Finish is allowed under our closed, unexpired lock.
    #[test]
    fn a_closed_lock_that_goes_on_may_be_settled() {
        let closed = |lease| view(Some(LockBody::closed(&me(), Some(lease), T).to_json()), T, T, Some(T));
        assert!(closed(T + 1).may_settle());
        assert!(!closed(T).may_settle());
        assert!(view(open(T + 1000), T, T, None).may_settle());
        assert!(!view(None, T, T, None).may_settle());
        assert!(view(None, T, T, None).is_lost() && !closed(T + 1).is_lost());
    }
}
