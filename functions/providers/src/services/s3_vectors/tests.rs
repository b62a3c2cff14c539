use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, passes};

const LIST: &[&str] = &["POST", "/ListIndexes", "\"vectorBucketName\":\"vectors\""];
const INDEX: &[&str] = &["POST", "/DeleteIndex", "\"vectorBucketName\":\"vectors\""];
const DELETE: &[&str] = &["POST", "/DeleteVectorBucket", "\"vectorBucketName\":\"vectors\""];

fn bench(id: &str) -> Bench {
    Bench::new("AWS::S3Vectors::VectorBucket", id, json!({}))
}

fn page(bucket: &str, names: &[&str], next: Option<&str>) -> Value {
    let arn = "arn:aws:s3vectors:us-east-1:1:bucket/vectors/index/i";
    let index = |name: &&str| json!({ "vectorBucketName": bucket, "indexName": name, "indexArn": arn, "creationTime": 1 });
    json!({ "indexes": names.iter().map(index).collect::<Vec<_>>(), "nextToken": next })
}

fn of(names: &[&str]) -> Script {
    Script::new().json(LIST, 200, page("vectors", names, None))
}

#[tokio::test]
async fn its_indexes_go_first_page_by_page() {
    for id in ["vectors", "arn:aws:s3vectors:us-east-1:123456789012:bucket/vectors"] {
        let script = Script::new()
            .json(LIST, 200, page("vectors", &["a"], Some("more")))
            .json(&[INDEX, &["\"indexName\":\"a\""]].concat(), 200, json!({}))
            .json(&[LIST, &["more"]].concat(), 200, page("vectors", &["b"], None))
            .json_error(&[INDEX, &["\"indexName\":\"b\""]].concat(), "NotFoundException", "gone meanwhile")
            .json(DELETE, 200, json!({}));
        assert_eq!(bench(id).step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
}

/// What a listing answers is looked at again: another bucket's index survives.
#[tokio::test]
async fn an_index_of_another_bucket_survives() {
    let script = Script::new().json(LIST, 200, page("vectors-2", &["a"], None)).json(DELETE, 200, json!({}));
    assert_eq!(bench("vectors").step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    for code in ["NotFoundException", "ResourceNotFoundException", "NoSuchVectorBucket", "NoSuchBucket"] {
        let script = Script::new().json_error(LIST, code, "no");
        assert_eq!(bench("vectors").step(&script).await, Ok(Step::ALREADY_GONE), "{code}");
    }
}

#[tokio::test]
async fn what_passes_and_what_stops() {
    for (code, wait, budget) in
        [("ConflictException", 3, 120), ("TooManyRequestsException", 2, 60), ("ServiceUnavailableException", 3, 60)]
    {
        passes(|| bench("vectors"), LIST, code, wait, budget).await;
    }
    let conflict = of(&[]).json_error(DELETE, "ConflictException", "indexes are being removed");
    assert!(matches!(bench("vectors").step(&conflict).await, Ok(Step::Pending { .. })));
    let denied = of(&["a"]).json_error(INDEX, "AccessDeniedException", "no");
    assert_eq!(bench("vectors").step(&denied).await.unwrap_err().class, ErrorClass::Denied);
    let mut slow = bench("vectors");
    slow.soft_budget = 0;
    assert!(matches!(slow.step(&of(&["a"])).await, Ok(Step::Pending { .. })), "no time is left for an index");
    let mut shut = bench("vectors");
    shut.fence(false);
    assert_eq!(shut.step(&of(&["a"])).await.unwrap_err().class, ErrorClass::FenceShut);
}

#[tokio::test]
async fn what_cannot_be_addressed_makes_no_call() {
    let script = Script::new();
    let malformed = bench("arn:aws:s3vectors:us-east-1:1:index/x").step(&script).await;
    assert!(matches!(malformed, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
    let elsewhere = bench("arn:aws:s3vectors:eu-west-1:1:bucket/vectors").step(&script).await.unwrap_err();
    assert_eq!(elsewhere.code, Code::WrongRegion.name());
    assert!(script.seen().is_empty());
}
