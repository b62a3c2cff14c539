use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const ARN: &str = "arn:aws:appsync:us-east-1:123456789012:apis/api1";

/// The forms of an id with the properties that go with them.
type Ids = Vec<(String, Value)>;

/// A type, the path of the one call that takes it, and the forms of its id.
fn table() -> [(&'static str, &'static str, Ids); 4] {
    let id = |id: &str| (id.to_owned(), json!({}));
    let arn = |rest: &str| (format!("{ARN}{rest}"), json!({}));
    [
        ("AWS::AppSync::GraphQLApi", "/v1/apis/api1 ", vec![id("api1"), arn("")]),
        (
            "AWS::AppSync::DataSource",
            "/v1/apis/api1/datasources/Users ",
            vec![id("api1|Users"), arn("/datasources/Users"), ("ds".into(), json!({ "ApiId": "api1", "Name": "Users" }))],
        ),
        (
            "AWS::AppSync::Resolver",
            "/v1/apis/api1/types/Query/resolvers/getUser ",
            vec![
                id("api1|Query|getUser"),
                id("api1|Query|getUser|more"),
                arn("/types/Query/resolvers/getUser"),
                ("res".into(), json!({ "ApiId": "api1", "TypeName": "Query", "FieldName": "getUser" })),
            ],
        ),
        (
            "AWS::AppSync::ApiKey",
            "/v1/apis/api1/apikeys/da2-x ",
            vec![
                id("api1|da2-x"),
                arn("/apikeys/da2-x"),
                arn("/apikey/da2-x"),
                ("key".into(), json!({ "ApiId": "api1", "ApiKeyId": "da2-x" })),
            ],
        ),
    ]
}

fn bench(resource_type: &str, ids: &[(String, Value)]) -> Bench {
    Bench::new(resource_type, &ids[0].0, ids[0].1.clone())
}

#[tokio::test]
async fn each_goes_in_one_call_by_every_form_of_its_id() {
    for (resource_type, path, ids) in table() {
        for (id, properties) in ids {
            let script = Script::new().on(&["DELETE ", path], 204, "");
            assert_eq!(Bench::new(resource_type, &id, properties).step(&script).await, Ok(Step::DELETED), "{id}");
            script.assert_done();
        }
    }
}

/// Expired keys vanish by themselves, and everything does with its API.
#[tokio::test]
async fn what_is_not_there_is_gone() {
    for (resource_type, path, ids) in table() {
        let script = Script::new().json_error(&["DELETE ", path], "NotFoundException", "GraphQL API api1 not found.");
        assert_eq!(bench(resource_type, &ids).step(&script).await, Ok(Step::ALREADY_GONE), "{resource_type}");
    }
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    for (resource_type, _, ids) in table() {
        let error = |code: &'static str, message: &'static str| move || Script::new().json_error(&["DELETE"], code, message);
        let altered = "Schema is currently being altered, please wait until that is complete.";
        assert_passes(bench(resource_type, &ids), error("ConcurrentModificationException", altered), 2, 120).await;
        let more: &[(&str, &str, u64, u64)] = match resource_type {
            "AWS::AppSync::DataSource" => &[("BadRequestException", "Data source Users is in use by getUser", 3, 120)],
            "AWS::AppSync::GraphQLApi" => &[
                ("InternalFailureException", "internal", 3, 60),
                ("BadRequestException", "The API is associated with a custom domain", 10, 300),
            ],
            _ => &[],
        };
        for &(code, message, wait, give_up) in more {
            assert_passes(bench(resource_type, &ids), error(code, message), wait, give_up).await;
        }
        for code in ["BadRequestException", "UnauthorizedException"] {
            let answer = bench(resource_type, &ids).step(&error(code, "no")()).await;
            assert_eq!(answer.map_err(|e| e.code), Err(code.to_owned()), "{resource_type}");
        }
    }
}

#[tokio::test]
async fn nothing_goes_behind_a_shut_fence() {
    for (resource_type, _, ids) in table() {
        assert_fenced(bench(resource_type, &ids), Script::new()).await;
    }
}

#[tokio::test]
async fn another_region_or_a_malformed_id_makes_no_call() {
    let arn = |rest: &str| format!("{ARN}{rest}");
    let elsewhere = |rest: &str| arn(rest).replace("us-east-1", "eu-west-1");
    for (resource_type, id, properties, code) in [
        ("AWS::AppSync::GraphQLApi", elsewhere(""), json!({}), Code::WrongRegion),
        ("AWS::AppSync::GraphQLApi", arn("/datasources/Users"), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::GraphQLApi", "..".into(), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::GraphQLApi", "***".into(), json!({}), Code::MaskedAddress),
        ("AWS::AppSync::DataSource", elsewhere("/datasources/Users"), json!({}), Code::WrongRegion),
        ("AWS::AppSync::DataSource", arn(""), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::DataSource", "api1|".into(), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::DataSource", "Users".into(), json!({ "ApiId": "api1" }), Code::MalformedPhysicalId),
        ("AWS::AppSync::DataSource", "Users".into(), json!({ "ApiId": "***", "Name": "Users" }), Code::MaskedAddress),
        ("AWS::AppSync::Resolver", "api1|Query".into(), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::Resolver", "api1||getUser".into(), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::Resolver", arn("/types/Query"), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::ApiKey", "da2-x".into(), json!({}), Code::MalformedPhysicalId),
        ("AWS::AppSync::ApiKey", "api1|..".into(), json!({}), Code::MalformedPhysicalId),
    ] {
        assert_not_addressed(Bench::new(resource_type, &id, properties), code).await;
    }
}

/// There is no call for it: the schema goes with its API, whichever road made it.
#[tokio::test]
async fn a_schema_is_gone_without_a_call() {
    for by in [ProvisionedBy::Sdk, ProvisionedBy::CloudControl] {
        let mut bench = Bench::new("AWS::AppSync::GraphQLSchema", "api1GraphQLSchema", json!({}));
        bench.resource.provisioned_by = by;
        assert_eq!(bench.step(&Script::new()).await, Ok(Step::DELETED));
    }
}
