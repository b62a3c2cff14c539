use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::json;

use crate::testing::{Bench, Script};

const NAME: &str = "logs--use1-az4--x-s3";
const DELETE: &[&str] = &["DELETE ", NAME];
const LIST: &[&str] = &["GET ", NAME, "list-type=2"];
const UPLOADS: &[&str] = &["GET ", NAME, "?uploads"];
const OBJECTS: &[&str] = &["POST ", NAME, "?delete"];
const ABORT: &[&str] = &["DELETE ", NAME, "uploadId=u1"];
const SESSION: &str = "<CreateSessionResult><Credentials><SessionToken>t</SessionToken><SecretAccessKey>s</SecretAccessKey>\
    <AccessKeyId>a</AccessKeyId><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>";

fn bucket() -> Bench {
    Bench::new("AWS::S3Express::DirectoryBucket", NAME, json!({}))
}

fn opted_in() -> Bench {
    let tags = json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-objects", "Value": "true" }] });
    Bench::new("AWS::S3Express::DirectoryBucket", NAME, tags)
}

fn page(keys: &[&str]) -> String {
    let contents: String = keys.iter().map(|key| format!("<Contents><Key>{key}</Key></Contents>")).collect();
    format!("<ListBucketResult><Name>{NAME}</Name><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>")
}

fn uploads(ids: &[&str]) -> String {
    let uploads: String = ids.iter().map(|id| format!("<Upload><Key>big</Key><UploadId>{id}</UploadId></Upload>")).collect();
    format!("<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>")
}

fn not_empty() -> Script {
    Script::new().s3_error(DELETE, 409, "BucketNotEmpty", "not empty")
}

fn session(script: Script) -> Script {
    script.on(&["GET ", NAME, "session"], 200, SESSION)
}

/// Bucket calls take no owner header, object calls go by a session.
#[tokio::test]
async fn an_empty_bucket_goes_in_one_call() {
    let script = Script::new().on(DELETE, 204, "");
    assert_eq!(bucket().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    for code in ["NoSuchBucket", "BucketNotFound"] {
        assert_eq!(bucket().step(&Script::new().s3_error(DELETE, 404, code, "no")).await, Ok(Step::ALREADY_GONE), "{code}");
    }
}

#[tokio::test]
async fn a_bucket_with_data_is_refused_without_consent() {
    let script = not_empty();
    let error = bucket().step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::DataGuard.name()));
    assert!(error.message.contains("is not empty"), "{}", error.message);
    script.assert_done();
}

/// Objects, then unfinished uploads, then the bucket; nothing of another bucket.
#[tokio::test]
async fn with_consent_objects_and_unfinished_uploads_go_first() {
    let script = session(not_empty())
        .on(LIST, 200, page(&["a", "b"]))
        .on(&[OBJECTS, &["<Key>a</Key>", "<Key>b</Key>"]].concat(), 200, "<DeleteResult></DeleteResult>")
        .on(LIST, 200, page(&[]))
        .on(UPLOADS, 200, uploads(&["u1"]))
        .on(ABORT, 204, "")
        .on(LIST, 200, page(&[]))
        .on(UPLOADS, 200, uploads(&[]))
        .on(DELETE, 204, "");
    assert_eq!(opted_in().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let mut consent = bucket();
    consent.run.options.delete_data = true;
    let other = page(&["a"]).replace(NAME, "other");
    let script = session(not_empty()).on(LIST, 200, other);
    assert_eq!(consent.step(&script).await.unwrap_err().code, Code::DataGuard.name());
}

/// An upload that ended meanwhile is as good as aborted; a late writer is emptied after.
#[tokio::test]
async fn an_upload_that_is_gone_and_a_late_writer_do_not_end_it() {
    let mut bench = opted_in();
    let script = session(not_empty())
        .on(LIST, 200, page(&[]))
        .on(UPLOADS, 200, uploads(&["u1"]))
        .s3_error(ABORT, 404, "NoSuchUpload", "no")
        .on(LIST, 200, page(&[]))
        .on(UPLOADS, 200, uploads(&[]))
        .s3_error(DELETE, 409, "BucketNotEmpty", "not empty");
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    script.assert_done();
    let script = session(Script::new()).on(LIST, 200, page(&[])).on(UPLOADS, 200, uploads(&[])).on(DELETE, 204, "");
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_look_names_what_is_in_it() {
    let refused = |answer: &Result<Look, _>| matches!(answer, Ok(Look::Refuses { code: Code::DataGuard, .. }));
    let full = session(Script::new()).on(LIST, 200, page(&["a"]));
    assert!(refused(&bucket().look(&full).await));
    let uploading = session(Script::new()).on(LIST, 200, page(&[])).on(UPLOADS, 200, uploads(&["u1"]));
    assert!(refused(&bucket().look(&uploading).await));
    let empty = session(Script::new()).on(LIST, 200, page(&[])).on(UPLOADS, 200, uploads(&[]));
    assert_eq!(bucket().look(&empty).await, Ok(Look::Clear));
    assert_eq!(opted_in().look(&Script::new()).await, Ok(Look::Clear));
    let gone = Script::new().s3_error(&["session"], 404, "NoSuchBucket", "no");
    let answer = bucket().look(&gone).await;
    assert!(!refused(&answer), "{answer:?}");
}

#[tokio::test]
async fn what_passes_and_what_a_shut_fence_stops() {
    for (code, wait, budget) in [("OperationAborted", 5, 60), ("SlowDown", 2, 120), ("InternalError", 2, 60)] {
        let script = || Script::new().s3_error(DELETE, 409, code, "x");
        let mut bench = bucket();
        let answer = bench.step(&script()).await;
        assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == wait), "{code}: {answer:?}");
        bench.pass(budget);
        assert_eq!(bench.step(&script()).await.unwrap_err().class, ErrorClass::Terminal, "{code}");
    }
    let mut shut = opted_in();
    shut.shut_after(0);
    assert_eq!(shut.step(&not_empty()).await.unwrap_err().class, ErrorClass::FenceShut);
}
