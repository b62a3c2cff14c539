//! Roles and instance profiles.

use ebb_core::Resource;

use super::{GONE, attached_policy, deleted, inline_policy, name};
use crate::Cx;
use crate::call::{CallResult, StepResult};

/// Detach, delete inline policies, leave instance profiles, delete. A permissions boundary blocks nothing.
pub(super) async fn role(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let role = name(&r.physical_id);
    let mut held = Vec::new();

    let attached = iam.list_attached_role_policies().role_name(role).into_paginator().items().send().try_collect().await?;
    for arn in attached.iter().filter_map(|policy| policy.policy_arn()) {
        cx.fence.check().await?;
        iam.detach_role_policy().role_name(role).policy_arn(arn).send().await.ignore(GONE)?;
        held.push(attached_policy(arn));
    }
    let inline = iam.list_role_policies().role_name(role).into_paginator().items().send().try_collect().await?;
    for policy in &inline {
        cx.fence.check().await?;
        iam.delete_role_policy().role_name(role).policy_name(policy).send().await.ignore(GONE)?;
        held.push(inline_policy(policy));
    }
    let profiles = iam.list_instance_profiles_for_role().role_name(role).into_paginator().items().send().try_collect().await?;
    for profile in &profiles {
        cx.fence.check().await?;
        let profile = profile.instance_profile_name();
        iam.remove_role_from_instance_profile().role_name(role).instance_profile_name(profile).send().await.ignore(GONE)?;
        held.push(format!("instance profile {profile}"));
    }

    cx.fence.check().await?;
    deleted(iam.delete_role().role_name(role).send().await, held)
}

/// Roles out first: IAM would let an instance lose its credentials, so instances go before by the recorded edges.
pub(super) async fn instance_profile(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let profile = name(&r.physical_id);
    let found = iam.get_instance_profile().instance_profile_name(profile).send().await?;
    let mut held = Vec::new();
    for role in found.instance_profile().map(|p| p.roles()).unwrap_or_default() {
        cx.fence.check().await?;
        iam.remove_role_from_instance_profile()
            .instance_profile_name(profile)
            .role_name(role.role_name())
            .send()
            .await
            .ignore(GONE)?;
        held.push(format!("role {}", role.role_name()));
    }
    cx.fence.check().await?;
    deleted(iam.delete_instance_profile().instance_profile_name(profile).send().await, held)
}
