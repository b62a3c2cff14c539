//! The lock's body: what we write, and what can be made of the untrusted bytes that are there.

use serde_json::{Value, json};

use super::{CLOSE_LEASE, CLOSED, OPEN, TTL};
use crate::{Millis, Run, text};

/// Who holds a lock: the same owner and timestamp is the same holder, whatever the lease says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Derived from the execution's ARN.
    pub owner: String,
    /// The execution's start.
    pub timestamp: Millis,
}

impl Identity {
    /// The identity of a run.
    pub fn of(run: &Run) -> Self {
        Identity { owner: run.owner.clone(), timestamp: run.timestamp }
    }
}

/// What we write into `lock.json`: four fields, nothing copied from what was there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockBody {
    /// The holder.
    pub owner: String,
    /// When the holder's execution started; constant over renewals.
    pub timestamp: Millis,
    /// When the lease ends.
    pub expires_at: Millis,
    /// [`OPEN`] or [`CLOSED`].
    pub operation: &'static str,
}

impl LockBody {
    /// An open lock with a full lease from `now`.
    pub fn open(identity: &Identity, now: Millis) -> Self {
        LockBody {
            owner: identity.owner.clone(),
            timestamp: identity.timestamp,
            expires_at: now.saturating_add(TTL),
            operation: OPEN,
        }
    }

    /// A closed lock that lapses soon, and never later than it would have.
    pub fn closed(identity: &Identity, lease: Option<Millis>, now: Millis) -> Self {
        let latest = now.saturating_add(CLOSE_LEASE);
        LockBody { expires_at: lease.map_or(latest, |at| at.min(latest)), operation: CLOSED, ..LockBody::open(identity, now) }
    }

    /// The JSON that is stored.
    pub fn to_json(&self) -> String {
        json!({
            "owner": self.owner, "timestamp": self.timestamp, "expiresAt": self.expires_at, "operation": self.operation,
        })
        .to_string()
    }
}

/// The bytes of a lock, classified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Not JSON: only force-unlock clears it.
    Unparseable,
    /// JSON, but not an object: cannot be reclaimed.
    NotAnObject,
    /// A lock.
    Lock(Seen),
}

/// What a lock says. Texts are sanitised; fields of the wrong type are absent or their kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Sanitised owner; the kind of anything that is not text; empty when absent.
    pub owner: String,
    /// Whether `owner` is text, so that it can name somebody.
    pub named: bool,
    /// When it was acquired.
    pub timestamp: Option<Millis>,
    /// When the lease ends; `None` when that is not a finite number.
    pub expires_at: Option<Millis>,
    /// Sanitised operation.
    pub operation: String,
}

impl Reading {
    /// Classifies untrusted bytes.
    pub fn of(bytes: &[u8]) -> Self {
        // As JavaScript decodes them: bytes that are no UTF-8 become U+FFFD instead of an error.
        match serde_json::from_str::<Value>(&String::from_utf8_lossy(bytes)) {
            Err(_) => Reading::Unparseable,
            Ok(Value::Object(lock)) => Reading::Lock(Seen {
                owner: text::display_value(lock.get("owner")),
                named: matches!(lock.get("owner"), Some(Value::String(owner)) if !owner.is_empty()),
                timestamp: lock.get("timestamp").and_then(whole),
                expires_at: lock.get("expiresAt").and_then(instant),
                operation: text::display_value(lock.get("operation")),
            }),
            Ok(_) => Reading::NotAnObject,
        }
    }
}

impl Seen {
    /// Same owner (compared as displayed) and same timestamp: the same holder.
    pub fn is(&self, identity: &Identity) -> bool {
        self.named && self.owner == text::display(&identity.owner) && self.timestamp == Some(identity.timestamp)
    }

    /// Whether the operation is the one of an open lock of ours.
    pub fn is_open(&self) -> bool {
        self.operation == OPEN
    }

    /// Whether this is exactly what we wrote.
    pub fn is_exactly(&self, body: &LockBody) -> bool {
        self.is(&Identity { owner: body.owner.clone(), timestamp: body.timestamp })
            && self.expires_at == Some(body.expires_at)
            && self.operation == body.operation
    }

    /// Whether another holder's lease is over: by the local clock and by the store's, so that a fast clock of ours
    /// steals nothing. A store that sends no `Date` cannot agree; then the local clock must be a whole lease past the
    /// end. A lease without a finite end is over, as for cdkd.
    pub fn expired(&self, now: Millis, date: Option<Millis>) -> bool {
        let Some(end) = self.expires_at else { return true };
        match date {
            Some(date) => now >= end && date >= end,
            None => now >= end.saturating_add(TTL),
        }
    }

    /// The lease that is left by the later of the two clocks.
    pub fn lease_left(&self, now: Millis, date: Option<Millis>) -> Millis {
        self.expires_at.unwrap_or(0).saturating_sub(now.max(date.unwrap_or(0)))
    }
}

/// A whole number of milliseconds, also when it is written as `1765000000000.0`.
fn whole(value: &Value) -> Option<Millis> {
    value.as_u64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as Millis))
}

/// Any number as an instant, rounded up: a lease never ends early for a fraction. Before the epoch is the epoch.
fn instant(value: &Value) -> Option<Millis> {
    value.as_u64().or_else(|| value.as_f64().filter(|n| n.is_finite()).map(|n| n.max(0.0).ceil() as Millis))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, me, seen};
    use super::*;

    /// Its body is data written by whoever could write the bucket, so it is untrusted text.
    #[test]
    fn bytes_are_classified() {
        for junk in [&b"{"[..], b"", b"{\"owner\":}", b"not json", b"\xff\xfe"] {
            assert_eq!(Reading::of(junk), Reading::Unparseable, "{junk:?}");
        }
        for json in ["null", "[]", "\"text\"", "42", "true"] {
            assert_eq!(Reading::of(json.as_bytes()), Reading::NotAnObject, "{json}");
        }
        assert!(matches!(Reading::of(b"{}"), Reading::Lock(_)));
        assert!(matches!(Reading::of(b"{\"owner\":\"\xff\"}"), Reading::Lock(_)));
    }

    /// `expiresAt`: not a finite number ⇒ expired.
    #[test]
    fn a_lease_without_a_finite_end_is_over() {
        for end in ["null", "\"1765001800000\"", "[]", "{}", "true"] {
            let lock = seen(&format!(r#"{{"owner":"x","timestamp":1,"expiresAt":{end}}}"#));
            assert_eq!(lock.expires_at, None, "{end}");
            assert!(lock.expired(0, None), "{end}");
        }
        assert!(seen("{}").expired(0, Some(0)));
        assert_eq!(seen(r#"{"expiresAt":-5}"#).expires_at, Some(0));
        assert_eq!(seen(r#"{"expiresAt":1.2}"#).expires_at, Some(2));
    }

    /// Another holder's lock counts as expired only when both the local clock and the response's Date are at or past
    /// `expiresAt`.
    #[test]
    fn both_clocks_must_agree_that_a_lease_is_over() {
        let lock = seen(&format!(r#"{{"owner":"x","timestamp":1,"expiresAt":{T}}}"#));
        for (now, date, over) in [
            (T, Some(T), true),
            (T - 1, Some(T), false),
            (T, Some(T - 1), false),
            (T + TTL - 1, None, false),
            (T + TTL, None, true),
        ] {
            assert_eq!(lock.expired(now, date), over, "{now} {date:?}");
        }
    }

    /// Identity of a holder = (sanitised `owner`, `timestamp`).
    #[test]
    fn the_same_owner_and_timestamp_are_the_same_holder() {
        let mine = |owner: &str, at: &str| seen(&format!(r#"{{"owner":{owner},"timestamp":{at},"expiresAt":0}}"#)).is(&me());
        assert!(mine(r#""ebb@1:r/m/n""#, "1765000000000"));
        assert!(mine(r#""\u0000ebb@1:r/m/n\u202e""#, "1765000000000.0"));
        assert!(!mine(r#""ebb@1:r/m/n""#, "1765000000001"));
        assert!(!mine(r#""ebb@1:r/m/n""#, r#""1765000000000""#));
        assert!(!mine(r#""ebb@1:r/m/other""#, "1765000000000"));
        assert!(!mine("{}", "1765000000000"));
        let kind = Identity { owner: "an object".into(), timestamp: 1 };
        assert!(!seen(r#"{"owner":{},"timestamp":1}"#).is(&kind), "a kind is not a name");
    }

    /// Unknown members are ignored; never copied into our own body.
    #[test]
    fn we_write_four_fields() {
        assert_eq!(
            LockBody::open(&me(), T).to_json(),
            r#"{"owner":"ebb@1:r/m/n","timestamp":1765000000000,"expiresAt":1765001800000,"operation":"destroy"}"#
        );
        let Reading::Lock(back) = Reading::of(LockBody::open(&me(), T).to_json().as_bytes()) else { panic!() };
        assert!(back.is_exactly(&LockBody::open(&me(), T)));
    }

    /// Close: `expiresAt = min(expiresAt, now + 5 min)`.
    #[test]
    fn a_close_never_lengthens_the_lease() {
        let end = |lease| LockBody::closed(&me(), lease, T).expires_at;
        assert_eq!(end(Some(T + TTL)), T + CLOSE_LEASE);
        assert_eq!(end(Some(T + 7)), T + 7);
        assert_eq!(end(None), T + CLOSE_LEASE);
        assert_eq!(LockBody::closed(&me(), None, T).operation, CLOSED);
    }
}
