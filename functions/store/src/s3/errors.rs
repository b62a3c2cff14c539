//! What an error of S3 means: typed code and status first. HEAD is not used on objects: its errors have no code.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use ebb_core::text;

use crate::bucket::{BucketError, BucketErrorKind};

/// The error of `operation` on `key`, by meaning.
pub(crate) fn error_of<E>(operation: &'static str, key: &str, error: &SdkError<E, HttpResponse>) -> BucketError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let (kind, code, message) = match error {
        SdkError::ConstructionFailure(_) => (BucketErrorKind::Other, "ConstructionFailure".to_owned(), text_of(error)),
        // The request may have been sent and done, whatever was heard of it.
        SdkError::TimeoutError(_) => (BucketErrorKind::Unknown, "Timeout".to_owned(), text_of(error)),
        SdkError::DispatchFailure(_) => (BucketErrorKind::Unknown, "DispatchFailure".to_owned(), text_of(error)),
        SdkError::ResponseError(_) => (BucketErrorKind::Unknown, "ResponseError".to_owned(), text_of(error)),
        other => {
            let status = other.raw_response().map_or(0, |response| response.status().as_u16());
            let code = other.code().unwrap_or_default();
            let shown = if code.is_empty() { format!("HTTP {status}") } else { code.to_owned() };
            (kind_of(status, code), shown, other.message().unwrap_or_default().to_owned())
        }
    };
    BucketError { kind, operation, key: key.to_owned(), code: text::display(&code), message: text::display(&message) }
}

/// An error with its causes, each said once. Not the SDK's own long form, which shows whole answers.
pub(crate) fn text_of(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !said.contains(&next) {
            said = format!("{said}: {next}");
        }
        cause = error.source();
    }
    text::display(&said)
}

/// The meaning of an answer. A 404 without a code is neither a missing key nor a missing bucket: absence is only
/// believed when S3 says what is absent.
fn kind_of(status: u16, code: &str) -> BucketErrorKind {
    match (status, code) {
        (_, "NoSuchKey") => BucketErrorKind::NotFound,
        (_, "NoSuchBucket") => BucketErrorKind::NoSuchBucket,
        (412, _) | (_, "PreconditionFailed") => BucketErrorKind::Precondition,
        (409, "ConditionalRequestConflict" | "OperationAborted") => BucketErrorKind::Conflict,
        (403, _) | (_, "AccessDenied") => BucketErrorKind::Denied,
        // The key that an object is encrypted with is disabled, gone or pending deletion.
        (400, code) if code.starts_with("KMS.") => BucketErrorKind::Denied,
        (501, _) => BucketErrorKind::NotImplemented,
        (429 | 500 | 503, _) | (_, "SlowDown" | "RequestTimeout") => BucketErrorKind::Unavailable,
        // A gateway that gave up waiting does not know what the store behind it did.
        (502 | 504, _) => BucketErrorKind::Unknown,
        _ => BucketErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BucketErrorKind::*;

    #[test]
    fn every_answer_has_one_meaning() {
        for (status, code, kind) in [
            (404, "NoSuchKey", NotFound),
            (404, "NoSuchBucket", NoSuchBucket),
            (404, "", Other),
            (412, "PreconditionFailed", Precondition),
            (412, "", Precondition),
            (409, "ConditionalRequestConflict", Conflict),
            (409, "BucketNotEmpty", Other),
            (403, "AccessDenied", Denied),
            (403, "", Denied),
            (400, "KMS.DisabledException", Denied),
            (501, "NotImplemented", NotImplemented),
            (503, "SlowDown", Unavailable),
            (500, "InternalError", Unavailable),
            (429, "TooManyRequests", Unavailable),
            (400, "RequestTimeout", Unavailable),
            (502, "", Unknown),
            (504, "", Unknown),
            (301, "PermanentRedirect", Other),
            (400, "ExpiredToken", Other),
        ] {
            assert_eq!(kind_of(status, code), kind, "{status} {code}");
        }
    }
}
