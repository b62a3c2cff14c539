//! What a failed request means: the error code first, some handlers do not use the words. A passing failure is tried again
//! under a new client token, as often or as long as its code deserves.

use std::time::Duration;

use ebb_core::{DeleteError, ErrorClass};

use super::Asked;
use super::memo::{Failing, Memo};
use crate::Cx;
use crate::call::CallError;
use crate::classify::{Rules, classify, matches, retry};

/// How long a passing failure is taken for one.
#[derive(Clone, Copy)]
enum Until {
    /// So many requests have failed with it.
    Times(u32),
    /// So many seconds have gone by since the first.
    Seconds(u64),
    /// The row's deadline.
    Deadline,
}

/// A code that passes: seconds until the first retry, most seconds between two, and when it is final.
type Passing = (&'static str, u64, u64, Until);

/// Handler error codes of a progress event, and exceptions of the call that ask for a new client token.
const PASSING: &[Passing] = &[
    ("ClientTokenConflictException", 1, 1, Until::Times(2)),
    ("InternalFailure", 5, 5, Until::Times(3)),
    ("NetworkFailure", 5, 5, Until::Times(5)),
    ("NotStabilized", 15, 15, Until::Deadline),
    ("NotStabilizedException", 10, 10, Until::Times(3)),
    ("ResourceConflict", 5, 10, Until::Seconds(600)),
    ("ServiceInternalError", 5, 5, Until::Times(5)),
    ("ServiceTimeout", 10, 10, Until::Times(3)),
    ("Throttling", 4, 16, Until::Deadline),
];

/// A general failure whose text says that something holds the resource.
const HELD: Passing = ("", 10, 10, Until::Seconds(600));

/// EC2's own counting of a termination protection that was just switched off.
const STILL_PROTECTED: Passing = ("", 3, 12, Until::Times(5));

/// Texts of general failures. `InvalidRequest` and `GeneralServiceException` say nothing by themselves.
const TEXTS: Rules = Rules {
    gone: &[],
    retry: &[
        retry("~dependencyviolation", 10, 600),
        retry("~has dependencies", 10, 600),
        retry("~has a dependent object", 10, 600),
        retry("~cannot be deleted while", 10, 600),
        retry("~in use", 10, 600),
    ],
    terminal: &[],
    protected: &["~deletion protection", "~deletionprotection", "~termination protection", "~may not be terminated"],
};

/// What to do about a failure.
pub(super) enum Verdict {
    /// It is not there.
    Gone,
    /// Ask again under a new client token.
    Again(Memo, Duration),
    /// For good, and whether it was the budget that ended: then nothing is put back.
    Final { error: DeleteError, gave_up: bool },
}

/// A failure of `code`, told with `message`, of a request.
pub(super) fn judge(code: &str, message: &str, asked: &Asked<'_>, memo: Memo, cx: &Cx<'_>) -> Verdict {
    if code == "NotFound" {
        return Verdict::Gone;
    }
    if let Some(passing) = PASSING.iter().find(|(name, ..)| *name == code) {
        return again(code, message, passing, memo, cx);
    }
    let call = CallError::inside(code, asked.id.without_names(message));
    if let Some(own) = asked.rules.retry.iter().find(|rule| matches(&call, rule.when)) {
        return again(code, message, &(own.when, own.wait_s, own.wait_s, Until::Seconds(own.give_up_s)), memo, cx);
    }
    let mut error = classify(&call, &TEXTS);
    error.message = message.to_owned();
    if let Some(service) = refused_by(message) {
        error.class = ErrorClass::Denied;
        error.message =
            format!("Cloud Control's handler was refused by {service}: the worker's role lacks that right ({message})");
    }
    match error.class {
        ErrorClass::Protected if just_allowed(&call, memo.protection_on_at.is_some() || cx.run.options.remove_protection) => {
            again(code, message, &STILL_PROTECTED, memo, cx)
        }
        ErrorClass::Retry { .. } | ErrorClass::Throttled | ErrorClass::Blocked { .. } => again(code, message, &HELD, memo, cx),
        _ => Verdict::Final { error, gave_up: false },
    }
}

/// An instance whose termination protection this run switched off says so for some seconds more.
fn just_allowed(call: &CallError, switched_off: bool) -> bool {
    switched_off && ["~may not be terminated", "~disableapitermination"].iter().any(|text| matches(call, text))
}

fn again(code: &str, message: &str, &(_, first, most, until): &Passing, memo: Memo, cx: &Cx<'_>) -> Verdict {
    let now = cx.clock.now();
    let failing = memo.failing.clone().filter(|f| f.code == code);
    let failing = failing.unwrap_or(Failing { code: code.to_owned(), since: now, times: 0 });
    let failing = Failing { times: failing.times + 1, ..failing };
    let waited = now.saturating_sub(failing.since) / 1000;
    let ended = match until {
        Until::Times(times) => failing.times >= times,
        Until::Seconds(seconds) => waited >= seconds,
        Until::Deadline => false,
    };
    if ended {
        let message = format!("{message} ({} times in {waited} s)", failing.times);
        let error = DeleteError { class: ErrorClass::Terminal, code: code.to_owned(), message, request_id: None };
        return Verdict::Final { error, gave_up: true };
    }
    let wait = first.saturating_mul(u64::from(failing.times)).clamp(first, most);
    Verdict::Again(Memo { failing: Some(failing), ..memo }.anew(), Duration::from_secs(wait))
}

/// The service that refused the handler's own call: its text ends with `(Service: X, Status Code: 403, …)`. Cloud Control's
/// own refusal of ours is not meant.
fn refused_by(message: &str) -> Option<&str> {
    let (_, tail) = message.rsplit_once("(Service: ")?;
    let (service, rest) = tail.split_once([',', ';'])?;
    let refused = rest.trim_start().starts_with("Status Code: 403");
    let ours = service.replace(' ', "").eq_ignore_ascii_case("cloudcontrol") || service.eq_ignore_ascii_case("CloudControlApi");
    (refused && !ours).then_some(service)
}

#[cfg(test)]
mod tests {
    use super::refused_by;

    #[test]
    fn the_service_that_refused_is_named() {
        let text = |service: &str, status: u16| {
            format!("User: arn:aws:iam::1:role/w is not authorized (Service: {service}, Status Code: {status}, Request ID: r)")
        };
        assert_eq!(refused_by(&text("Athena", 403)), Some("Athena"));
        for not in [text("CloudControl", 403), text("Athena", 400), "not authorized".into(), "(Service: Athena".into()] {
            assert_eq!(refused_by(&not), None, "{not}");
        }
    }
}
