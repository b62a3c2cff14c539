//! Cognito: user pools. UpdateUserPool resets every setting that it is not sent, so a pool's protection is switched with
//! all that was described beside it. A deleted pool stays with AWS for 14 days, where only its support can bring it back.

use std::time::Duration;

use aws_sdk_cognitoidentityprovider::types::{DeletionProtectionType, UserPoolType};
use ebb_core::{Code, ErrorClass, Look, Millis, Resource, Step};
use serde_json::{Value, json};

use crate::Cx;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, classify, is_blocked, retry};
use crate::ids::physical_id;
use crate::protection;
use crate::registry::TypeDef;

const RULES: Rules = Rules {
    gone: &["ResourceNotFoundException"],
    retry: &[
        retry("TooManyRequestsException", 2, 60),
        retry("InternalErrorException", 3, 60),
        blocked("InvalidParameterException~domain", 5, 120),
        retry("UserImportInProgressException", 30, 600),
        retry("ConcurrentModificationException", 2, 60),
    ],
    terminal: &[],
    protected: &["InvalidParameterException~deletion protection"],
};

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::Cognito::UserPool",
    step: |r, cx| Box::pin(user_pool(r, cx)),
    look: Some(|r, cx| Box::pin(look(r, cx))),
    actions: &[
        "cognito-idp:DeleteUserPool",
        "cognito-idp:DeleteUserPoolDomain",
        "cognito-idp:DescribeUserPool",
        "cognito-idp:UpdateUserPool",
    ],
    rules: RULES,
}];

const DOMAIN_ASKED: &str = "domainAskedAt";
/// A domain of one's own has a distribution behind it, which goes in minutes.
const DOMAIN_GOES: Duration = Duration::from_secs(1200);
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Protection off when asked, delete; a domain that holds the pool goes first, with consent.
async fn user_pool(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let pool = physical_id(r, "a user pool id")?;
    if cx.run.options.remove_protection
        && let Some(step) = unprotect(pool, cx).await?
    {
        return Ok(step);
    }
    match cx.aws.cognito().delete_user_pool().user_pool_id(pool).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => leave_domain(pool, call, cx).await,
        Err(call) => Err(failed(pool, call, cx).await),
    }
}

async fn describe(pool: &str, cx: &Cx<'_>) -> Result<UserPoolType, CallError> {
    let answer = cx.aws.cognito().describe_user_pool().user_pool_id(pool).send().await?;
    Ok(answer.user_pool.unwrap_or_else(|| UserPoolType::builder().build()))
}

fn is_protected(found: &UserPoolType) -> bool {
    found.deletion_protection == Some(DeletionProtectionType::Active)
}

/// Remembers a protection that is on, then switches it off. A flip that fails is AWS's to refuse at the delete, and one
/// that cannot be described is not made: it would reset every setting of a pool that may stay.
async fn unprotect(pool: &str, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    let found = match describe(pool, cx).await {
        Ok(found) => found,
        Err(call) if classify(&call, &RULES).class == ErrorClass::Denied => {
            tracing::warn!(code = call.code, "cannot read the user pool's settings: its protection stays as it is");
            return Ok(None);
        }
        Err(call) => return Err(StepError::Call(call)),
    };
    if !is_protected(&found) {
        return Ok(None);
    }
    if let Some(step) = protection::remember(cx) {
        return Ok(Some(step));
    }
    cx.fence.check().await?;
    let Err(call) = protect(pool, found, DeletionProtectionType::Inactive, cx).await else { return Ok(None) };
    tracing::warn!(code = call.code, "cannot switch the user pool's protection off");
    let passes = matches!(classify(&call, &RULES).class, ErrorClass::Retry { .. } | ErrorClass::Throttled);
    let again = passes && protection::settling(cx);
    Ok(again.then(|| Step::pending(Duration::from_secs(1), "deletion protection is being switched off")))
}

/// Sends the settings back as they were described, with the protection changed.
async fn protect(pool: &str, found: UserPoolType, to: DeletionProtectionType, cx: &Cx<'_>) -> Result<(), CallError> {
    let days = found.policies().and_then(|p| p.password_policy()).map_or(0, |p| p.temporary_password_validity_days);
    let admin = found.admin_create_user_config.map(|mut admin| {
        // Described beside what took its place, and refused beside it.
        if days != 0 {
            admin.unused_account_validity_days = 0;
        }
        admin
    });
    let update = cx.aws.cognito().update_user_pool().user_pool_id(pool).deletion_protection(to);
    update
        .set_account_recovery_setting(found.account_recovery_setting)
        .set_acr_configuration(found.acr_configuration)
        .set_admin_create_user_config(admin)
        .set_auto_verified_attributes(found.auto_verified_attributes)
        .set_device_configuration(found.device_configuration)
        .set_email_configuration(found.email_configuration)
        .set_email_verification_message(found.email_verification_message)
        .set_email_verification_subject(found.email_verification_subject)
        .set_issuer_configuration(found.issuer_configuration)
        .set_key_configuration(found.key_configuration)
        .set_lambda_config(found.lambda_config)
        .set_mfa_configuration(found.mfa_configuration)
        .set_policies(found.policies)
        .set_pool_name(found.name)
        .set_sms_authentication_message(found.sms_authentication_message)
        .set_sms_configuration(found.sms_configuration)
        .set_sms_verification_message(found.sms_verification_message)
        .set_user_attribute_update_settings(found.user_attribute_update_settings)
        .set_user_pool_add_ons(found.user_pool_add_ons)
        .set_user_pool_tags(found.user_pool_tags)
        .set_user_pool_tier(found.user_pool_tier)
        .set_verification_message_template(found.verification_message_template)
        .send()
        .await?;
    Ok(())
}

async fn failed(pool: &str, call: CallError, cx: &Cx<'_>) -> StepError {
    let put_back = async {
        let found = describe(pool, cx).await?;
        if is_protected(&found) {
            return Ok(());
        }
        protect(pool, found, DeletionProtectionType::Active, cx).await
    };
    protection::failed(call, &RULES, cx, put_back).await
}

/// A domain holds the pool. One of the plan's is on its way out; another goes only with consent.
async fn leave_domain(pool: &str, call: CallError, cx: &Cx<'_>) -> StepResult {
    let asked_at: Option<Millis> = cx.memo.and_then(|memo| memo.get(DOMAIN_ASKED)).and_then(Value::as_u64);
    if asked_at.is_some_and(|at| Duration::from_millis(cx.clock.now().saturating_sub(at)) < DOMAIN_GOES) {
        return Ok(Step::pending(LOOK_AGAIN, "the user pool's domain is going"));
    }
    let Ok(found) = describe(pool, cx).await else { return Err(call.into()) };
    let domains: Vec<String> = [found.domain, found.custom_domain].into_iter().flatten().collect();
    if !cx.run.options.delete_data || asked_at.is_some() || domains.is_empty() {
        return Err(call.held_by(domains.iter().map(|domain| format!("the domain {domain}")).collect()).into());
    }
    for domain in &domains {
        cx.fence.check().await?;
        let delete = cx.aws.cognito().delete_user_pool_domain().user_pool_id(pool).domain(domain);
        match delete.send().await.map_err(CallError::from) {
            Ok(_) => {}
            Err(call) if call.is(RULES.gone) => {}
            Err(call) => return Err(failed(pool, CallError { about_other: true, ..call }, cx).await),
        }
    }
    let mut memo = cx.memo.and_then(Value::as_object).cloned().unwrap_or_default();
    memo.insert(DOMAIN_ASKED.into(), json!(cx.clock.now()));
    Ok(Step::pending_with(Duration::from_secs(5), "the user pool's domain is going", Value::Object(memo)))
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if cx.run.options.remove_protection || !is_protected(&describe(physical_id(r, "a user pool id")?, cx).await?) {
        return Ok(Look::Clear);
    }
    Ok(Look::Refuses { code: Code::Protected, reason: protection::refusal().into() })
}

#[cfg(test)]
mod tests;
