//! What a person is told about a lock that somebody else holds, with an input for force-unlock that can be pasted.

use serde::Serialize;

use super::Seen;
use crate::keys::StackKey;
use crate::{Millis, Run, Target, text};

/// Stands where a role asks for an external id: messages do not repeat it.
const EXTERNAL_ID: &str = "<the external id of the request>";
/// An owner longer than this is cut in the message, so that the input for force-unlock is not.
const MAX_OWNER: usize = 256;

/// Why a lock could not be had although the store answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Its lease goes on.
    Held,
    /// It is JSON but not an object, so nobody can tell whose it is or when it ends.
    NotAnObject,
    /// The store gave no ETag, so it cannot be taken over on a condition.
    NoEtag,
    /// Somebody renewed, replaced or removed it while we took it over.
    Raced,
    /// It came and went several times in a row.
    Restless,
}

/// Somebody else's lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contention {
    /// Why.
    pub why: Why,
    /// What it says, when it could be read.
    pub seen: Option<Seen>,
}

impl Contention {
    pub(crate) fn new(why: Why, seen: Option<Seen>) -> Self {
        Contention { why, seen }
    }

    /// The message: owner, operation, expiry and what is left of it, and how to break the lock of a dead holder.
    pub fn message(&self, unlock: &ForceUnlockInput, now: Millis) -> String {
        let mut message = format!("the lock of {} in {} ", text::ascii(&unlock.stack), text::ascii(&unlock.region));
        match (&self.seen, self.why) {
            (_, Why::NotAnObject) => message += "is not one that cdkd or Ebb writes, and cannot be reclaimed",
            (None, _) => message += "was taken and freed by others at the same time",
            (Some(seen), _) => {
                message += "is held";
                if seen.named {
                    message += &format!(" by {}", text::cut(&seen.owner, MAX_OWNER));
                }
                if !seen.operation.is_empty() {
                    message += &format!(" (operation: {})", text::cut(&seen.operation, 64));
                }
                if let Some(end) = seen.expires_at {
                    let minutes = end.saturating_sub(now).div_ceil(60_000);
                    message += &format!(", until {} ({minutes} min left)", text::iso(end));
                }
            }
        }
        message += match self.why {
            Why::Held | Why::NotAnObject | Why::Restless => "",
            Why::NoEtag => "; the store gave no ETag, so it is not taken over",
            Why::Raced => "; somebody was faster in taking it over",
        };
        if self.seen.as_ref().is_some_and(|seen| seen.named) && self.why == Why::Held {
            message += "; its holder is probably still running";
        }
        if let Some(input) = unlock.to_json() {
            let offer = format!(". If the holder is dead, invoke the lock-keeper with {input}");
            message += match message.len() + offer.len() <= text::MAX_TEXT {
                true => &offer,
                false => ". If the holder is dead, remove the lock with events/force-unlock.json",
            };
        }
        message
    }
}

/// A ready input of the lock-keeper that removes exactly this lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForceUnlockInput {
    action: &'static str,
    /// The stack.
    pub stack: String,
    /// Its region.
    pub region: String,
    /// The bucket that the run uses, resolved.
    pub bucket: String,
    /// The prefix, also when it is cdkd's default: the app's own may be another one.
    pub prefix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
}

impl ForceUnlockInput {
    /// For the lock of `key`, one of the run's tree.
    pub fn new(run: &Run, key: &StackKey) -> Self {
        ForceUnlockInput {
            action: "force-unlock",
            stack: key.stack.clone(),
            region: key.region.clone(),
            bucket: run.bucket.clone(),
            prefix: key.prefix.clone(),
            target: run.target.as_ref().map(|target| Target {
                role_arn: target.role_arn.clone(),
                external_id: target.external_id.as_ref().map(|_| EXTERNAL_ID.to_owned()),
            }),
        }
    }

    /// JSON to paste; nothing when sanitising would change a name in it: a pasted input never holds altered or
    /// hostile text.
    pub fn to_json(&self) -> Option<String> {
        let clean = |text: &str| text.is_empty() || text::ascii(text) == text;
        [&self.stack, &self.region, &self.bucket, &self.prefix]
            .iter()
            .all(|text| clean(text))
            .then(|| serde_json::to_string(self).ok())
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, run, seen};
    use super::*;

    fn held(json: &str) -> Contention {
        Contention::new(Why::Held, Some(seen(json)))
    }

    fn unlock(stack: &str, prefix: &str) -> ForceUnlockInput {
        ForceUnlockInput::new(&run(), &StackKey::new(prefix, stack, "us-west-2"))
    }

    /// Must contain: sanitised owner, operation, expiry (ISO, UTC) and remaining minutes, and the input to run
    /// force-unlock for exactly this stack, region, resolved bucket and (when not default) prefix.
    #[test]
    fn the_message_names_the_holder_and_the_way_out() {
        let lock = held(r#"{"owner":"jo\u001b@host:1","timestamp":1,"expiresAt":1765000090000,"operation":"deploy"}"#);
        assert_eq!(
            lock.message(&unlock("OrdersApi", "cdkd"), T),
            "the lock of OrdersApi in us-west-2 is held by jo @host:1 (operation: deploy), until 2025-12-06T05:48:10.000Z \
             (2 min left); its holder is probably still running. If the holder is dead, invoke the lock-keeper with \
             {\"action\":\"force-unlock\",\"stack\":\"OrdersApi\",\"region\":\"us-west-2\",\"bucket\":\"cdkd-state-1\",\"prefix\":\"cdkd\"}"
        );
        assert!(lock.message(&unlock("OrdersApi", "team"), T).ends_with(r#","prefix":"team"}"#));
    }

    /// Say "still running" only when an owner text exists.
    #[test]
    fn a_lock_without_an_owner_text_is_nobody_who_still_runs() {
        for json in ["{}", r#"{"owner":{"secret":1}}"#, r#"{"owner":null}"#, r#"{"owner":""}"#] {
            let message = held(json).message(&unlock("S", "cdkd"), T);
            assert!(!message.contains("running") && !message.contains("secret") && !message.contains("until"), "{message}");
            assert!(message.contains("force-unlock"), "{message}");
        }
        let message = Contention::new(Why::NotAnObject, None).message(&unlock("S", "cdkd"), T);
        assert!(message.contains("cannot be reclaimed") && message.contains("force-unlock"), "{message}");
    }

    /// If sanitising changed the stack or region text, print no command at all.
    #[test]
    fn hostile_names_are_in_no_ready_input() {
        for stack in ["S\u{202e}x", "naïve", " S", "S\n"] {
            let message = held(r#"{"owner":"jo"}"#).message(&unlock(stack, "cdkd"), T);
            assert!(!message.contains("force-unlock") && !message.contains('\u{202e}'), "{message}");
        }
    }

    #[test]
    fn the_input_goes_through_the_same_role_and_keeps_its_external_id_to_itself() {
        let target = Target { role_arn: "arn:aws:iam::1:role/r".into(), external_id: Some("hunter2".into()) };
        let run = Run { target: Some(target), ..run() };
        let json = ForceUnlockInput::new(&run, &StackKey::new("", "S", "us-west-2")).to_json().unwrap();
        assert!(json.contains("role/r") && json.contains("external id") && !json.contains("hunter2"), "{json}");
        assert!(json.contains(r#""prefix":"""#), "{json}");
    }

    /// Half an input is worse than none: somebody pastes it.
    #[test]
    fn an_input_that_does_not_fit_the_message_is_not_begun() {
        let target = Target { role_arn: format!("arn:aws:iam::210987654321:role/{}", "r".repeat(600)), external_id: None };
        let run = Run { target: Some(target), ..run() };
        let unlock = ForceUnlockInput::new(&run, &StackKey::new("cdkd", &"S".repeat(128), "us-west-2"));
        let lock = held(&format!(r#"{{"owner":"{}"}}"#, "x".repeat(5000)));
        let message = crate::Refusal::new(crate::Ending::LockHeld, lock.message(&unlock, T)).message;
        assert!(message.ends_with("remove the lock with events/force-unlock.json") && !message.contains('{'), "{message}");
    }

    #[test]
    fn a_long_owner_does_not_push_the_input_out_of_the_message() {
        let lock = held(&format!(r#"{{"owner":"{}"}}"#, "x".repeat(5000)));
        let message = crate::Refusal::new(crate::Ending::LockHeld, lock.message(&unlock("S", "team"), T)).message;
        assert!(message.ends_with(r#""prefix":"team"}"#), "{message}");
    }
}
