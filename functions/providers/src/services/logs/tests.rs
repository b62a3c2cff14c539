use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

const GROUP: &str = "/aws/lambda/orders";
const PROTECTED: &str = "The log group cannot be deleted: deletion protection is enabled";
const DENIED: &str = "AccessDeniedException";

const DESCRIBE: &[&str] = &["DescribeLogGroups", "\"logGroupNamePrefix\":\"/aws/lambda/orders\""];
const DELETE: &[&str] = &["DeleteLogGroup", "\"logGroupName\":\"/aws/lambda/orders\""];
const OFF: &[&str] = &["PutLogGroupDeletionProtection", GROUP, "\"deletionProtectionEnabled\":false"];
const ON: &[&str] = &["PutLogGroupDeletionProtection", GROUP, "\"deletionProtectionEnabled\":true"];

fn group() -> Bench {
    Bench::new("AWS::Logs::LogGroup", GROUP, json!({}))
}

fn unprotecting() -> Bench {
    let mut bench = group();
    bench.run.options.remove_protection = true;
    bench
}

/// A neighbour with the same beginning is protected the other way round.
fn described(protected: bool) -> Value {
    json!({ "logGroups": [
        { "logGroupName": "/aws/lambda/orders-2", "deletionProtectionEnabled": !protected },
        { "logGroupName": GROUP, "deletionProtectionEnabled": protected },
    ] })
}

fn is_pending(step: &Result<Step, ebb_core::DeleteError>) -> bool {
    matches!(step, Ok(Step::Pending { .. }))
}

#[tokio::test]
async fn a_log_group_goes_by_name() {
    for id in [
        GROUP.to_owned(),
        format!("arn:aws:logs:us-east-1:123456789012:log-group:{GROUP}:*"),
        format!("arn:aws:logs:us-east-1:123456789012:log-group:{GROUP}"),
    ] {
        let script = Script::new().json(DELETE, 200, json!({}));
        assert_eq!(Bench::new("AWS::Logs::LogGroup", &id, json!({})).step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
}

#[tokio::test]
async fn what_is_not_there_is_gone_and_faults_pass() {
    let script = Script::new().json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(group().step(&script).await, Ok(Step::ALREADY_GONE));
    for code in ["OperationAbortedException", "ServiceUnavailableException", "ThrottlingException"] {
        let script = Script::new().json_error(DELETE, code, "").json_error(DELETE, code, "");
        let mut bench = group();
        assert!(is_pending(&bench.step(&script).await), "{code}");
        bench.pass(60);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(code.to_owned()));
    }
}

#[tokio::test]
async fn another_region_and_a_shut_fence_make_no_call() {
    let script = Script::new();
    let id = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/orders:*";
    let step = Bench::new("AWS::Logs::LogGroup", id, json!({})).step(&script).await;
    assert_eq!(step.map_err(|e| e.code), Err(Code::WrongRegion.name()));
    let mut bench = group();
    bench.fence(false);
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    assert_eq!(script.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_protected_group_stays_unless_asked() {
    for code in ["ValidationException", "InvalidParameterException"] {
        let script = Script::new().json_error(DELETE, code, PROTECTED);
        let error = group().step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
        assert!(error.message.contains("removeProtection"), "{}", error.message);
    }
    let script = Script::new().json_error(DELETE, "InvalidParameterException", "bad name");
    assert_eq!(group().step(&script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[tokio::test]
async fn a_look_names_the_protection_of_this_very_group() {
    let script = Script::new().json(DESCRIBE, 200, described(true)).json(DESCRIBE, 200, described(false)).json(
        DESCRIBE,
        200,
        json!({ "logGroups": [] }),
    );
    assert!(matches!(group().look(&script).await, Ok(Look::Refuses { code: Code::Protected, .. })));
    assert_eq!(group().look(&script).await, Ok(Look::Clear));
    assert_eq!(group().look(&script).await, Ok(Look::Clear));
    assert_eq!(unprotecting().look(&script).await, Ok(Look::Clear));
    script.assert_done();
}

// That it was on is remembered before it is switched off.
#[tokio::test]
async fn protection_is_remembered_switched_off_and_the_group_deleted() {
    let script = Script::new()
        .json(DESCRIBE, 200, described(true))
        .json(DESCRIBE, 200, described(true))
        .json(OFF, 200, json!({}))
        .json(DELETE, 200, json!({}));
    let mut bench = unprotecting();
    assert!(is_pending(&bench.step(&script).await));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_group_without_protection_is_not_flipped() {
    let script = Script::new().json(DESCRIBE, 200, described(false)).json(DELETE, 200, json!({}));
    assert_eq!(unprotecting().step(&script).await, Ok(Step::DELETED));
    let script = Script::new().json(DESCRIBE, 200, described(false)).json_error(DELETE, DENIED, "no");
    assert_eq!(unprotecting().step(&script).await.map_err(|e| e.message), Err("no".into()));
    script.assert_done();
}

#[tokio::test]
async fn a_delete_that_fails_for_good_puts_the_protection_back() {
    let script = Script::new()
        .json(DESCRIBE, 200, described(true))
        .json(DESCRIBE, 200, described(true))
        .json(OFF, 200, json!({}))
        .json_error(DELETE, DENIED, "no")
        .json(ON, 200, json!({}));
    let mut bench = unprotecting();
    assert!(is_pending(&bench.step(&script).await));
    assert_eq!(bench.step(&script).await.map_err(|e| e.message), Err("no (deletion protection is on again)".into()));
    script.assert_done();
}

#[tokio::test]
async fn a_flip_that_passes_is_tried_again_and_a_denied_one_is_left_to_the_delete() {
    let script = Script::new()
        .json(DESCRIBE, 200, described(true))
        .json(DESCRIBE, 200, described(true))
        .json_error(OFF, "ServiceUnavailableException", "")
        .json(DESCRIBE, 200, described(true))
        .json(OFF, 200, json!({}))
        .json(DELETE, 200, json!({}));
    let mut bench = unprotecting();
    for _ in 0..2 {
        assert!(is_pending(&bench.step(&script).await));
    }
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().json_error(DESCRIBE, DENIED, "no").json_error(OFF, DENIED, "no").json_error(
        DELETE,
        "ValidationException",
        PROTECTED,
    );
    assert_eq!(unprotecting().step(&script).await.map_err(|e| e.class), Err(ErrorClass::Protected));
    script.assert_done();
}

#[tokio::test]
async fn filters_go_by_group_and_name() {
    for (name, operation) in
        [("AWS::Logs::MetricFilter", "DeleteMetricFilter"), ("AWS::Logs::SubscriptionFilter", "DeleteSubscriptionFilter")]
    {
        for (id, properties) in [("/g|errors", json!({})), ("errors", json!({ "LogGroupName": "/g" }))] {
            let wants = &[operation, "\"logGroupName\":\"/g\"", "\"filterName\":\"errors\""];
            let script = Script::new()
                .json(wants, 200, json!({}))
                .json_error(wants, "ResourceNotFoundException", "no")
                .json_error(wants, "OperationAbortedException", "");
            let mut bench = Bench::new(name, id, properties);
            assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
            assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
            assert!(is_pending(&bench.step(&script).await));
            script.assert_done();
        }
        let skipped = [
            ("errors", json!({}), Code::MissingAddress),
            ("errors", json!({ "LogGroupName": "***" }), Code::MaskedAddress),
            ("/g|", json!({}), Code::MalformedPhysicalId),
        ];
        for (id, properties, code) in skipped {
            let step = Bench::new(name, id, properties).step(&Script::new()).await;
            assert!(matches!(step, Ok(Step::Skipped { code: c, .. }) if c == code), "{id}");
        }
    }
}
