use ebb_core::{Code, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const NOT_FOUND: &str = "NotFoundException";
const ROLE: &str = "arn:aws:iam::123456789012:role/ApiLogs";

/// A type, the forms of its id with the properties that go with them, and the one call that takes it.
struct Goes {
    resource_type: &'static str,
    ids: Vec<(&'static str, Value)>,
    call: &'static str,
}

fn table() -> Vec<Goes> {
    let api = || json!({ "RestApiId": "api1" });
    vec![
        Goes {
            resource_type: "AWS::ApiGateway::Authorizer",
            ids: vec![("au1", api()), ("api1|au1", json!({})), ("api1|au1", api()), ("api1|au1", json!({ "RestApiId": "***" }))],
            call: "/restapis/api1/authorizers/au1",
        },
        Goes {
            resource_type: "AWS::ApiGateway::Deployment",
            ids: vec![("dep1", api()), ("dep1|api1", json!({})), ("dep1|api1", api())],
            call: "/restapis/api1/deployments/dep1",
        },
        Goes {
            resource_type: "AWS::ApiGateway::Method",
            ids: vec![
                ("api1|res1|GET", json!({})),
                ("Method1", json!({ "RestApiId": "api1", "ResourceId": "res1", "HttpMethod": "GET" })),
            ],
            call: "/restapis/api1/resources/res1/methods/GET",
        },
        Goes {
            resource_type: "AWS::ApiGateway::Resource",
            ids: vec![("res1", api()), ("api1|res1", json!({}))],
            call: "/restapis/api1/resources/res1",
        },
        Goes { resource_type: "AWS::ApiGateway::RestApi", ids: vec![("api1", json!({}))], call: "/restapis/api1" },
        Goes {
            resource_type: "AWS::ApiGateway::Stage",
            ids: vec![("prod", api()), ("api1|prod", json!({}))],
            call: "/restapis/api1/stages/prod",
        },
    ]
}

impl Goes {
    fn bench(&self) -> Bench {
        let (id, properties) = &self.ids[0];
        Bench::new(self.resource_type, id, properties.clone())
    }

    /// The whole address: a longer one would be another resource.
    fn wants(&self) -> [String; 2] {
        ["DELETE ".to_owned(), format!(".com{} ", self.call)]
    }

    fn script(&self, code: &str, message: &str) -> Script {
        let wants = self.wants();
        Script::new().json_error(&[&wants[0], &wants[1]], code, message)
    }
}

#[tokio::test]
async fn each_goes_in_one_call_by_every_form_of_its_id() {
    for row in table() {
        let wants = row.wants();
        for (id, properties) in &row.ids {
            let script = Script::new().on(&[&wants[0], &wants[1]], 202, "");
            let mut bench = Bench::new(row.resource_type, id, properties.clone());
            assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{} {id}", row.resource_type);
            script.assert_done();
        }
    }
}

/// Once its API is gone every part is, and the answer is the same code.
#[tokio::test]
async fn a_part_of_an_api_that_went_is_gone() {
    for row in table() {
        let script = row.script(NOT_FOUND, "Invalid API identifier specified 123456789012:api1");
        assert_eq!(row.bench().step(&script).await, Ok(Step::ALREADY_GONE), "{}", row.resource_type);
    }
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    let stages = "Active stages pointing to this deployment must be moved or deleted";
    let plan = "Cannot delete stage 'prod': it belongs to a usage plan";
    let mapping = "Deleting failed. Please remove all base path mappings related to it in your domains: api.example.com";
    for row in table() {
        let throttled = if row.resource_type == "AWS::ApiGateway::RestApi" { (30, 1800) } else { (2, 300) };
        assert_passes(row.bench(), || row.script("TooManyRequestsException", "slow down"), throttled.0, throttled.1).await;
        assert_passes(row.bench(), || row.script("ConflictException", "concurrent modification"), 2, 120).await;
        let passes: &[(&str, u64)] = match row.resource_type {
            "AWS::ApiGateway::Deployment" => &[(stages, 120)],
            "AWS::ApiGateway::Stage" => &[(plan, 300), (mapping, 300)],
            "AWS::ApiGateway::RestApi" => &[(mapping, 300)],
            _ => &[],
        };
        for (message, give_up) in passes {
            assert_passes(row.bench(), || row.script("BadRequestException", message), 5, *give_up).await;
        }
        let error = row.bench().step(&row.script("BadRequestException", "Invalid request")).await.unwrap_err();
        assert_eq!(error.code, "BadRequestException", "{}", row.resource_type);
    }
}

#[tokio::test]
async fn a_throttle_is_waited_out_for_as_long_as_api_gateway_says() {
    let throttled = |after: &str| {
        let headers = [("x-amzn-errortype", "TooManyRequestsException"), ("Retry-After", after)];
        Script::new().with_headers(&["DELETE"], 429, "{}", &headers)
    };
    for (after, seconds) in [("17", 17), ("1", 2), ("86400", 300), ("soon", 2)] {
        let mut bench = Bench::new("AWS::ApiGateway::Stage", "api1|prod", json!({}));
        let answer = bench.step(&throttled(after)).await;
        assert!(
            matches!(&answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == seconds),
            "{after}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn nothing_goes_behind_a_shut_fence() {
    for row in table() {
        assert_fenced(row.bench(), Script::new()).await;
    }
    let live = Script::new().json(&["GET", "/account"], 200, json!({ "cloudwatchRoleArn": ROLE }));
    assert_fenced(account(), live).await;
}

#[tokio::test]
async fn what_has_no_api_or_a_masked_one_is_not_addressed() {
    for (resource_type, id, properties, code) in [
        ("AWS::ApiGateway::Authorizer", "au1", json!({}), Code::MissingAddress),
        ("AWS::ApiGateway::Authorizer", "au1", json!({ "RestApiId": "***" }), Code::MaskedAddress),
        ("AWS::ApiGateway::Deployment", "dep1", json!({ "RestApiId": { "Ref": "Api" } }), Code::MissingAddress),
        ("AWS::ApiGateway::Deployment", "dep1|other", json!({ "RestApiId": "api1" }), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::Resource", "api1|", json!({}), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::Stage", "", json!({ "RestApiId": "api1" }), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::Stage", "..", json!({ "RestApiId": "api1" }), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::RestApi", "", json!({}), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::RestApi", "{{resolve:ssm:api}}", json!({}), Code::MaskedAddress),
        ("AWS::ApiGateway::Method", "api1|res1", json!({}), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::Method", "api1||GET", json!({}), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::Method", "api1|res1|GET|x", json!({ "RestApiId": "api1" }), Code::MalformedPhysicalId),
        ("AWS::ApiGateway::Method", "m", json!({ "RestApiId": "***" }), Code::MaskedAddress),
        ("AWS::ApiGateway::Account", "ApiGatewayAccount", json!({ "CloudWatchRoleArn": "***" }), Code::MaskedAddress),
    ] {
        assert_not_addressed(Bench::new(resource_type, id, properties), code).await;
    }
}

fn account() -> Bench {
    Bench::new("AWS::ApiGateway::Account", "ApiGatewayAccount", json!({ "CloudWatchRoleArn": ROLE }))
}

#[tokio::test]
async fn the_accounts_role_is_cleared_while_it_is_this_stacks() {
    let clear = ["PATCH", "/account", "\"op\":\"replace\"", "\"path\":\"/cloudwatchRoleArn\"", "\"value\":\"\""];
    let script = Script::new().json(&["GET", "/account"], 200, json!({ "cloudwatchRoleArn": ROLE })).json(&clear, 200, json!({}));
    assert_eq!(account().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// Clearing it would switch off the logs of every other stack's APIs.
#[tokio::test]
async fn the_role_of_another_stack_stays() {
    for live in [json!({ "cloudwatchRoleArn": format!("{ROLE}2") }), json!({ "cloudwatchRoleArn": "" }), json!({})] {
        let script = Script::new().json(&["GET", "/account"], 200, live);
        assert_eq!(account().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
    let mut unset = Bench::new("AWS::ApiGateway::Account", "ApiGatewayAccount", json!({}));
    assert_eq!(unset.step(&Script::new()).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn the_account_waits_for_its_quota_and_its_roles_check() {
    for (code, wait, give_up) in [("TooManyRequestsException", 20, 300), ("BadRequestException", 5, 60)] {
        let script = || {
            let live = json!({ "cloudwatchRoleArn": ROLE });
            Script::new().json(&["GET", "/account"], 200, live).json_error(&["PATCH"], code, "not now")
        };
        assert_passes(account(), script, wait, give_up).await;
    }
    let script = Script::new().json_error(&["GET", "/account"], NOT_FOUND, "no");
    assert_eq!(account().step(&script).await.map_err(|e| e.code), Err(NOT_FOUND.to_owned()), "says nothing about the role");
}
