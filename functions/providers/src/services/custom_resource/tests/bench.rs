//! The bench of these tests: a custom resource, a bucket in memory that can fail, and the calls to Lambda.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ebb_core::provider::request_id;
use ebb_core::{Code, DeleteError, Step, keys};
use ebb_store::{Bucket, BucketError, BucketErrorKind, Call, Hook, Hooked, MemoryBucket, Put, When};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

pub(super) const FUNCTION: &str = "arn:aws:lambda:us-east-1:123456789012:function:handler";
pub(super) const GET: &[&str] = &["GET https://lambda.us-east-1.", "/functions/", "handler"];
pub(super) const INVOKE: &[&str] = &["POST https://lambda.us-east-1.", "handler/invocations", "\"RequestType\":\"Delete\""];

/// The next calls go wrong as a test wants it.
#[derive(Default)]
pub(super) struct Flaky {
    /// The next put happens, and its reply is lost.
    pub(super) lose_put_reply: AtomicBool,
    /// The next put fails like this and does not happen.
    pub(super) fail_put: Mutex<Option<BucketErrorKind>>,
    /// Another step's put comes before our next one.
    pub(super) put_first: Mutex<Option<Put>>,
    /// The handler answers right after the next put.
    pub(super) answer_after: Mutex<Option<String>>,
    /// Every get fails.
    pub(super) deny_get: AtomicBool,
}

impl Hook for Flaky {
    async fn meet<T: Send>(
        &self,
        memory: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        match call.operation {
            "GetObject" if self.deny_get.load(Ordering::SeqCst) => return Err(call.fails(BucketErrorKind::Denied)),
            "PutObject" => {}
            _ => return request.await,
        }
        if let Some(kind) = self.fail_put.lock().unwrap().take() {
            return Err(call.fails(kind));
        }
        let first = self.put_first.lock().unwrap().take();
        if let Some(other) = first {
            memory.put(call.key, other, When::Always).await?;
        }
        let answer = request.await?;
        if let Some(body) = self.answer_after.lock().unwrap().take() {
            memory.raw_put(call.key, body);
        }
        match self.lose_put_reply.swap(false, Ordering::SeqCst) {
            true => Err(call.fails(BucketErrorKind::Unknown)),
            false => Ok(answer),
        }
    }
}

/// A custom resource with its bucket.
pub(super) struct Custom {
    pub(super) bench: Bench,
    pub(super) bucket: Arc<Hooked<Flaky>>,
}

pub(super) fn custom(properties: Value) -> Custom {
    let mut bench = Bench::new("Custom::Thing", "thing-1|with|bars", properties);
    let memory = MemoryBucket::versioned("state", bench.clock.clone());
    let bucket = Arc::new(Hooked { memory, hook: Flaky::default() });
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
        self.bucket.memory.raw_put(&self.key(delivery), body.to_string());
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
