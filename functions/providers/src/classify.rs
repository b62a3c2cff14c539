//! What an error of an AWS call means for a delete: the type's own rules first, then what holds for all services.
//! Text is matched only where a rule says so, on the service's message alone, never on text we composed around a name.

use std::time::Duration;

use ebb_core::{DeleteError, ErrorClass};

use crate::call::CallError;

/// `CODE`, `CODE~text` or `~text` (any code, the message contains the text; case-insensitive).
pub type Match = &'static str;

/// What the error codes of one type mean.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The resource is not there.
    pub gone: &'static [Match],
    /// It passes by itself.
    pub retry: &'static [Retry],
    /// Final, although a general rule would retry.
    pub terminal: &'static [Match],
    /// Deletion protection is on.
    pub protected: &'static [Match],
}

impl Rules {
    /// No rules of its own.
    pub const NONE: Rules = Rules { gone: &[], retry: &[], terminal: &[], protected: &[] };
}

/// A passing error of one type.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Which error.
    pub when: Match,
    /// Seconds until the next try.
    pub wait_s: u64,
    /// Seconds from its first appearance until it is final.
    pub give_up_s: u64,
    /// Something else holds the resource, and the outcome should say what.
    pub blocked: bool,
}

/// A passing error.
pub const fn retry(when: Match, wait_s: u64, give_up_s: u64) -> Retry {
    Retry { when, wait_s, give_up_s, blocked: false }
}

/// Something holds the resource.
pub const fn blocked(when: Match, wait_s: u64, give_up_s: u64) -> Retry {
    Retry { when, wait_s, give_up_s, blocked: true }
}

/// Rate limits by code. `LimitExceeded` (IAM) is a quota and not among them.
const THROTTLES: &[&str] = &[
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
];

const DENIALS: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "AuthorizationErrorException",
    "NotAuthorizedException",
    "UnauthorizedOperation",
];

/// Our own credentials or clock: the resource is not to be judged by it.
const CREDENTIALS: &[&str] = &[
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

/// Final whatever the HTTP status or the words: a quota, a region or a route that needs a person.
const FINAL: &[&str] = &[
    "ManagedRuleException",
    "OptInRequired",
    "ServiceQuotaExceededException",
    "SnapshotQuotaExceeded",
    "SnapshotQuotaExceededFault",
    "TypeNotFoundException",
    "UnmodifiableEntity",
    "UnsupportedActionException",
    "UnsupportedOperation",
];

/// Service texts that pass on a delete, with the wait and the budget in seconds. What services say of a role, a principal
/// or a policy that is not visible yet belongs to creates: on a delete it is a real denial. "Does not exist" is no reason to
/// wait, and by itself none to call a resource gone.
const PASSING_TEXTS: &[(&str, u64, u64)] = &[
    ("currently in the following state: Pending", 2, 120),
    ("has dependencies and cannot be deleted", 5, 600),
    ("can't be deleted since it has", 5, 300),
    ("DependencyViolation", 5, 600),
    ("has some mapped public address", 10, 600),
    ("has a dependent object", 5, 1800),
    ("schema is currently being altered", 2, 120),
    ("conflicting conditional operation", 5, 120),
    ("concurrent update operation", 1, 60),
    ("because it is in use", 5, 120),
    ("rate exceeded", 2, 300),
    ("too many requests", 2, 300),
    ("is marked disabled for mutation", 15, 600),
    ("there is an operation running on the cluster", 15, 1200),
    ("unable to complete operation due to concurrent modification", 2, 120),
    ("still contains DB instances", 15, 1800),
    ("has associated services", 10, 330),
    ("replicated function", 1800, 43_200),
    ("composite alarm", 3, 120),
    ("already being deleted", 10, 3600),
];

/// The class of a failed call under the type's rules.
pub fn classify(call: &CallError, rules: &Rules) -> DeleteError {
    let class = if call.fence_shut { ErrorClass::FenceShut } else { class(call, rules) };
    let code = match call.code.as_str() {
        "" if call.fence_shut => "FenceShut".to_owned(),
        "" => "NoAnswer".to_owned(),
        code => code.to_owned(),
    };
    DeleteError { class, code, message: call.message.clone(), request_id: call.request_id.clone() }
}

fn class(call: &CallError, rules: &Rules) -> ErrorClass {
    let holds = |rule: &&Match| matches(call, rule);
    if !call.about_other && rules.gone.iter().any(|r| holds(&r)) {
        return ErrorClass::AlreadyGone;
    }
    if rules.protected.iter().any(|r| holds(&r)) {
        return ErrorClass::Protected;
    }
    if rules.terminal.iter().any(|r| holds(&r)) {
        return ErrorClass::Terminal;
    }
    if let Some(rule) = rules.retry.iter().find(|r| matches(call, r.when)) {
        let after = Duration::from_secs(rule.wait_s);
        return if rule.blocked {
            ErrorClass::Blocked { after, by: call.held_by.clone() }
        } else {
            ErrorClass::Retry { after, give_up: Some(Duration::from_secs(rule.give_up_s)) }
        };
    }
    if call.is(DENIALS) {
        return ErrorClass::Denied;
    }
    if call.is(FINAL) {
        return ErrorClass::Terminal;
    }
    if call.is(THROTTLES) || matches!(call.status, Some(429 | 503)) {
        return ErrorClass::Throttled;
    }
    if call.is(CREDENTIALS) {
        return ErrorClass::Retry { after: Duration::from_secs(10), give_up: Some(Duration::from_secs(120)) };
    }
    if call.code.is_empty() && call.status.is_none() || matches!(call.status, Some(500 | 502 | 504)) {
        return ErrorClass::Retry { after: Duration::from_secs(3), give_up: None };
    }
    let text = call.message.to_lowercase();
    if is_protection(&call.code, &text) {
        return ErrorClass::Protected;
    }
    if let Some(&(_, wait, budget)) = PASSING_TEXTS.iter().find(|(fragment, ..)| says(call, &text, fragment)) {
        return ErrorClass::Retry { after: Duration::from_secs(wait), give_up: Some(Duration::from_secs(budget)) };
    }
    ErrorClass::Terminal
}

/// The code, or the words of the text. A name that people chose may hold a fragment (`MyDependencyViolationSub`), so it
/// counts only where it stands alone.
fn says(call: &CallError, text: &str, fragment: &str) -> bool {
    let fragment = fragment.to_lowercase();
    let stands_alone = |at: usize| {
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + fragment.len()..).and_then(|after| after.chars().next());
        !letter(before) && (fragment.contains(' ') || !letter(after))
    };
    call.code.eq_ignore_ascii_case(&fragment) || text.match_indices(&fragment).any(|(at, _)| stands_alone(at))
}

/// `text` in lower case.
fn is_protection(code: &str, text: &str) -> bool {
    let prevents = text.split_once("prevent-").is_some_and(|(_, rest)| rest.contains("deletion"));
    let texts = ["deletion protection", "disableapitermination", "may not be terminated"];
    code.starts_with("OperationNotPermitted") || prevents || texts.iter().any(|t| text.contains(t))
}

/// Whether an error is the one that a rule names.
pub fn matches(call: &CallError, rule: Match) -> bool {
    match rule.split_once('~') {
        None => call.code == rule,
        Some((code, text)) => {
            (code.is_empty() || call.code == code) && call.message.to_lowercase().contains(&text.to_lowercase())
        }
    }
}

/// Whether the type's rules take the error for a hold: the step then looks for what holds the resource.
pub fn is_blocked(call: &CallError, rules: &Rules) -> bool {
    matches!(classify(call, rules).class, ErrorClass::Blocked { .. })
}

/// The give-up budget of the rule that an error falls under, if the type has one.
pub fn give_up(call: &CallError, rules: &Rules) -> Option<Duration> {
    rules.retry.iter().find(|r| matches(call, r.when)).map(|r| Duration::from_secs(r.give_up_s))
}

#[cfg(test)]
mod tests;
