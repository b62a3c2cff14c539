//! SQS: queues and queue policies.

use aws_sdk_sqs::types::QueueAttributeName;
use ebb_core::{Resource, Step};
use serde_json::Value;

use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

/// The wire code (query protocol) and the name the SDK's JSON protocol answers.
const GONE: &[&str] = &["AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::SQS::Queue",
        step: |r, cx| Box::pin(queue(r, cx)),
        look: None,
        actions: &["sqs:DeleteQueue"],
        rules: Rules { gone: GONE, retry: &[retry("RequestThrottled", 2, 120)], ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::SQS::QueuePolicy",
        step: |r, cx| Box::pin(queue_policy(r, cx)),
        look: None,
        actions: &["sqs:SetQueueAttributes"],
        rules: Rules { gone: GONE, ..Rules::NONE },
    },
];

/// DeleteQueue succeeds for a queue of another region's name too; the client is the recorded region's by construction.
async fn queue(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.sqs().delete_queue().queue_url(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

/// A queue policy is an attribute of its queues: an empty one removes it.
async fn queue_policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let queues: Vec<&str> = match r.properties.get("Queues") {
        Some(Value::Array(urls)) => {
            urls.iter().map(Value::as_str).collect::<Option<_>>().ok_or_else(|| StepError::missing("usable Queues"))?
        }
        _ => vec![r.physical_id.as_str()],
    };
    let mut already = true;
    for url in queues {
        cx.fence.check().await?;
        let set = cx.aws.sqs().set_queue_attributes().queue_url(url).attributes(QueueAttributeName::Policy, "").send().await;
        already &= set.ignore(GONE)?.is_none();
    }
    Ok(Step::Gone { already })
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    const URL: &str = "https://sqs.us-east-1.amazonaws.com/123456789012/orders";

    #[tokio::test]
    async fn a_queue_goes_in_one_call() {
        let script = Script::new().json(&["AmazonSQS.DeleteQueue", URL], 200, json!({}));
        let mut bench = Bench::new("AWS::SQS::Queue", URL, json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }

    #[tokio::test]
    async fn a_queue_that_is_not_there_is_gone() {
        let script = Script::new().json_error(&["DeleteQueue"], "com.amazonaws.sqs#QueueDoesNotExist", "no such queue");
        let mut bench = Bench::new("AWS::SQS::Queue", URL, json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
    }

    #[tokio::test]
    async fn no_call_leaves_behind_a_shut_fence() {
        let script = Script::new();
        let mut bench = Bench::new("AWS::SQS::Queue", URL, json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FenceShut.name()));
        assert_eq!(script.seen(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_throttle_is_looked_at_again() {
        let script = Script::new().json_error(&["DeleteQueue"], "RequestThrottled", "slow down");
        let mut bench = Bench::new("AWS::SQS::Queue", URL, json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    }

    #[tokio::test]
    async fn a_policy_leaves_every_queue_it_names() {
        let script = Script::new().json(&["SetQueueAttributes", "first", "\"Policy\":\"\""], 200, json!({})).json_error(
            &["SetQueueAttributes", "second"],
            "QueueDoesNotExist",
            "no such queue",
        );
        let mut bench = Bench::new("AWS::SQS::QueuePolicy", URL, json!({ "Queues": ["https://q/first", "https://q/second"] }));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}
