//! Kinesis: streams and their consumers. A stream goes with its consumers and stays visible as DELETING for some seconds,
//! in which its name is held.

use std::time::Duration;

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::accepted;
use crate::arn::{name_of, same_region};
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["ResourceNotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::Kinesis::Stream",
        step: |r, cx| Box::pin(stream(r, cx)),
        look: None,
        actions: &["kinesis:DeleteStream", "kinesis:DescribeStreamSummary"],
        rules: Rules {
            gone: GONE,
            // Five control calls per second: a rate limit in this service.
            retry: &[retry("ResourceInUseException", 5, 300), retry("LimitExceededException", 2, 120)],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::Kinesis::StreamConsumer",
        step: |r, cx| Box::pin(consumer(r, cx)),
        look: None,
        actions: &["kinesis:DeregisterStreamConsumer"],
        rules: Rules {
            gone: GONE,
            retry: &[retry("LimitExceededException", 2, 120), retry("ResourceInUseException", 5, 120)],
            ..Rules::NONE
        },
    },
];

const LOOK_AGAIN: Duration = Duration::from_secs(2);

async fn stream(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = name_of(r, "stream/", cx)?;
    if accepted::at(cx).is_none() {
        cx.aws.kinesis().delete_stream().stream_name(name).enforce_consumer_deletion(true).send().await?;
        return Ok(accepted::now(LOOK_AGAIN, cx));
    }
    match cx.aws.kinesis().describe_stream_summary().stream_name(name).send().await.ignore(GONE)? {
        Some(_) => Ok(accepted::still_there(r, LOOK_AGAIN, Duration::from_secs(300), cx)),
        None => Ok(Step::DELETED),
    }
}

/// Gone already when its stream went first.
async fn consumer(r: &Resource, cx: &Cx<'_>) -> StepResult {
    if !r.physical_id.starts_with("arn:") {
        return Err(StepError::malformed_id("a consumer's ARN"));
    }
    same_region(&r.physical_id, cx)?;
    cx.aws.kinesis().deregister_stream_consumer().consumer_arn(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
