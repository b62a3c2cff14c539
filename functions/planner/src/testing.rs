//! What the tests share: the sample states in a bucket in memory, behind a world that knows one account and counts calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ebb_core::lock::{Identity, LockBody};
use ebb_core::payload::{CheckAnswer, PlanAnswer, PlanRequest, PlannerRequest};
use ebb_core::rails::Rails;
use ebb_core::run::run_id;
use ebb_core::{Millis, Outcome, Refusal, Run, RunRecord, StackKey, StepResult};
use ebb_store::{
    Bucket, BucketError, BucketErrorKind, Call, Execution, ExecutionsError, Hook, Hooked, MemoryBucket, Object, OneWorld,
    VirtualClock,
};
use serde_json::{Value, json};

use crate::{Deps, handle};

pub(crate) const T: Millis = 1_765_000_000_000;
pub(crate) const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:nightly-7";
pub(crate) const BUCKET: &str = "cdkd-state-123456789012";

pub(crate) const LEGACY: &str = include_str!("../../../tests/states/01-v1-legacy.json");
pub(crate) const REST_API: &str = include_str!("../../../tests/states/02-v2-rest-api.json");
pub(crate) const NETWORK: &str = include_str!("../../../tests/states/04-v8-vpc-lambda-nat.json");
pub(crate) const LATEST: &str = include_str!("../../../tests/states/05-v11-latest.json");
pub(crate) const PARENT: &str = include_str!("../../../tests/states/06-v10-nested-parent.json");
pub(crate) const CHILD: &str = include_str!("../../../tests/states/07-v10-nested-child.json");
pub(crate) const EXPORTER: &str = include_str!("../../../tests/states/08-v9-exporter.json");
pub(crate) const IMPORTER: &str = include_str!("../../../tests/states/09-v9-importer.json");

/// A sample after a change.
pub(crate) fn edit(sample: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut state: Value = serde_json::from_str(sample).unwrap();
    change(&mut state);
    state.to_string()
}

/// Counts calls and fails single ones.
#[derive(Default)]
pub(crate) struct Watch {
    calls: Mutex<Vec<String>>,
    /// What the next GET of a key still sees.
    stale: Mutex<HashMap<String, Option<Object>>>,
    /// Call (`PUT key`) → errors still to come.
    failing: Mutex<HashMap<String, (u32, BucketErrorKind)>>,
}

impl Hook for Watch {
    async fn meet<T: Send>(
        &self,
        _: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        self.calls.lock().unwrap().push(call.to_string());
        if let Some((left, kind)) = self.failing.lock().unwrap().get_mut(&call.to_string())
            && *left > 0
        {
            *left -= 1;
            return Err(call.fails(*kind));
        }
        request.await
    }

    fn seen(&self, key: &str, object: Option<Object>) -> Option<Object> {
        self.stale.lock().unwrap().remove(key).unwrap_or(object)
    }
}

/// A planner and its world.
pub(crate) struct Bed {
    pub(crate) deps: Deps,
    pub(crate) bucket: Arc<Hooked<Watch>>,
    one: Arc<OneWorld>,
    vars: Vec<(&'static str, &'static str)>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With these variables of the app.
    pub(crate) fn with(vars: &[(&'static str, &'static str)]) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(T));
        let memory = MemoryBucket::versioned(BUCKET, clock.clone());
        let bucket = Arc::new(Hooked { memory, hook: Watch::default() });
        let one = OneWorld::new(bucket.clone());
        Bed { deps: Deps::new(one.world(clock), rails(vars)), bucket, one, vars: vars.to_vec() }
    }

    /// Another container of the same function: it remembers nothing.
    pub(crate) fn cold(&mut self) {
        self.restart(&[]);
    }

    /// The app's variables change, and with them its containers.
    pub(crate) fn restart(&mut self, vars: &[(&'static str, &'static str)]) {
        let vars: Vec<_> = self.vars.iter().copied().chain(vars.iter().copied()).collect();
        self.deps = Deps::new(self.deps.world.clone(), rails(&vars));
    }

    pub(crate) fn executes(&self, execution: Result<Option<Execution>, ExecutionsError>) {
        self.one.executes(execution);
    }

    pub(crate) fn refuses(&self, refusal: Option<Refusal>) {
        self.one.refuses(refusal);
    }

    /// Checks an execution with this input.
    pub(crate) async fn check(&self, input: Value) -> CheckAnswer {
        self.executes(Ok(Some(Execution { input: input.to_string(), started_at: T, running: true, redriven: false, end: None })));
        self.check_again().await
    }

    pub(crate) async fn check_again(&self) -> CheckAnswer {
        let answer = handle(PlannerRequest::Check { execution: ARN.into() }, &self.deps).await.unwrap();
        serde_json::from_value(answer).unwrap()
    }

    pub(crate) fn put(&self, key: &str, body: &str) -> String {
        self.bucket.memory.raw_put(key, body.to_owned())
    }

    pub(crate) fn object(&self, key: &str) -> Option<String> {
        self.bucket.memory.snapshot().get(key).map(|body| String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) fn everything(&self) -> Vec<(String, String)> {
        let snapshot = self.bucket.memory.snapshot();
        snapshot.iter().map(|(key, body)| (key.clone(), String::from_utf8(body.to_vec()).unwrap())).collect()
    }

    /// Our open lock, or what is given.
    pub(crate) fn put_lock(&self, key: &StackKey, run: &Run, body: Option<LockBody>) {
        let body = body.unwrap_or_else(|| LockBody::open(&Identity::of(run), self.deps.world.clock.now()));
        self.put(&key.lock(), &body.to_json());
    }

    /// The next calls of this kind (`PUT key`) fail.
    pub(crate) fn fail(&self, call: String, times: u32, kind: BucketErrorKind) {
        self.bucket.hook.failing.lock().unwrap().insert(call, (times, kind));
    }

    /// An object as it is now.
    pub(crate) async fn read(&self, key: &str) -> Option<Object> {
        self.bucket.memory.get(key).await.unwrap()
    }

    /// The next read of `key` was under way early and sees this.
    pub(crate) fn answer_once(&self, key: &str, object: Option<Object>) {
        self.bucket.hook.stale.lock().unwrap().insert(key.to_owned(), object);
    }

    /// The calls since the last time.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.bucket.hook.calls.lock().unwrap())
    }

    pub(crate) async fn plan(&self, request: &PlanRequest) -> PlanAnswer {
        serde_json::from_value(self.plan_value(request).await).unwrap()
    }

    pub(crate) async fn plan_value(&self, request: &PlanRequest) -> Value {
        handle(PlannerRequest::Plan(Box::new(request.clone())), &self.deps).await.unwrap()
    }

    pub(crate) fn record(&self, run: &Run) -> RunRecord {
        RunRecord::parse(self.object(&run.key().run_record(&run.run_id)).expect("a record").as_bytes()).unwrap()
    }

    pub(crate) async fn pass(&self, millis: Millis) {
        self.deps.world.clock.sleep(Duration::from_millis(millis)).await;
    }
}

fn rails(vars: &[(&str, &str)]) -> Rails {
    let value = |name: &str| vars.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    Rails::from_vars(|name| value(name).or_else(|| (name == "EBB_APP").then(|| "ebb".into()))).unwrap()
}

/// The run of a request, as Check answers it.
pub(crate) fn run(stack: &str, region: &str, options: Value) -> Run {
    serde_json::from_value(json!({
        "runId": run_id(ARN, T), "execution": ARN, "owner": "ebb@123456789012:us-east-1/ebb-teardown/nightly-7", "timestamp": T,
        "account": "123456789012", "bucket": BUCKET, "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": stack,
        "region": region, "dryRun": options["dryRun"] == json!(true), "options": options,
    }))
    .unwrap()
}

/// A drive of a run: what the state machine does, a plan at a time.
pub(crate) struct Drive<'a> {
    bed: &'a Bed,
    pub(crate) request: PlanRequest,
    pub(crate) answer: Option<PlanAnswer>,
}

impl<'a> Drive<'a> {
    pub(crate) fn of(bed: &'a Bed, run: Run) -> Self {
        Drive { bed, request: PlanRequest { run, drive: 1, step: 0, results: Vec::new() }, answer: None }
    }

    /// Asks for the next plan with what the request holds.
    pub(crate) async fn plan(&mut self) -> PlanAnswer {
        let answer = self.bed.plan(&self.request).await;
        self.request.step = answer.step;
        self.answer = Some(answer.clone());
        answer
    }

    /// Gives the whole wave this outcome, but single rows another.
    pub(crate) fn all(&mut self, outcome: Outcome, but: &[(&str, Outcome)]) {
        let items = self.answer.iter().flat_map(|answer| &answer.items);
        let of = |id: &str| but.iter().find(|(row, _)| id.ends_with(&format!("/{row}"))).map_or(outcome, |(_, odd)| *odd);
        self.request.results = items.map(|item| StepResult::new(&item.id, item.step, of(&item.id))).collect();
    }
}
