use ebb_core::{Code, DeleteError, ErrorClass, Look, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const POOL: &str = "us-east-1_AbCdEfGhI";
const DESCRIBE: &[&str] = &[".DescribeUserPool ", POOL];
const DELETE: &[&str] = &[".DeleteUserPool ", POOL];
const OFF: &[&str] = &[".UpdateUserPool ", POOL, "\"DeletionProtection\":\"INACTIVE\""];
const ON: &[&str] = &[".UpdateUserPool ", POOL, "\"DeletionProtection\":\"ACTIVE\""];
const GONE: &str = "ResourceNotFoundException";
const INVALID: &str = "InvalidParameterException";
const PROTECTED: &str =
    "The user pool cannot be deleted because deletion protection is activated. Deletion protection must be inactivated first.";
const DOMAIN: &str = "User pool cannot be deleted. It has a domain configured that should be deleted first.";

fn pool() -> Bench {
    Bench::new("AWS::Cognito::UserPool", POOL, json!({}))
}

fn unprotecting() -> Bench {
    let mut bench = pool();
    bench.run.options.remove_protection = true;
    bench
}

fn emptying() -> Bench {
    let mut bench = pool();
    bench.run.options.delete_data = true;
    bench
}

fn described(protection: &str) -> Value {
    json!({ "UserPool": { "Id": POOL, "Name": "shop", "DeletionProtection": protection } })
}

#[track_caller]
fn pending_for(answer: Result<Step, DeleteError>, seconds: u64) {
    assert!(matches!(&answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == seconds), "{answer:?}");
}

#[tokio::test]
async fn a_pool_goes_in_one_call_and_one_that_is_not_there_is_gone() {
    let script = Script::new().json(DELETE, 200, json!({}));
    assert_eq!(pool().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    assert_eq!(pool().step(&Script::new().json_error(DELETE, GONE, "no")).await, Ok(Step::ALREADY_GONE));
    assert_eq!(unprotecting().step(&Script::new().json_error(DESCRIBE, GONE, "no")).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn a_protected_pool_stays_without_consent() {
    let error = pool().step(&Script::new().json_error(DELETE, INVALID, PROTECTED)).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
    assert!(error.message.contains("removeProtection"), "{}", error.message);
}

#[tokio::test]
async fn protection_is_remembered_then_switched_off_then_the_pool_goes() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE"))
        .json(DESCRIBE, 200, described("ACTIVE"))
        .json(OFF, 200, json!({}))
        .json(DELETE, 200, json!({}));
    let mut bench = unprotecting();
    pending_for(bench.step(&script).await, 0);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().json(DESCRIBE, 200, described("INACTIVE")).json(DELETE, 200, json!({}));
    assert_eq!(unprotecting().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// UpdateUserPool resets what it is not sent, and the delete may still fail afterwards.
#[tokio::test]
async fn switching_the_protection_sends_every_setting_back() {
    let settings = json!({
        "Name": "shop",
        "Policies": { "PasswordPolicy": { "MinimumLength": 14, "TemporaryPasswordValidityDays": 3 } },
        "DeletionProtection": "ACTIVE",
        "LambdaConfig": { "PreSignUp": "arn:aws:lambda:us-east-1:123456789012:function:check" },
        "AutoVerifiedAttributes": ["email"],
        "SmsVerificationMessage": "sms {####}",
        "EmailVerificationMessage": "mail {####}",
        "EmailVerificationSubject": "subject",
        "VerificationMessageTemplate": { "DefaultEmailOption": "CONFIRM_WITH_LINK" },
        "SmsAuthenticationMessage": "auth {####}",
        "UserAttributeUpdateSettings": { "AttributesRequireVerificationBeforeUpdate": ["email"] },
        "MfaConfiguration": "OPTIONAL",
        "DeviceConfiguration": { "ChallengeRequiredOnNewDevice": true },
        "EmailConfiguration": { "EmailSendingAccount": "DEVELOPER" },
        "SmsConfiguration": { "SnsCallerArn": "arn:aws:iam::123456789012:role/Sms" },
        "UserPoolTags": { "team": "shop" },
        "AdminCreateUserConfig": { "AllowAdminCreateUserOnly": true, "UnusedAccountValidityDays": 3 },
        "UserPoolAddOns": { "AdvancedSecurityMode": "AUDIT" },
        "AccountRecoverySetting": { "RecoveryMechanisms": [{ "Priority": 1, "Name": "verified_email" }] },
        "UserPoolTier": "PLUS",
    });
    let script = || Script::new().json(DESCRIBE, 200, json!({ "UserPool": settings.clone() }));
    let mut bench = unprotecting();
    pending_for(bench.step(&script()).await, 0);
    let flips = script().json(OFF, 200, json!({})).json(DELETE, 200, json!({}));
    assert_eq!(bench.step(&flips).await, Ok(Step::DELETED));
    let flip = &flips.seen()[1];
    let sent: Value = serde_json::from_str(&flip[flip.find('{').unwrap()..]).unwrap();
    for (name, value) in settings.as_object().unwrap() {
        match name.as_str() {
            "DeletionProtection" => assert_eq!(sent[name], "INACTIVE"),
            "Name" => assert_eq!(sent["PoolName"], *value),
            // AWS refuses a number of days beside the password policy's; 0 is none.
            "AdminCreateUserConfig" => {
                assert_eq!(sent[name], json!({ "AllowAdminCreateUserOnly": true, "UnusedAccountValidityDays": 0 }));
            }
            "Policies" => {
                let policy = &sent[name]["PasswordPolicy"];
                assert_eq!((&policy["MinimumLength"], &policy["TemporaryPasswordValidityDays"]), (&json!(14), &json!(3)));
            }
            "DeviceConfiguration" => assert_eq!(sent[name]["ChallengeRequiredOnNewDevice"], true),
            _ => assert_eq!(sent[name], *value, "{name}"),
        }
    }
}

#[tokio::test]
async fn protection_is_on_again_after_a_final_failure() {
    let mut bench = unprotecting();
    pending_for(bench.step(&Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await, 0);
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE"))
        .json(OFF, 200, json!({}))
        .json_error(DELETE, "NotAuthorizedException", "no")
        .json(DESCRIBE, 200, described("INACTIVE"))
        .json(ON, 200, json!({}));
    let error = bench.step(&script).await.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Denied, "no (deletion protection is on again)"));
    script.assert_done();
}

/// Not for an error that passes, and never one that was off before.
#[tokio::test]
async fn protection_stays_off_while_the_delete_may_still_succeed() {
    let mut bench = unprotecting();
    pending_for(bench.step(&Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await, 0);
    let passing = Script::new().json(DESCRIBE, 200, described("ACTIVE")).json(OFF, 200, json!({})).json_error(
        DELETE,
        "TooManyRequestsException",
        "slow",
    );
    pending_for(bench.step(&passing).await, 2);
    bench.pass(60);
    let over = Script::new().json(DESCRIBE, 200, described("INACTIVE")).json_error(DELETE, "TooManyRequestsException", "slow");
    assert_eq!(bench.step(&over).await.unwrap_err().class, ErrorClass::Terminal);
    over.assert_done();

    let was_off = Script::new().json(DESCRIBE, 200, described("INACTIVE")).json_error(DELETE, "NotAuthorizedException", "no");
    assert_eq!(unprotecting().step(&was_off).await.unwrap_err().message, "no");
    was_off.assert_done();
}

/// Sent alone, the flip would reset all settings of a pool that may stay.
#[tokio::test]
async fn a_pool_that_cannot_be_described_is_not_updated() {
    let script = Script::new().json_error(DESCRIBE, "AccessDeniedException", "no").json_error(DELETE, INVALID, PROTECTED);
    let error = unprotecting().step(&script).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Protected);
    script.assert_done();
}

#[tokio::test]
async fn a_flip_that_fails_is_tried_again_or_left_to_the_delete() {
    let protected = || Script::new().json(DESCRIBE, 200, described("ACTIVE"));
    let mut bench = unprotecting();
    pending_for(bench.step(&protected()).await, 0);
    let busy = protected().json_error(OFF, "ConcurrentModificationException", "busy");
    pending_for(bench.step(&busy).await, 1);
    let refused = protected()
        .json_error(OFF, INVALID, "SMS configuration is required")
        .json_error(DELETE, INVALID, PROTECTED)
        .json(DESCRIBE, 200, described("ACTIVE"));
    assert_eq!(bench.step(&refused).await.unwrap_err().class, ErrorClass::Protected);
    refused.assert_done();
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    for (code, wait, give_up) in
        [("TooManyRequestsException", 2, 60), ("InternalErrorException", 3, 60), ("UserImportInProgressException", 30, 600)]
    {
        assert_passes(pool(), || Script::new().json_error(DELETE, code, "not now"), wait, give_up).await;
    }
    let bad = Script::new().json_error(DELETE, INVALID, "1 validation error detected");
    assert_eq!(pool().step(&bad).await.unwrap_err().class, ErrorClass::Terminal, "validation is not absence");
}

fn with_domains() -> Value {
    json!({ "UserPool": { "Id": POOL, "Domain": "shop", "CustomDomain": "login.example.com" } })
}

fn held() -> Script {
    Script::new().json_error(DELETE, INVALID, DOMAIN)
}

#[tokio::test]
async fn a_domain_stays_without_consent_and_is_named() {
    let script = || held().json(DESCRIBE, 200, with_domains());
    assert_passes(pool(), script, 5, 120).await;
    let mut bench = pool();
    let Ok(Step::Pending { note, .. }) = bench.step(&script()).await else { panic!() };
    assert_eq!(note, "InvalidParameterException: held by the domain shop, the domain login.example.com");
    assert_passes(pool(), || held().json_error(DESCRIBE, "AccessDeniedException", "no"), 5, 120).await;
    // One that the plan just deleted still shows for a moment.
    assert_passes(emptying(), || held().json(DESCRIBE, 200, described("INACTIVE")), 5, 120).await;
}

#[tokio::test]
async fn with_consent_the_domains_go_first_and_the_pool_waits_for_them() {
    let asks = held()
        .json(DESCRIBE, 200, with_domains())
        .json(&[".DeleteUserPoolDomain ", "\"Domain\":\"shop\""], 200, json!({}))
        .json_error(&[".DeleteUserPoolDomain ", "\"Domain\":\"login.example.com\""], GONE, "no");
    let mut bench = emptying();
    pending_for(bench.step(&asks).await, 5);
    asks.assert_done();
    bench.pass(600);
    pending_for(bench.step(&held()).await, 15);
    let mut late = emptying();
    late.memo.clone_from(&bench.memo);
    assert_eq!(bench.step(&Script::new().json(DELETE, 200, json!({}))).await, Ok(Step::DELETED));

    late.pass(1200);
    let script = held().json(DESCRIBE, 200, with_domains());
    pending_for(late.step(&script).await, 5);
    script.assert_done();
}

#[tokio::test]
async fn a_domain_that_does_not_go_puts_the_protection_back() {
    let mut bench = unprotecting();
    bench.run.options.delete_data = true;
    pending_for(bench.step(&Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await, 0);
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE"))
        .json(OFF, 200, json!({}))
        .json_error(DELETE, INVALID, DOMAIN)
        .json(DESCRIBE, 200, json!({ "UserPool": { "Domain": "shop", "DeletionProtection": "INACTIVE" } }))
        .json_error(&[".DeleteUserPoolDomain "], "NotAuthorizedException", "no")
        .json(DESCRIBE, 200, described("INACTIVE"))
        .json(ON, 200, json!({}));
    assert_eq!(bench.step(&script).await.unwrap_err().message, "no (deletion protection is on again)");
    script.assert_done();
}

#[tokio::test]
async fn what_the_step_remembers_of_the_protection_survives_the_domain() {
    let mut bench = unprotecting();
    bench.run.options.delete_data = true;
    pending_for(bench.step(&Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await, 0);
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE"))
        .json(OFF, 200, json!({}))
        .json_error(DELETE, INVALID, DOMAIN)
        .json(DESCRIBE, 200, with_domains())
        .json(&[".DeleteUserPoolDomain "], 200, json!({}))
        .json(&[".DeleteUserPoolDomain "], 200, json!({}));
    pending_for(bench.step(&script).await, 5);
    let fails = Script::new()
        .json(DESCRIBE, 200, described("INACTIVE"))
        .json_error(DELETE, "NotAuthorizedException", "no")
        .json(DESCRIBE, 200, described("INACTIVE"))
        .json(ON, 200, json!({}));
    assert_eq!(bench.step(&fails).await.unwrap_err().message, "no (deletion protection is on again)");
    fails.assert_done();
}

#[tokio::test]
async fn the_look_refuses_what_the_step_would() {
    let refuses = Look::Refuses { code: Code::Protected, reason: crate::protection::refusal().into() };
    assert_eq!(pool().look(&Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await, Ok(refuses));
    assert_eq!(pool().look(&Script::new().json(DESCRIBE, 200, described("INACTIVE"))).await, Ok(Look::Clear));
    assert_eq!(pool().look(&Script::new().json_error(DESCRIBE, GONE, "no")).await, Ok(Look::Clear));
    assert_eq!(unprotecting().look(&Script::new()).await, Ok(Look::Clear));
}

#[tokio::test]
async fn a_shut_fence_or_an_odd_id_changes_nothing() {
    assert_fenced(pool(), Script::new()).await;
    let mut bench = unprotecting();
    pending_for(bench.step(&Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await, 0);
    assert_fenced(bench, Script::new().json(DESCRIBE, 200, described("ACTIVE"))).await;
    assert_not_addressed(Bench::new("AWS::Cognito::UserPool", "", json!({})), Code::MalformedPhysicalId).await;
    assert_not_addressed(Bench::new("AWS::Cognito::UserPool", "***", json!({})), Code::MaskedAddress).await;
}
