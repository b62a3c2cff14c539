use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::{BucketError, Listing, MemoryBucket, Object, Version, VirtualClock};

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

/// Answers the first writes with an error, as if somebody else wrote in between.
struct Contended {
    bucket: MemoryBucket,
    errors: Mutex<Vec<BucketErrorKind>>,
}

#[async_trait]
impl Bucket for Contended {
    fn name(&self) -> &str {
        self.bucket.name()
    }
    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        self.bucket.get(key).await
    }
    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        assert!(matches!(when, When::Unchanged(_)), "every write is conditional");
        let next = self.errors.lock().unwrap().pop();
        match next {
            Some(kind) => {
                Err(BucketError { kind, operation: "PutObject", key: key.into(), code: "Code".into(), message: String::new() })
            }
            None => self.bucket.put(key, put, when).await,
        }
    }
    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        self.bucket.delete(key, when).await
    }
    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        self.bucket.list(prefix, next, limit).await
    }
    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        self.bucket.versions(key).await
    }
    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        self.bucket.delete_versions(versions).await
    }
    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        self.bucket.presign_put(key, expires).await
    }
}

async fn contended(errors: Vec<BucketErrorKind>) -> (Vec<String>, bool, Duration, usize) {
    let bucket = Contended { bucket: memory(INDEX), errors: Mutex::new(errors) };
    let before = tokio::time::Instant::now();
    let warnings = remove(&bucket).await;
    let left = bucket.errors.lock().unwrap().len();
    // Stamped when it was written, not when it was first tried.
    let stamp = format!("\"lastModified\": {}", NOW + u64::try_from(before.elapsed().as_millis()).unwrap());
    let written = body(&bucket.bucket) == AFTER.replace("\"lastModified\": 1786786212123", &stamp);
    (warnings, written, before.elapsed(), left)
}

// 412 / 409: read again and repeat, at most 5 times, waits 100 ms doubling to 1 s.
#[tokio::test(start_paused = true)]
async fn a_race_is_run_again_with_growing_waits() {
    use BucketErrorKind::{Conflict, Precondition};
    let (warnings, written, took, _) = contended(vec![Precondition, Conflict, Precondition, Conflict]).await;
    assert_eq!(warnings, Vec::<String>::new());
    assert!(written);
    assert_eq!(took, Duration::from_millis(100 + 200 + 400 + 800));

    let (warnings, written, _, left) = contended(vec![Precondition; 6]).await;
    assert!(!written && warnings.len() == 1);
    assert_eq!(left, 1, "five tries, not more");
}

// Any other error: warn and go on.
#[tokio::test(start_paused = true)]
async fn any_other_error_is_one_warning() {
    for kind in [BucketErrorKind::Denied, BucketErrorKind::Unknown, BucketErrorKind::Unavailable] {
        let (warnings, written, took, _) = contended(vec![kind]).await;
        assert!(!written && warnings.len() == 1 && took.is_zero(), "{kind:?}");
    }
}
