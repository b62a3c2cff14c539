//! What the tests share: a bucket in memory behind a world that knows one account.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::rails::Rails;
use ebb_core::{Ending, Millis, Options, Refusal, Run, StackKey};
use ebb_store::{
    BucketError, BucketErrorKind, Call, Failure, Hook, Hooked, MemoryBucket, OneWorld, Resolution, ResolveRun, VirtualClock,
};

use crate::Deps;

pub(crate) const T: Millis = 1_765_000_000_000;

pub(crate) fn run() -> Run {
    Run {
        run_id: "r".into(),
        execution: "arn:aws:states:us-east-1:1:execution:m:a".into(),
        owner: "ebb@1:us-east-1/m/a".into(),
        timestamp: T,
        account: "1".into(),
        bucket: "state".into(),
        bucket_region: "us-east-1".into(),
        prefix: "cdkd".into(),
        stack: "S".into(),
        region: "us-west-2".into(),
        target: None,
        dry_run: false,
        expected_last_modified: None,
        options: Options::default(),
    }
}

pub(crate) fn foreign(end: Millis) -> String {
    format!(r#"{{"owner":"jo@host:1","timestamp":5,"expiresAt":{end},"operation":"deploy"}}"#)
}

/// Denies the delete of single keys.
#[derive(Default)]
pub(crate) struct Denying(Mutex<HashSet<String>>);

impl Denying {
    pub(crate) fn deny_delete(&self, key: &str) {
        self.0.lock().unwrap().insert(key.to_owned());
    }
}

impl Hook for Denying {
    async fn meet<T: Send>(
        &self,
        _: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        if call.operation == "DeleteObject" && self.0.lock().unwrap().contains(call.key) {
            return Err(call.fails(BucketErrorKind::Denied));
        }
        request.await
    }
}

/// What the keeper is told of the execution.
struct Told(Mutex<Result<Resolution, Failure>>);

#[async_trait]
impl ResolveRun for Told {
    async fn resolve(&self, _: &str) -> Result<Resolution, Failure> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) struct Bed {
    pub(crate) deps: Deps,
    pub(crate) bucket: Arc<Hooked<Denying>>,
    one: Arc<OneWorld>,
    told: Arc<Told>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(VirtualClock::starting_at(T));
        let memory = MemoryBucket::versioned("state", clock.clone());
        let bucket = Arc::new(Hooked { memory, hook: Denying::default() });
        let one = OneWorld::new(bucket.clone());
        let told = Arc::new(Told(Mutex::new(Ok(Resolution::NotLearnt))));
        let rails = Rails::from_vars(|name| (name == "EBB_APP").then(|| "ebb".into())).unwrap();
        let deps = Deps { world: one.world(clock), resolve: told.clone(), rails, home_region: Some("eu-central-1".into()) };
        Bed { deps, bucket, one, told }
    }

    pub(crate) fn resolves(&self, resolution: Result<Resolution, Failure>) {
        *self.told.0.lock().unwrap() = resolution;
    }

    pub(crate) fn lose_bucket(&self) {
        self.one.refuses(Some(Refusal::new(Ending::BucketNotFound, "no such bucket")));
    }

    pub(crate) fn put(&self, key: &str, body: &str) {
        self.bucket.memory.raw_put(key, body.to_owned());
    }

    pub(crate) fn put_state(&self, stack: &str) {
        self.put(&at(stack).state(), "{}");
    }

    pub(crate) fn put_lock(&self, stack: &str, body: &str) {
        self.put(&at(stack).lock(), body);
    }

    pub(crate) fn lock(&self, stack: &str) -> Option<String> {
        let body = self.bucket.memory.snapshot().get(&at(stack).lock()).cloned();
        body.map(|body| String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) async fn pass(&self, millis: Millis) {
        self.deps.world.clock.sleep(Duration::from_millis(millis)).await;
    }
}

fn at(stack: &str) -> StackKey {
    StackKey::new("cdkd", stack, "us-west-2")
}
