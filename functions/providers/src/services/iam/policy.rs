//! Inline and managed policies.

use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, Resource, Step};
use serde_json::Value;

use super::{GONE, RULES, principals};
use crate::Cx;
use crate::arn::Arn;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::is_blocked;
use crate::holders::named;

/// An inline policy exists only where it is attached: with no target named there is no call to make, and calling that
/// a success would leave a live grant.
pub(super) async fn policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (recorded, legacy_role) = match r.physical_id.split_once(':') {
        Some((name, role)) => (name, Some(role)),
        None => (r.physical_id.as_str(), None),
    };
    let policy = match recorded {
        "" => r.address("PolicyName")?.ok_or_else(|| StepError::malformed_id("a policy name"))?,
        name => name,
    };
    let targets = |property: &str| principals(r, property);
    let legacy_role = legacy_role.filter(|role| !role.is_empty());
    let (mut roles, groups, users) = (roles(r, legacy_role)?, targets("Groups")?, targets("Users")?);
    if roles.is_none() && groups.is_none() && users.is_none() {
        roles = legacy_role.map(|role| vec![role]);
        if roles.is_none() {
            return Err(StepError::Skip {
                code: Code::MissingAddress,
                reason: "the policy names no role, group or user in state: no delete issued".into(),
            });
        }
    }

    let iam = cx.aws.iam();
    let mut already = true;
    for role in roles.unwrap_or_default() {
        cx.fence.check().await?;
        already &= iam.delete_role_policy().role_name(role).policy_name(policy).send().await.ignore(GONE)?.is_none();
    }
    for group in groups.unwrap_or_default() {
        cx.fence.check().await?;
        already &= iam.delete_group_policy().group_name(group).policy_name(policy).send().await.ignore(GONE)?.is_none();
    }
    for user in users.unwrap_or_default() {
        cx.fence.check().await?;
        already &= iam.delete_user_policy().user_name(user).policy_name(policy).send().await.ignore(GONE)?.is_none();
    }
    Ok(Step::Gone { already })
}

/// The role of a legacy id stands in for the only recorded one that is masked, never for one of several.
fn roles<'r>(r: &'r Resource, legacy_role: Option<&'r str>) -> Result<Option<Vec<&'r str>>, StepError> {
    let masked = match r.properties.get("Roles") {
        Some(Value::Array(roles)) if roles.len() == 1 => roles.first().and_then(Value::as_str),
        recorded => recorded.and_then(Value::as_str),
    };
    match legacy_role {
        Some(role) if masked.is_some_and(is_masked) => Ok(Some(vec![role])),
        _ => principals(r, "Roles"),
    }
}

/// The ARN of a policy of an account. One of AWS itself is everybody's.
fn managed_arn(r: &Resource) -> Result<&str, StepError> {
    let id = r.physical_id.as_str();
    if is_masked(id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    let customers = Arn::parse(id).is_some_and(|arn| {
        !matches!(arn.account, "" | "aws") && arn.resource.strip_prefix("policy/").is_some_and(|p| !p.is_empty())
    });
    if customers { Ok(id) } else { Err(StepError::malformed_id("the ARN of a customer managed policy")) }
}

/// Detach from everything that uses it, delete the versions that are not the default, delete. One that is a boundary
/// cannot go, so nothing of it is detached.
pub(super) async fn managed_policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let arn = managed_arn(r)?;
    let bounded = bounded_by(arn, cx).await?;
    if !bounded.is_empty() {
        return Err(CallError::inside("DeleteConflict", "the policy is a permissions boundary").held_by(bounded).into());
    }
    let mut marker = None;
    loop {
        let page = iam
            .list_entities_for_policy()
            .policy_arn(arn)
            .policy_usage_filter("PermissionsPolicy".into())
            .set_marker(marker)
            .send()
            .await?;
        for group in page.policy_groups().iter().filter_map(|g| g.group_name()) {
            cx.fence.check().await?;
            iam.detach_group_policy().group_name(group).policy_arn(arn).send().await.ignore(GONE)?;
        }
        for role in page.policy_roles().iter().filter_map(|r| r.role_name()) {
            cx.fence.check().await?;
            iam.detach_role_policy().role_name(role).policy_arn(arn).send().await.ignore(GONE)?;
        }
        for user in page.policy_users().iter().filter_map(|u| u.user_name()) {
            cx.fence.check().await?;
            iam.detach_user_policy().user_name(user).policy_arn(arn).send().await.ignore(GONE)?;
        }
        marker = page.marker().map(str::to_owned);
        if !page.is_truncated() || marker.is_none() {
            break;
        }
    }
    let versions = iam.list_policy_versions().policy_arn(arn).into_paginator().items().send().try_collect().await?;
    for version in versions.iter().filter(|v| !v.is_default_version()).filter_map(|v| v.version_id()) {
        cx.fence.check().await?;
        iam.delete_policy_version().policy_arn(arn).version_id(version).send().await.ignore(GONE)?;
    }
    cx.fence.check().await?;
    match iam.delete_policy().policy_arn(arn).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let by = named("entities", bounded_by(arn, cx).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

/// Roles and users whose boundary the policy is: without it they could do more, so they keep it.
async fn bounded_by(arn: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let list = cx.aws.iam().list_entities_for_policy().policy_arn(arn).policy_usage_filter("PermissionsBoundary".into());
    let mut pages = list.into_paginator().send();
    let mut bounded = Vec::new();
    while let Some(page) = pages.next().await.transpose()? {
        let roles = page.policy_roles().iter().filter_map(|r| Some(format!("role {} (as its boundary)", r.role_name()?)));
        let users = page.policy_users().iter().filter_map(|u| Some(format!("user {} (as its boundary)", u.user_name()?)));
        bounded.extend(roles.chain(users));
    }
    Ok(bounded)
}
