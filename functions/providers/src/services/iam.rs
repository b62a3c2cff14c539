//! IAM: roles, users, groups, their policies and keys, instance profiles. What is attached is asked of IAM, never of the
//! state: anything attached out of band blocks the delete as well.

mod access_key;
mod group;
mod policy;
mod role;
mod user;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, Resource, Step};

use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["NoSuchEntity"];

/// `LimitExceeded` is a quota in IAM, not a throttle.
const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        blocked("DeleteConflict", 3, 90),
        retry("EntityTemporarilyUnmodifiable", 5, 60),
        retry("ConcurrentModification", 3, 60),
        retry("ServiceFailure", 5, 60),
    ],
    terminal: &["UnmodifiableEntity", "LimitExceeded"],
    protected: &[],
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::IAM::AccessKey",
        step: |r, cx| Box::pin(access_key::access_key(r, cx)),
        look: None,
        actions: &["iam:DeleteAccessKey", "iam:GetAccessKeyLastUsed"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::Group",
        step: |r, cx| Box::pin(group::group(r, cx)),
        look: None,
        actions: &[
            "iam:DeleteGroup",
            "iam:DeleteGroupPolicy",
            "iam:DetachGroupPolicy",
            "iam:GetGroup",
            "iam:ListAttachedGroupPolicies",
            "iam:ListGroupPolicies",
            "iam:RemoveUserFromGroup",
        ],
        rules: group::RULES,
    },
    TypeDef {
        name: "AWS::IAM::InstanceProfile",
        step: |r, cx| Box::pin(role::instance_profile(r, cx)),
        look: None,
        actions: &["iam:DeleteInstanceProfile", "iam:GetInstanceProfile", "iam:RemoveRoleFromInstanceProfile"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::ManagedPolicy",
        step: |r, cx| Box::pin(policy::managed_policy(r, cx)),
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
        step: |r, cx| Box::pin(policy::policy(r, cx)),
        look: None,
        actions: &["iam:DeleteGroupPolicy", "iam:DeleteRolePolicy", "iam:DeleteUserPolicy"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::Role",
        step: |r, cx| Box::pin(role::role(r, cx)),
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
    TypeDef {
        name: "AWS::IAM::User",
        step: |r, cx| Box::pin(user::user(r, cx)),
        look: None,
        actions: &[
            "iam:DeactivateMFADevice",
            "iam:DeleteAccessKey",
            "iam:DeleteLoginProfile",
            "iam:DeleteSSHPublicKey",
            "iam:DeleteServiceSpecificCredential",
            "iam:DeleteSigningCertificate",
            "iam:DeleteUser",
            "iam:DeleteUserPermissionsBoundary",
            "iam:DeleteUserPolicy",
            "iam:DeleteVirtualMFADevice",
            "iam:DetachUserPolicy",
            "iam:GetUser",
            "iam:ListAccessKeys",
            "iam:ListAttachedUserPolicies",
            "iam:ListGroupsForUser",
            "iam:ListMFADevices",
            "iam:ListSSHPublicKeys",
            "iam:ListServiceSpecificCredentials",
            "iam:ListSigningCertificates",
            "iam:ListUserPolicies",
            "iam:RemoveUserFromGroup",
        ],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::IAM::UserToGroupAddition",
        step: |r, cx| Box::pin(group::user_to_group_addition(r, cx)),
        look: None,
        actions: &["iam:RemoveUserFromGroup"],
        rules: RULES,
    },
];

/// The name in a recorded id that may be a name or an ARN with a path.
fn name(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// As [`name`], of a type whose calls would mean the caller itself without one.
fn recorded_name(r: &Resource) -> Result<&str, StepError> {
    match name(&r.physical_id) {
        id if is_masked(id) => Err(Masked { property: "physicalId".into() }.into()),
        "" => Err(StepError::malformed_id("a name or an ARN")),
        name => Ok(name),
    }
}

/// What a delete at the end of a sweep ends in. IAM is slow to agree with itself: what the sweep has just taken off may
/// still hold the delete, and what holds it for long is what each sweep finds again.
fn deleted<T, E>(answer: Result<T, SdkError<E, HttpResponse>>, held: Vec<String>) -> StepResult
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match answer.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) => Err(call.held_by(held).into()),
    }
}

fn attached_policy(arn: &str) -> String {
    format!("policy {arn} (attached)")
}

fn inline_policy(name: &str) -> String {
    format!("policy {name} (inline)")
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

#[cfg(test)]
mod tests;
