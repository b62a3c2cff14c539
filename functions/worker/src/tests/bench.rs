//! The bench of these tests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::lock::{Identity, LockBody};
use ebb_core::payload::StepRequest;
use ebb_core::rails::Rails;
use ebb_core::{
    Clock, Context, DeleteError, Ending, Item, Look, Millis, Provider, Refusal, Resource, Run, Span, Step, StepResult, Target,
};
use ebb_store::{
    Accounts, Bucket, BucketError, BucketErrorKind, BucketPlace, Bytes, Execution, Executions, ExecutionsError, Failure, Listing,
    MemoryBucket, Object, Put, Version, VirtualClock, When, World,
};
use serde_json::{Value, json};

use crate::{Deps, ProviderFactory, handle};

pub(super) const T: Millis = 1_765_000_000_000;

/// What a provider's step does before it answers.
type Act = Box<dyn Fn(&Resource, &Context<'_>) -> Result<Step, DeleteError> + Send + Sync>;

/// A provider that answers what the test wants, and counts.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) steps: Mutex<VecDeque<Act>>,
    pub(super) look: Mutex<Option<Result<Look, DeleteError>>>,
    /// Resources of the steps and looks so far, with the memo that each was given.
    pub(super) seen: Mutex<Vec<(Resource, Option<Value>)>>,
    /// How long each step takes.
    pub(super) takes_ms: AtomicU64,
}

#[async_trait]
impl Provider for Fake {
    async fn step(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Step, DeleteError> {
        self.seen.lock().unwrap().push((resource.clone(), ctx.memo.cloned()));
        ctx.clock.sleep(Duration::from_millis(self.takes_ms.load(Ordering::SeqCst))).await;
        let act = self.steps.lock().unwrap().pop_front().expect("no step was expected");
        act(resource, ctx)
    }

    async fn look(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Look, DeleteError> {
        assert!(!ctx.fence.is_open() && ctx.fence.check().await.is_err(), "a look may change nothing");
        self.seen.lock().unwrap().push((resource.clone(), ctx.memo.cloned()));
        self.look.lock().unwrap().take().expect("no look was expected")
    }
}

/// A bucket in memory whose reads can be slow or fail, and are counted.
pub(super) struct Store {
    pub(super) inner: MemoryBucket,
    clock: Arc<dyn Clock>,
    pub(super) lock_reads: AtomicU64,
    pub(super) state_reads: AtomicU64,
    pub(super) state_bytes: AtomicU64,
    pub(super) state_takes_ms: AtomicU64,
    pub(super) fails: Mutex<Option<(&'static str, BucketErrorKind)>>,
}

impl Store {
    /// A read is under way, and may fail.
    async fn arrives(&self, key: &str) -> Result<(), BucketError> {
        if key.ends_with("/lock.json") {
            self.lock_reads.fetch_add(1, Ordering::SeqCst);
        }
        if key.ends_with("/state.json") {
            self.state_reads.fetch_add(1, Ordering::SeqCst);
            self.clock.sleep(Duration::from_millis(self.state_takes_ms.load(Ordering::SeqCst))).await;
        }
        if let Some((ending, kind)) = *self.fails.lock().unwrap()
            && key.ends_with(ending)
        {
            let (code, message) = ("MadeByTheTest".into(), String::new());
            return Err(BucketError { kind, operation: "GetObject", key: key.into(), code, message });
        }
        Ok(())
    }

    fn count(&self, key: &str, body: Option<&Bytes>) {
        if key.ends_with("/state.json") {
            self.state_bytes.fetch_add(body.map_or(0, |body| body.len() as u64), Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl Bucket for Store {
    fn name(&self) -> &str {
        "state"
    }
    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        self.arrives(key).await?;
        let object = self.inner.get(key).await?;
        self.count(key, object.as_ref().map(|object| &object.body));
        Ok(object)
    }
    async fn get_span(&self, key: &str, span: &Span) -> Result<Option<Bytes>, BucketError> {
        self.arrives(key).await?;
        let bytes = self.inner.get_span(key, span).await?;
        self.count(key, bytes.as_ref());
        Ok(bytes)
    }
    async fn put(&self, key: &str, _: Put, _: When) -> Result<String, BucketError> {
        panic!("the worker wrote {key}")
    }
    async fn delete(&self, key: &str, _: When) -> Result<(), BucketError> {
        panic!("the worker deleted {key}")
    }
    async fn list(&self, prefix: &str, _: Option<&str>, _: usize) -> Result<Listing, BucketError> {
        panic!("the worker listed {prefix}")
    }
    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        panic!("the worker listed versions of {key}")
    }
    async fn delete_versions(&self, _: &[Version]) -> Result<Vec<Version>, BucketError> {
        panic!("the worker deleted versions")
    }
    async fn presign_put(&self, key: &str, _: Duration) -> Result<String, BucketError> {
        panic!("the worker presigned {key}")
    }
}

/// One account with one bucket, and one provider for everything.
struct Home {
    store: Arc<Store>,
    provider: Arc<Fake>,
    refuses: Mutex<Option<Refusal>>,
}

#[async_trait]
impl Accounts for Home {
    async fn account(&self, _: Option<&Target>, _: &str) -> Result<String, Refusal> {
        Err(Refusal::new(Ending::Error, "the worker asks for no account"))
    }
    async fn find_bucket(
        &self,
        _: Option<&Target>,
        _: &str,
        _: &str,
        _: Option<&str>,
        _: Option<&str>,
    ) -> Result<BucketPlace, Refusal> {
        Err(Refusal::new(Ending::Error, "the worker finds no bucket"))
    }
    async fn bucket(&self, _: &Run) -> Result<Arc<dyn Bucket>, Refusal> {
        match self.refuses.lock().unwrap().clone() {
            Some(refusal) => Err(refusal),
            None => Ok(self.store.clone()),
        }
    }
}

#[async_trait]
impl Executions for Home {
    async fn describe(&self, _: &str) -> Result<Option<Execution>, ExecutionsError> {
        Err(ExecutionsError("the worker describes no execution".into()))
    }
}

#[async_trait]
impl ProviderFactory for Home {
    async fn provider(&self, _: &Run, region: &str, _: Arc<dyn Bucket>) -> Result<Arc<dyn Provider>, Refusal> {
        assert_eq!(region, "us-west-2");
        Ok(self.provider.clone())
    }
}

pub(crate) struct Bench {
    pub(super) clock: VirtualClock,
    pub(super) store: Arc<Store>,
    pub(super) provider: Arc<Fake>,
    pub(crate) request: StepRequest,
    home: Arc<Home>,
    deps: Deps,
}

/// The stack `Orders` with a queue, under our open lock.
pub(crate) fn bench() -> Bench {
    let clock = VirtualClock::starting_at(T);
    let store = Arc::new(Store {
        inner: MemoryBucket::versioned("state", Arc::new(clock)),
        clock: Arc::new(clock),
        lock_reads: AtomicU64::new(0),
        state_reads: AtomicU64::new(0),
        state_bytes: AtomicU64::new(0),
        state_takes_ms: AtomicU64::new(0),
        fails: Mutex::new(None),
    });
    let provider = Arc::new(Fake::default());
    let home = Arc::new(Home { store: store.clone(), provider: provider.clone(), refuses: Mutex::new(None) });
    let run: Run = serde_json::from_value(json!({
        "runId": "20261130T154512123Z-1a2b3c4d", "execution": "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:t",
        "owner": "ebb@123456789012:us-east-1/ebb-teardown/t", "timestamp": T - 60_000, "account": "123456789012",
        "bucket": "state", "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "Orders", "region": "us-west-2", "dryRun": false
    }))
    .unwrap();
    let item = Item {
        id: "Orders/Queue".into(),
        resource_type: "AWS::SQS::Queue".into(),
        step: 4,
        attempt: 1,
        started_at: T - 5_000,
        look: false,
        memo: None,
        patience_ms: 0,
        span: None,
    };
    let world = World { clock: Arc::new(clock), executions: home.clone(), accounts: home.clone() };
    let rails = Rails::from_vars(|name| (name == "EBB_APP").then(|| "ebb".to_owned())).unwrap();
    let deps = Deps { world, providers: home.clone(), rails };
    let bench = Bench { clock, store, provider, request: StepRequest { run, item, retry: 0 }, home, deps };
    bench.state("Orders", json!({ "Queue": row("AWS::SQS::Queue", "https://q/orders", json!({})) }));
    bench.lock("Orders", &LockBody::open(&bench.identity(), T).to_json());
    bench
}

pub(super) fn row(resource_type: &str, physical_id: &str, properties: Value) -> Value {
    json!({ "resourceType": resource_type, "physicalId": physical_id, "properties": properties })
}

impl Bench {
    pub(super) fn identity(&self) -> Identity {
        Identity::of(&self.request.run)
    }

    /// Writes a stack's state.
    pub(super) fn state(&self, stack: &str, resources: Value) {
        let state = json!({ "version": 8, "stackName": stack, "region": "us-west-2", "resources": resources, "outputs": {} });
        self.store.inner.raw_put(&self.request.run.key().sibling(stack).state(), state.to_string());
    }

    /// Writes a stack's lock.
    pub(super) fn lock(&self, stack: &str, body: &str) {
        self.store.inner.raw_put(&self.request.run.key().sibling(stack).lock(), body.to_owned());
    }

    /// What the provider's next step answers.
    pub(super) fn answers(&self, answer: Result<Step, DeleteError>) {
        self.acts(move |_, _| answer.clone());
    }

    /// What the provider's next step does.
    pub(super) fn acts(&self, act: impl Fn(&Resource, &Context<'_>) -> Result<Step, DeleteError> + Send + Sync + 'static) {
        self.provider.steps.lock().unwrap().push_back(Box::new(act));
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        *self.home.refuses.lock().unwrap() = Some(refusal);
    }

    pub(super) async fn handle(&self) -> Result<StepResult, Failure> {
        handle(self.request.clone(), &self.deps).await
    }

    pub(super) async fn step(&self) -> StepResult {
        let result = self.handle().await.unwrap();
        assert_eq!((result.id.as_str(), result.step), (self.request.item.id.as_str(), 4));
        assert!(serde_json::to_vec(&result).unwrap().len() <= StepResult::MAX_BYTES);
        result
    }

    /// How often the provider was asked.
    pub(super) fn asked(&self) -> usize {
        self.provider.seen.lock().unwrap().len()
    }

    /// Sets the properties of the queue.
    pub(super) fn properties(&self, properties: Value) {
        self.state("Orders", json!({ "Queue": row("AWS::SQS::Queue", "https://q/orders", properties) }));
    }
}
