//! The one call that asks a handler. No retry of the SDK's: a request whose answer was lost may have been handled.

use std::time::Duration;

use aws_sdk_lambda::config::StalledStreamProtectionConfig;
use aws_sdk_lambda::types::InvocationType;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;

use super::answer::{Answer, Payload};
use crate::Clients;
use crate::call::CallError;

/// How long an invocation is listened to: with what comes before and after it stays under the worker's own minute.
const LISTEN: Duration = Duration::from_secs(45);

/// The function is being made ready and ran no code.
pub(super) const NOT_READY: &[&str] = &["ResourceConflictException", "ResourceNotReadyException", "SnapStartNotReadyException"];

/// Answers with a 5xx status that come before any code of the handler ran.
const BEFORE_ANY_CODE: &[&str] = &[
    "EC2AccessDeniedException",
    "EC2ThrottledException",
    "EC2UnexpectedException",
    "ENILimitReachedException",
    "InvalidRuntimeException",
    "InvalidSecurityGroupIDException",
    "InvalidSubnetIDException",
    "InvalidZipFileException",
    "KMSAccessDeniedException",
    "KMSDisabledException",
    "KMSInvalidStateException",
    "KMSNotFoundException",
    "ResourceNotReadyException",
    "SubnetIPAddressLimitReachedException",
];

/// What came of asking.
pub(super) enum Sent {
    /// The handler answered.
    Answered(Answer),
    /// It will answer to the URL.
    Later,
    /// It returned something that is no answer.
    Soon,
    /// The request did not reach the handler.
    Refused(CallError),
    /// It may have.
    Unknown,
}

/// Invokes a function and reads its payload. The log tail is not asked for: it may hold secrets.
pub(super) async fn invoke(clients: &Clients, function: &str, body: String) -> Sent {
    let timeouts =
        TimeoutConfig::builder().operation_timeout(LISTEN).operation_attempt_timeout(LISTEN).read_timeout(LISTEN).build();
    // A handler at work sends nothing: that is no stalled stream.
    let once = aws_sdk_lambda::config::Builder::new()
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    let call = clients.lambda().invoke().function_name(function).invocation_type(InvocationType::RequestResponse);
    match call.payload(body.into_bytes().into()).customize().config_override(once).send().await {
        Ok(answer) if answer.function_error().is_some() => Sent::Answered(Answer::Incomplete),
        Ok(answer) => match Payload::of(answer.payload().map(|payload| payload.as_ref()).unwrap_or_default()) {
            Payload::Answered(answer) => Sent::Answered(answer),
            Payload::Later => Sent::Later,
            Payload::Soon => Sent::Soon,
        },
        Err(error) => not_answered(error),
    }
}

/// Publishes to a topic.
pub(super) async fn publish(clients: &Clients, topic: &str, body: String) -> Sent {
    let once = aws_sdk_sns::config::Builder::new().retry_config(RetryConfig::disabled());
    match clients.sns().publish().topic_arn(topic).message(body).customize().config_override(once).send().await {
        Ok(_) => Sent::Later,
        Err(error) => not_answered(error),
    }
}

fn not_answered<E>(error: SdkError<E, HttpResponse>) -> Sent
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let never_left = matches!(error, SdkError::ConstructionFailure(_));
    let answered = matches!(error, SdkError::ServiceError(_));
    let error = CallError::from(error);
    if never_left || error.fence_shut || answered && (matches!(error.status, Some(400..=499)) || error.is(BEFORE_ANY_CODE)) {
        return Sent::Refused(error);
    }
    tracing::warn!(code = %error.code, status = ?error.status, "no answer from the handler: it is polled");
    Sent::Unknown
}
