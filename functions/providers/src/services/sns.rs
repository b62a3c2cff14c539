//! SNS: topics, subscriptions, topic policies. DeleteTopic succeeds for what it does not know, so the region of the
//! recorded ARN is checked first; a subscription is called in the region of its own ARN.

use aws_sdk_sns::Client;
use ebb_core::provider::is_masked;
use ebb_core::{Code, DeleteError, Resource, Step};
use serde_json::{Value, json};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["NotFound", "NotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::SNS::Subscription",
        step: |r, cx| Box::pin(subscription(r, cx)),
        look: None,
        actions: &["sns:ListSubscriptionsByTopic", "sns:Unsubscribe"],
        rules: Rules {
            gone: &["NotFound", "NotFoundException", "InvalidParameter~pending confirmation"],
            retry: &[retry("InternalError", 3, 60)],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::SNS::Topic",
        step: |r, cx| Box::pin(topic(r, cx)),
        look: None,
        actions: &["sns:DeleteTopic", "sns:SetTopicAttributes"],
        rules: Rules {
            gone: GONE,
            retry: &[retry("ConcurrentAccess", 2, 60), retry("InternalError", 3, 60), retry("StaleTag", 2, 60)],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::SNS::TopicPolicy",
        step: |r, cx| Box::pin(topic_policy(r, cx)),
        look: None,
        actions: &["sns:SetTopicAttributes"],
        rules: Rules { gone: GONE, retry: &[retry("ConcurrentAccess", 2, 60), retry("InternalError", 3, 60)], ..Rules::NONE },
    },
];

/// A FIFO topic that keeps a message archive is refused as data: the archive goes only when the request says so.
async fn topic(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let topic = r.physical_id.as_str();
    same_region(topic, cx)?;
    match cx.aws.sns().delete_topic().topic_arn(topic).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["InvalidState"]) && cx.run.options.delete_data => {
            cx.fence.check().await?;
            let archive =
                cx.aws.sns().set_topic_attributes().topic_arn(topic).attribute_name("ArchivePolicy").attribute_value("{}");
            archive.send().await?;
            cx.fence.check().await?;
            cx.aws.sns().delete_topic().topic_arn(topic).send().await?;
            Ok(Step::DELETED)
        }
        Err(call) if call.is(&["InvalidState"]) => Err(DeleteError::refused(
            Code::DataGuard,
            format!("{} (a topic that keeps a message archive goes only when the request says deleteData)", call.message),
        )
        .into()),
        Err(call) => Err(StepError::Call(call)),
    }
}

/// The client of the region that an ARN names.
fn client(arn: &Arn<'_>, cx: &Cx<'_>) -> Client {
    if arn.region.is_empty() || arn.region == cx.aws.region() {
        cx.aws.sns().clone()
    } else {
        cx.aws.in_region(arn.region).sns().clone()
    }
}

/// One that was never confirmed cannot be removed by any call: it ends by itself, or with its topic.
async fn subscription(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = r.physical_id.as_str();
    if is_unconfirmed(id) {
        tracing::warn!(resource = r.logical_id, "the subscription was never confirmed: it expires by itself");
        return Ok(Step::ALREADY_GONE);
    }
    let arn = Arn::parse(id).ok_or_else(|| StepError::malformed_id("a subscription ARN"))?;
    let (topic_arn, tail) = id.rsplit_once(':').ok_or_else(|| StepError::malformed_id("a subscription ARN"))?;
    let sns = client(&arn, cx);
    if is_uuid(tail) {
        sns.unsubscribe().subscription_arn(id).send().await?;
        return Ok(Step::DELETED);
    }
    match subscription_arn(r, &sns, topic_arn).await? {
        Some(found) if is_unconfirmed(&found) => Ok(Step::ALREADY_GONE),
        Some(found) => {
            sns.unsubscribe().subscription_arn(found).send().await?;
            Ok(Step::DELETED)
        }
        None => Ok(Step::ALREADY_GONE),
    }
}

/// SNS writes it both ways.
fn is_unconfirmed(id: &str) -> bool {
    id.eq_ignore_ascii_case("PendingConfirmation") || id.eq_ignore_ascii_case("pending confirmation")
}

fn is_uuid(text: &str) -> bool {
    let groups = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == groups.len()
        && parts.iter().zip(groups).all(|(part, n)| part.len() == n && part.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The ARN of what was recorded without one (`topic:LogicalId`): by topic, protocol and endpoint. With its topic gone it
/// is gone as well.
async fn subscription_arn(r: &Resource, sns: &Client, topic_arn: &str) -> Result<Option<String>, StepError> {
    let protocol = r.address("Protocol")?.ok_or_else(|| StepError::missing("Protocol"))?;
    let endpoint = r.address("Endpoint")?.ok_or_else(|| StepError::missing("Endpoint"))?;
    let mut pages = sns.list_subscriptions_by_topic().topic_arn(topic_arn).into_paginator().send();
    while let Some(page) = pages.next().await {
        let Some(page) = page.ignore(GONE)? else { return Ok(None) };
        let found = page
            .subscriptions()
            .iter()
            .find(|s| s.topic_arn() == Some(topic_arn) && s.protocol() == Some(protocol) && s.endpoint() == Some(endpoint));
        if let Some(arn) = found.and_then(|s| s.subscription_arn()) {
            return Ok(Some(arn.to_owned()));
        }
    }
    Ok(None)
}

/// A topic always has a policy, and an empty one is refused: what a new topic starts with takes its place.
async fn topic_policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let mut already = true;
    for topic in topics(r)? {
        let arn = Arn::parse(topic).filter(|arn| !arn.account.is_empty());
        let arn = arn.ok_or_else(|| StepError::malformed_id("topic ARNs joined by commas"))?;
        cx.fence.check().await?;
        let set = client(&arn, cx).set_topic_attributes().topic_arn(topic).attribute_name("Policy");
        already &= set.attribute_value(owner_only(topic, arn.account)).send().await.ignore(GONE)?.is_none();
    }
    Ok(Step::Gone { already })
}

/// The recorded topics, or those in the id when none is recorded or one is masked. Nothing is sent unless all are ARNs.
fn topics(r: &Resource) -> Result<Vec<&str>, StepError> {
    let recorded = r.properties.get("Topics").and_then(Value::as_array).and_then(|topics| {
        topics.iter().map(|topic| topic.as_str().filter(|topic| !is_masked(topic))).collect::<Option<Vec<_>>>()
    });
    let topics = match recorded {
        Some(topics) if !topics.is_empty() => topics,
        _ => r.physical_id.split(',').map(str::trim).collect(),
    };
    if topics.iter().all(|topic| Arn::parse(topic).is_some()) {
        Ok(topics)
    } else {
        Err(StepError::malformed_id("topic ARNs joined by commas"))
    }
}

/// The policy of a new topic: everything for its owner, nothing for anybody else.
fn owner_only(topic: &str, account: &str) -> String {
    let actions = [
        "SNS:GetTopicAttributes",
        "SNS:SetTopicAttributes",
        "SNS:AddPermission",
        "SNS:RemovePermission",
        "SNS:DeleteTopic",
        "SNS:Subscribe",
        "SNS:ListSubscriptionsByTopic",
        "SNS:Publish",
    ];
    json!({
        "Version": "2008-10-17",
        "Id": "__default_policy_ID",
        "Statement": [{
            "Sid": "__default_statement_ID",
            "Effect": "Allow",
            "Principal": { "AWS": "*" },
            "Action": actions,
            "Resource": topic,
            "Condition": { "StringEquals": { "AWS:SourceOwner": account } },
        }],
    })
    .to_string()
}

#[cfg(test)]
mod tests;
