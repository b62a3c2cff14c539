//! How a function meets the Lambda runtime: JSON in, JSON out, and errors with stable names that the state machines
//! match on. A function's `main` calls [`serve`] and nothing else.

use std::future::Future;

use ebb_core::{Ending, Refusal, text};
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::telemetry;

/// A function's error: what becomes `errorType` and `errorMessage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The stable name, an [`Ending`]'s or one of the retryable ones.
    pub name: String,
    /// What happened; display-safe.
    pub message: String,
}

impl Failure {
    /// A failure with a display-safe message.
    pub fn new(name: &str, message: &str) -> Self {
        Failure { name: name.to_owned(), message: text::display(message) }
    }

    fn invalid_request(problem: &str) -> Self {
        Failure::new(Ending::InvalidRequest.name(), &format!("the payload {problem}"))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::new(refusal.ending.name(), &refusal.message)
    }
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Diagnostic { error_type: failure.name, error_message: failure.message }
    }
}

/// Reads a payload; a problem is `InvalidRequest` and names the field, never a value.
pub fn read<T: DeserializeOwned>(payload: Value) -> Result<T, Failure> {
    T::deserialize(payload)
        .map_err(|error| Failure::invalid_request(&format!("cannot be read: {}", without_values(&error.to_string()))))
}

/// Writes an answer.
pub fn write(answer: &impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).map_err(|error| Failure::new(Ending::Error.name(), &format!("the answer: {error}")))
}

/// Answers invocations with `handler` for as long as the container lives.
pub async fn serve<F, Fut>(handler: F) -> Result<(), lambda_runtime::Error>
where
    F: Fn(Value) -> Fut,
    Fut: Future<Output = Result<Value, Failure>>,
{
    telemetry::init();
    lambda_runtime::run(service_fn(|event: LambdaEvent<Payload>| respond(&handler, event.payload))).await
}

async fn respond<F, Fut>(handler: &F, payload: Payload) -> Result<Value, Diagnostic>
where
    F: Fn(Value) -> Fut,
    Fut: Future<Output = Result<Value, Failure>>,
{
    let answer = match payload.0 {
        Ok(payload) => handler(payload).await,
        Err(problem) => Err(Failure::invalid_request(&problem)),
    };
    answer.map_err(|failure| {
        tracing::error!(error = %failure.name, cause = %failure.message, "failed");
        failure.into()
    })
}

/// A payload, or why it is no JSON. Reading it never fails, because the runtime would name that error after a Rust type.
struct Payload(Result<Value, String>);

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Payload(Value::deserialize(deserializer).map_err(|_| "is not JSON".to_owned())))
    }
}

/// A message of serde without the values in it: `invalid type: string "x", expected u64` shows what was sent.
fn without_values(message: &str) -> String {
    let (found, expected) = message.split_once(", expected ").map_or((message, None), |(found, rest)| (found, Some(rest)));
    let found = if let Some(kind) = found.strip_prefix("invalid type: ").or(found.strip_prefix("invalid value: ")) {
        let kind: Vec<&str> = kind.split(' ').take_while(|word| word.chars().all(char::is_alphabetic)).collect();
        format!("found {}", if kind.is_empty() { "another kind of value".to_owned() } else { kind.join(" ") })
    } else if found.starts_with("unknown variant ") {
        "unknown value".to_owned()
    } else if let Some(name) = found.strip_prefix("unknown field `").and_then(|name| name.strip_suffix('`')) {
        format!("unknown field `{}`", text::escaped(name))
    } else {
        found.to_owned()
    };
    expected.map_or(found.clone(), |expected| format!("{found}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_core::payload::PlannerRequest;
    use serde_json::json;

    fn problem(payload: Value) -> String {
        let failure = read::<PlannerRequest>(payload).unwrap_err();
        assert_eq!(failure.name, "InvalidRequest");
        failure.message
    }

    #[test]
    fn a_payload_that_cannot_be_read_names_the_field_and_never_the_value() {
        assert_eq!(problem(json!({})), "the payload cannot be read: missing field `action`");
        assert_eq!(problem(json!({"action": "check"})), "the payload cannot be read: missing field `execution`");
        let wrong = problem(json!({"action": "hunter2"}));
        assert!(wrong.contains("unknown value, expected one of `check`, `plan`, ") && !wrong.contains("hunter2"), "{wrong}");
        for payload in [json!({"action": "check", "execution": 4711}), json!("hunter2"), json!([4711])] {
            let message = problem(payload);
            assert!(!message.contains("4711") && !message.contains("hunter2"), "{message}");
            assert!(message.contains("expected"), "{message}");
        }
    }

    #[test]
    fn values_of_every_kind_are_left_out() {
        for (said, shown) in [
            ("invalid type: string \"a, b\", expected u64", "found string, expected u64"),
            ("invalid type: integer `5`, expected a boolean", "found integer, expected a boolean"),
            ("invalid type: floating point `5.5`, expected u32", "found floating point, expected u32"),
            ("invalid type: null, expected struct Run", "found null, expected struct Run"),
            ("invalid value: integer `-5`, expected u64", "found integer, expected u64"),
            ("unknown field `x`, expected `y`", "unknown field `x`, expected `y`"),
            ("unknown field `stack\u{200b}`, expected `y`", "unknown field `stack\\u{200b}`, expected `y`"),
        ] {
            assert_eq!(without_values(said), shown);
        }
    }

    #[tokio::test]
    async fn an_answer_is_passed_on_and_a_failure_keeps_its_name() {
        let echo = |payload: Value| async move { Ok(json!({ "got": payload })) };
        assert_eq!(respond(&echo, Payload(Ok(json!(1)))).await.unwrap(), json!({"got": 1}));

        let refuse = |_| async { Err(Refusal::new(Ending::LockHeld, "held by\nsomeone").into()) };
        let diagnostic = respond(&refuse, Payload(Ok(Value::Null))).await.unwrap_err();
        assert_eq!((diagnostic.error_type.as_str(), diagnostic.error_message.as_str()), ("LockHeld", "held by someone"));
    }

    #[tokio::test]
    async fn what_is_not_json_is_an_invalid_request_and_reaches_no_handler() {
        for text in ["{\"secret\": tru", ""] {
            let payload: Payload = Payload::deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap();
            let never = |_| async { Err(Failure::new("Reached", "the handler was called")) };
            let diagnostic = respond(&never, payload).await.unwrap_err();
            assert_eq!(
                (diagnostic.error_type.as_str(), diagnostic.error_message.as_str()),
                ("InvalidRequest", "the payload is not JSON")
            );
        }
    }
}
