//! Groups, and memberships that a stack added to them.

use std::time::Duration;

use ebb_core::{Resource, Step};

use super::{GONE, attached_policy, deleted, inline_policy, name, principals, recorded_name};
use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, retry};

pub(super) const RULES: Rules =
    Rules { retry: &[blocked("DeleteConflict", 3, 60), retry("ServiceFailure", 5, 60)], ..super::RULES };

/// Members come from IAM: those that were added out of band block the delete as well.
pub(super) async fn group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let group = recorded_name(r)?;
    let mut held = Vec::new();

    let attached = iam.list_attached_group_policies().group_name(group).into_paginator().items().send().try_collect().await?;
    for arn in attached.iter().filter_map(|policy| policy.policy_arn()) {
        cx.fence.check().await?;
        iam.detach_group_policy().group_name(group).policy_arn(arn).send().await.ignore(GONE)?;
        held.push(attached_policy(arn));
    }
    let inline = iam.list_group_policies().group_name(group).into_paginator().items().send().try_collect().await?;
    for policy in &inline {
        cx.fence.check().await?;
        iam.delete_group_policy().group_name(group).policy_name(policy).send().await.ignore(GONE)?;
        held.push(inline_policy(policy));
    }
    let members = iam.get_group().group_name(group).into_paginator().items().send().try_collect().await?;
    for user in members.iter().map(|member| member.user_name()) {
        if !cx.has_time() {
            return Ok(Step::pending(Duration::ZERO, "taking the users out of the group"));
        }
        cx.fence.check().await?;
        iam.remove_user_from_group().group_name(group).user_name(user).send().await.ignore(GONE)?;
        held.push(format!("user {user}"));
    }
    cx.fence.check().await?;
    deleted(iam.delete_group().group_name(group).send().await, held)
}

/// The recorded id is no name of AWS: group and users are recorded, and other members stay.
pub(super) async fn user_to_group_addition(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let group = name(r.address("GroupName")?.ok_or_else(|| StepError::missing("GroupName"))?);
    let users = principals(r, "Users")?.ok_or_else(|| StepError::missing("Users"))?;
    let mut already = true;
    for user in users {
        cx.fence.check().await?;
        let removed = cx.aws.iam().remove_user_from_group().group_name(group).user_name(user).send().await;
        already &= removed.ignore(GONE)?.is_none();
    }
    Ok(Step::Gone { already })
}
