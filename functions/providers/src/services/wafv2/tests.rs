use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const ARN: &str = "arn:aws:wafv2:us-east-1:123456789012:regional/webacl/shop/0f1e";
const GLOBAL: &str = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/shop/0f1e";
const GET: &[&str] = &["GetWebACL", "\"Name\":\"shop\"", "\"Id\":\"0f1e\"", "\"Scope\":\"REGIONAL\""];
const DELETE: &[&str] = &["DeleteWebACL", "\"Id\":\"0f1e\"", "\"Scope\":\"REGIONAL\"", "\"LockToken\":\"t1\""];

fn acl() -> Bench {
    Bench::new("AWS::WAFv2::WebACL", ARN, json!({}))
}

fn read(arn: &str) -> Value {
    json!({ "LockToken": "t1", "WebACL": { "ARN": arn, "Name": "shop", "Id": "0f1e" } })
}

fn refused(code: &str) -> Script {
    Script::new().json(GET, 200, read(ARN)).json_error(DELETE, code, "no")
}

#[tokio::test]
async fn it_goes_with_the_lock_token_just_read() {
    for id in [ARN, "shop|0f1e|REGIONAL"] {
        let script = Script::new().json(GET, 200, read(ARN)).json(DELETE, 200, json!({}));
        assert_eq!(Bench::new("AWS::WAFv2::WebACL", id, json!({})).step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
}

/// Scope CLOUDFRONT exists in us-east-1 alone, whatever the stack's region is.
#[tokio::test]
async fn one_of_cloudfront_is_called_in_us_east_1() {
    for id in [GLOBAL, "shop|0f1e|CLOUDFRONT"] {
        let script = Script::in_region("eu-west-1")
            .json(&["wafv2.us-east-1.", "GetWebACL", "\"Scope\":\"CLOUDFRONT\""], 200, read(GLOBAL))
            .json(&["wafv2.us-east-1.", "DeleteWebACL", "\"Scope\":\"CLOUDFRONT\"", "\"LockToken\":\"t1\""], 200, json!({}));
        let mut bench = Bench::new("AWS::WAFv2::WebACL", id, json!({}));
        bench.resource.region = "eu-west-1".into();
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    let gone = "WAFNonexistentItemException";
    assert_eq!(acl().step(&Script::new().json_error(GET, gone, "no")).await, Ok(Step::ALREADY_GONE));
    assert_eq!(acl().step(&refused(gone)).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    for (code, wait, give_up) in [
        ("WAFOptimisticLockException", 1, 60),
        ("WAFUnavailableEntityException", 5, 120),
        ("WAFInternalErrorException", 3, 60),
        ("WAFTagOperationException", 3, 60),
    ] {
        assert_passes(acl(), || refused(code), wait, give_up).await;
    }
    for code in ["WAFInvalidOperationException", "WAFInvalidParameterException"] {
        let error = acl().step(&refused(code)).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, code));
    }
    let script = Script::new().json(GET, 200, json!({ "WebACL": {} }));
    assert!(acl().step(&script).await.unwrap_err().message.contains("without a lock token"));
}

/// WAF lists by kind of resource; the default is load balancers alone.
#[tokio::test]
async fn what_it_is_associated_with_is_named() {
    let kinds = aws_sdk_wafv2::types::ResourceType::values();
    let script = || {
        kinds.iter().fold(refused("WAFAssociatedItemException"), |script, kind| {
            let wants = ["ListResourcesForWebACL", ARN, &format!("\"ResourceType\":\"{kind}\"")];
            match *kind {
                "API_GATEWAY" => {
                    script.json(&wants, 200, json!({ "ResourceArns": ["arn:aws:apigateway:us-east-1::/restapis/a"] }))
                }
                "AMPLIFY" => script.json_error(&wants, "WAFInvalidParameterException", "not here"),
                _ => script.json(&wants, 200, json!({ "ResourceArns": [] })),
            }
        })
    };
    let Ok(Step::Pending { note, .. }) = acl().step(&script()).await else { panic!() };
    assert_eq!(note, "WAFAssociatedItemException: held by arn:aws:apigateway:us-east-1::/restapis/a");
    assert_passes(acl(), script, 10, 900).await;
}

#[tokio::test]
async fn the_distributions_that_use_it_are_named_and_no_others() {
    let summary =
        |id: &str, acl: &str| format!("<DistributionSummary><Id>{id}</Id><WebACLId>{acl}</WebACLId></DistributionSummary>");
    let items = [summary("E1", GLOBAL), summary("E2", "another")].concat();
    let script = Script::new()
        .json(&["GetWebACL"], 200, read(GLOBAL))
        .json_error(&["DeleteWebACL"], "WAFAssociatedItemException", "in use")
        .on(&["GET", "/distributionsByWebACLId/"], 200, format!("<DistributionList><Items>{items}</Items></DistributionList>"));
    let Ok(Step::Pending { note, .. }) = Bench::new("AWS::WAFv2::WebACL", GLOBAL, json!({})).step(&script).await else {
        panic!()
    };
    assert_eq!(note, "WAFAssociatedItemException: held by E1 (distribution)");
}

#[tokio::test]
async fn a_shut_fence_another_region_or_a_malformed_id_changes_nothing() {
    assert_fenced(acl(), Script::new().json(GET, 200, read(ARN))).await;
    let elsewhere = ARN.replace("us-east-1", "eu-west-1");
    for (id, code) in [
        (elsewhere.as_str(), Code::WrongRegion),
        ("shop", Code::MalformedPhysicalId),
        ("shop|0f1e", Code::MalformedPhysicalId),
        ("shop|0f1e|EVERYWHERE", Code::MalformedPhysicalId),
        ("shop||REGIONAL", Code::MalformedPhysicalId),
        ("arn:aws:wafv2:us-east-1:123456789012:regional/rulegroup/shop/0f1e", Code::MalformedPhysicalId),
        ("arn:aws:wafv2:us-east-1:123456789012:regional/webacl/shop/", Code::MalformedPhysicalId),
        ("arn:aws:wafv2:us-east-1:123456789012:regional/webacl/shop/***", Code::MaskedAddress),
    ] {
        assert_not_addressed(Bench::new("AWS::WAFv2::WebACL", id, json!({})), code).await;
    }
}
