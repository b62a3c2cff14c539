use std::time::Duration;

use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

const BUCKET: &str = "AWS::S3::Bucket";
const NAME: &str = "orders-data";

fn bucket(properties: Value) -> Bench {
    Bench::new(BUCKET, NAME, properties)
}

fn opted_in() -> Bench {
    bucket(json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-objects", "Value": "true" }] }))
}

/// A page of versions and markers, each `key@version`.
fn page(versions: &[&str], markers: &[&str], more: bool) -> String {
    let entry = |element: &str, id: &str| {
        let (key, version) = id.split_once('@').unwrap();
        format!("<{element}><Key>{key}</Key><VersionId>{version}</VersionId><IsLatest>true</IsLatest></{element}>")
    };
    let versions: String = versions.iter().map(|id| entry("Version", id)).collect();
    let markers: String = markers.iter().map(|id| entry("DeleteMarker", id)).collect();
    format!("<ListVersionsResult><Name>{NAME}</Name><IsTruncated>{more}</IsTruncated>{versions}{markers}</ListVersionsResult>")
}

fn failures(codes: &[&str]) -> String {
    let errors: String = codes
        .iter()
        .map(|code| format!("<Error><Key>k</Key><VersionId>v</VersionId><Code>{code}</Code><Message>why</Message></Error>"))
        .collect();
    format!("<DeleteResult>{errors}</DeleteResult>")
}

/// Calls as the script reads them.
const DELETE_BUCKET: &[&str] = &["DELETE ", NAME];
const LIST: &[&str] = &["GET ", NAME, "?versions"];
const DELETE_OBJECTS: &[&str] = &["POST ", NAME, "?delete", "<Quiet>true</Quiet>"];

trait Calls {
    fn not_empty(self) -> Self;
    fn lists(self, body: String) -> Self;
    fn deletes(self, wants: &[&str], body: String) -> Self;
    fn bucket_goes(self) -> Self;
}

impl Calls for Script {
    fn not_empty(self) -> Self {
        self.s3_error(DELETE_BUCKET, 409, "BucketNotEmpty", "The bucket you tried to delete is not empty")
    }
    fn lists(self, body: String) -> Self {
        self.on(LIST, 200, body)
    }
    fn deletes(self, wants: &[&str], body: String) -> Self {
        self.on(&[DELETE_OBJECTS, wants].concat(), 200, body)
    }
    fn bucket_goes(self) -> Self {
        self.on(DELETE_BUCKET, 204, "")
    }
}

fn is_pending(step: &Result<Step, ebb_core::DeleteError>, after: Duration) -> bool {
    matches!(step, Ok(Step::Pending { look_again, .. }) if *look_again == after)
}

#[tokio::test]
async fn an_empty_bucket_goes_in_one_call() {
    for id in [NAME, "arn:aws:s3:::orders-data"] {
        let script = Script::new().on(&["DELETE https://orders-data.s3.us-east-1.amazonaws.com/"], 204, "");
        assert_eq!(Bench::new(BUCKET, id, json!({})).step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_gone() {
    let script = Script::new().s3_error(DELETE_BUCKET, 404, "NoSuchBucket", "no");
    assert_eq!(bucket(json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
}

// Nothing is emptied without consent. Only the recorded tag counts, and a masked one is no consent.
#[tokio::test]
async fn a_bucket_with_data_is_refused_without_consent() {
    let key = "aws-cdk:auto-delete-objects";
    let without = [
        json!({}),
        json!({ "Tags": [{ "Key": key, "Value": "false" }] }),
        json!({ "Tags": [{ "Key": key, "Value": "***" }] }),
        json!({ "Tags": [{ "Key": "other", "Value": "true" }] }),
        json!({ "Tags": "***" }),
    ];
    for properties in without {
        let script = Script::new().not_empty();
        let error = bucket(properties.clone()).step(&script).await.unwrap_err();
        script.assert_done();
        assert_eq!((error.code, error.class), (Code::DataGuard.name(), ErrorClass::Terminal), "{properties}");
        for words in ["is not empty", key, "deleteData"] {
            assert!(error.message.contains(words), "{words}");
        }
    }
}

// Versions and markers both: markers alone keep a versioned bucket from being empty.
#[tokio::test]
async fn with_consent_a_bucket_is_emptied_of_versions_and_markers() {
    let key = "aws-cdk:auto-delete-objects";
    let mut asked = bucket(json!({}));
    asked.run.options.delete_data = true;
    let mut benches = vec![
        opted_in(),
        asked,
        bucket(json!({ "Tags": [{ "Key": key, "Value": true }] })),
        bucket(json!({ "Tags": { key: "true" } })),
    ];
    for bench in &mut benches {
        let script = Script::new()
            .not_empty()
            .lists(page(&["a@1", "a@2"], &["b@3"], true))
            .deletes(
                &["<VersionId>1</VersionId>", "<VersionId>2</VersionId>", "<Key>b</Key><VersionId>3</VersionId>"],
                failures(&[]),
            )
            .lists(page(&[], &["c@4"], false))
            .deletes(&["<Key>c</Key><VersionId>4</VersionId>"], failures(&[]))
            .lists(page(&[], &[], false))
            .bucket_goes();
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

// XML cannot carry these keys, and S3 would refuse the page for one of them.
#[tokio::test]
async fn keys_that_xml_cannot_carry_go_one_by_one() {
    let script = Script::new()
        .not_empty()
        .lists(page(&["plain@1", "odd&#x1;@2", "line&#xA;@3"], &["odd&#x1F;@4"], false))
        .deletes(&["<Key>plain</Key>", "<Key>line&#xA;</Key>"], failures(&[]))
        .on(&["DELETE ", "/odd%01?", "versionId=2"], 204, "")
        .s3_error(&["DELETE ", "/odd%1F?", "versionId=4"], 403, "AccessDenied", "locked");
    let error = opted_in().step(&script).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("AccessDenied", ErrorClass::Denied));
    script.assert_done();
    assert!(!script.seen()[2].contains("odd"));
}

#[tokio::test]
async fn a_large_bucket_takes_one_step_after_the_other() {
    let script = Script::new()
        .not_empty()
        .lists(page(&["a@1"], &[], true))
        .deletes(&["<Key>a</Key>"], failures(&[]))
        .lists(page(&["b@2"], &[], false))
        .deletes(&["<Key>b</Key>"], failures(&[]))
        .lists(page(&[], &[], false))
        .bucket_goes();
    let mut bench = opted_in();
    bench.soft_budget = 0;
    for _ in 0..2 {
        assert!(is_pending(&bench.step(&script).await, Duration::ZERO));
    }
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    assert!(!script.seen().iter().any(|call| call.contains("marker")), "every step starts from the beginning");
}

// Access logs and trails write between the emptying and the delete: three rounds, one last try.
#[tokio::test]
async fn late_writers_get_three_rounds() {
    let mut script = Script::new().not_empty();
    for n in 0..4 {
        script = script
            .lists(page(&[&format!("log@{n}")], &[], false))
            .deletes(&["<Key>log</Key>"], failures(&[]))
            .lists(page(&[], &[], false))
            .not_empty();
    }
    let mut bench = opted_in();
    for _ in 0..3 {
        assert!(is_pending(&bench.step(&script).await, Duration::from_secs(1)));
    }
    let error = bench.step(&script).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("BucketNotEmpty", ErrorClass::Terminal));
    script.assert_done();
}

// A reply of 200 still carries failures, key by key.
#[tokio::test]
async fn an_object_that_may_not_be_deleted_is_final() {
    for codes in [&["AccessDenied"][..], &["SlowDown", "AccessDenied"]] {
        let script = Script::new().not_empty().lists(page(&["a@1", "b@2", "c@3"], &[], false)).deletes(&[], failures(codes));
        let error = opted_in().step(&script).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.class), ("AccessDenied", ErrorClass::Denied));
        assert!(error.message.contains("object lock"), "{}", error.message);
    }
}

#[tokio::test]
async fn objects_that_fail_for_now_are_tried_again_and_not_for_ever() {
    // Part of the page went: the budget starts anew.
    let script = Script::new().not_empty().lists(page(&["a@1", "b@2"], &[], false)).deletes(&[], failures(&["InternalError"]));
    assert!(is_pending(&opted_in().step(&script).await, Duration::from_secs(2)));

    let nothing_went =
        |script: Script| script.not_empty().lists(page(&["a@1"], &[], false)).deletes(&[], failures(&["SlowDown"]));
    let script = nothing_went(nothing_went(Script::new()));
    let mut bench = opted_in();
    assert!(is_pending(&bench.step(&script).await, Duration::from_secs(2)));
    bench.pass(121);
    assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err("SlowDown".into()));
    script.assert_done();
}

// What a listing says of another bucket is not touched.
#[tokio::test]
async fn a_listing_of_another_bucket_deletes_nothing() {
    let neighbour = page(&["a@1"], &[], false).replace(NAME, "orders-data-2");
    let script = Script::new().not_empty().lists(neighbour);
    assert_eq!(opted_in().step(&script).await.map_err(|e| e.code), Err(Code::DataGuard.name()));
    script.assert_done();
}

#[tokio::test]
async fn passing_errors_pass() {
    for (status, code) in [(409, "OperationAborted"), (503, "SlowDown"), (500, "InternalError")] {
        let script = Script::new().s3_error(DELETE_BUCKET, status, code, "").s3_error(DELETE_BUCKET, status, code, "");
        let mut bench = bucket(json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })), "{code}");
        bench.pass(130);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(code.to_owned()));
    }
}

// A client in the wrong region is ours to mend: such a bucket is never gone.
#[tokio::test]
async fn denials_and_the_wrong_region_are_final() {
    for (status, code) in [(301, "PermanentRedirect"), (400, "AuthorizationHeaderMalformed"), (403, "AccessDenied")] {
        let script = Script::new().s3_error(DELETE_BUCKET, status, code, "conflicting conditional operation");
        assert_eq!(bucket(json!({})).step(&script).await.map_err(|e| e.code), Err(code.to_owned()));
    }
}

#[tokio::test]
async fn a_shut_fence_stops_the_first_delete_and_the_emptying() {
    let mut bench = opted_in();
    bench.soft_budget = 0;
    let script = Script::new().not_empty().lists(page(&["a@1"], &[], true)).deletes(&[], failures(&[]));
    assert!(is_pending(&bench.step(&script).await, Duration::ZERO));
    bench.fence(false);
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    script.assert_done();

    let mut bench = bucket(json!({}));
    bench.fence(false);
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    assert_eq!(script.seen().len(), 3);
}

#[tokio::test]
async fn a_look_names_data_that_would_be_refused() {
    let one = &["GET ", "?versions", "max-keys=1"][..];
    for (versions, markers) in [(&["a@1"][..], &[][..]), (&[], &["a@2"])] {
        let script = Script::new().on(one, 200, page(versions, markers, false));
        assert!(matches!(bucket(json!({})).look(&script).await, Ok(Look::Refuses { code: Code::DataGuard, .. })));
        script.assert_done();
    }
    let script = Script::new().on(one, 200, page(&[], &[], false)).s3_error(one, 404, "NoSuchBucket", "no");
    assert_eq!(bucket(json!({})).look(&script).await, Ok(Look::Clear));
    assert_eq!(bucket(json!({})).look(&script).await, Ok(Look::Clear));
    assert_eq!(opted_in().look(&script).await, Ok(Look::Clear));
    let script = Script::new().s3_error(one, 403, "AccessDenied", "no");
    assert_eq!(bucket(json!({})).look(&script).await.map_err(|e| e.class), Err(ErrorClass::Denied));
}

#[tokio::test]
async fn a_bucket_policy_goes_with_or_without_its_bucket() {
    let policy = |id: &str, properties: Value| Bench::new("AWS::S3::BucketPolicy", id, properties);
    let wants = &["DELETE ", NAME, "?policy"][..];
    let script = Script::new().on(wants, 204, "").on(wants, 204, "");
    assert_eq!(policy(NAME, json!({})).step(&script).await, Ok(Step::DELETED));
    assert_eq!(policy("", json!({ "Bucket": NAME })).step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    for code in ["NoSuchBucket", "NoSuchBucketPolicy"] {
        let script = Script::new().s3_error(wants, 404, code, "no");
        assert_eq!(policy(NAME, json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
    }
    let script = Script::new().s3_error(wants, 409, "OperationAborted", "");
    assert!(matches!(policy(NAME, json!({})).step(&script).await, Ok(Step::Pending { .. })));
    let script = Script::new().s3_error(wants, 403, "AccessDenied", "the role does not have the permission");
    assert_eq!(policy(NAME, json!({})).step(&script).await.map_err(|e| e.class), Err(ErrorClass::Denied));
    for (properties, code) in [(json!({}), Code::MissingAddress), (json!({ "Bucket": "***" }), Code::MaskedAddress)] {
        let answer = policy("", properties).step(&Script::new()).await;
        assert!(matches!(answer, Ok(Step::Skipped { code: c, .. }) if c == code));
    }
}
