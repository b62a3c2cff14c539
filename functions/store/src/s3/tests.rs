use super::*;
use crate::replay::{Answer, Replay, answer};

const OWNER: &str = "123456789012";
const KEY: &str = "cdkd/OrdersApi/us-west-2/state.json";

fn bucket(answers: impl IntoIterator<Item = Answer>) -> (S3Bucket, Replay) {
    let replay = Replay::new(answers);
    (S3Bucket::new(&replay.config(), "my-state", OWNER), replay)
}

fn error(status: u16, code: &str) -> Answer {
    answer(status, format!("<Error><Code>{code}</Code><Message>why</Message></Error>").leak())
}

fn three(make: impl Fn() -> Answer) -> [Answer; 3] {
    [make(), make(), make()]
}

#[tokio::test(start_paused = true)]
async fn an_object_is_read_with_quoted_etag_date_and_metadata() {
    let found =
        answer(200, "{}").with("etag", "\"abc\"").with("date", "Sat, 15 Aug 2026 09:30:12 GMT").with("x-amz-meta-ebb-run", "r-1");
    let (bucket, replay) = bucket([found]);
    let object = bucket.get(KEY).await.unwrap().unwrap();
    assert_eq!((object.body.as_ref(), object.etag.as_str()), (&b"{}"[..], "\"abc\""));
    assert_eq!(object.date, Some(1_786_786_212_000));
    assert_eq!(object.metadata["ebb-run"], "r-1");
    let sent = &replay.sent()[0];
    assert!(
        sent.uri.starts_with("https://my-state.s3.us-east-1.") || sent.uri.starts_with("https://my-state.s3.amazonaws"),
        "{}",
        sent.uri
    );
    assert!(sent.uri.contains(KEY));
}

#[tokio::test(start_paused = true)]
async fn a_span_is_read_on_the_etag_that_it_belongs_to() {
    let span = Span { etag: "\"abc\"".into(), first: 7, last: 61 };
    let (bucket, replay) = bucket([answer(206, "\"Row\": {}").with("etag", "\"abc\"")]);
    assert_eq!(bucket.get_span(KEY, &span).await.unwrap().as_deref(), Some(&b"\"Row\": {}"[..]));
    let sent = &replay.sent()[0];
    assert_eq!(
        (sent.method.as_str(), sent.header("range"), sent.header("if-match")),
        ("GET", Some("bytes=7-61"), Some("\"abc\""))
    );
    assert_eq!(sent.header("x-amz-expected-bucket-owner"), Some(OWNER));
}

// Another object, none, or a shorter one has no such span; a denied read is an error here, too.
#[tokio::test(start_paused = true)]
async fn a_span_of_another_object_is_none() {
    let span = Span { etag: "\"abc\"".into(), first: 7, last: 61 };
    for gone in [error(412, "PreconditionFailed"), error(404, "NoSuchKey"), error(416, "InvalidRange")] {
        assert_eq!(bucket([gone]).0.get_span(KEY, &span).await.unwrap(), None);
    }
    for (answers, kind) in [
        (vec![error(403, "AccessDenied")], BucketErrorKind::Denied),
        (vec![error(404, "NoSuchBucket")], BucketErrorKind::NoSuchBucket),
        (three(|| error(503, "SlowDown")).into(), BucketErrorKind::Unavailable),
        (three(|| Answer::TimedOut).into(), BucketErrorKind::Unknown),
    ] {
        let error = bucket(answers).0.get_span(KEY, &span).await.unwrap_err();
        assert_eq!((error.kind, error.key.as_str()), (kind, KEY), "{error}");
    }
}

// A denied read is an error, never "no state"; only the code NoSuchKey means that the key is absent.
#[tokio::test(start_paused = true)]
async fn only_no_such_key_reads_as_absent() {
    assert_eq!(bucket([error(404, "NoSuchKey")]).0.get(KEY).await.unwrap(), None);
    for (answers, kind) in [
        (vec![error(404, "NoSuchBucket")], BucketErrorKind::NoSuchBucket),
        (vec![answer(404, "")], BucketErrorKind::Other),
        (vec![error(403, "AccessDenied")], BucketErrorKind::Denied),
        (vec![error(301, "PermanentRedirect")], BucketErrorKind::Other),
        (three(|| error(503, "SlowDown")).into(), BucketErrorKind::Unavailable),
        (three(|| error(500, "InternalError")).into(), BucketErrorKind::Unavailable),
        (three(|| Answer::Lost).into(), BucketErrorKind::Unknown),
        (three(|| Answer::TimedOut).into(), BucketErrorKind::Unknown),
        (vec![answer(200, "{}")], BucketErrorKind::Other),
    ] {
        let (bucket, replay) = bucket(answers);
        let error = bucket.get(KEY).await.unwrap_err();
        assert_eq!((error.kind, error.key.as_str()), (kind, KEY), "{error}");
        assert!(replay.is_used_up(), "{kind:?} came after all attempts");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_carries_its_condition_and_answers_the_new_etag() {
    for (when, if_match, if_none_match) in
        [(When::Absent, None, Some("*")), (When::Unchanged("\"old\"".into()), Some("\"old\""), None), (When::Always, None, None)]
    {
        let (bucket, replay) = bucket([answer(200, "").with("etag", "\"new\"")]);
        let put = Put { metadata: [("ebb-run".to_owned(), "r-1".to_owned())].into(), ..Put::json("{}") };
        assert_eq!(bucket.put(KEY, put, when).await.unwrap(), "\"new\"");
        let sent = &replay.sent()[0];
        assert_eq!((sent.method.as_str(), sent.body.as_str()), ("PUT", "{}"));
        assert_eq!((sent.header("if-match"), sent.header("if-none-match")), (if_match, if_none_match));
        assert_eq!(sent.header("content-type"), Some("application/json"));
        assert_eq!(sent.header("x-amz-meta-ebb-run"), Some("r-1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_fails_by_meaning() {
    for (answers, kind) in [
        (vec![error(412, "PreconditionFailed")], BucketErrorKind::Precondition),
        (vec![error(404, "NoSuchKey")], BucketErrorKind::NotFound),
        (vec![error(404, "NoSuchBucket")], BucketErrorKind::NoSuchBucket),
        (vec![error(403, "AccessDenied")], BucketErrorKind::Denied),
        (vec![answer(200, "")], BucketErrorKind::Other),
    ] {
        let error = bucket(answers).0.put(KEY, Put::json("{}"), When::Unchanged("\"e\"".into())).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}

/// The SDK may repeat these before it gives up; the meaning is the same whether it does.
#[tokio::test(start_paused = true)]
async fn a_conflict_and_a_store_without_conditions_have_meanings_of_their_own() {
    for (status, code, kind) in
        [(409, "ConditionalRequestConflict", BucketErrorKind::Conflict), (501, "NotImplemented", BucketErrorKind::NotImplemented)]
    {
        let (bucket, _) = bucket(three(|| error(status, code)));
        assert_eq!(bucket.put(KEY, Put::json("{}"), When::Absent).await.unwrap_err().kind, kind);
    }
}

// An answer that was lost is repeated; the condition then sees our own first write, so a 412 is to be read again.
#[tokio::test(start_paused = true)]
async fn a_lost_write_is_repeated_with_the_same_condition() {
    let (bucket, replay) = bucket([Answer::Lost, error(412, "PreconditionFailed")]);
    let error = bucket.put(KEY, Put::json("{}"), When::Absent).await.unwrap_err();
    assert_eq!(error.kind, BucketErrorKind::Precondition);
    assert_eq!(replay.sent()[1].header("if-none-match"), Some("*"));
}

#[tokio::test(start_paused = true)]
async fn a_delete_carries_its_condition() {
    let (plain, replay) = bucket([answer(204, "")]);
    plain.delete(KEY, When::Always).await.unwrap();
    assert_eq!((replay.sent()[0].method.as_str(), replay.sent()[0].header("if-match")), ("DELETE", None));

    let (stale, replay) = bucket([error(412, "PreconditionFailed")]);
    assert_eq!(stale.delete(KEY, When::Unchanged("\"e\"".into())).await.unwrap_err().kind, BucketErrorKind::Precondition);
    assert_eq!(replay.sent()[0].header("if-match"), Some("\"e\""));

    let (gone, _) = bucket([error(404, "NoSuchKey")]);
    assert_eq!(gone.delete(KEY, When::Unchanged("\"e\"".into())).await.unwrap_err().kind, BucketErrorKind::NotFound);

    let (none, replay) = bucket([]);
    assert_eq!(none.delete(KEY, When::Absent).await.unwrap_err().kind, BucketErrorKind::Other);
    assert!(replay.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_listing_is_decoded_and_paged() {
    let first = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t+1=</NextContinuationToken>\
        <EncodingType>url</EncodingType><Contents><Key>cdkd/a+b%2Bc</Key></Contents></ListBucketResult>";
    let last = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>cdkd/a+b</Key></Contents></ListBucketResult>";
    let (bucket, replay) = bucket([answer(200, first), answer(200, last)]);
    let page = bucket.list("cdkd/", None, 5000).await.unwrap();
    assert_eq!(page, Listing { keys: vec!["cdkd/a b+c".into()], next: Some("t+1=".into()) });
    // A store that does not encode says so by leaving the field out.
    let page = bucket.list("cdkd/", page.next.as_deref(), 7).await.unwrap();
    assert_eq!(page, Listing { keys: vec!["cdkd/a+b".into()], next: None });
    let sent = replay.sent();
    assert!(sent[0].uri.contains("encoding-type=url") && sent[0].uri.contains("max-keys=1000"), "{}", sent[0].uri);
    assert!(sent[1].uri.contains("continuation-token=t%2B1%3D") && sent[1].uri.contains("max-keys=7"), "{}", sent[1].uri);
}

#[tokio::test(start_paused = true)]
async fn a_truncated_listing_without_a_token_is_an_error() {
    let (bucket, _) = bucket([answer(200, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")]);
    assert_eq!(bucket.list("cdkd/", None, 10).await.unwrap_err().code, "BrokenAnswer");
}

// Keep only rows whose key equals the key exactly, from versions and delete markers, over all pages.
#[tokio::test(start_paused = true)]
async fn versions_are_those_of_exactly_the_key() {
    let first = "<ListVersionsResult><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>\
        <NextKeyMarker>cdkd/a+b</NextKeyMarker><NextVersionIdMarker>v2</NextVersionIdMarker>\
        <DeleteMarker><Key>cdkd/a+b</Key><VersionId>v3</VersionId><IsLatest>true</IsLatest></DeleteMarker>\
        <Version><Key>cdkd/a+b</Key><VersionId>v2</VersionId><IsLatest>false</IsLatest></Version></ListVersionsResult>";
    let last = "<ListVersionsResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>\
        <Version><Key>cdkd/a+b</Key><VersionId>v1</VersionId><IsLatest>false</IsLatest></Version>\
        <Version><Key>cdkd/a+b.bak</Key><VersionId>w1</VersionId><IsLatest>false</IsLatest></Version></ListVersionsResult>";
    let (bucket, replay) = bucket([answer(200, first), answer(200, last)]);
    let versions = bucket.versions("cdkd/a b").await.unwrap();
    let mut rows: Vec<_> = versions.iter().map(|v| (v.key.as_str(), v.id.as_str(), v.latest)).collect();
    rows.sort_unstable();
    assert_eq!(rows, [("cdkd/a b", "v1", false), ("cdkd/a b", "v2", false), ("cdkd/a b", "v3", true)]);
    let second = &replay.sent()[1].uri;
    assert!(second.contains("key-marker=cdkd%2Fa%20b") && second.contains("version-id-marker=v2"), "{second}");
}

// A truncated page without a marker counts as a failure, not as the end.
#[tokio::test(start_paused = true)]
async fn a_version_listing_that_breaks_off_is_an_error() {
    let (stopped, _) = bucket([answer(200, "<ListVersionsResult><IsTruncated>true</IsTruncated></ListVersionsResult>")]);
    assert_eq!(stopped.versions(KEY).await.unwrap_err().code, "BrokenAnswer");
    let same = "<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker></ListVersionsResult>";
    let (circling, _) = bucket([answer(200, same), answer(200, same), answer(200, same)]);
    assert_eq!(circling.versions(KEY).await.unwrap_err().code, "BrokenAnswer");
}

fn versions(count: usize) -> Vec<Version> {
    (0..count).map(|n| Version { key: KEY.into(), id: format!("v{n}"), latest: false }).collect()
}

// Batches of at most 1000; the call answers 200, so its errors are read key by key.
#[tokio::test(start_paused = true)]
async fn versions_are_removed_in_batches_and_refused_ones_answered() {
    const SOME: &str = "<DeleteResult><Error><Key>cdkd/OrdersApi/us-west-2/state.json</Key><VersionId>v1000</VersionId>\
        <Code>AccessDenied</Code></Error></DeleteResult>";
    let (bucket, replay) = bucket([answer(200, "<DeleteResult/>"), answer(200, SOME)]);
    let left = bucket.delete_versions(&versions(1001)).await.unwrap();
    assert_eq!(left, [Version { key: KEY.into(), id: "v1000".into(), latest: false }]);
    let sent = replay.sent();
    assert_eq!(sent.iter().map(|sent| sent.body.matches("<VersionId>").count()).collect::<Vec<_>>(), [1000, 1]);
    assert!(bucket.delete_versions(&[]).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refused_batch_is_an_error_and_so_is_an_answer_that_does_not_add_up() {
    let (denied, _) = bucket([error(403, "AccessDenied")]);
    assert_eq!(denied.delete_versions(&versions(2)).await.unwrap_err().kind, BucketErrorKind::Denied);
    const OTHER: &str = "<DeleteResult><Error><Key>other</Key><Code>InternalError</Code></Error></DeleteResult>";
    let (strange, _) = bucket([answer(200, OTHER)]);
    assert_eq!(strange.delete_versions(&versions(2)).await.unwrap_err().code, "BrokenAnswer");
}

// ExpectedBucketOwner on every call.
#[tokio::test(start_paused = true)]
async fn every_call_names_the_owner() {
    let answers = [
        answer(200, "{}").with("etag", "\"e\""),
        answer(200, "").with("etag", "\"e\""),
        answer(204, ""),
        answer(200, "<ListBucketResult/>"),
        answer(200, "<ListVersionsResult/>"),
        answer(200, "<DeleteResult/>"),
    ];
    let (bucket, replay) = bucket(answers);
    bucket.get(KEY).await.unwrap();
    bucket.put(KEY, Put::json("{}"), When::Always).await.unwrap();
    bucket.delete(KEY, When::Always).await.unwrap();
    bucket.list("cdkd/", None, 1).await.unwrap();
    bucket.versions(KEY).await.unwrap();
    bucket.delete_versions(&versions(1)).await.unwrap();
    assert!(replay.is_used_up());
    for sent in replay.sent() {
        assert_eq!(sent.header("x-amz-expected-bucket-owner"), Some(OWNER), "{} {}", sent.method, sent.uri);
    }
}

// The handler sends neither owner nor checksum nor content type, so none of them may be signed.
#[tokio::test(start_paused = true)]
async fn a_presigned_url_signs_the_host_only() {
    let (bucket, replay) = bucket([]);
    let url = bucket.presign_put("custom-resource-responses/r.json", Duration::from_secs(3600)).await.unwrap();
    assert!(url.contains("/custom-resource-responses/r.json?"), "the key");
    assert!(url.contains("X-Amz-Expires=3600") && url.contains("X-Amz-SignedHeaders=host&"), "host only");
    let lower = url.to_lowercase();
    for unwanted in ["owner", "checksum", "content-type", "content-length"] {
        assert!(!lower.contains(unwanted), "{unwanted}");
    }
    assert!(replay.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_presigned_url_is_signed_with_its_own_session() {
    let credentials = aws_credential_types::Credentials::new("ASIAFRESH", "s", Some("tok".into()), None, "test");
    let (bucket, _) = bucket([]);
    let bucket = bucket.presigning_with(SharedCredentialsProvider::new(credentials));
    let url = bucket.presign_put("k", Duration::from_secs(60)).await.unwrap();
    assert!(url.contains("ASIAFRESH") && url.contains("X-Amz-Security-Token=tok"), "the session's key and token");
    assert!(bucket.presign_put("k", Duration::from_secs(8 * 24 * 3600)).await.is_err(), "a week is the most");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_of_ones_own_gets_the_bucket_in_the_path() {
    let replay = Replay::new([error(404, "NoSuchKey")]);
    let config = replay.config().to_builder().endpoint_url("http://localhost:4566").build();
    S3Bucket::new(&config, "my-state", OWNER).get("k").await.unwrap();
    assert!(replay.sent()[0].uri.starts_with("http://localhost:4566/my-state/k"), "{}", replay.sent()[0].uri);
}
