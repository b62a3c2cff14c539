//! What is checked before a handler is asked.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use super::bench::{FUNCTION, GET, custom, pending, ready, returns, skipped, with_function};
use crate::testing::Script;

/// no properties · ServiceToken absent or empty · masked · any masked leaf: skipped, and the handler is not invoked.
#[tokio::test]
async fn what_cannot_be_asked_is_skipped_without_a_call() {
    for (properties, code, reason) in [
        (json!({}), Code::NoProperties, "no properties in state — Delete handler not invoked"),
        (json!({ "A": 1 }), Code::NoServiceToken, "no ServiceToken in state — Delete handler not invoked"),
        (json!({ "ServiceToken": "" }), Code::NoServiceToken, "no ServiceToken in state — Delete handler not invoked"),
        (json!({ "ServiceToken": null }), Code::NoServiceToken, "no ServiceToken in state — Delete handler not invoked"),
        (json!({ "ServiceToken": "***" }), Code::MaskedAddress, ""),
        (json!({ "ServiceToken": "{{resolve:ssm:token}}" }), Code::MaskedAddress, ""),
        (json!({ "ServiceToken": FUNCTION, "Password": "***" }), Code::MaskedAddress, ""),
        (json!({ "ServiceToken": FUNCTION, "Deep": { "List": [1, { "Secret": "***" }] } }), Code::MaskedAddress, ""),
        (json!({ "ServiceToken": FUNCTION, "Secret": "{{resolve:secretsmanager:x}}" }), Code::MaskedAddress, ""),
    ] {
        let mut custom = custom(properties.clone());
        let (got, text) = skipped(custom.poll().await);
        assert_eq!(got, code, "{properties}");
        assert!(text.starts_with(reason) && text.ends_with("not invoked") | text.ends_with("never sent to AWS"), "{text}");
        assert!(custom.bucket.memory.snapshot().is_empty(), "no response object either");
    }
}

/// ServiceToken not a string: FAILED.
#[tokio::test]
async fn a_token_that_is_no_text_or_names_no_region_fails() {
    for token in [
        json!(7),
        json!(false),
        json!({ "Ref": "F" }),
        json!("arn:aws:lambda:evil.example/x:1:function:f"),
        json!("arn:aws:sns::1:t"),
    ] {
        let error = custom(json!({ "ServiceToken": token })).poll().await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::BadServiceToken.name()), "{token}");
    }
}

/// GetFunction answers ResourceNotFoundException: deleted, with a warning.
#[tokio::test]
async fn a_missing_handler_ends_the_row() {
    let script = Script::new().json_error(GET, "ResourceNotFoundException", "Function not found");
    let mut custom = with_function();
    assert_eq!(custom.step(&script).await, Ok(Step::ALREADY_GONE));
    assert!(custom.bucket.memory.snapshot().is_empty());
}

/// GetFunction fails otherwise: inconclusive, go on and invoke.
#[tokio::test]
async fn a_look_that_is_denied_does_not_keep_from_asking() {
    let script =
        Script::new().json_error(GET, "AccessDeniedException", "no").on(super::bench::INVOKE, 200, r#"{"Status":"SUCCESS"}"#);
    assert_eq!(with_function().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// The token's own region is called, whatever the stack's is.
#[tokio::test]
async fn a_handler_elsewhere_is_asked_there() {
    let token = "arn:aws:lambda:eu-west-1:123456789012:function:handler";
    let script = Script::new()
        .json(&["GET https://lambda.eu-west-1."], 200, json!({ "Configuration": { "State": "Active" } }))
        .on(&["POST https://lambda.eu-west-1.", "/invocations"], 200, r#"{"Status":"SUCCESS"}"#);
    assert_eq!(custom(json!({ "ServiceToken": token })).step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// Active, then no update in progress; soft: after ten minutes it is asked all the same.
#[tokio::test]
async fn a_function_that_is_not_ready_is_waited_for() {
    for configuration in [json!({ "State": "Pending" }), json!({ "State": "Active", "LastUpdateStatus": "InProgress" })] {
        let busy = || Script::new().json(GET, 200, json!({ "Configuration": configuration }));
        let mut custom = with_function();
        assert_eq!(pending(custom.step(&busy()).await).as_secs(), 3);
        custom.bench.pass(300);
        assert_eq!(pending(custom.step(&busy()).await).as_secs(), 3);
        assert!(custom.bucket.memory.snapshot().is_empty(), "nothing is delivered meanwhile");
        custom.bench.pass(300);
        let script = busy().on(super::bench::INVOKE, 200, r#"{"Status":"SUCCESS"}"#);
        assert_eq!(custom.step(&script).await, Ok(Step::DELETED));
    }
}

/// Over 6 MB: FAILED without invoking.
#[tokio::test]
async fn a_request_that_is_too_large_fails_before_it_is_sent() {
    let mut large = custom(json!({ "ServiceToken": FUNCTION, "Blob": "x".repeat(6 * 1024 * 1024) }));
    let error = large.step(&ready()).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "RequestTooLarge"));
    assert!(large.bucket.memory.snapshot().is_empty());

    let topic = "arn:aws:sns:us-east-1:123456789012:topic";
    let mut message = custom(json!({ "ServiceToken": topic, "Blob": "x".repeat(256 * 1024) }));
    assert_eq!(message.poll().await.unwrap_err().code, "RequestTooLarge");
}

/// An invocation may last 45 s: it is only started in a step that has its time before it.
#[tokio::test]
async fn a_step_that_has_used_its_time_leaves_the_asking_to_the_next() {
    let mut custom = with_function();
    custom.bench.soft_budget = 0;
    assert_eq!(pending(custom.step(&ready()).await).as_secs(), 0);
    assert!(custom.bucket.memory.snapshot().is_empty());
    custom.bench.soft_budget = 10_000;
    assert_eq!(custom.step(&returns(r#"{"Status":"SUCCESS"}"#)).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_marked_and_nothing_asked() {
    let mut custom = with_function();
    custom.bench.fence(false);
    let script = ready();
    assert_eq!(custom.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    script.assert_done();
    assert!(custom.bucket.memory.snapshot().is_empty());
}

/// The event has the members that CloudFormation's has; numbers are texts; the URL is signed for one hour.
#[tokio::test]
async fn the_request_is_cloudformations_delete_event() {
    let script = returns(r#"{"Status":"SUCCESS"}"#);
    let mut custom = with_function();
    custom.step(&script).await.unwrap();
    let seen = script.seen();
    let body: Value = serde_json::from_str(&seen[1][seen[1].find('{').unwrap()..]).unwrap();
    let key = custom.key(0);
    let id = key.strip_prefix("custom-resource-responses/").unwrap().strip_suffix(".json").unwrap();
    let expected = json!({
        "RequestType": "Delete", "RequestId": id, "ResponseURL": format!("https://state.memory.invalid/{key}?X-Amz-Expires=3600"),
        "ResourceType": "Custom::Thing", "LogicalResourceId": "Logical", "PhysicalResourceId": "thing-1|with|bars",
        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/cdkd-Logical/cdkd",
        "ResourceProperties": { "ServiceToken": FUNCTION, "Size": "3" }
    });
    assert_eq!(body, expected);
}
