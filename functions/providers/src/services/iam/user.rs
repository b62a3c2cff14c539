//! Users. Any membership, policy, password, key, device or certificate blocks the delete.

use std::time::Duration;

use ebb_core::{Resource, Step};

use super::{GONE, attached_policy, deleted, inline_policy, recorded_name};
use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};

pub(super) async fn user(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let user = recorded_name(r)?;
    cx.aws.iam().get_user().user_name(user).send().await?;
    let mut held = grants(user, cx).await?;
    held.extend(sign_in(user, cx).await?);
    if !cx.has_time() {
        return Ok(Step::pending(Duration::ZERO, "taking off what the user has"));
    }
    held.extend(credentials(user, cx).await?);
    let iam = cx.aws.iam();
    cx.fence.check().await?;
    iam.delete_user_permissions_boundary().user_name(user).send().await.ignore(GONE)?;
    cx.fence.check().await?;
    deleted(iam.delete_user().user_name(user).send().await, held)
}

/// Memberships and policies.
async fn grants(user: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let iam = cx.aws.iam();
    let mut held = Vec::new();
    let groups = iam.list_groups_for_user().user_name(user).into_paginator().items().send().try_collect().await?;
    for group in groups.iter().map(|group| group.group_name()) {
        cx.fence.check().await?;
        iam.remove_user_from_group().group_name(group).user_name(user).send().await.ignore(GONE)?;
        held.push(format!("group {group}"));
    }
    let attached = iam.list_attached_user_policies().user_name(user).into_paginator().items().send().try_collect().await?;
    for arn in attached.iter().filter_map(|policy| policy.policy_arn()) {
        cx.fence.check().await?;
        iam.detach_user_policy().user_name(user).policy_arn(arn).send().await.ignore(GONE)?;
        held.push(attached_policy(arn));
    }
    let inline = iam.list_user_policies().user_name(user).into_paginator().items().send().try_collect().await?;
    for policy in &inline {
        cx.fence.check().await?;
        iam.delete_user_policy().user_name(user).policy_name(policy).send().await.ignore(GONE)?;
        held.push(inline_policy(policy));
    }
    Ok(held)
}

/// Password, access keys and MFA devices. A virtual device is a resource of its own and would stay, without its user.
async fn sign_in(user: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let iam = cx.aws.iam();
    let mut held = Vec::new();
    cx.fence.check().await?;
    if iam.delete_login_profile().user_name(user).send().await.ignore(GONE)?.is_some() {
        held.push("a password".to_owned());
    }
    let keys = iam.list_access_keys().user_name(user).into_paginator().items().send().try_collect().await?;
    for key in keys.iter().filter_map(|key| key.access_key_id()) {
        cx.fence.check().await?;
        iam.delete_access_key().user_name(user).access_key_id(key).send().await.ignore(GONE)?;
        held.push(format!("access key {key}"));
    }
    let devices = iam.list_mfa_devices().user_name(user).into_paginator().items().send().try_collect().await?;
    for serial in devices.iter().map(|device| device.serial_number()) {
        cx.fence.check().await?;
        iam.deactivate_mfa_device().user_name(user).serial_number(serial).send().await.ignore(GONE)?;
        if serial.starts_with("arn:") && serial.contains(":mfa/") {
            cx.fence.check().await?;
            iam.delete_virtual_mfa_device().serial_number(serial).send().await.ignore(GONE)?;
        }
        held.push(format!("MFA device {serial}"));
    }
    Ok(held)
}

/// SSH keys, credentials of single services, signing certificates.
async fn credentials(user: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let iam = cx.aws.iam();
    let mut held = Vec::new();
    let keys = iam.list_ssh_public_keys().user_name(user).into_paginator().items().send().try_collect().await?;
    for key in keys.iter().map(|key| key.ssh_public_key_id()) {
        cx.fence.check().await?;
        iam.delete_ssh_public_key().user_name(user).ssh_public_key_id(key).send().await.ignore(GONE)?;
        held.push(format!("SSH key {key}"));
    }
    let mut marker = None;
    loop {
        let page = iam.list_service_specific_credentials().user_name(user).set_marker(marker).send().await?;
        for id in page.service_specific_credentials().iter().map(|credential| credential.service_specific_credential_id()) {
            cx.fence.check().await?;
            let delete = iam.delete_service_specific_credential().user_name(user).service_specific_credential_id(id);
            delete.send().await.ignore(GONE)?;
            held.push(format!("service credential {id}"));
        }
        marker = page.marker().map(str::to_owned);
        if !page.is_truncated() || marker.is_none() {
            break;
        }
    }
    let certificates = iam.list_signing_certificates().user_name(user).into_paginator().items().send().try_collect().await?;
    for id in certificates.iter().map(|certificate| certificate.certificate_id()) {
        cx.fence.check().await?;
        iam.delete_signing_certificate().user_name(user).certificate_id(id).send().await.ignore(GONE)?;
        held.push(format!("signing certificate {id}"));
    }
    Ok(held)
}
