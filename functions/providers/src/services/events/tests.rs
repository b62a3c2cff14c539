use ebb_core::{Code, Step};
use serde_json::{Value, json};

use super::{Address, address};
use crate::testing::{Bench, Script};

const RULE: &str = "AWS::Events::Rule";
const BUS: &str = "AWS::Events::EventBus";
const ARN: &str = "arn:aws:events:us-east-1:123456789012:rule/shop/nightly";

fn targets(ids: &[&str], next: Option<&str>) -> Value {
    let targets: Vec<Value> =
        ids.iter().map(|id| json!({ "Id": id, "Arn": "arn:aws:lambda:us-east-1:123456789012:function:f" })).collect();
    json!({ "Targets": targets, "NextToken": next })
}

async fn answer(resource_type: &str, id: &str, script: &Script) -> Result<Step, String> {
    Bench::new(resource_type, id, json!({})).step(script).await.map_err(|e| e.code)
}

// The bus stands in the ARN. Called without it, a rule of a custom bus is looked for on the default bus and left behind.
#[test]
fn a_rule_is_found_on_its_bus() {
    let addresses: &[(&str, Value, Option<Address<'_>>)] = &[
        (ARN, json!({}), Some(Address { rule: "nightly", bus: Some("shop") })),
        ("arn:aws:events:us-east-1:1:rule/nightly", json!({}), Some(Address { rule: "nightly", bus: None })),
        (
            "arn:aws:events:us-east-1:1:rule/aws.partner/x.com/a/nightly",
            json!({}),
            Some(Address { rule: "nightly", bus: Some("aws.partner/x.com/a") }),
        ),
        ("shop|nightly", json!({}), Some(Address { rule: "nightly", bus: Some("shop") })),
        ("nightly", json!({ "EventBusName": "shop" }), Some(Address { rule: "nightly", bus: Some("shop") })),
        (
            "nightly",
            json!({ "EventBusName": "arn:aws:events:us-east-1:1:event-bus/shop" }),
            Some(Address { rule: "nightly", bus: Some("shop") }),
        ),
        ("nightly", json!({ "EventBusName": "default" }), Some(Address { rule: "nightly", bus: None })),
        ("nightly", json!({}), Some(Address { rule: "nightly", bus: None })),
        ("nightly", json!({ "EventBusName": "***" }), None),
        ("arn:aws:events:us-east-1:1:event-bus/shop", json!({}), None),
        ("shop|", json!({}), None),
    ];
    for (id, properties, expected) in addresses {
        let bench = Bench::new(RULE, id, properties.clone());
        assert_eq!(address(&bench.resource).ok(), *expected, "{id}");
    }
}

#[tokio::test]
async fn a_rule_goes_after_all_its_targets() {
    let first: Vec<String> = (0..100).map(|n| format!("t{n:03}")).collect();
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let bus = "\"EventBusName\":\"shop\"";
    let script = Script::new()
        .json(&["ListTargetsByRule", "\"Rule\":\"nightly\"", bus], 200, targets(&first, Some("more")))
        .json(&["ListTargetsByRule", "\"NextToken\":\"more\""], 200, targets(&["last"], None))
        .json(&["RemoveTargets", bus, "t000", "t099"], 200, json!({ "FailedEntryCount": 0, "FailedEntries": [] }))
        .json(&["RemoveTargets", bus, "[\"last\"]"], 200, json!({ "FailedEntryCount": 0, "FailedEntries": [] }))
        .json(&["DeleteRule", bus, "\"Name\":\"nightly\""], 200, json!({}));
    assert_eq!(answer(RULE, ARN, &script).await, Ok(Step::DELETED));
    script.assert_done();
    assert!(!script.seen()[2].contains("\"last\""));
}

// DeleteRule succeeds for a rule that is not there: the listing tells.
#[tokio::test]
async fn a_rule_that_is_not_there_is_gone_without_a_delete() {
    let script = Script::new().json_error(&["ListTargetsByRule"], "ResourceNotFoundException", "no");
    assert_eq!(answer(RULE, ARN, &script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

#[tokio::test]
async fn a_target_that_stays_keeps_the_rule() {
    let failed = |code: &str| json!({ "FailedEntryCount": 1, "FailedEntries": [{ "TargetId": "a", "ErrorCode": code, "ErrorMessage": "why" }] });
    for code in ["ConcurrentModificationException", "InternalException"] {
        let script =
            Script::new().json(&["ListTargetsByRule"], 200, targets(&["a"], None)).json(&["RemoveTargets"], 200, failed(code));
        assert!(matches!(answer(RULE, ARN, &script).await, Ok(Step::Pending { .. })), "{code}");
        script.assert_done();
    }
    let script =
        Script::new().json(&["ListTargetsByRule"], 200, targets(&["a"], None)).json(&["RemoveTargets"], 200, failed("Odd"));
    assert_eq!(answer(RULE, ARN, &script).await, Err("Odd".into()));
    let script = Script::new()
        .json(&["ListTargetsByRule"], 200, targets(&["a"], None))
        .json(&["RemoveTargets"], 200, failed("ResourceNotFoundException"))
        .json(&["DeleteRule"], 200, json!({}));
    assert_eq!(answer(RULE, ARN, &script).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn passing_errors_of_a_rule_pass_and_managed_ones_are_final() {
    for (code, text) in [
        ("ConcurrentModificationException", ""),
        ("InternalException", ""),
        ("ValidationException", "Rule can't be deleted since it has targets."),
    ] {
        let script = Script::new().json(&["ListTargetsByRule"], 200, targets(&[], None)).json_error(&["DeleteRule"], code, text);
        assert!(matches!(answer(RULE, ARN, &script).await, Ok(Step::Pending { .. })), "{code}");
    }
    let script = Script::new().json(&["ListTargetsByRule"], 200, targets(&[], None)).json_error(
        &["DeleteRule"],
        "ManagedRuleException",
        "managed by x",
    );
    assert_eq!(answer(RULE, ARN, &script).await, Err("ManagedRuleException".into()));
}

#[tokio::test]
async fn a_shut_fence_or_another_region_changes_nothing() {
    let script = Script::new().json(&["ListTargetsByRule"], 200, targets(&["a"], None));
    let mut bench = Bench::new(RULE, ARN, json!({}));
    bench.fence(false);
    assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FenceShut.name()));
    script.assert_done();
    assert_eq!(answer(RULE, &ARN.replace("us-east-1", "eu-west-1"), &Script::new()).await, Err(Code::WrongRegion.name()));
}

fn rule(name: &str, bus: &str) -> Value {
    json!({ "Name": name, "EventBusName": bus })
}

#[tokio::test]
async fn a_bus_goes_after_its_own_rules_and_touches_no_others() {
    let script = Script::new()
        .json(
            &["ListRules", "\"EventBusName\":\"shop\""],
            200,
            json!({ "Rules": [rule("a", "shop"), rule("neighbour", "default")], "NextToken": "n" }),
        )
        .json(
            &["ListRules", "\"NextToken\":\"n\""],
            200,
            json!({ "Rules": [rule("foreign", "shop-2"), json!({ "Name": "of-no-bus" }), rule("b", "shop")] }),
        )
        .json(&["ListTargetsByRule", "\"Rule\":\"a\""], 200, targets(&["t"], None))
        .json(&["RemoveTargets", "\"Rule\":\"a\"", "shop"], 200, json!({}))
        .json(&["DeleteRule", "\"Name\":\"a\"", "shop"], 200, json!({}))
        .json_error(&["ListTargetsByRule", "\"Rule\":\"b\""], "ResourceNotFoundException", "gone meanwhile")
        .json(&["DeleteEventBus", "\"Name\":\"shop\""], 200, json!({}));
    assert_eq!(answer(BUS, "arn:aws:events:us-east-1:123456789012:event-bus/shop", &script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_managed_rule_stops_the_bus_before_anything_is_touched() {
    let managed = json!({ "Name": "Schemas-1", "EventBusName": "shop", "ManagedBy": "schemas.amazonaws.com" });
    let script = Script::new().json(&["ListRules"], 200, json!({ "Rules": [rule("a", "shop"), managed] }));
    let error = Bench::new(BUS, "shop", json!({})).step(&script).await.err();
    let error = error.as_ref().map(|e| (e.code.as_str(), e.message.as_str()));
    assert_eq!(error, Some(("Guarded", "the rule Schemas-1 on the bus is managed by schemas.amazonaws.com: remove it there")));
    script.assert_done();
}

#[tokio::test]
async fn a_bus_that_is_not_there_is_gone_and_the_default_one_stays() {
    let script = Script::new().json_error(&["ListRules"], "ResourceNotFoundException", "no");
    assert_eq!(answer(BUS, "shop", &script).await, Ok(Step::ALREADY_GONE));
    assert_eq!(answer(BUS, "default", &Script::new()).await, Err(Code::Guarded.name()));
}

#[tokio::test]
async fn passing_errors_of_a_bus_pass() {
    for (code, text) in
        [("ConcurrentModificationException", ""), ("InternalException", ""), ("ValidationException", "bus has rules")]
    {
        let script = Script::new().json(&["ListRules"], 200, json!({ "Rules": [] })).json_error(&["DeleteEventBus"], code, text);
        assert!(matches!(answer(BUS, "shop", &script).await, Ok(Step::Pending { .. })), "{code}");
    }
}

#[tokio::test]
async fn many_rules_take_many_steps() {
    let script = Script::new()
        .json(&["ListRules"], 200, json!({ "Rules": [rule("a", "shop"), rule("b", "shop")] }))
        .json(&["ListTargetsByRule"], 200, targets(&[], None))
        .json(&["DeleteRule", "\"a\""], 200, json!({}))
        .json(&["ListRules"], 200, json!({ "Rules": [rule("b", "shop")] }))
        .json(&["ListTargetsByRule"], 200, targets(&[], None))
        .json(&["DeleteRule", "\"b\""], 200, json!({}));
    let mut bench = Bench::new(BUS, "shop", json!({}));
    bench.soft_budget = 0;
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    script.assert_done();
}
