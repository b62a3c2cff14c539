use ebb_core::{Code, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

/// A type, its id, and the path of the one call that takes it.
const TABLE: [(&str, &str, &str); 6] = [
    ("AWS::ApiGatewayV2::Api", "api1", "/v2/apis/api1 "),
    ("AWS::ApiGatewayV2::Authorizer", "au1", "/v2/apis/api1/authorizers/au1 "),
    ("AWS::ApiGatewayV2::Integration", "int1", "/v2/apis/api1/integrations/int1 "),
    ("AWS::ApiGatewayV2::Route", "rt1", "/v2/apis/api1/routes/rt1 "),
    ("AWS::ApiGatewayV2::Stage", "prod", "/v2/apis/api1/stages/prod "),
    ("AWS::ApiGatewayV2::Stage", "$default", "/v2/apis/api1/stages/%24default "),
];

fn bench(resource_type: &str, id: &str) -> Bench {
    Bench::new(resource_type, id, json!({ "ApiId": "api1" }))
}

#[tokio::test]
async fn each_goes_in_one_call_by_every_form_of_its_id() {
    for (resource_type, id, path) in TABLE {
        let composite = [format!("api1|{id}"), format!("{id}|api1")];
        let composite = composite.iter().filter(|_| resource_type != "AWS::ApiGatewayV2::Api").map(String::as_str);
        for id in std::iter::once(id).chain(composite) {
            let script = Script::new().on(&["DELETE ", path], 204, "");
            assert_eq!(bench(resource_type, id).step(&script).await, Ok(Step::DELETED), "{resource_type} {id}");
            script.assert_done();
        }
    }
}

/// Once its API is gone every part is, and the answer is the same code.
#[tokio::test]
async fn a_part_of_an_api_that_went_is_gone() {
    for (resource_type, id, path) in TABLE {
        let script = Script::new().json_error(&["DELETE ", path], "NotFoundException", "Unable to find Api by ID api1");
        assert_eq!(bench(resource_type, id).step(&script).await, Ok(Step::ALREADY_GONE), "{resource_type}");
    }
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    let error = |code: &str, message: &str| Script::new().json_error(&["DELETE"], code, message);
    for (resource_type, id, _) in TABLE {
        assert_passes(bench(resource_type, id), || error("TooManyRequestsException", "slow"), 2, 300).await;
        let changing = "Unable to complete operation due to concurrent modification. Please try again later.";
        assert_passes(bench(resource_type, id), || error("ConflictException", changing), 2, 120).await;
        let final_error = bench(resource_type, id).step(&error("BadRequestException", "Invalid request")).await.unwrap_err();
        assert_eq!(final_error.code, "BadRequestException");
    }
}

/// No reference shows which route names it: the route may still be on its way out.
#[tokio::test]
async fn an_integration_that_a_route_still_targets_waits() {
    let message = "Cannot delete Integration 'int1'. Route 'ANY /' is currently using it.";
    let targeted = || Script::new().json_error(&["DELETE", "/integrations/int1"], "ConflictException", message);
    assert_passes(bench("AWS::ApiGatewayV2::Integration", "int1"), targeted, 2, 120).await;
}

#[tokio::test]
async fn an_api_that_a_domain_still_maps_waits() {
    let message = "Deleting API api1 failed. Please remove all API mappings for the API from your custom domain names.";
    let mapped = || Script::new().json_error(&["DELETE", "/v2/apis/api1"], "BadRequestException", message);
    assert_passes(bench("AWS::ApiGatewayV2::Api", "api1"), mapped, 5, 300).await;
}

#[tokio::test]
async fn nothing_goes_behind_a_shut_fence() {
    for (resource_type, id, _) in TABLE {
        assert_fenced(bench(resource_type, id), Script::new()).await;
    }
}

#[tokio::test]
async fn what_has_no_api_or_a_masked_one_is_not_addressed() {
    for (resource_type, id, api, code) in [
        ("AWS::ApiGatewayV2::Api", "", Value::Null, Code::MalformedPhysicalId),
        ("AWS::ApiGatewayV2::Api", "***", Value::Null, Code::MaskedAddress),
        ("AWS::ApiGatewayV2::Authorizer", "au1", json!("***"), Code::MaskedAddress),
        ("AWS::ApiGatewayV2::Integration", "api1|int1", Value::Null, Code::MissingAddress),
        ("AWS::ApiGatewayV2::Route", "rt1", Value::Null, Code::MissingAddress),
        ("AWS::ApiGatewayV2::Route", "other|rt1", json!("api1"), Code::MalformedPhysicalId),
        ("AWS::ApiGatewayV2::Stage", "..", json!("api1"), Code::MalformedPhysicalId),
    ] {
        assert_not_addressed(Bench::new(resource_type, id, json!({ "ApiId": api })), code).await;
    }
}
