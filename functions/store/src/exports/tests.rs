use std::sync::Arc;

use super::*;
use crate::replay::{Answer, Replay, Sent, answer};
use crate::{MemoryBucket, S3Bucket, VirtualClock};

const NOW: Millis = 1_786_786_212_123;
const INDEX: &str = r#"{
  "indexVersion": 1,
  "region": "us-west-2",
  "exports": {
    "OrdersUrl": {
      "value": "https://orders",
      "producerStack": "OrdersApi",
      "producerRegion": "us-west-2"
    },
    "Odd": "not an object",
    "Pi": {
      "value": {
        "digits": 3.14159265358979323846264338327950288,
        "big": 12345678901234567890123
      },
      "producerStack": "Numbers",
      "producerRegion": "us-west-2",
      "later": null
    },
    "Elsewhere": {
      "value": "x",
      "producerStack": "OrdersApi",
      "producerRegion": "eu-west-1"
    }
  },
  "comment": "kept",
  "lastModified": 1700000000000
}"#;
const AFTER: &str = r#"{
  "indexVersion": 1,
  "region": "us-west-2",
  "exports": {
    "Odd": "not an object",
    "Pi": {
      "value": {
        "digits": 3.14159265358979323846264338327950288,
        "big": 12345678901234567890123
      },
      "producerStack": "Numbers",
      "producerRegion": "us-west-2",
      "later": null
    },
    "Elsewhere": {
      "value": "x",
      "producerStack": "OrdersApi",
      "producerRegion": "eu-west-1"
    }
  },
  "comment": "kept",
  "lastModified": 1786786212123
}"#;

fn key() -> StackKey {
    StackKey::new("cdkd", "OrdersApi", "us-west-2")
}

fn memory(body: &'static str) -> MemoryBucket {
    let bucket = MemoryBucket::versioned("b", Arc::new(VirtualClock::starting_at(NOW)));
    bucket.raw_put("cdkd/_index/us-west-2/exports.json", body);
    bucket
}

async fn remove(bucket: &dyn Bucket) -> Vec<String> {
    remove_exports(bucket, &key(), &VirtualClock::starting_at(NOW)).await
}

fn body(bucket: &MemoryBucket) -> String {
    String::from_utf8(bucket.snapshot()["cdkd/_index/us-west-2/exports.json"].to_vec()).unwrap()
}

// Entries of this stack and region go; all others, unknown members and odd entries stay as they are; lastModified is stamped.
#[tokio::test(start_paused = true)]
async fn only_the_stacks_own_entries_go() {
    let bucket = memory(INDEX);
    assert_eq!(remove(&bucket).await, Vec::<String>::new());
    assert_eq!(body(&bucket), AFTER);
}

#[tokio::test(start_paused = true)]
async fn an_index_that_becomes_empty_keeps_its_form() {
    let bucket = memory(
        r#"{"indexVersion": 1, "exports": {"A": {"value": 1, "producerStack": "OrdersApi", "producerRegion": "us-west-2"}}}"#,
    );
    assert_eq!(remove(&bucket).await, Vec::<String>::new());
    assert_eq!(body(&bucket), "{\n  \"indexVersion\": 1,\n  \"exports\": {},\n  \"lastModified\": 1786786212123\n}");
}

// No such entry: no PUT at all. Object absent: nothing.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_there_is_nothing_to_remove() {
    let bucket = memory(AFTER);
    assert_eq!(remove(&bucket).await, Vec::<String>::new());
    assert_eq!(bucket.versions(&key().exports_index()).await.unwrap().len(), 1);

    let empty = MemoryBucket::plain("b", Arc::new(VirtualClock::starting_at(NOW)));
    assert_eq!(remove(&empty).await, Vec::<String>::new());
    assert!(empty.snapshot().is_empty());
}

// A newer or missing version, no JSON, no object, exports no object: do not touch, warn.
#[tokio::test(start_paused = true)]
async fn an_index_that_is_not_understood_is_not_touched() {
    const ENTRY: &str = r#"{"A": {"producerStack": "OrdersApi", "producerRegion": "us-west-2"}}"#;
    for odd in [
        format!(r#"{{"indexVersion": 2, "exports": {ENTRY}}}"#),
        format!(r#"{{"indexVersion": "1", "exports": {ENTRY}}}"#),
        format!(r#"{{"exports": {ENTRY}}}"#),
        r#"{"indexVersion": 1, "exports": []}"#.to_owned(),
        r#"{"indexVersion": 1}"#.to_owned(),
        "[]".to_owned(),
        "{\"indexVersion\": 1, \"exports\": {\"hunter2".to_owned(),
        String::new(),
    ] {
        let odd: &'static str = odd.leak();
        let bucket = memory(odd);
        let warnings = remove(&bucket).await;
        assert_eq!(warnings.len(), 1, "{odd}");
        assert!(warnings[0].contains("cdkd/_index/us-west-2/exports.json") && !warnings[0].contains("hunter2"), "{warnings:?}");
        assert_eq!(body(&bucket), odd);
    }
}

/// Each write gets the next answer; before each, the index is read anew with an ETag of its own.
async fn contended(writes: Vec<Answer>) -> (Vec<String>, Vec<Sent>, Duration) {
    const ETAGS: [&str; 6] = ["\"e0\"", "\"e1\"", "\"e2\"", "\"e3\"", "\"e4\"", "\"e5\""];
    let reads = ETAGS.map(|etag| answer(200, INDEX).with("etag", etag));
    let replay = Replay::new(reads.into_iter().zip(writes).flat_map(|(read, write)| [read, write]));
    let before = tokio::time::Instant::now();
    let warnings = remove(&S3Bucket::new(&replay.config(), "b", "123456789012")).await;
    let writes: Vec<Sent> = replay.sent().into_iter().filter(|sent| sent.method == "PUT").collect();
    for (write, etag) in writes.iter().zip(ETAGS) {
        assert_eq!(write.header("if-match"), Some(etag), "a write is for what was just read");
    }
    (warnings, writes, before.elapsed())
}

fn refused(status: u16, code: &str) -> Answer {
    answer(status, format!("<Error><Code>{code}</Code></Error>").leak())
}

// 412 / 409: read again and repeat, at most 5 times, waits 100 ms doubling to 1 s.
#[tokio::test(start_paused = true)]
async fn a_race_is_run_again_with_growing_waits() {
    let stale = || refused(412, "PreconditionFailed");
    let conflict = || refused(409, "ConditionalRequestConflict");
    let written = answer(200, "").with("etag", "\"new\"");
    let (warnings, writes, took) = contended(vec![stale(), conflict(), stale(), conflict(), written]).await;
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(took, Duration::from_millis(100 + 200 + 400 + 800));
    // Stamped when it was written, not when it was first tried.
    assert_eq!(writes[4].body, AFTER.replace("1786786212123", "1786786213623"));

    let (warnings, writes, _) = contended(vec![stale(), stale(), stale(), stale(), stale(), stale()]).await;
    assert_eq!((warnings.len(), writes.len()), (1, 5), "five tries, not more");
}

// Any other error: warn and go on.
#[tokio::test(start_paused = true)]
async fn any_other_error_is_one_warning() {
    let (warnings, writes, _) = contended(vec![refused(403, "AccessDenied")]).await;
    assert_eq!((warnings.len(), writes.len()), (1, 1));
    let denied = Replay::new([refused(403, "AccessDenied")]);
    assert_eq!(remove(&S3Bucket::new(&denied.config(), "b", "123456789012")).await.len(), 1);
}
