//! Data Firehose: delivery streams. One stays visible as DELETING for minutes; one whose key is no longer usable goes only
//! by force.

use std::time::Duration;

use aws_sdk_firehose::types::{DeliveryStreamDescription, DeliveryStreamFailureType as Failure, DeliveryStreamStatus};
use ebb_core::{DeleteError, ErrorClass, Resource, Step};
use serde_json::json;

use crate::Cx;
use crate::accepted;
use crate::arn::name_of;
use crate::call::{CallResult, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["ResourceNotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::KinesisFirehose::DeliveryStream",
    step: |r, cx| Box::pin(delivery_stream(r, cx)),
    look: None,
    actions: &["firehose:DeleteDeliveryStream", "firehose:DescribeDeliveryStream"],
    rules: Rules {
        gone: GONE,
        retry: &[retry("ResourceInUseException", 10, 600), retry("LimitExceededException", 2, 60)],
        ..Rules::NONE
    },
}];

const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// That the delete is the forced one.
const FORCED: &str = "forced";

async fn delivery_stream(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = name_of(r, "deliverystream/", cx)?;
    let forced = cx.memo.is_some_and(|memo| memo[FORCED] == true);
    if accepted::at(cx).is_none() {
        let delete = cx.aws.firehose().delete_delivery_stream().delivery_stream_name(name);
        if forced {
            delete.allow_force_delete(true).send().await?;
            let memo = json!({ "acceptedAt": cx.clock.now(), FORCED: true });
            return Ok(Step::pending_with(LOOK_AGAIN, "the forced delete was accepted", memo));
        }
        delete.send().await?;
        return Ok(accepted::now(LOOK_AGAIN, cx));
    }
    let found = cx.aws.firehose().describe_delivery_stream().delivery_stream_name(name).send().await.ignore(GONE)?;
    match found.and_then(|answer| answer.delivery_stream_description) {
        None => Ok(Step::DELETED),
        Some(found) if *found.delivery_stream_status() == DeliveryStreamStatus::DeletingFailed => {
            if !forced && is_of_key(&found) {
                let note = "its key cannot be used any more: deleting the stream by force";
                return Ok(Step::pending_with(Duration::ZERO, note, json!({ FORCED: true })));
            }
            Err(deleting_failed(&found).into())
        }
        Some(_) => Ok(accepted::still_there(r, LOOK_AGAIN, Duration::from_secs(600), cx)),
    }
}

/// Without the key the grant on it cannot be retired, which a forced delete does without.
fn is_of_key(found: &DeliveryStreamDescription) -> bool {
    let failure = found.failure_description().map(|failure| failure.r#type());
    matches!(
        failure,
        Some(
            Failure::DisabledKmsKey
                | Failure::InvalidKmsKey
                | Failure::KmsAccessDenied
                | Failure::KmsKeyNotFound
                | Failure::KmsOptInRequired
                | Failure::RetireKmsGrantFailed
        )
    )
}

fn deleting_failed(found: &DeliveryStreamDescription) -> DeleteError {
    let why = found.failure_description().map_or("no reason given", |failure| failure.r#type().as_str());
    DeleteError {
        class: ErrorClass::Terminal,
        code: "DELETING_FAILED".into(),
        message: format!("Firehose could not delete the stream: {why}"),
        request_id: None,
    }
}

#[cfg(test)]
mod tests;
