//! IAM: roles, policies, managed policies, instance profiles. What is attached is asked of IAM, never of the state:
//! anything attached out of band blocks the delete as well.

use ebb_core::{Code, Resource, Step};

use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["NoSuchEntity"];

/// `LimitExceeded` is a quota in IAM, not a throttle.
const RULES: Rules = Rules {
    gone: GONE,
    retry: &[retry("DeleteConflict", 3, 90), retry("ConcurrentModification", 3, 60), retry("ServiceFailure", 5, 60)],
    terminal: &["UnmodifiableEntity", "LimitExceeded"],
    protected: &[],
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::IAM::InstanceProfile",
        step: |r, cx| Box::pin(instance_profile(r, cx)),
        look: None,
        actions: &["iam:DeleteInstanceProfile", "iam:GetInstanceProfile", "iam:RemoveRoleFromInstanceProfile"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::ManagedPolicy",
        step: |r, cx| Box::pin(managed_policy(r, cx)),
        look: None,
        actions: &[
            "iam:DeletePolicy",
            "iam:DeletePolicyVersion",
            "iam:DetachGroupPolicy",
            "iam:DetachRolePolicy",
            "iam:DetachUserPolicy",
            "iam:ListEntitiesForPolicy",
            "iam:ListPolicyVersions",
        ],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::Policy",
        step: |r, cx| Box::pin(policy(r, cx)),
        look: None,
        actions: &["iam:DeleteGroupPolicy", "iam:DeleteRolePolicy", "iam:DeleteUserPolicy"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::Role",
        step: |r, cx| Box::pin(role(r, cx)),
        look: None,
        actions: &[
            "iam:DeleteRole",
            "iam:DeleteRolePolicy",
            "iam:DetachRolePolicy",
            "iam:ListAttachedRolePolicies",
            "iam:ListInstanceProfilesForRole",
            "iam:ListRolePolicies",
            "iam:RemoveRoleFromInstanceProfile",
        ],
        rules: RULES,
    },
];

/// The name in a recorded id that may be a name or an ARN with a path.
fn name(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// Detach, delete inline policies, leave instance profiles, delete. A permissions boundary blocks nothing.
async fn role(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let role = name(&r.physical_id);

    let attached = iam.list_attached_role_policies().role_name(role).into_paginator().items().send().try_collect().await?;
    for arn in attached.iter().filter_map(|policy| policy.policy_arn()) {
        cx.fence.check().await?;
        iam.detach_role_policy().role_name(role).policy_arn(arn).send().await.ignore(GONE)?;
    }
    let inline = iam.list_role_policies().role_name(role).into_paginator().items().send().try_collect().await?;
    for policy in &inline {
        cx.fence.check().await?;
        iam.delete_role_policy().role_name(role).policy_name(policy).send().await.ignore(GONE)?;
    }
    let profiles = iam.list_instance_profiles_for_role().role_name(role).into_paginator().items().send().try_collect().await?;
    for profile in &profiles {
        cx.fence.check().await?;
        let profile = profile.instance_profile_name();
        iam.remove_role_from_instance_profile().role_name(role).instance_profile_name(profile).send().await.ignore(GONE)?;
    }

    cx.fence.check().await?;
    iam.delete_role().role_name(role).send().await?;
    Ok(Step::DELETED)
}

/// An inline policy exists only where it is attached: with no target named there is no call to make, and calling that
/// a success would leave a live grant.
async fn policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (recorded, legacy_role) = match r.physical_id.split_once(':') {
        Some((name, role)) => (name, Some(role)),
        None => (r.physical_id.as_str(), None),
    };
    let policy = match recorded {
        "" => r.address("PolicyName")?.ok_or_else(|| StepError::malformed_id("a policy name"))?,
        name => name,
    };
    let targets = |property: &str| principals(r, property);
    let (mut roles, groups, users) = (targets("Roles")?, targets("Groups")?, targets("Users")?);
    if roles.is_none() && groups.is_none() && users.is_none() {
        roles = legacy_role.filter(|role| !role.is_empty()).map(|role| vec![role]);
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

/// The names in a target list; `None` when it is not recorded at all. An empty list means attached to nothing.
fn principals<'r>(r: &'r Resource, property: &str) -> Result<Option<Vec<&'r str>>, StepError> {
    let Some(value) = r.properties.get(property) else { return Ok(None) };
    let usable = |name: &&str| !name.is_empty() && !ebb_core::provider::is_masked(name);
    value
        .as_array()
        .and_then(|names| names.iter().map(|n| n.as_str().filter(usable).map(name)).collect::<Option<Vec<_>>>())
        .map(Some)
        .ok_or_else(|| StepError::Skip {
            code: Code::MaskedAddress,
            reason: format!("{property} is not a list of usable IAM names: no delete issued"),
        })
}

/// Detach from everything that uses it, delete the versions that are not the default, delete.
async fn managed_policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let arn = r.physical_id.as_str();
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
    iam.delete_policy().policy_arn(arn).send().await?;
    Ok(Step::DELETED)
}

/// Roles out first: IAM would let an instance lose its credentials, so instances go before by the recorded edges.
async fn instance_profile(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let profile = name(&r.physical_id);
    let found = iam.get_instance_profile().instance_profile_name(profile).send().await?;
    for role in found.instance_profile().map(|p| p.roles()).unwrap_or_default() {
        cx.fence.check().await?;
        iam.remove_role_from_instance_profile()
            .instance_profile_name(profile)
            .role_name(role.role_name())
            .send()
            .await
            .ignore(GONE)?;
    }
    cx.fence.check().await?;
    iam.delete_instance_profile().instance_profile_name(profile).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
