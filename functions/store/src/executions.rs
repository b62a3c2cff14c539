//! DescribeExecution: what the state machines' service knows of a run. Only Check, Renew and Announce ask; its quota is low.

use async_trait::async_trait;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::error::ProvideErrorMetadata;
use aws_sdk_sfn::operation::describe_execution::DescribeExecutionError;
use aws_sdk_sfn::types::ExecutionStatus;
use aws_smithy_types::DateTime;
use aws_types::SdkConfig;
use ebb_core::{Millis, text};

use crate::s3::text_of;
use crate::world::{End, Execution, Executions, ExecutionsError};

/// Executions of the app's own account.
#[derive(Clone)]
pub struct SfnExecutions {
    client: Client,
}

impl SfnExecutions {
    /// Asked with `config`, in the app's own region.
    pub fn new(config: &SdkConfig) -> Self {
        SfnExecutions { client: Client::new(config) }
    }
}

#[async_trait]
impl Executions for SfnExecutions {
    async fn describe(&self, execution_arn: &str) -> Result<Option<Execution>, ExecutionsError> {
        let answer = match self.client.describe_execution().execution_arn(execution_arn).send().await {
            Ok(answer) => answer,
            // It is eventually consistent: an execution that asks for itself may not be known yet.
            Err(error) if matches!(error.as_service_error(), Some(DescribeExecutionError::ExecutionDoesNotExist(_))) => {
                return Ok(None);
            }
            Err(error) => {
                let what = match error.code() {
                    Some(code) => format!("{code} {}", error.message().unwrap_or_default()),
                    None => text_of(&error),
                };
                return Err(ExecutionsError(text::display(&what)));
            }
        };
        let missing = |what: &str| ExecutionsError(format!("the answer has no {what}"));
        let end = |status: &ExecutionStatus| End {
            status: status.as_str().to_owned(),
            output: answer.output().map(str::to_owned),
            error: answer.error().map(str::to_owned),
            cause: answer.cause().map(str::to_owned),
        };
        let is_over = |status: &&ExecutionStatus| !matches!(status, ExecutionStatus::Running | ExecutionStatus::PendingRedrive);
        Ok(Some(Execution {
            end: Some(answer.status()).filter(is_over).map(end),
            input: answer.input().ok_or_else(|| missing("input"))?.to_owned(),
            started_at: millis(answer.start_date()).ok_or_else(|| missing("start"))?,
            running: answer.status() == &ExecutionStatus::Running,
            redriven: answer.redrive_count().unwrap_or(0) > 0,
        }))
    }
}

/// The service sends seconds with a fraction, and the nearest `f64` may lie below the millisecond that it means. The
/// instant is part of a run's identity, so it is rounded, not cut.
fn millis(at: &DateTime) -> Option<Millis> {
    Millis::try_from((at.as_nanos() + 500_000).div_euclid(1_000_000)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Answer, Replay, answer};

    const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:nightly-7";

    async fn describe(answers: impl IntoIterator<Item = Answer>) -> Result<Option<Execution>, ExecutionsError> {
        SfnExecutions::new(&Replay::new(answers).config()).describe(ARN).await
    }

    const RUNNING: &str = r#"{"executionArn": "arn", "stateMachineArn": "m", "status": "RUNNING", "startDate": 1786786212.123,
        "input": "{\"stack\": \"OrdersApi\"}", "redriveCount": 0}"#;

    #[tokio::test(start_paused = true)]
    async fn a_running_execution_has_input_and_start_in_milliseconds() {
        let execution = describe([answer(200, RUNNING)]).await.unwrap().unwrap();
        assert_eq!(execution.input, r#"{"stack": "OrdersApi"}"#);
        assert_eq!(execution.started_at, 1_786_786_212_123);
        assert!(execution.running && !execution.redriven && execution.end.is_none());
    }

    #[test]
    fn every_millisecond_survives_the_services_seconds() {
        for ms in (1_786_786_212_000..1_786_786_213_000).chain(0..2) {
            let seconds: f64 = format!("{}.{:03}", ms / 1000, ms % 1000).parse().unwrap();
            assert_eq!(millis(&DateTime::from_secs_f64(seconds)), Some(ms));
        }
        assert_eq!(millis(&DateTime::from_secs(-1)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn only_running_is_running_and_any_redrive_counts() {
        for status in ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE", "SOMETHING_NEW"] {
            let body = RUNNING.replace("RUNNING", status).replace("\"redriveCount\": 0", "\"redriveCount\": 2");
            let execution = describe([answer(200, body.leak())]).await.unwrap().unwrap();
            assert!(!execution.running && execution.redriven, "{status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_over_tells_how_it_ended() {
        let body = RUNNING
            .replace("RUNNING", "FAILED")
            .replace("\"redriveCount\"", "\"error\": \"Partial\", \"cause\": \"{}\", \"redriveCount\"");
        let end = describe([answer(200, body.leak())]).await.unwrap().unwrap().end.unwrap();
        assert_eq!((end.status.as_str(), end.error.as_deref(), end.cause.as_deref()), ("FAILED", Some("Partial"), Some("{}")));
        assert_eq!(end.output, None);
        let redriven = RUNNING.replace("RUNNING", "PENDING_REDRIVE");
        assert!(describe([answer(200, redriven.leak())]).await.unwrap().unwrap().end.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_execution_that_is_not_known_yet_is_not_an_error() {
        let unknown = answer(400, r#"{"__type": "ExecutionDoesNotExist", "message": "Execution Does Not Exist"}"#);
        assert!(describe([unknown]).await.unwrap().is_none());
    }

    // Whether it runs is not known then, so nothing may be concluded from it.
    #[tokio::test(start_paused = true)]
    async fn any_other_failure_is_an_error() {
        let denied = answer(400, r#"{"__type": "AccessDeniedException", "message": "not authorized"}"#);
        let error = describe([denied]).await.err().unwrap();
        assert!(error.to_string().contains("AccessDeniedException"), "{error}");
        let throttled = || answer(400, r#"{"__type": "ThrottlingException", "message": "Rate exceeded"}"#);
        assert!(describe([throttled(), throttled(), throttled()]).await.is_err());
        assert!(describe([Answer::Lost, Answer::TimedOut, Answer::Lost]).await.is_err());
        assert!(
            describe([answer(200, r#"{"executionArn": "arn", "stateMachineArn": "m", "status": "RUNNING", "startDate": 1}"#)])
                .await
                .is_err()
        );
    }
}
