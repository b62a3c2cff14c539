//! The bench of these tests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::lock::{Identity, LockBody};
use ebb_core::payload::StepRequest;
use ebb_core::rails::Rails;
use ebb_core::{Clock, Context, DeleteError, Item, Look, Millis, Provider, Refusal, Resource, Run, Step, StepResult};
use ebb_store::{Bucket, BucketError, BucketErrorKind, Call, Failure, Hook, Hooked, MemoryBucket, OneWorld, VirtualClock};
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

/// Reads can be slow or fail, and are counted; the worker writes nothing.
pub(super) struct Reads {
    clock: VirtualClock,
    pub(super) of_lock: AtomicU64,
    pub(super) of_state: AtomicU64,
    pub(super) state_bytes: AtomicU64,
    pub(super) state_takes_ms: AtomicU64,
    /// Ending of the keys that cannot be read.
    pub(super) fails: Mutex<Option<(&'static str, BucketErrorKind)>>,
}

impl Reads {
    fn new(clock: VirtualClock) -> Self {
        Reads {
            clock,
            of_lock: AtomicU64::new(0),
            of_state: AtomicU64::new(0),
            state_bytes: AtomicU64::new(0),
            state_takes_ms: AtomicU64::new(0),
            fails: Mutex::new(None),
        }
    }
}

impl Hook for Reads {
    async fn meet<T: Send>(
        &self,
        _: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        assert_eq!(call.operation, "GetObject", "the worker only reads: {call}");
        if call.key.ends_with("/lock.json") {
            self.of_lock.fetch_add(1, Ordering::SeqCst);
        }
        if call.key.ends_with("/state.json") {
            self.of_state.fetch_add(1, Ordering::SeqCst);
            self.clock.sleep(Duration::from_millis(self.state_takes_ms.load(Ordering::SeqCst))).await;
        }
        match *self.fails.lock().unwrap() {
            Some((ending, kind)) if call.key.ends_with(ending) => return Err(call.fails(kind)),
            _ => {}
        }
        request.await
    }

    fn gives(&self, key: &str, bytes: usize) {
        if key.ends_with("/state.json") {
            self.state_bytes.fetch_add(bytes as u64, Ordering::SeqCst);
        }
    }
}

/// One provider for everything.
struct Only(Arc<Fake>);

#[async_trait]
impl ProviderFactory for Only {
    async fn provider(&self, _: &Run, region: &str, _: Arc<dyn Bucket>) -> Result<Arc<dyn Provider>, Refusal> {
        assert_eq!(region, "us-west-2");
        Ok(self.0.clone())
    }
}

pub(crate) struct Bench {
    pub(super) clock: VirtualClock,
    pub(super) store: Arc<Hooked<Reads>>,
    pub(super) provider: Arc<Fake>,
    pub(crate) request: StepRequest,
    one: Arc<OneWorld>,
    deps: Deps,
}

/// The stack `Orders` with a queue, under our open lock.
pub(crate) fn bench() -> Bench {
    let clock = VirtualClock::starting_at(T);
    let memory = MemoryBucket::versioned("state", Arc::new(clock));
    let store = Arc::new(Hooked { memory, hook: Reads::new(clock) });
    let (provider, one) = (Arc::new(Fake::default()), OneWorld::new(store.clone()));
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
    let rails = Rails::from_vars(|name| (name == "EBB_APP").then(|| "ebb".to_owned())).unwrap();
    let deps = Deps { world: one.world(Arc::new(clock)), providers: Arc::new(Only(provider.clone())), rails };
    let bench = Bench { clock, store, provider, request: StepRequest { run, item, retry: 0 }, one, deps };
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
        self.store.memory.raw_put(&self.request.run.key().sibling(stack).state(), state.to_string());
    }

    /// Writes a stack's lock.
    pub(super) fn lock(&self, stack: &str, body: &str) {
        self.store.memory.raw_put(&self.request.run.key().sibling(stack).lock(), body.to_owned());
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
        self.one.refuses(Some(refusal));
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
