use std::sync::Arc;

use super::*;
use crate::replay::{Replay, answer};
use crate::{MemoryBucket, S3Bucket, VirtualClock};

const START: Millis = 1_786_786_212_123; // 2026-08-15T09:30:12.123Z
const RUN: &str = "20260815T093012123Z-1a2b3c4d";

fn key() -> StackKey {
    StackKey::new("cdkd", "OrdersApi", "us-west-2")
}

fn memory() -> MemoryBucket {
    MemoryBucket::versioned("b", Arc::new(VirtualClock::starting_at(START)))
}

fn run(id: &str) -> RunEvents {
    let stage = |at, event_type| Event::resource(at, event_type, "OrdersApi", "StageProd8800", "AWS::ApiGateway::Stage");
    let error = EventError::new("DataGuard", "the bucket\nis not empty", Some("BucketNotEmpty"), Some("REQ1"));
    RunEvents {
        run_id: id.into(),
        started_at: START,
        finished_at: START + 50_537,
        result: RunResult::Failed,
        events: vec![
            Event::run_started(START, &key()),
            stage(START + 6000, EventType::ResourceStarted).provisioned_by("sdk"),
            stage(START + 6881, EventType::ResourceSucceeded).physical_id("prod").took(812),
            Event::resource(START + 7000, EventType::ResourceFailed, "OrdersApi", "Data", "AWS::S3::Bucket")
                .took(9)
                .failed_with(error),
            Event::resource(START + 7001, EventType::ResourceSkipped, "OrdersApi", "Odd", "Custom::Odd")
                .reason("no ServiceToken"),
            Event::resource(START + 7002, EventType::ResourceRetained, "OrdersApi~Child", "Logs", "AWS::Logs::LogGroup"),
            Event::resource(START + 7003, EventType::ResourceGuardIndeterminate, "OrdersApi", "Data", "AWS::S3::Bucket")
                .guard("s3-not-empty")
                .reason("denied"),
            Event::run_finished(START + 50_537, "OrdersApi", RunResult::Failed, Counts::of(8, 1, 1), 50_537, None),
        ],
    }
}

const STREAM: &str = r#"{"timestamp":"2026-08-15T09:30:12.123Z","eventType":"RUN_STARTED","stackName":"OrdersApi","command":"destroy","region":"us-west-2","cdkdVersion":"VERSION"}
{"timestamp":"2026-08-15T09:30:18.123Z","eventType":"RESOURCE_STARTED","stackName":"OrdersApi","operation":"DELETE","logicalId":"StageProd8800","resourceType":"AWS::ApiGateway::Stage","provisionedBy":"sdk"}
{"timestamp":"2026-08-15T09:30:19.004Z","eventType":"RESOURCE_SUCCEEDED","stackName":"OrdersApi","operation":"DELETE","logicalId":"StageProd8800","resourceType":"AWS::ApiGateway::Stage","physicalId":"prod","durationMs":812}
{"timestamp":"2026-08-15T09:30:19.123Z","eventType":"RESOURCE_FAILED","stackName":"OrdersApi","operation":"DELETE","logicalId":"Data","resourceType":"AWS::S3::Bucket","durationMs":9,"error":{"name":"DataGuard","message":"the bucket is not empty","awsErrorCode":"BucketNotEmpty","requestId":"REQ1"}}
{"timestamp":"2026-08-15T09:30:19.124Z","eventType":"RESOURCE_SKIPPED","stackName":"OrdersApi","operation":"DELETE","logicalId":"Odd","resourceType":"Custom::Odd","reason":"no ServiceToken"}
{"timestamp":"2026-08-15T09:30:19.125Z","eventType":"RESOURCE_RETAINED","stackName":"OrdersApi~Child","operation":"DELETE","logicalId":"Logs","resourceType":"AWS::Logs::LogGroup"}
{"timestamp":"2026-08-15T09:30:19.126Z","eventType":"RESOURCE_GUARD_INDETERMINATE","stackName":"OrdersApi","operation":"DELETE","logicalId":"Data","resourceType":"AWS::S3::Bucket","reason":"denied","guard":"s3-not-empty"}
{"timestamp":"2026-08-15T09:31:02.660Z","eventType":"RUN_FINISHED","stackName":"OrdersApi","result":"FAILED","counts":{"created":0,"updated":0,"deleted":8,"failed":1,"skipped":1},"durationMs":50537}
"#;

const INDEX: &str = r#"{
  "indexVersion": 1,
  "stackName": "OrdersApi",
  "region": "us-west-2",
  "runs": [
    {
      "runId": "20260815T093012123Z-1a2b3c4d",
      "command": "destroy",
      "cdkdVersion": "VERSION",
      "startedAt": "2026-08-15T09:30:12.123Z",
      "finishedAt": "2026-08-15T09:31:02.660Z",
      "result": "FAILED",
      "eventCount": 8
    }
  ],
  "lastModified": 1786786262660
}"#;

fn body(bucket: &MemoryBucket, key: &str) -> String {
    String::from_utf8(bucket.snapshot()[key].to_vec()).unwrap()
}

fn ids(bucket: &MemoryBucket) -> Vec<String> {
    let index: serde_json::Value = serde_json::from_str(&body(bucket, &key().events_index())).unwrap();
    index["runs"].as_array().unwrap().iter().map(|run| run["runId"].as_str().unwrap().to_owned()).collect()
}

fn nth(n: u32) -> String {
    format!("202601{:02}T000000000Z-0000000{:x}", n + 1, n % 16)
}

// cdkd reads these files: the exact bytes count.
#[tokio::test(start_paused = true)]
async fn stream_and_index_are_written_as_cdkd_writes_them() {
    let bucket = memory();
    for _ in 0..2 {
        assert_eq!(write_run(&bucket, &key(), &run(RUN)).await, Vec::<String>::new());
        let stream = body(&bucket, "cdkd/OrdersApi/us-west-2/deployments/20260815T093012123Z-1a2b3c4d.jsonl");
        assert_eq!(stream, STREAM.replace("VERSION", VERSION));
        let index = body(&bucket, "cdkd/OrdersApi/us-west-2/deployments/index.json");
        assert_eq!(index, INDEX.replace("VERSION", VERSION), "the same run again replaces itself");
    }
    assert!(VERSION.starts_with("ebb/"));
}

#[test]
fn zero_failures_are_left_out_and_long_messages_cut() {
    let clean = Event::run_finished(0, "S", RunResult::Succeeded, Counts::of(3, 0, 0), 1, None);
    let text = serde_json::to_string(&clean).unwrap();
    assert!(text.contains(r#""counts":{"created":0,"updated":0,"deleted":3}"#), "{text}");
    assert!(EventError::new("E", &"x".repeat(9000), None, None).message.len() <= text::MAX_TEXT);
}

// Runs newest first, at most 20; entries of others stay as they are.
#[tokio::test(start_paused = true)]
async fn the_index_keeps_twenty_runs_and_prunes_older_streams_with_their_versions() {
    let bucket = memory();
    let folder = key().deployments();
    for n in 0..20 {
        assert_eq!(write_run(&bucket, &key(), &run(&nth(n))).await, Vec::<String>::new());
    }
    assert_eq!(ids(&bucket).first(), Some(&nth(19)));
    // Overwritten once, so that there is an old version to purge; and names that are not run ids are not judged by age.
    bucket.raw_put(&key().events(&nth(0)), "again");
    bucket.raw_put(&format!("{folder}0-notes.jsonl"), "somebody's");
    assert_eq!(write_run(&bucket, &key(), &run(RUN)).await, Vec::<String>::new());
    let kept = ids(&bucket);
    assert_eq!((kept.len(), kept.first(), kept.last()), (20, Some(&RUN.to_owned()), Some(&nth(1))));
    let left = bucket.snapshot();
    assert!(!left.contains_key(&key().events(&nth(0))) && left.contains_key(&key().events(&nth(1))));
    assert!(left.contains_key(&format!("{folder}0-notes.jsonl")));
    let versions = bucket.versions(&key().events(&nth(0))).await.unwrap();
    assert_eq!(versions.len(), 1, "only the marker is left: {versions:?}");
}

#[tokio::test(start_paused = true)]
async fn below_twenty_runs_nothing_is_pruned() {
    let bucket = memory();
    bucket.raw_put(&key().events(&nth(0)), "a stream that no index names");
    write_run(&bucket, &key(), &run(RUN)).await;
    assert!(bucket.snapshot().contains_key(&key().events(&nth(0))));
}

#[tokio::test(start_paused = true)]
async fn what_others_wrote_into_their_entries_stays() {
    let bucket = memory();
    let theirs = r#"{"runId":"20260101T000000000Z-00000000","result":"UNKNOWN","later":1.10}"#;
    bucket.raw_put(&key().events_index(), format!(r#"{{"indexVersion":1,"runs":[{theirs}]}}"#));
    write_run(&bucket, &key(), &run(RUN)).await;
    assert_eq!(ids(&bucket), [RUN, "20260101T000000000Z-00000000"]);
    assert!(body(&bucket, &key().events_index()).contains(theirs));
}

// Corrupt or missing: a new one with our run; no guesses. Newer: not touched.
#[tokio::test(start_paused = true)]
async fn a_corrupt_index_is_started_anew_and_a_newer_one_left_alone() {
    for corrupt in ["", "{", "[]", r#"{"indexVersion":1}"#, r#"{"runs":7}"#, r#"{"indexVersion":1,"runs":[{"id":"x"}]}"#] {
        let bucket = memory();
        bucket.raw_put(&key().events_index(), corrupt);
        assert_eq!(write_run(&bucket, &key(), &run(RUN)).await, Vec::<String>::new());
        assert_eq!(body(&bucket, &key().events_index()), INDEX.replace("VERSION", VERSION), "{corrupt}");
    }
    let bucket = memory();
    let newer = r#"{"indexVersion":2,"runs":[]}"#;
    bucket.raw_put(&key().events_index(), newer);
    assert_eq!(write_run(&bucket, &key(), &run(RUN)).await.len(), 1);
    assert_eq!(body(&bucket, &key().events_index()), newer);
}

#[tokio::test(start_paused = true)]
async fn a_purge_removes_every_event_of_this_stack_only() {
    let bucket = memory();
    write_run(&bucket, &key(), &run(RUN)).await;
    let other = StackKey::new("cdkd", "OrdersApi", "us-west-1");
    write_run(&bucket, &other, &run(RUN)).await;
    bucket.raw_put(&key().state(), "{}");
    assert_eq!(purge_events(&bucket, &key()).await, Vec::<String>::new());
    let left: Vec<_> = bucket.snapshot().into_keys().collect();
    assert_eq!(left, [other.events(RUN), other.events_index(), key().state()]);
    assert!(bucket.versions(&key().events(RUN)).await.unwrap().iter().all(|version| version.latest));
}

#[test]
fn run_ids_are_told_from_other_names() {
    assert!(is_run_id(RUN));
    for other in [
        "",
        "index",
        "20260815T093012123Z",
        "20260815T093012123Z-1a2b3c4",
        "2026081xT093012123Z-1a2b3c4d",
        "20260815T093012123Z-1a2b3c4z",
    ] {
        assert!(!is_run_id(other), "{other}");
    }
}

// Best effort, and the index never names a stream that is not there, nor forgets runs that could not be read.
#[tokio::test(start_paused = true)]
async fn a_failure_is_a_warning_and_ends_the_writing() {
    const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
    let written = || answer(200, "").with("etag", "\"e\"");
    for answers in [vec![answer(403, DENIED)], vec![written(), answer(403, DENIED)]] {
        let replay = Replay::new(answers);
        let warnings = write_run(&S3Bucket::new(&replay.config(), "b", "123456789012"), &key(), &run(RUN)).await;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("deployments/"), "{warnings:?}");
        assert!(replay.is_used_up() && replay.sent().iter().filter(|sent| sent.method == "PUT").count() == 1);
    }
    let denied = Replay::new([answer(403, DENIED)]);
    assert_eq!(purge_events(&S3Bucket::new(&denied.config(), "b", "123456789012"), &key()).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_ndjson_and_the_index_json() {
    let missing = answer(404, "<Error><Code>NoSuchKey</Code></Error>");
    let written = || answer(200, "").with("etag", "\"e\"");
    let replay = Replay::new([written(), missing, written()]);
    write_run(&S3Bucket::new(&replay.config(), "b", "123456789012"), &key(), &run(RUN)).await;
    let types: Vec<_> = replay.sent().iter().filter_map(|sent| sent.header("content-type").map(str::to_owned)).collect();
    assert_eq!(types, ["application/x-ndjson", "application/json"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_events_leaves_nothing() {
    let bucket = memory();
    assert_eq!(write_run(&bucket, &key(), &RunEvents { events: vec![], ..run(RUN) }).await, Vec::<String>::new());
    assert!(bucket.snapshot().is_empty());
}
