//! How a run ended: one order of precedence from what was said, found and done to one result.

use ebb_core::record::RunRecord;
use ebb_core::{Ending, Refusal, Status, text};
use serde_json::Value;

/// The error that the machine passed on with its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Its name, as it came.
    pub(crate) error: String,
    /// Its Cause, as it came.
    pub(crate) cause: Option<String>,
}

impl Said {
    /// What was said, if anything.
    pub(crate) fn of(error: Option<String>, cause: Option<String>) -> Option<Self> {
        error.filter(|error| !error.is_empty()).map(|error| Said { error, cause: cause.filter(|cause| !cause.is_empty()) })
    }

    /// As a refusal: a name that is not one of ours is an error of ours with that name in its message.
    pub(crate) fn refusal(&self) -> Refusal {
        let report: Option<Value> = self.cause.as_deref().and_then(|cause| serde_json::from_str(cause).ok());
        let message = match (&report, &self.cause) {
            (Some(report), _) if report["message"].is_string() => report["message"].as_str().unwrap_or_default(),
            (Some(_), _) | (None, None) => "",
            (None, Some(cause)) => cause,
        };
        match Ending::from_name(&self.error).filter(|ending| !ending.succeeds()) {
            Some(ending) if message.is_empty() => Refusal::new(ending, ending.meaning()),
            Some(ending) => Refusal::new(ending, message),
            None => Refusal::new(Ending::Error, format!("{}: {message}", self.error).trim_end_matches(": ")),
        }
    }
}

/// Whether the record says that everything is gone or kept on purpose, so that the stack's state goes too.
pub(crate) fn is_clean(record: &RunRecord, said: Option<&Said>) -> bool {
    // What was not settled counts as blocked.
    said.is_none() && !record.run.dry_run && record.refusal.is_none() && record.counts().is_clean()
}

/// Whether the stack had state when the run began under the lock.
pub(crate) fn had_state(record: &RunRecord) -> bool {
    record.stacks.contains_key(&record.run.stack)
}

/// The result and its message. `problem` is why the state was not settled: a lost lock, a conflict, a ledger that stays.
pub(crate) fn verdict(record: &RunRecord, said: Option<&Said>, problem: Option<&Refusal>) -> (Ending, Option<String>) {
    let refused = |refusal: Refusal| (refusal.ending, Some(refusal.message));
    if let Some(said) = said {
        return refused(said.refusal());
    }
    if let Some(refusal) = record.refusal.as_ref().or(problem) {
        return refused(refusal.clone());
    }
    if record.run.dry_run {
        return (Ending::DryRun, foretold(record));
    }
    let left = record.resources.values().filter(|r| !r.status.is_settled()).count();
    if left > 0 {
        return (Ending::Interrupted, Some(format!("destroy interrupted: {}, {left} not settled", summary(record))));
    }
    if !record.counts().is_clean() {
        return (Ending::Partial, Some(format!("partially destroyed: {}", summary(record))));
    }
    match record {
        _ if record.absent => (Ending::NothingToDo, None),
        _ if record.resources.is_empty() && record.orphans.is_empty() => (Ending::Empty, None),
        _ => (Ending::Deleted, Some(format!("destroyed: {}", summary(record)))),
    }
}

/// What a person has to know before the real run.
fn foretold(record: &RunRecord) -> Option<String> {
    let guarded = record.resources.values().filter(|r| r.guard().is_some()).count();
    let then = match record.run.options.skip_guarded {
        true => "protected or guarded resource(s) would be left, with what it needs",
        false => "protected or guarded resource(s) would make the run refuse before its first delete",
    };
    let known = [(guarded, then), (record.counts().left(), "failed, skipped or blocked resource(s) would be left")];
    let known: String = known.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("; {n} {what}")).collect();
    (!known.is_empty()).then(|| format!("{}{known}", Ending::DryRun.meaning()))
}

/// cdkd's summary: what is zero is left out, but for deleted.
fn summary(record: &RunRecord) -> String {
    let count = |status: Status| record.resources.values().filter(|r| r.status == status).count();
    let mut parts = vec![format!("{} deleted", count(Status::Deleted))];
    for (status, word) in
        [(Status::Retained, "retained"), (Status::Skipped, "skipped"), (Status::Failed, "failed"), (Status::Blocked, "blocked")]
    {
        parts.extend(Some(count(status)).filter(|n| *n > 0).map(|n| format!("{n} {word}")));
    }
    text::display(&parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{record, resource};

    fn said(error: &str, cause: Option<&str>) -> Said {
        Said::of(Some(error.into()), cause.map(str::to_owned)).unwrap()
    }

    #[test]
    fn an_error_that_was_passed_keeps_its_name_and_message() {
        let of = |error, cause| said(error, cause).refusal();
        assert_eq!(of("LockLost", Some(r#"{"message":"held by jo"}"#)), Refusal::new(Ending::LockLost, "held by jo"));
        assert_eq!(of("LockLost", None).message, Ending::LockLost.meaning());
        assert_eq!(of("States.Timeout", Some("sub\nmachine")), Refusal::new(Ending::Error, "States.Timeout: sub machine"));
        assert_eq!(of("Weird", Some("{}")), Refusal::new(Ending::Error, "Weird"));
        // A result is no error.
        assert_eq!(of("Deleted", None).ending, Ending::Error);
        assert_eq!(Said::of(Some(String::new()), None), None);
    }

    #[test]
    fn one_result_in_one_order() {
        use Status::{Blocked, Deleted, Failed, InFlight, Retained, Skipped, Waiting};
        let with = |statuses: &[Status]| {
            let mut record = record();
            for (n, status) in statuses.iter().enumerate() {
                record.resources.insert(format!("S/R{n}"), resource("AWS::SQS::Queue", *status));
            }
            record
        };
        let mut refused = with(&[Deleted]);
        refused.refusal = Some(Refusal::new(Ending::Refused, "guards"));
        let mut dry = with(&[Waiting]);
        dry.run.dry_run = true;
        let mut absent = with(&[]);
        absent.stacks.clear();
        absent.absent = true;
        let mut orphans = with(&[]);
        orphans.orphans.push("S/Old".into());
        let lost = Refusal::new(Ending::LockLost, "gone");
        let error = said("CircularDependency", None);
        for (record, said, problem, ending, clean) in [
            (&with(&[Deleted, Retained]), None, None, Ending::Deleted, true),
            (&with(&[]), None, None, Ending::Empty, true),
            (&orphans, None, None, Ending::Deleted, true),
            (&absent, None, None, Ending::NothingToDo, true),
            (&with(&[Deleted, Failed]), None, None, Ending::Partial, false),
            (&with(&[Deleted, Skipped]), None, None, Ending::Partial, false),
            (&with(&[Failed, Blocked]), None, None, Ending::Partial, false),
            (&with(&[Failed, Waiting]), None, None, Ending::Interrupted, false),
            (&with(&[Deleted, InFlight]), None, None, Ending::Interrupted, false),
            (&with(&[Deleted]), None, Some(&lost), Ending::LockLost, true),
            (&with(&[Failed]), None, Some(&lost), Ending::LockLost, false),
            (&refused, None, Some(&lost), Ending::Refused, false),
            (&refused, Some(&error), Some(&lost), Ending::CircularDependency, false),
            (&with(&[Deleted]), Some(&error), None, Ending::CircularDependency, false),
            (&dry, None, None, Ending::DryRun, false),
        ] {
            assert_eq!(verdict(record, said, problem).0, ending);
            assert_eq!(is_clean(record, said), clean, "{ending}");
        }
    }

    /// What would refuse is named before anything is deleted.
    #[test]
    fn a_dry_run_says_that_the_real_one_would_refuse() {
        let mut record = crate::testing::dry();
        let message = |record: &RunRecord| verdict(record, None, None).1;
        assert!(message(&record).unwrap().contains("1 protected or guarded resource(s) would make the run refuse"));
        record.run.options.skip_guarded = true;
        assert!(message(&record).unwrap().contains("would be left"));
        record.resources.remove("S/Table");
        assert_eq!(message(&record), None);
    }

    #[test]
    fn the_message_counts_what_there_is() {
        let mut record = record();
        for (id, status) in [("S/A", Status::Deleted), ("S/B", Status::Failed), ("S/C", Status::Blocked)] {
            record.resources.insert(id.into(), resource("AWS::SQS::Queue", status));
        }
        let message = verdict(&record, None, None).1.unwrap();
        assert_eq!(message, "partially destroyed: 1 deleted, 1 failed, 1 blocked");
    }
}
