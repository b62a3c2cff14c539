use ebb_core::{Code, DeleteError, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

const ARN: &str = "arn:aws:lambda:us-east-1:123456789012:function:orders";
const PATH: &str = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Aorders";
const NOT_FOUND: &str = "ResourceNotFoundException";

fn in_vpc() -> Value {
    json!({ "VpcConfig": { "SubnetIds": ["subnet-1"], "SecurityGroupIds": ["sg-1"] } })
}

#[track_caller]
fn skipped(answer: Result<Step, DeleteError>, code: Code) {
    assert!(matches!(&answer, Ok(Step::Skipped { code: c, .. }) if *c == code), "{answer:?}");
}

#[track_caller]
fn pending_for(answer: Result<Step, DeleteError>, seconds: u64) {
    assert!(matches!(&answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == seconds), "{answer:?}");
}

/// One step of a type against one call, which succeeds, and another, where nothing is there.
async fn goes_in_one_call(resource_type: &str, id: &str, properties: Value, wants: &[&str]) {
    let script = Script::new().on(wants, 204, "");
    let mut bench = Bench::new(resource_type, id, properties.clone());
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{resource_type}");
    script.assert_done();

    let script = Script::new().json_error(wants, NOT_FOUND, "not there");
    assert_eq!(Bench::new(resource_type, id, properties.clone()).step(&script).await, Ok(Step::ALREADY_GONE), "{resource_type}");

    let script = Script::new().json_error(wants, "ResourceConflictException", "an update is in progress");
    let answer = Bench::new(resource_type, id, properties).step(&script).await;
    assert!(matches!(answer, Ok(Step::Pending { .. })), "{resource_type}: {answer:?}");
}

#[tokio::test]
async fn a_function_goes_by_name_and_by_arn() {
    let f = "AWS::Lambda::Function";
    goes_in_one_call(f, "orders", json!({}), &["DELETE", "/2015-03-31/functions/orders"]).await;
    goes_in_one_call(f, ARN, json!({ "VpcConfig": { "SubnetIds": [] } }), &["DELETE", PATH]).await;
}

/// DeleteFunction with a qualifier deletes that version and leaves the function.
#[tokio::test]
async fn a_qualifier_in_a_functions_id_is_not_sent() {
    let script = Script::new().on(&["DELETE", PATH], 204, "");
    assert_eq!(Bench::new("AWS::Lambda::Function", &format!("{ARN}:live"), json!({})).step(&script).await, Ok(Step::DELETED));
    assert!(!script.seen()[0].contains("Qualifier") && !script.seen()[0].contains("live"), "{:?}", script.seen());
}

#[tokio::test]
async fn a_function_of_another_region_is_never_asked_for() {
    let script = Script::new();
    for (resource_type, id) in [
        ("AWS::Lambda::Function", "arn:aws:lambda:eu-west-1:123456789012:function:orders"),
        ("AWS::Lambda::Url", "arn:aws:lambda:eu-west-1:123456789012:function:orders"),
        ("AWS::Lambda::Permission", "arn:aws:lambda:eu-west-1:123456789012:function:orders|allow"),
        ("AWS::Lambda::LayerVersion", "arn:aws:lambda:eu-west-1:123456789012:layer:deps:3"),
    ] {
        let error = Bench::new(resource_type, id, json!({})).step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::WrongRegion.name()), "{resource_type}");
    }
    assert_eq!(script.seen(), Vec::<String>::new());
}

/// Out of the VPC, look until the update is through, delete: an earlier delete aborts the detach.
#[tokio::test]
async fn a_function_leaves_its_vpc_first() {
    let script = Script::new()
        .json(
            &["PUT", "/functions/orders/configuration", "\"SubnetIds\":[]", "\"SecurityGroupIds\":[]"],
            200,
            json!({ "LastUpdateStatus": "InProgress" }),
        )
        .json(&["GET", "/functions/orders"], 200, json!({ "Configuration": { "LastUpdateStatus": "InProgress" } }))
        .json(&["GET", "/functions/orders"], 200, json!({ "Configuration": { "LastUpdateStatus": "Successful" } }))
        .on(&["DELETE", "/functions/orders"], 204, "");
    let mut bench = Bench::new("AWS::Lambda::Function", "orders", in_vpc());
    pending_for(bench.step(&script).await, 2);
    bench.pass(10);
    pending_for(bench.step(&script).await, 10);
    bench.pass(10);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_detach_that_takes_ten_minutes_holds_nothing_up() {
    let script = Script::new().json(&["PUT", "/configuration"], 200, json!({ "LastUpdateStatus": "InProgress" })).on(
        &["DELETE", "/functions/orders"],
        204,
        "",
    );
    let mut bench = Bench::new("AWS::Lambda::Function", "orders", in_vpc());
    pending_for(bench.step(&script).await, 2);
    bench.pass(600);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_detach_that_is_refused_is_passed_over_and_a_missing_function_is_gone() {
    let script = Script::new().json_error(&["PUT", "/configuration"], "AccessDeniedException", "no").on(
        &["DELETE", "/functions/orders"],
        204,
        "",
    );
    assert_eq!(Bench::new("AWS::Lambda::Function", "orders", in_vpc()).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().json_error(&["PUT", "/configuration"], NOT_FOUND, "not there");
    assert_eq!(Bench::new("AWS::Lambda::Function", "orders", in_vpc()).step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

#[tokio::test]
async fn nothing_is_detached_behind_a_shut_fence() {
    let script = Script::new();
    let mut bench = Bench::new("AWS::Lambda::Function", "orders", in_vpc());
    bench.fence(false);
    assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    assert_eq!(script.seen(), Vec::<String>::new());
}

/// Replicas of Lambda@Edge go hours after the last distribution: look every half hour, give up after twelve.
#[tokio::test]
async fn a_replicated_function_waits_for_its_replicas() {
    let text = "Lambda was unable to delete orders because it is a replicated function. Please see our documentation";
    let replicated = || Script::new().json_error(&["DELETE"], "InvalidParameterValueException", text);
    for (resource_type, id) in [("AWS::Lambda::Function", "orders".to_owned()), ("AWS::Lambda::Version", format!("{ARN}:3"))] {
        let mut bench = Bench::new(resource_type, &id, json!({}));
        let what_to_do = "remove it from every distribution, wait, and tear down again";
        let answer = bench.step(&replicated()).await;
        assert!(matches!(&answer, Ok(Step::Pending { note, .. }) if note.ends_with(what_to_do)), "{answer:?}");
        pending_for(answer, 1800);
        bench.pass(11 * 3600);
        pending_for(bench.step(&replicated()).await, 1800);
        bench.pass(3600 - 1);
        pending_for(bench.step(&replicated()).await, 1800);
        bench.pass(1);
        let error = bench.step(&replicated()).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "InvalidParameterValueException"));
        assert!(error.message.starts_with(text) && error.message.ends_with(&format!("{what_to_do})")), "{}", error.message);
        // What the run says within that time is not cut short by the type's deadline.
        assert_eq!(ebb_core::catalogue::lookup(resource_type, false).deadline().as_secs(), 43_200);
    }
    let meanwhile = Script::new().json_error(&["DELETE"], NOT_FOUND, "not there");
    let mut bench = Bench::new("AWS::Lambda::Function", "orders", json!({}));
    pending_for(bench.step(&replicated()).await, 1800);
    assert_eq!(bench.step(&meanwhile).await, Ok(Step::ALREADY_GONE));
    let other = Script::new().json_error(&["DELETE"], "InvalidParameterValueException", "bad input");
    assert!(Bench::new("AWS::Lambda::Function", "orders", json!({})).step(&other).await.is_err());
}

#[tokio::test]
async fn a_permission_leaves_its_functions_policy() {
    let p = "AWS::Lambda::Permission";
    let call = |function: &str, statement: &str| format!("/2015-03-31/functions/{function}/policy/{statement}");
    let by_property = json!({ "FunctionName": "orders" });
    goes_in_one_call(p, "allow-1", by_property.clone(), &["DELETE", &call("orders", "allow-1")]).await;
    // The property stands over the id.
    goes_in_one_call(p, "other|allow-1", by_property, &[&call("orders", "allow-1")]).await;
    goes_in_one_call(p, &format!("{ARN}|allow-1"), json!({}), &[&call(&PATH[22..], "allow-1")]).await;
    // The property is masked or no text: the id's function.
    goes_in_one_call(p, &format!("{ARN}|a"), json!({ "FunctionName": "***" }), &[&call(&PATH[22..], "a")]).await;
    goes_in_one_call(p, &format!("{ARN}|a"), json!({ "FunctionName": { "Ref": "F" } }), &[&call(&PATH[22..], "a")]).await;
    // The policy of an alias is its own.
    goes_in_one_call(p, "a", json!({ "FunctionName": "orders:live" }), &[&call("orders", "a"), "Qualifier=live"]).await;
}

#[tokio::test]
async fn a_permission_that_cannot_be_addressed_is_skipped() {
    let script = Script::new();
    let step = async |id: &str, properties: Value| Bench::new("AWS::Lambda::Permission", id, properties).step(&script).await;
    skipped(step("allow", json!({})).await, Code::MissingAddress);
    skipped(step("allow", json!({ "FunctionName": "***" })).await, Code::MaskedAddress);
    skipped(step("orders|", json!({ "FunctionName": "orders" })).await, Code::MalformedPhysicalId);
    assert_eq!(script.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_url_is_its_qualifiers() {
    let u = "AWS::Lambda::Url";
    goes_in_one_call(u, "orders", json!({}), &["DELETE", "/2021-10-31/functions/orders/url"]).await;
    goes_in_one_call(u, &format!("{ARN}:live"), json!({}), &["/url?Qualifier=live"]).await;
    goes_in_one_call(u, ARN, json!({ "Qualifier": "blue" }), &["/url?Qualifier=blue"]).await;
    let script = Script::new();
    skipped(Bench::new(u, ARN, json!({ "Qualifier": "{{resolve:ssm:x}}" })).step(&script).await, Code::MaskedAddress);
}

#[tokio::test]
async fn an_invoke_configuration_is_its_qualifiers() {
    let c = "AWS::Lambda::EventInvokeConfig";
    goes_in_one_call(c, "orders|live", json!({}), &["DELETE", "/functions/orders/event-invoke-config?Qualifier=live"]).await;
    for id in ["orders|$LATEST", "orders", "orders|"] {
        let script = Script::new().on(&["DELETE", "/2019-09-25/functions/orders/event-invoke-config"], 204, "");
        assert_eq!(Bench::new(c, id, json!({})).step(&script).await, Ok(Step::DELETED));
        assert!(!script.seen()[0].contains("Qualifier"), "{id}: {:?}", script.seen());
    }
    skipped(Bench::new(c, "|live", json!({})).step(&Script::new()).await, Code::MalformedPhysicalId);
}

/// Without its version the call would delete the whole function.
#[tokio::test]
async fn a_version_never_goes_without_its_number() {
    goes_in_one_call("AWS::Lambda::Version", &format!("{ARN}:3"), json!({}), &["DELETE", PATH, "Qualifier=3"]).await;
    for id in [ARN.to_owned(), format!("{ARN}:$LATEST"), format!("{ARN}:live"), format!("{ARN}:"), "orders".into(), "3".into()] {
        skipped(Bench::new("AWS::Lambda::Version", &id, json!({})).step(&Script::new()).await, Code::MalformedPhysicalId);
    }
}

#[tokio::test]
async fn an_alias_goes_by_its_arn() {
    goes_in_one_call("AWS::Lambda::Alias", &format!("{ARN}:live"), json!({}), &["DELETE", PATH, "/aliases/live"]).await;
    skipped(Bench::new("AWS::Lambda::Alias", ARN, json!({})).step(&Script::new()).await, Code::MalformedPhysicalId);
}

#[tokio::test]
async fn a_layer_version_goes_by_name_and_number() {
    let id = "arn:aws:lambda:us-east-1:123456789012:layer:deps:3";
    goes_in_one_call("AWS::Lambda::LayerVersion", id, json!({}), &["DELETE", "/2018-10-31/layers/deps/versions/3"]).await;
    for id in [
        "deps:3",
        "arn:aws:lambda:us-east-1:123456789012:layer:deps",
        "arn:aws:lambda:us-east-1:123456789012:layer:deps:x",
        "arn:aws:lambda:us-east-1:123456789012:layer::3",
    ] {
        skipped(Bench::new("AWS::Lambda::LayerVersion", id, json!({})).step(&Script::new()).await, Code::MalformedPhysicalId);
    }
}

const MAPPING: &str = "/2015-03-31/event-source-mappings/6a1f";

fn mapping() -> Bench {
    Bench::new("AWS::Lambda::EventSourceMapping", "6a1f", json!({}))
}

#[tokio::test]
async fn a_mapping_is_watched_until_it_is_gone() {
    let script = Script::new()
        .json(&["GET", MAPPING], 200, json!({ "UUID": "6a1f", "State": "Enabled" }))
        .json(&["DELETE", MAPPING], 202, json!({ "State": "Deleting" }))
        .json(&["GET", MAPPING], 200, json!({ "State": "Deleting" }))
        .json_error(&["GET", MAPPING], NOT_FOUND, "not there");
    let mut bench = mapping();
    pending_for(bench.step(&script).await, 1);
    pending_for(bench.step(&script).await, 5);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_mapping_that_is_not_there_is_gone_and_one_in_use_is_tried_again() {
    let script = Script::new().json_error(&["GET", MAPPING], NOT_FOUND, "not there");
    assert_eq!(mapping().step(&script).await, Ok(Step::ALREADY_GONE));

    let in_use = || {
        Script::new().json(&["GET", MAPPING], 200, json!({ "State": "Creating" })).json_error(
            &["DELETE", MAPPING],
            "ResourceInUseException",
            "Cannot delete the event source mapping because it is in use.",
        )
    };
    let mut bench = mapping();
    pending_for(bench.step(&in_use()).await, 5);
    bench.pass(121);
    assert_eq!(bench.step(&in_use()).await.unwrap_err().code, "ResourceInUseException");
}

#[tokio::test]
async fn a_mapping_whose_delete_was_accepted_is_not_watched_for_ever() {
    let deleting = || Script::new().json(&["GET", MAPPING], 200, json!({ "State": "Deleting" }));
    let mut bench = mapping();
    pending_for(bench.step(&deleting()).await, 1);
    bench.pass(300);
    assert_eq!(bench.step(&deleting()).await, Ok(Step::DELETED));
}
