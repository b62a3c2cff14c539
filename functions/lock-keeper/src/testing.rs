//! What the tests share: a bucket in memory behind a world that knows one account.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::rails::Rails;
use ebb_core::{Ending, Millis, Options, Refusal, Run, StackKey, Target};
use ebb_store::{
    Accounts, Bucket, BucketError, BucketErrorKind, BucketPlace, Execution, Executions, ExecutionsError, Failure, Listing,
    MemoryBucket, Object, Put, Resolution, ResolveRun, Version, VirtualClock, When, World,
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

/// A bucket that may deny the delete of single keys.
#[derive(Clone)]
pub(crate) struct Denying {
    memory: MemoryBucket,
    denied: Arc<Mutex<HashSet<String>>>,
}

impl Denying {
    pub(crate) fn deny_delete(&self, key: &str) {
        self.denied.lock().unwrap().insert(key.to_owned());
    }
}

#[async_trait]
impl Bucket for Denying {
    fn name(&self) -> &str {
        self.memory.name()
    }
    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        self.memory.get(key).await
    }
    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        self.memory.put(key, put, when).await
    }
    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        if self.denied.lock().unwrap().contains(key) {
            return Err(BucketError {
                kind: BucketErrorKind::Denied,
                operation: "DeleteObject",
                key: key.into(),
                code: "AccessDenied".into(),
                message: String::new(),
            });
        }
        self.memory.delete(key, when).await
    }
    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        self.memory.list(prefix, next, limit).await
    }
    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        self.memory.versions(key).await
    }
    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        self.memory.delete_versions(versions).await
    }
    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        self.memory.presign_put(key, expires).await
    }
}

/// The outside world of a test.
struct Outside {
    bucket: Denying,
    lost: Mutex<bool>,
    resolution: Mutex<Result<Resolution, Failure>>,
}

#[async_trait]
impl Accounts for Outside {
    async fn account(&self, _: Option<&Target>, _: &str) -> Result<String, Refusal> {
        Ok("1".into())
    }
    async fn find_bucket(
        &self,
        _: Option<&Target>,
        _: &str,
        _: &str,
        name: Option<&str>,
        _: Option<&str>,
    ) -> Result<BucketPlace, Refusal> {
        Ok(BucketPlace { name: name.unwrap_or("state").into(), region: "us-east-1".into(), warnings: vec![] })
    }
    async fn bucket(&self, _: &Run) -> Result<Arc<dyn Bucket>, Refusal> {
        if *self.lost.lock().unwrap() {
            return Err(Refusal::new(Ending::BucketNotFound, "no such bucket"));
        }
        Ok(Arc::new(self.bucket.clone()))
    }
}

#[async_trait]
impl Executions for Outside {
    async fn describe(&self, _: &str) -> Result<Option<Execution>, ExecutionsError> {
        Err(ExecutionsError("the keeper asks through ResolveRun".into()))
    }
}

#[async_trait]
impl ResolveRun for Outside {
    async fn resolve(&self, _: &str) -> Result<Resolution, Failure> {
        self.resolution.lock().unwrap().clone()
    }
}

pub(crate) struct Bed {
    pub(crate) deps: Deps,
    pub(crate) bucket: Denying,
    outside: Arc<Outside>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(VirtualClock::starting_at(T));
        let memory = MemoryBucket::versioned("state", clock.clone());
        let bucket = Denying { memory, denied: Arc::default() };
        let outside = Arc::new(Outside {
            bucket: bucket.clone(),
            lost: Mutex::new(false),
            resolution: Mutex::new(Ok(Resolution::NotLearnt)),
        });
        let rails = Rails::from_vars(|name| (name == "EBB_APP").then(|| "ebb".into())).unwrap();
        let deps = Deps {
            world: World { clock, executions: outside.clone(), accounts: outside.clone() },
            resolve: outside.clone(),
            rails,
            home_region: Some("eu-central-1".into()),
        };
        Bed { deps, bucket, outside }
    }

    pub(crate) fn resolves(&self, resolution: Result<Resolution, Failure>) {
        *self.outside.resolution.lock().unwrap() = resolution;
    }

    pub(crate) fn lose_bucket(&self) {
        *self.outside.lost.lock().unwrap() = true;
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
