//! Final snapshots: what they are called, how long they are waited for and where people read of them. Nothing that goes
//! wrong here lets the resource go. Some deletes take the snapshot themselves and are only given its name (`planned`);
//! for others it is taken and complete first (`Taking`), and some of those go through Cloud Control (`then_cloud_control`).

use std::time::Duration;

use ebb_core::{Code, Context, DeleteError, ErrorClass, Millis, Resource, Step, text};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::call::{StepError, StepResult};
use crate::classify::{Rules, classify};
use crate::services::cloud_control;
use crate::watch::Watch;
use crate::{Cx, memo};

/// The longest name in bytes that RDS, DocumentDB, Neptune and Redshift take.
pub(crate) const LONGEST: usize = 255;
/// The longest name in bytes that cdkd gives a snapshot of ElastiCache.
pub(crate) const LONGEST_OF_CACHE: usize = 50;

const INFIX: &str = "-final-";
const TIME: usize = "20261130-154512".len();

/// The name of a final snapshot, as cdkd makes it: the id in the letters that every service takes, cut so that the whole
/// is within `longest`, and the time in UTC.
pub(crate) fn name(id: &str, longest: usize, at: Millis) -> String {
    let digits: String = text::iso(at).chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    format!("{}{INFIX}{date}-{time}", base(id, longest))
}

/// Whether `name` is one that a final snapshot of `id` gets, whenever it was taken.
pub(crate) fn is_name_of(name: &str, id: &str, longest: usize) -> bool {
    let at = name.strip_prefix(base(id, longest).as_str()).and_then(|rest| rest.strip_prefix(INFIX));
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    at.and_then(|at| at.split_once('-')).is_some_and(|(date, time)| digits(date, 8) && digits(time, 6))
}

fn base(id: &str, longest: usize) -> String {
    let mut base = String::new();
    for c in id.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => base.push(c),
            _ if base.is_empty() || base.ends_with('-') => {}
            _ => base.push('-'),
        }
    }
    if !base.starts_with(|c: char| c.is_ascii_lowercase()) {
        base.insert(0, 'r');
    }
    base.truncate(longest - INFIX.len() - TIME);
    base.trim_end_matches('-').to_owned()
}

/// What the report says of a resource whose last state is in the snapshot `name`.
pub(crate) fn told(name: &str) -> String {
    format!("final snapshot: {name}")
}

const PLANNED: &str = "final";

/// The name that the delete is to give the final snapshot: made once, so that every later try uses the same.
pub(crate) fn planned<'a>(cx: &'a Cx<'_>) -> Option<&'a str> {
    memo::text(cx, PLANNED)
}

/// Makes the name and remembers it, before anything is called with it.
pub(crate) fn plan(id: &str, longest: usize, cx: &Cx<'_>) -> Step {
    let name = name(id, longest, cx.clock.now());
    let note = format!("its delete will take the final snapshot {name}");
    Step::pending_with(Duration::ZERO, note, memo::with(cx, [(PLANNED, json!(name))]))
}

/// A resource is gone whose delete was to take a final snapshot. When no answer to that delete was seen, somebody else's
/// may have been first.
pub(crate) fn gone(watch: Watch, cx: &Cx<'_>) -> Step {
    match planned(cx) {
        Some(name) if !watch.tells() => {
            Step::gone_with(format!("it went without an answer to its delete: look whether its final snapshot {name} exists"))
        }
        _ => watch.gone(false),
    }
}

const LOOK_AGAIN: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long a snapshot that was just made may not be found.
const MISSING: Duration = Duration::from_secs(120);

/// How far a resource is saved.
pub(crate) enum Saved {
    /// In the complete snapshot of this name.
    In(String),
    /// There is nothing to save: it is going or gone.
    Nothing,
    /// Not yet: what to answer.
    NotYet(Step),
}

/// What a look says of a snapshot.
pub(crate) enum State {
    /// Its resource may go.
    Complete,
    /// AWS is at it.
    UnderWay,
    /// It will never be complete: its status.
    Ended(String),
    /// It is not to be found.
    Missing,
}

impl State {
    /// The status words of ElastiCache and Redshift.
    pub(crate) fn of(status: Option<&str>) -> State {
        match status.unwrap_or_default() {
            "available" => State::Complete,
            ended @ ("failed" | "error" | "cancelled" | "deleting" | "deleted") => State::Ended(ended.to_owned()),
            _ => State::UnderWay,
        }
    }
}

/// A snapshot that is being taken, as the memo remembers it.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Taking {
    /// Its name or id.
    pub(crate) snapshot: String,
    since: Millis,
    /// Since when looks do not find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<Millis>,
}

impl Taking {
    /// The one that an earlier step began or found.
    pub(crate) fn of(cx: &Cx<'_>) -> Option<Self> {
        cx.memo.and_then(|memo| Taking::deserialize(memo).ok())
    }

    /// One that was begun or found just now.
    pub(crate) fn begun(snapshot: impl Into<String>, cx: &Cx<'_>) -> Self {
        Taking { snapshot: snapshot.into(), since: cx.clock.now(), missing: None }
    }

    /// To be looked at soon.
    pub(crate) fn pending(&self) -> Step {
        Step::pending_with(LOOK_AGAIN, format!("its final snapshot {} is being taken", self.snapshot), json!(self))
    }

    /// What a look at it comes to.
    ///
    /// # Errors
    /// `FinalSnapshotFailed` when it will never be complete, `FinalSnapshotTimeout` after an hour.
    pub(crate) fn seen(self, state: State, cx: &Cx<'_>) -> Result<Saved, StepError> {
        let now = cx.clock.now();
        let missing = matches!(state, State::Missing).then(|| self.missing.unwrap_or(now));
        let passed = |since: Millis| Duration::from_millis(now.saturating_sub(since));
        let taking = Taking { missing, ..self };
        let name = &taking.snapshot;
        match state {
            State::Complete => return Ok(Saved::In(taking.snapshot)),
            State::Ended(status) => {
                return Err(failed(format!("the final snapshot {name} ended as {status}: the resource stays")));
            }
            State::Missing if missing.is_some_and(|since| passed(since) >= MISSING) => {
                return Err(failed(format!("the final snapshot {name} is nowhere to be found: the resource stays")));
            }
            State::UnderWay | State::Missing => {}
        }
        if passed(taking.since) >= PATIENCE {
            let message = format!("the final snapshot {name} is not complete after an hour: the resource stays");
            return Err(DeleteError::refused(Code::FinalSnapshotTimeout, message).into());
        }
        Ok(Saved::NotYet(taking.pending()))
    }
}

/// No final snapshot can be had: the resource stays.
pub(crate) fn failed(message: impl Into<String>) -> StepError {
    DeleteError::refused(Code::FinalSnapshotFailed, message).into()
}

const DELETE: &str = "delete";

/// One step of a type that Cloud Control deletes, saved by `saved` first when the policy asks for it. `rules` are the type's
/// own, for what its handler says; the road's memo lies within ours.
pub(crate) async fn then_cloud_control(
    saved: impl Future<Output = Result<Saved, StepError>> + Send,
    rules: &Rules,
    r: &Resource,
    cx: &Cx<'_>,
) -> StepResult {
    // Once its delete was asked for there is no more to save.
    let saved = match r.snapshot && memo::get(cx, DELETE).is_none() {
        true => saved.await?,
        false => Saved::Nothing,
    };
    match saved {
        Saved::NotYet(step) => Ok(step),
        Saved::In(name) => delete(Watch::of(cx).telling(told(&name)), rules, r, cx).await,
        Saved::Nothing => delete(Watch::of(cx), rules, r, cx).await,
    }
}

async fn delete(watch: Watch, rules: &Rules, r: &Resource, cx: &Cx<'_>) -> StepResult {
    let inner = memo::get(cx, DELETE).cloned();
    let ctx = Context { memo: inner.as_ref(), ..*cx.ctx };
    match cloud_control::step_under(rules, r, &Cx { ctx: &ctx, ..*cx }).await {
        Ok(Step::Pending { look_again, note, memo: Some(inner), error }) => {
            // How the snapshot was waited for is of no use any more.
            let outer = json!({ DELETE: inner });
            let ctx = Context { memo: Some(&outer), ..*cx.ctx };
            let step = watch.pending_for(look_again, &Cx { ctx: &ctx, ..*cx }, note);
            Ok(match error {
                Some(code) => step.after_error(code),
                None => step,
            })
        }
        Ok(Step::Gone { already }) => Ok(watch.gone(!already)),
        Err(StepError::Call(call)) => {
            let error = classify(&call, &cloud_control::RULES);
            match error.class {
                ErrorClass::AlreadyGone => Ok(watch.gone(false)),
                // What the road itself does not know is the type's to judge.
                ErrorClass::Terminal => Err(StepError::Call(call)),
                _ => Err(StepError::Ours(error)),
            }
        }
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Millis = 1_796_053_512_999;

    #[test]
    fn a_name_is_the_id_in_plain_letters_and_the_time() {
        for (id, base) in [
            ("orders", "orders"),
            ("Orders_DB", "orders-db"),
            ("--a__b..c--", "a-b-c"),
            ("9lives", "r9lives"),
            ("ünï", "n"),
            ("日本", "r"),
            ("", "r"),
        ] {
            assert_eq!(name(id, LONGEST, AT), format!("{base}-final-20261130-154512"), "{id}");
            assert!(is_name_of(&name(id, LONGEST, AT), id, LONGEST), "{id}");
        }
    }

    /// ElastiCache: 28 of the id, 50 in all; never two hyphens side by side.
    #[test]
    fn a_long_id_is_cut() {
        let long = name(&"abcdefghi-".repeat(9), LONGEST_OF_CACHE, AT);
        assert_eq!(long, "abcdefghi-abcdefghi-abcdefgh-final-20261130-154512");
        assert_eq!(long.len(), 50);
        assert_eq!(name(&format!("{}-x", "a".repeat(27)), 50, AT), format!("{}-final-20261130-154512", "a".repeat(27)));
        assert_eq!(name(&"a".repeat(400), LONGEST, AT).len(), LONGEST);
    }

    /// Names are used again: what only looks like ours is somebody's.
    #[test]
    fn another_name_is_not_ours() {
        for other in [
            "orders-final-20261130-15451",
            "orders-final-20261130-1545122",
            "orders-final-2026113x-154512",
            "orders-final-20261130",
            "orders-final-20261130-154512-copy",
            "orders-2-final-20261130-154512",
            "my-orders-final-20261130-154512",
            "orders20261130-154512",
        ] {
            assert!(!is_name_of(other, "orders", LONGEST), "{other}");
        }
        assert!(is_name_of("orders-final-19990101-000000", "orders", LONGEST));
    }
}
