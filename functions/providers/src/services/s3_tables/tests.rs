use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, passes};

const BUCKET: &str = "arn:aws:s3tables:us-east-1:123456789012:bucket/lake";
const NAMESPACES: &[&str] = &["GET", "/namespaces/"];
const TABLES: &[&str] = &["GET", "/tables/"];
const DELETE_BUCKET: &[&str] = &["DELETE", "/buckets/"];

fn bucket() -> Bench {
    Bench::new("AWS::S3Tables::TableBucket", BUCKET, json!({}))
}

fn namespace(id: &str) -> Bench {
    Bench::new("AWS::S3Tables::Namespace", id, json!({}))
}

fn table(id: &str) -> Bench {
    Bench::new("AWS::S3Tables::Table", id, json!({}))
}

fn namespaces(names: &[&str]) -> Value {
    let one = |name: &&str| json!({ "namespace": [name], "createdAt": "2026-01-01T00:00:00Z", "createdBy": "1", "ownerAccountId": "1" });
    json!({ "namespaces": names.iter().map(one).collect::<Vec<_>>() })
}

fn tables(namespace: &str, names: &[&str], next: Option<&str>) -> Value {
    let one = |name: &&str| {
        json!({
            "namespace": [namespace], "name": name, "type": "customer", "tableARN": format!("{BUCKET}/table/1"),
            "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"
        })
    };
    json!({ "tables": names.iter().map(one).collect::<Vec<_>>(), "continuationToken": next })
}

/// Tables, namespaces, bucket; a namespace in a reply is a list.
#[tokio::test]
async fn a_bucket_goes_with_everything_in_it() {
    let script = Script::new()
        .json(NAMESPACES, 200, namespaces(&["a", "b"]))
        .json(&[TABLES, &["namespace=a"]].concat(), 200, tables("a", &["t1"], Some("more")))
        .json(&["DELETE", "/tables/", "/a/t1"], 204, json!({}))
        .json(&[TABLES, &["more"]].concat(), 200, tables("a", &["t2"], None))
        .json_error(&["DELETE", "/tables/", "/a/t2"], "NotFoundException", "gone meanwhile")
        .json(&["DELETE", "/namespaces/", "/a"], 204, json!({}))
        .json_error(&[TABLES, &["namespace=b"]].concat(), "NotFoundException", "gone meanwhile")
        .json_error(&["DELETE", "/namespaces/", "/b"], "NotFoundException", "gone meanwhile")
        .json(DELETE_BUCKET, 204, json!({}));
    assert_eq!(bucket().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_table_of_another_namespace_survives() {
    let script = Script::new()
        .json(NAMESPACES, 200, namespaces(&["a"]))
        .json(TABLES, 200, tables("ab", &["t1"], None))
        .json(&["DELETE", "/namespaces/", "/a"], 204, json!({}))
        .json(DELETE_BUCKET, 204, json!({}));
    assert_eq!(bucket().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    let gone = Script::new().json_error(NAMESPACES, "NotFoundException", "no");
    assert_eq!(bucket().step(&gone).await, Ok(Step::ALREADY_GONE));
    let wants = &["DELETE", "/namespaces/", "/analytics"];
    let script = Script::new().json(wants, 204, json!({})).json_error(wants, "NotFoundException", "no");
    for id in [format!("{BUCKET}|analytics"), format!("{BUCKET}|analytics|more")] {
        let expected = if id.ends_with("more") { Step::ALREADY_GONE } else { Step::DELETED };
        assert_eq!(namespace(&id).step(&script).await, Ok(expected));
    }
    let gone = Script::new().json_error(&["DELETE", "/tables/"], "NotFoundException", "no");
    assert_eq!(table(&format!("{BUCKET}|ns|t")).step(&gone).await, Ok(Step::ALREADY_GONE));
}

/// A bare ARN names no namespace: the table is asked; its not-found is gone, never a bad id.
#[tokio::test]
async fn a_bare_table_arn_is_resolved() {
    let arn = format!("{BUCKET}/table/0f1e");
    let found = json!({
        "name": "events", "type": "customer", "tableARN": arn, "namespace": ["ns"], "versionToken": "v", "warehouseLocation": "w",
        "metadataLocation": "m", "createdAt": "2026-01-01T00:00:00Z", "createdBy": "1", "modifiedAt": "2026-01-01T00:00:00Z",
        "modifiedBy": "1", "ownerAccountId": "1", "format": "ICEBERG"
    });
    let get = &["GET", "/get-table"];
    let script = Script::new().json(get, 200, found).json(&["DELETE", "/tables/", "/ns/events"], 204, json!({}));
    assert_eq!(table(&arn).step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let gone = Script::new().json_error(get, "NotFoundException", "no");
    assert_eq!(table(&arn).step(&gone).await, Ok(Step::ALREADY_GONE));
    let parts = Script::new().json(&["DELETE", "/tables/", "/ns/t"], 204, json!({}));
    assert_eq!(table(&format!("{BUCKET}|ns|t|more")).step(&parts).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn what_passes_and_what_stops() {
    for (code, wait, budget) in
        [("ConflictException", 3, 120), ("TooManyRequestsException", 2, 60), ("InternalServerErrorException", 3, 60)]
    {
        passes(bucket, NAMESPACES, code, wait, budget).await;
    }
    passes(|| namespace(&format!("{BUCKET}|a")), &["DELETE", "/namespaces/"], "ConflictException", 3, 120).await;
    passes(|| table(&format!("{BUCKET}|a|t")), &["DELETE", "/tables/"], "ConflictException", 3, 60).await;
    let listed = || Script::new().json(NAMESPACES, 200, namespaces(&["a"])).json(TABLES, 200, tables("a", &["t"], None));
    let mut slow = bucket();
    slow.soft_budget = 0;
    assert!(matches!(slow.step(&listed()).await, Ok(Step::Pending { .. })), "no time is left for a table");
    let mut shut = bucket();
    shut.fence(false);
    assert_eq!(shut.step(&listed()).await.unwrap_err().class, ErrorClass::FenceShut);
    for mut bench in [namespace(&format!("{BUCKET}|a")), table(&format!("{BUCKET}|a|t"))] {
        bench.fence(false);
        assert_eq!(bench.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut);
    }
}

#[tokio::test]
async fn what_cannot_be_addressed_makes_no_call() {
    let script = Script::new();
    let (empty, short) = (format!("{BUCKET}|"), format!("{BUCKET}|ns"));
    for mut bench in [
        Bench::new("AWS::S3Tables::TableBucket", "lake", json!({})),
        namespace(BUCKET),
        namespace(&empty),
        namespace("lake|ns"),
        table(&short),
        table("lake|ns|t"),
        table(BUCKET),
    ] {
        let answer = bench.step(&script).await;
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{answer:?}");
    }
    let elsewhere = BUCKET.replace("us-east-1", "eu-west-1");
    for mut bench in [
        Bench::new("AWS::S3Tables::TableBucket", &elsewhere, json!({})),
        namespace(&format!("{elsewhere}|ns")),
        table(&format!("{elsewhere}|ns|t")),
        table(&format!("{elsewhere}/table/1")),
    ] {
        assert_eq!(bench.step(&script).await.unwrap_err().code, Code::WrongRegion.name());
    }
    assert!(script.seen().is_empty());
}
