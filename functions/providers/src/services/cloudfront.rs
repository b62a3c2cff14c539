//! CloudFront: distributions and what gives them access to buckets. Every change carries the ETag that was just read.
//! A distribution goes in three acts: switched off, minutes until every edge has heard of it, deleted.

use std::time::Duration;

use aws_sdk_cloudfront::types::{DistributionConfig, Origin};
use ebb_core::{Resource, Step};
use serde_json::json;

use crate::Cx;
use crate::arn::Arn;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Retry, Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::ids::{fits_path, physical_id};
use crate::registry::TypeDef;

/// The ETag was not the last: the next step reads it again.
const STALE: Retry = retry("PreconditionFailed", 1, 60);
const STALE_TOO: Retry = retry("InvalidIfMatchVersion", 1, 60);

const DISTRIBUTION: Rules = Rules {
    gone: &["NoSuchDistribution"],
    retry: &[retry("DistributionNotDisabled", 15, 1800), STALE, STALE_TOO, retry("ResourceInUse", 30, 1800)],
    // What is stored is not taken back, as when its certificate went first.
    terminal: &["IllegalUpdate"],
    protected: &[],
};

const IDENTITY: Rules = Rules {
    gone: &["NoSuchCloudFrontOriginAccessIdentity"],
    retry: &[STALE, STALE_TOO, blocked("CloudFrontOriginAccessIdentityInUse", 15, 900)],
    ..Rules::NONE
};

const CONTROL: Rules = Rules {
    gone: &["NoSuchOriginAccessControl"],
    retry: &[STALE, STALE_TOO, blocked("OriginAccessControlInUse", 15, 900)],
    ..Rules::NONE
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::CloudFront::CloudFrontOriginAccessIdentity",
        step: |r, cx| Box::pin(identity(r, cx)),
        look: None,
        actions: &[
            "cloudfront:DeleteCloudFrontOriginAccessIdentity",
            "cloudfront:GetCloudFrontOriginAccessIdentity",
            "cloudfront:ListDistributions",
        ],
        rules: IDENTITY,
    },
    TypeDef {
        name: "AWS::CloudFront::Distribution",
        step: |r, cx| Box::pin(distribution(r, cx)),
        look: None,
        actions: &[
            "cloudfront:DeleteDistribution",
            "cloudfront:GetDistribution",
            "cloudfront:GetDistributionConfig",
            "cloudfront:UpdateDistribution",
        ],
        rules: DISTRIBUTION,
    },
    TypeDef {
        name: "AWS::CloudFront::OriginAccessControl",
        step: |r, cx| Box::pin(control(r, cx)),
        look: None,
        actions: &["cloudfront:DeleteOriginAccessControl", "cloudfront:GetOriginAccessControl", "cloudfront:ListDistributions"],
        rules: CONTROL,
    },
];

/// Between two looks at a distribution on its way.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How long after a change the answers may still show what was before.
const SETTLES: Duration = Duration::from_secs(60);

fn etag(found: Option<String>) -> Result<String, StepError> {
    found.ok_or_else(|| StepError::odd_answer("CloudFront answered without an ETag"))
}

async fn distribution(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = distribution_id(r)?;
    let cloudfront = cx.aws.cloudfront();
    let found = cloudfront.get_distribution_config().id(id).send().await?;
    let etag = etag(found.e_tag)?;
    let config = found.distribution_config.ok_or_else(|| StepError::odd_answer("CloudFront answered no configuration"))?;
    if config.enabled {
        return switch_off(id, config, etag, cx).await;
    }
    // Also when it was off before: that may be on its way to the edges still.
    let there = cloudfront.get_distribution().id(id).send().await?.distribution;
    let is_off = there.is_some_and(|d| d.status == "Deployed" && d.distribution_config.is_some_and(|c| !c.enabled));
    if !is_off {
        return Ok(Step::pending(LOOK_AGAIN, "CloudFront is switching the distribution off at its edges"));
    }
    cx.fence.check().await?;
    cloudfront.delete_distribution().id(id).if_match(etag).send().await?;
    Ok(Step::DELETED)
}

fn distribution_id(r: &Resource) -> Result<&str, StepError> {
    let id = physical_id(r, "a distribution's id or ARN")?;
    let id = match Arn::parse(id) {
        Some(arn) => arn.resource.strip_prefix("distribution/").filter(|id| fits_path(id)),
        None => Some(id),
    };
    id.ok_or_else(|| StepError::malformed_id("a distribution's id or ARN"))
}

/// Everything else stays as it is: UpdateDistribution takes the whole configuration.
async fn switch_off(id: &str, mut config: DistributionConfig, etag: String, cx: &Cx<'_>) -> StepResult {
    let now = cx.clock.now();
    let off_at = cx.memo.and_then(|memo| memo.get("switchedOffAt")).and_then(serde_json::Value::as_u64);
    if off_at.is_some_and(|at| Duration::from_millis(now.saturating_sub(at)) < SETTLES) {
        return Ok(Step::pending(LOOK_AGAIN, "the distribution was switched off and does not show it yet"));
    }
    config.enabled = false;
    cx.fence.check().await?;
    cx.aws.cloudfront().update_distribution().id(id).if_match(etag).distribution_config(config).send().await?;
    let memo = json!({ "switchedOffAt": now });
    Ok(Step::pending_with(LOOK_AGAIN, "CloudFront is switching the distribution off at its edges", memo))
}

async fn identity(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = physical_id(r, "an origin access identity's id")?;
    let cloudfront = cx.aws.cloudfront();
    let found = cloudfront.get_cloud_front_origin_access_identity().id(id).send().await?;
    let etag = etag(found.e_tag)?;
    let delete = cloudfront.delete_cloud_front_origin_access_identity().id(id).if_match(etag);
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &IDENTITY) => {
            let path = format!("origin-access-identity/cloudfront/{id}");
            let uses = |origin: &Origin| origin.s3_origin_config().is_some_and(|s3| s3.origin_access_identity() == path);
            Err(call.held_by(named("distributions", distributions(uses, cx).await)).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn control(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = physical_id(r, "an origin access control's id")?;
    let cloudfront = cx.aws.cloudfront();
    let found = cloudfront.get_origin_access_control().id(id).send().await?;
    let etag = etag(found.e_tag)?;
    match cloudfront.delete_origin_access_control().id(id).if_match(etag).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &CONTROL) => {
            let uses = |origin: &Origin| origin.origin_access_control_id() == Some(id);
            Err(call.held_by(named("distributions", distributions(uses, cx).await)).into())
        }
        Err(call) => Err(call.into()),
    }
}

/// The distributions with an origin that uses it, as far as the step's time goes: nothing but their lists tells.
async fn distributions(uses: impl Fn(&Origin) -> bool, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let mut found = Vec::new();
    let mut pages = cx.aws.cloudfront().list_distributions().into_paginator().items().send();
    while let Some(distribution) = pages.try_next().await? {
        if distribution.origins().is_some_and(|origins| origins.items().iter().any(&uses)) {
            found.push(format!("{} (distribution)", distribution.id));
        }
        if !cx.has_time() {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
