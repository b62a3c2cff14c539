//! Errors of AWS calls as values. `?` on any SDK call inside a step gives one; the registry classifies it by the type's
//! own rules first.

use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use ebb_core::provider::Masked;
use ebb_core::{Code, DeleteError, ErrorClass, Step};

use crate::fence_guard::FenceShut;

/// What a step of a service file answers.
pub type StepResult = Result<Step, StepError>;

/// Why a step has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum StepError {
    /// An AWS call failed: to be classified.
    Call(CallError),
    /// Ours, already classified: never matched against text rules.
    Ours(DeleteError),
    /// No call could address the resource.
    Skip {
        /// Row code.
        code: Code,
        /// Fixed text for people.
        reason: String,
    },
}

impl StepError {
    /// The recorded id cannot be parsed: no call is made, the record stays.
    pub fn malformed_id(expected: &str) -> Self {
        StepError::Skip {
            code: Code::MalformedPhysicalId,
            reason: format!("malformed physicalId in state (expected {expected}): no delete issued"),
        }
    }

    /// The recorded id cannot be parsed, of a type where cdkd fails the row for it.
    pub fn unreadable_id(expected: &str) -> Self {
        let message = format!("malformed physicalId in state (expected {expected}): no delete issued");
        DeleteError::refused(Code::MalformedPhysicalId, message).into()
    }

    /// The service's answer lacks what the next call needs.
    pub fn odd_answer(what: &str) -> Self {
        let class = ErrorClass::Terminal;
        StepError::Ours(DeleteError { class, code: "OddAnswer".into(), message: what.into(), request_id: None })
    }

    /// A property that a call needs is not recorded.
    pub fn missing(property: &str) -> Self {
        StepError::Skip { code: Code::MissingAddress, reason: format!("no {property} in state: no delete issued") }
    }

    /// Final, under the code that the service has for it.
    pub fn terminal(code: &str, message: impl Into<String>) -> Self {
        StepError::Ours(DeleteError { class: ErrorClass::Terminal, code: code.into(), message: message.into(), request_id: None })
    }

    /// The AWS code, if a call failed.
    pub fn aws_code(&self) -> Option<&str> {
        match self {
            StepError::Call(call) => Some(&call.code),
            _ => None,
        }
    }
}

impl From<Masked> for StepError {
    fn from(masked: Masked) -> Self {
        StepError::Skip {
            code: Code::MaskedAddress,
            reason: format!("the recorded {} is masked or dynamic: never sent to AWS", masked.property),
        }
    }
}

impl From<DeleteError> for StepError {
    fn from(error: DeleteError) -> Self {
        StepError::Ours(error)
    }
}

/// A failed AWS call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The wire code (`ProvideErrorMetadata::code`), empty when there was no answer.
    pub code: String,
    /// The service's own message.
    pub message: String,
    /// HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// The request id, when there was an answer.
    pub request_id: Option<String>,
    /// The call was about another resource than the one that goes away: its not-found never counts as gone.
    pub about_other: bool,
    /// The fence was shut and the call never left.
    pub fence_shut: bool,
    /// What the step found to hold the resource, for people. Read when the type's rules say that the error means a hold.
    pub held_by: Vec<String>,
    /// How long the service asks to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl CallError {
    /// Whether the code is one of `codes`.
    pub fn is(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code.as_str())
    }

    /// The same error, with what the step found to hold the resource.
    pub fn held_by(self, holders: Vec<String>) -> Self {
        CallError { held_by: holders, ..self }
    }

    /// An error that stands inside a successful answer, about one item of it.
    pub fn inside(code: impl Into<String>, message: impl Into<String>) -> Self {
        CallError {
            code: code.into(),
            message: message.into(),
            status: Some(400),
            request_id: None,
            about_other: false,
            fence_shut: false,
            held_by: Vec::new(),
            retry_after: None,
        }
    }
}

impl From<CallError> for StepError {
    fn from(call: CallError) -> Self {
        StepError::Call(call)
    }
}

impl<E> From<SdkError<E, HttpResponse>> for CallError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        let status = error.raw_response().map(|r| r.status().as_u16());
        let request_id = error
            .raw_response()
            .and_then(|r| ["x-amzn-requestid", "x-amz-request-id", "x-amzn-request-id"].iter().find_map(|h| r.headers().get(*h)))
            .map(str::to_owned);
        let retry_after = error.raw_response().and_then(|r| r.headers().get("retry-after")).and_then(|s| s.parse().ok());
        let fence_shut = chain(&error).any(|e| e.is::<FenceShut>());
        let (code, message) = match error.as_service_error() {
            Some(service) => {
                let meta = service.meta();
                (meta.code().unwrap_or_default().to_owned(), meta.message().unwrap_or_default().to_owned())
            }
            None => (String::new(), chain(&error).last().map(ToString::to_string).unwrap_or_default()),
        };
        CallError {
            code,
            message,
            status,
            request_id,
            about_other: false,
            fence_shut,
            held_by: Vec::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }
}

impl<E> From<SdkError<E, HttpResponse>> for StepError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        StepError::Call(error.into())
    }
}

fn chain<'a>(error: &'a (dyn std::error::Error + 'static)) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |e| e.source())
}

/// Reads better than `map_err` in a step.
pub trait CallResult<T> {
    /// `Ok(None)` when the call failed with one of `codes`: success of this call.
    fn ignore(self, codes: &[&str]) -> Result<Option<T>, StepError>;

    /// The call is about another resource than the one that goes away.
    fn about_other(self) -> Result<T, StepError>;

    /// `Ok(None)` when the call failed: what follows works, or fails, without it. A shut fence stops the step all the same.
    fn best_effort(self) -> Result<Option<T>, StepError>;
}

impl<T, E> CallResult<T> for Result<T, SdkError<E, HttpResponse>>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    fn ignore(self, codes: &[&str]) -> Result<Option<T>, StepError> {
        match self.map_err(CallError::from) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.is(codes) => Ok(None),
            Err(error) => Err(StepError::Call(error)),
        }
    }

    fn about_other(self) -> Result<T, StepError> {
        self.map_err(|error| StepError::Call(CallError { about_other: true, ..error.into() }))
    }

    fn best_effort(self) -> Result<Option<T>, StepError> {
        match self.map_err(CallError::from) {
            Ok(answer) => Ok(Some(answer)),
            Err(call) if call.fence_shut => Err(call.into()),
            Err(call) => {
                tracing::warn!(code = call.code, "a call before the delete failed: going on without it");
                Ok(None)
            }
        }
    }
}
