//! What a handler said, by payload or by response object.

use serde_json::{Map, Value};

/// A handler's last word.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum Answer {
    Success,
    Failed {
        /// Untrusted.
        reason: String,
        /// It says that its rights have not spread yet.
        transient: bool,
    },
    /// Its function ended with an error.
    Incomplete,
}

/// What an invocation returned.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum Payload {
    Answered(Answer),
    /// Nothing: an asynchronous handler answers to the URL.
    Later,
    /// Something else: if it answers to the URL, it has done so by now.
    Soon,
}

impl Payload {
    pub(super) fn of(bytes: &[u8]) -> Self {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Payload::Later;
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Null) => Payload::Later,
            Ok(Value::Object(object)) => match Answer::of_object(&object) {
                Some(answer) => Payload::Answered(answer),
                None if object.contains_key("Status") => Payload::Soon,
                None if object.contains_key("PhysicalResourceId") || object.contains_key("Data") => {
                    Payload::Answered(Answer::Success)
                }
                None => Payload::Soon,
            },
            _ => Payload::Soon,
        }
    }
}

impl Answer {
    /// What a response object says; `None` while it says nothing (empty, no JSON, no status that is known).
    pub(super) fn of_response(body: &[u8]) -> Option<Self> {
        match serde_json::from_slice(body).ok()? {
            Value::Object(object) => Answer::of_object(&object),
            _ => None,
        }
    }

    fn of_object(object: &Map<String, Value>) -> Option<Self> {
        match object.get("Status")?.as_str()? {
            "SUCCESS" => Some(Answer::Success),
            "FAILED" => {
                let reason = object.get("Reason").and_then(Value::as_str).unwrap_or_default();
                Some(Answer::Failed { transient: is_transient(reason), reason: reason.to_owned() })
            }
            _ => None,
        }
    }
}

/// Rights that have not spread yet.
fn is_transient(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    ["accessdenied", "access denied", "not authorized", "cannot assume", "cannot be assumed"].iter().any(|t| reason.contains(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Answer = Answer::Failed { reason: String::new(), transient: false };

    #[test]
    fn payloads_read_as_the_contract_says() {
        for (payload, read) in [
            ("", Payload::Later),
            (" \n", Payload::Later),
            ("null", Payload::Later),
            (r#"{"Status":"SUCCESS"}"#, Payload::Answered(Answer::Success)),
            (r#"{"Status":"FAILED"}"#, Payload::Answered(FAILED)),
            (r#"{"PhysicalResourceId":"x"}"#, Payload::Answered(Answer::Success)),
            (r#"{"Data":{}}"#, Payload::Answered(Answer::Success)),
            (r#"{"Status":"WAITING","Data":{}}"#, Payload::Soon),
            (r#"{"Status":1,"Data":{}}"#, Payload::Soon),
            ("{}", Payload::Soon),
            (r#""SUCCESS""#, Payload::Soon),
            ("[1]", Payload::Soon),
            ("not json", Payload::Soon),
        ] {
            assert_eq!(Payload::of(payload.as_bytes()), read, "{payload}");
        }
    }

    #[test]
    fn a_response_object_answers_by_its_status_alone() {
        for (body, read) in [
            ("", None),
            ("  ", None),
            ("not json", None),
            ("[]", None),
            ("{}", None),
            (r#"{"PhysicalResourceId":"x","Data":{}}"#, None),
            (r#"{"Status":"success"}"#, None),
            (r#"{"Status":"SUCCESS","PhysicalResourceId":"another"}"#, Some(Answer::Success)),
            (r#"{"Status":"FAILED"}"#, Some(FAILED)),
        ] {
            assert_eq!(Answer::of_response(body.as_bytes()), read, "{body}");
        }
    }

    #[test]
    fn only_missing_rights_are_worth_asking_again() {
        for reason in ["AccessDenied: x", "User is not authorized to perform y", "Access Denied", "The role cannot be assumed"] {
            assert!(is_transient(reason), "{reason}");
        }
        for reason in ["", "bucket not empty", "Timeout"] {
            assert!(!is_transient(reason), "{reason}");
        }
    }
}
