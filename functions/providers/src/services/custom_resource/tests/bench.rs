//! The bench of these tests: a custom resource, a bucket in memory that can fail, and the calls to Lambda.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::provider::request_id;
use ebb_core::{Code, DeleteError, Step, keys};
use ebb_store::{Bucket, BucketError, BucketErrorKind, Listing, MemoryBucket, Object, Put, Version, When};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

pub(super) const FUNCTION: &str = "arn:aws:lambda:us-east-1:123456789012:function:handler";
pub(super) const GET: &[&str] = &["GET https://lambda.us-east-1.", "/functions/", "handler"];
pub(super) const INVOKE: &[&str] = &["POST https://lambda.us-east-1.", "handler/invocations", "\"RequestType\":\"Delete\""];

/// A bucket in memory whose next calls go wrong as a test wants it.
pub(super) struct Flaky {
    pub(super) inner: MemoryBucket,
    /// The next put happens, and its reply is lost.
    pub(super) lose_put_reply: AtomicBool,
    /// The next put of this kind fails and does not happen.
    pub(super) fail_put: Mutex<Option<BucketErrorKind>>,
    /// Another step's put comes before our next one.
    pub(super) put_first: Mutex<Option<Put>>,
    /// The handler answers right after the next put.
    pub(super) answer_after: Mutex<Option<String>>,
    /// Every get fails.
    pub(super) deny_get: AtomicBool,
}

fn failure(kind: BucketErrorKind, operation: &'static str, key: &str) -> BucketError {
    BucketError { kind, operation, key: key.into(), code: format!("{kind:?}"), message: "made by the test".into() }
}

#[async_trait]
impl Bucket for Flaky {
    fn name(&self) -> &str {
        self.inner.name()
    }
    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        if self.deny_get.load(Ordering::SeqCst) {
            return Err(failure(BucketErrorKind::Denied, "GetObject", key));
        }
        self.inner.get(key).await
    }
    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        if let Some(kind) = self.fail_put.lock().unwrap().take() {
            return Err(failure(kind, "PutObject", key));
        }
        let first = self.put_first.lock().unwrap().take();
        if let Some(other) = first {
            self.inner.put(key, other, When::Always).await?;
        }
        let etag = self.inner.put(key, put, when).await?;
        if let Some(answer) = self.answer_after.lock().unwrap().take() {
            self.inner.raw_put(key, answer);
        }
        if self.lose_put_reply.swap(false, Ordering::SeqCst) {
            return Err(failure(BucketErrorKind::Unknown, "PutObject", key));
        }
        Ok(etag)
    }
    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        self.inner.delete(key, when).await
    }
    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        self.inner.list(prefix, next, limit).await
    }
    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        self.inner.versions(key).await
    }
    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        self.inner.delete_versions(versions).await
    }
    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        self.inner.presign_put(key, expires).await
    }
}

/// A custom resource with its bucket.
pub(super) struct Custom {
    pub(super) bench: Bench,
    pub(super) bucket: Arc<Flaky>,
}

pub(super) fn custom(properties: Value) -> Custom {
    let mut bench = Bench::new("Custom::Thing", "thing-1|with|bars", properties);
    let inner = MemoryBucket::versioned("state", bench.clock.clone());
    let bucket = Arc::new(Flaky {
        inner,
        lose_put_reply: AtomicBool::new(false),
        fail_put: Mutex::new(None),
        put_first: Mutex::new(None),
        answer_after: Mutex::new(None),
        deny_get: AtomicBool::new(false),
    });
    bench.bucket = bucket.clone();
    Custom { bench, bucket }
}

/// With a Lambda handler.
pub(super) fn with_function() -> Custom {
    custom(json!({ "ServiceToken": FUNCTION, "Size": 3 }))
}

impl Custom {
    /// The response object's key of the `delivery`th question.
    pub(super) fn key(&self, delivery: u32) -> String {
        keys::custom_resource_response(&request_id(&self.bench.run, "Stack", "Logical", self.bench.attempt, delivery))
    }

    /// Answers as a handler does, to the URL.
    pub(super) fn answer(&self, delivery: u32, body: &Value) {
        self.bucket.inner.raw_put(&self.key(delivery), body.to_string());
    }

    pub(super) async fn step(&mut self, script: &Script) -> Result<Step, DeleteError> {
        self.bench.step(script).await
    }

    /// A step in which nothing may be called.
    pub(super) async fn poll(&mut self) -> Result<Step, DeleteError> {
        self.bench.step(&Script::new()).await
    }
}

/// A function that is ready to be asked.
pub(super) fn ready() -> Script {
    Script::new().json(GET, 200, json!({ "Configuration": { "State": "Active", "LastUpdateStatus": "Successful" } }))
}

/// A function that is ready and returns `payload`.
pub(super) fn returns(payload: &str) -> Script {
    ready().on(INVOKE, 200, payload)
}

#[track_caller]
pub(super) fn pending(answer: Result<Step, DeleteError>) -> Duration {
    match answer {
        Ok(Step::Pending { look_again, .. }) => look_again,
        other => panic!("not pending: {other:?}"),
    }
}

#[track_caller]
pub(super) fn skipped(answer: Result<Step, DeleteError>) -> (Code, String) {
    match answer {
        Ok(Step::Skipped { code, reason }) => (code, reason.into_owned()),
        other => panic!("not skipped: {other:?}"),
    }
}
