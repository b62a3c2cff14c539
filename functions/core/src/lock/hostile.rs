//! Whatever lies at the lock's key: nothing panics, nothing of it is copied, nothing that is not ours is touched.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::{T, me};
use super::{Acquire, Ask, Close, FenceView, LockBody, Machine, Progress, ReadAt, Reading, Release, Renew, Reply, fence};
use crate::text::MAX_TEXT;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A value of any kind, numbers beyond every clock among them.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|s| Value::from(s).to_string()),
        Just(Value::from(me().owner).to_string()),
        Just(T.to_string()),
        Just("\"destroy\"".to_owned()),
        Just("null".to_owned()),
        Just("[[{}]]".to_owned()),
    ]
}

/// Bytes that may lie there: any, any JSON object with a lock's fields, and our own lock with a piece changed.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let field = ("(owner|timestamp|expiresAt|operation|[a-z]{1,6})", any_value());
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..120),
        prop::collection::vec(field, 0..7).prop_map(|fields| {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            format!("{{{}}}", fields.join(",")).into_bytes()
        }),
        (any::<prop::sample::Index>(), 0usize..9, prop::collection::vec(any::<u8>(), 0..4)).prop_map(|(at, cut, put)| {
            let mut body = LockBody::open(&me(), T).to_json().into_bytes();
            let at = at.index(body.len());
            body.splice(at..(at + cut).min(body.len()), put);
            body
        }),
    ]
}

/// What a machine asks for after it has seen `body` there.
fn asked_after<M: Machine>(machine: M, body: &[u8], now: u64) -> Option<Ask> {
    let found = Reply::Found { body: body.to_vec(), etag: Some("\"e\"".into()), date: Some(now) };
    match machine.told(found, now) {
        Progress::Next(next) => Some(next.ask()),
        Progress::Done(_) => None,
    }
}

/// As [`asked_after`], for an acquire whose create was refused.
fn acquire_after(body: &[u8], now: u64) -> Option<Ask> {
    match Acquire::new(me(), now).told(Reply::Precondition, now) {
        Progress::Next(looking) => asked_after(looking, body, now),
        Progress::Done(_) => None,
    }
}

proptest! {
    #![proptest_config(config(512))]

    /// Its body is data written by whoever could write the bucket, so it is untrusted text.
    #[test]
    fn any_bytes_are_classified(body in any_body()) {
        if let Reading::Lock(seen) = Reading::of(&body) {
            for text in [&seen.owner, &seen.operation] {
                prop_assert!(text.len() <= MAX_TEXT && !text.chars().any(char::is_control), "{text:?}");
            }
        }
    }

    /// Nobody but the holder renews, closes or releases; another's lock is only ever removed when its lease is over.
    #[test]
    fn what_is_not_ours_is_left_alone(body in any_body(), now in prop_oneof![Just(T), any::<u64>()]) {
        let reading = Reading::of(&body);
        let view = fence(Some(&reading), &me(), ReadAt { asked: now, now, date: Some(now) });
        let asked = [asked_after(Renew::new(me()), &body, now), asked_after(Close::new(me()), &body, now), asked_after(Release::new(me()), &body, now)];
        match &reading {
            Reading::Lock(seen) if seen.is(&me()) => {}
            _ => {
                prop_assert_eq!(asked, [None, None, None]);
                prop_assert!(view.is_lost() && !view.may_settle());
            }
        }
        match (acquire_after(&body, now), &reading) {
            (Some(Ask::DeleteIfMatch { .. }), Reading::Lock(seen)) => prop_assert!(!seen.is(&me()) && seen.expired(now, Some(now))),
            (Some(Ask::PutIfMatch { .. }), Reading::Lock(seen)) => prop_assert!(seen.is(&me()) && seen.is_open()),
            (None, _) => {}
            (other, _) => prop_assert!(false, "{other:?}"),
        }
        if let FenceView::Open { until } = view {
            prop_assert!(until > now && until - now <= super::FENCE_AGE);
        }
    }

    /// Unknown members are ignored; never copied into our own body.
    #[test]
    fn nothing_of_it_is_copied(secret in "[a-z]{12}", end in 0u64..2 * T) {
        let body = json!({
            "owner": me().owner, "timestamp": T, "expiresAt": end, "operation": "destroy", "note": secret, &secret: {"deep": secret},
        });
        let body = body.to_string();
        for ask in [asked_after(Renew::new(me()), body.as_bytes(), T), asked_after(Close::new(me()), body.as_bytes(), T), acquire_after(body.as_bytes(), T)] {
            let Some(Ask::PutIfMatch { body, .. }) = ask else { return Err(TestCaseError::fail(format!("{ask:?}"))) };
            prop_assert!(!body.to_json().contains(&secret));
        }
    }
}
