use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const DELETE: &[&str] = &[".DeleteRepository", "\"repositoryName\":\"team/web\"", "\"force\":false"];
const FORCED: &[&str] = &[".DeleteRepository", "\"repositoryName\":\"team/web\"", "\"force\":true"];
const LIST: &[&str] = &[".ListImages", "\"repositoryName\":\"team/web\""];

fn repository(properties: Value) -> Bench {
    Bench::new("AWS::ECR::Repository", "team/web", properties)
}

fn deleting_data() -> Bench {
    let mut bench = repository(json!({}));
    bench.run.options.delete_data = true;
    bench
}

fn opted_in() -> [Value; 5] {
    [
        json!({ "EmptyOnDelete": true }),
        json!({ "EmptyOnDelete": "true" }),
        json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-images", "Value": "true" }] }),
        json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-images", "Value": true }] }),
        json!({ "Tags": { "aws-cdk:auto-delete-images": "true" } }),
    ]
}

fn not_opted_in() -> [Value; 5] {
    [
        json!({}),
        json!({ "EmptyOnDelete": false }),
        json!({ "EmptyOnDelete": "***" }),
        json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-images", "Value": "***" }] }),
        json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-objects", "Value": "true" }] }),
    ]
}

#[tokio::test]
async fn an_empty_repository_goes_without_force() {
    let arn = "arn:aws:ecr:us-east-1:123456789012:repository/team/web";
    for id in ["team/web", arn, "123456789012.dkr.ecr.us-east-1.amazonaws.com/team/web"] {
        let script = Script::new().json(DELETE, 200, json!({})).json_error(DELETE, "RepositoryNotFoundException", "no");
        let mut bench = Bench::new("AWS::ECR::Repository", id, json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{id}");
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE), "{id}");
        script.assert_done();
    }
}

// Force deletes every image in one call, and nothing brings them back.
#[tokio::test]
async fn images_stay_without_consent() {
    for properties in not_opted_in() {
        let script = Script::new().json_error(DELETE, "RepositoryNotEmptyException", "not empty");
        let error = repository(properties.clone()).step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::DataGuard.name()), "{properties}");
        assert!(error.message.contains("still contains images") && error.message.contains("deleteData"), "{}", error.message);
        script.assert_done();
    }
}

#[tokio::test]
async fn with_consent_the_images_go_too() {
    let script = || Script::new().json(FORCED, 200, json!({}));
    for properties in opted_in() {
        assert_eq!(repository(properties.clone()).step(&script()).await, Ok(Step::DELETED), "{properties}");
    }
    assert_eq!(deleting_data().step(&script()).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn a_look_refuses_like_the_delete() {
    let image = json!({ "imageIds": [{ "imageDigest": "sha256:6a1f" }] });
    for properties in not_opted_in() {
        let script = Script::new().json(LIST, 200, image.clone());
        let look = repository(properties).look(&script).await;
        assert!(matches!(look, Ok(Look::Refuses { code: Code::DataGuard, reason }) if reason.contains("still contains images")));
        script.assert_done();
    }
    let script = Script::new();
    for properties in opted_in() {
        assert_eq!(repository(properties).look(&script).await, Ok(Look::Clear));
    }
    assert_eq!(deleting_data().look(&script).await, Ok(Look::Clear));
    let script = Script::new().json(LIST, 200, json!({ "imageIds": [] }));
    assert_eq!(repository(json!({})).look(&script).await, Ok(Look::Clear));
    let script = Script::new().json_error(LIST, "RepositoryNotFoundException", "no");
    assert_eq!(repository(json!({})).look(&script).await, Ok(Look::Clear));
}

// A page may be empty and still not be the last.
#[tokio::test]
async fn a_look_reads_on_until_it_finds_an_image() {
    let script = Script::new().json(LIST, 200, json!({ "imageIds": [], "nextToken": "more" })).json(
        &[".ListImages", "\"nextToken\":\"more\""],
        200,
        json!({ "imageIds": [{ "imageTag": "latest" }] }),
    );
    assert!(matches!(repository(json!({})).look(&script).await, Ok(Look::Refuses { .. })));
    script.assert_done();
}

#[tokio::test]
async fn what_is_not_addressed_makes_no_call() {
    let with = |id: &str| Bench::new("AWS::ECR::Repository", id, json!({}));
    assert_not_addressed(with("arn:aws:ecr:eu-west-1:123456789012:repository/team/web"), Code::WrongRegion).await;
    assert_not_addressed(with("123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/web"), Code::WrongRegion).await;
    for (id, code) in [
        ("", Code::MalformedPhysicalId),
        ("arn:aws:ecr:us-east-1:123456789012:registry/web", Code::MalformedPhysicalId),
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com/", Code::MalformedPhysicalId),
        ("{{resolve:ssm:name}}", Code::MaskedAddress),
    ] {
        assert_not_addressed(with(id), code).await;
    }
}

#[tokio::test]
async fn other_errors_are_what_they_are() {
    assert_passes(repository(json!({})), || Script::new().json_error(DELETE, "ServerException", ""), 3, 60).await;
    for (code, class) in [
        ("KmsException", ErrorClass::Terminal),
        ("InvalidParameterException", ErrorClass::Terminal),
        ("AccessDeniedException", ErrorClass::Denied),
    ] {
        let script = Script::new().json_error(DELETE, code, "no");
        assert_eq!(repository(json!({})).step(&script).await.map_err(|e| e.class), Err(class), "{code}");
    }
    assert_fenced(deleting_data(), Script::new()).await;
}
