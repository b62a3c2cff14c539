//! What the tests share: a bucket in memory that can be denied and can stop dead, and records of runs.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ebb_core::lock::{Identity, LockBody};
use ebb_core::payload::{FinalizerRequest, PlanNext};
use ebb_core::record::{Answer, Ended, Looked, RECORD_VERSION, ResourceRecord, RunRecord, StackLedger};
use ebb_core::{Clock, Ending, Millis, Options, Run, Status};
use ebb_store::{
    BucketError, BucketErrorKind, Call, Execution, Failure, Hook, Hooked, MemoryBucket, OneWorld, VirtualClock, When,
};
use serde_json::{Value, json};

use crate::Deps;

pub(crate) const T: Millis = 1_765_000_000_000;
/// Stands for whatever must not be shown.
pub(crate) const SECRET: &str = "hunter2-correct-horse";

pub(crate) fn run() -> Run {
    Run {
        run_id: "20261206T051640000Z-1a2b3c4d".into(),
        execution: "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:nightly-7".into(),
        owner: "ebb@123456789012:us-east-1/ebb-teardown/nightly-7".into(),
        timestamp: T,
        account: "123456789012".into(),
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

pub(crate) fn foreign_lock() -> String {
    format!(r#"{{"owner":"jo@host:1","timestamp":5,"expiresAt":{},"operation":"deploy"}}"#, T * 2)
}

/// A record without resources.
pub(crate) fn record() -> RunRecord {
    let ledger = StackLedger { before: "b".into(), after: "a".into(), removed: false };
    RunRecord {
        record_version: RECORD_VERSION,
        run: run(),
        step: 7,
        at: T + 60_000,
        started_at: T + 5_000,
        drive: 1,
        events: 120,
        wave: 3,
        answer: Answer { next: PlanNext::Finish, seconds: 0 },
        quiet_at: 0,
        stacks: BTreeMap::from([("S".into(), ledger)]),
        resources: BTreeMap::new(),
        orphans: Vec::new(),
        warnings: Vec::new(),
        refusal: None,
        ended: None,
        absent: false,
    }
}

/// A row that took ten seconds of the first wave, as far as its status says.
pub(crate) fn resource(resource_type: &str, status: Status) -> ResourceRecord {
    let begun = !matches!(status, Status::Waiting | Status::Blocked | Status::Retained);
    ResourceRecord {
        resource_type: resource_type.into(),
        status,
        attempt: u32::from(begun),
        started_at: if begun { T + 10_000 } else { 0 },
        ended_at: if status.is_settled() { T + 20_000 } else { 0 },
        wave: u64::from(begun),
        ms: if begun { 1_250 } else { 0 },
        ..ResourceRecord::default()
    }
}

/// A run that left something of every kind.
pub(crate) fn partial() -> RunRecord {
    let mut record = record();
    let at = |resource: ResourceRecord, from: Millis, to: Millis, wave: u64| ResourceRecord {
        started_at: T + from,
        ended_at: T + to,
        wave,
        ..resource
    };
    let because = |resource: ResourceRecord, code: &str, reason: &str| ResourceRecord {
        code: Some(code.into()),
        reason: Some(reason.into()),
        ..resource
    };
    let named = |resource: ResourceRecord, id: &str| ResourceRecord { physical_id: id.into(), ..resource };
    let hook =
        because(resource("Custom::Seed", Status::Skipped), "HandlerFailed", "Delete handler reported FAILED — resource unproven");
    let in_use = "a resource <dependency> & its \"lock\" are in use";
    let network = resource("AWS::EC2::NatGateway", Status::Deleted);
    let key = resource("AWS::KMS::Key", Status::Deleted);
    record.resources = BTreeMap::from([
        ("S/Queue".into(), named(at(resource("AWS::SQS::Queue", Status::Deleted), 10_000, 11_000, 1), "orders")),
        ("S/Nat".into(), at(network, 10_000, 130_000, 1)),
        ("S/Key".into(), ResourceRecord { already: true, ..named(at(key, 12_000, 13_000, 2), "1234abcd") }),
        ("S/Hook".into(), ResourceRecord { memo: Some(json!({"token": SECRET})), ..at(hook, 12_000, 40_000, 2) }),
        ("S/HookFn".into(), because(resource("AWS::Lambda::Function", Status::Blocked), "Blocked", "needed by S/Hook")),
        ("S/Table".into(), named(resource("AWS::DynamoDB::Table", Status::Retained), "orders-table")),
        (
            "S/Group".into(),
            because(at(resource("AWS::EC2::SecurityGroup", Status::Failed), 13_000, 90_000, 3), "DependencyViolation", in_use),
        ),
        ("S/Vpc".into(), because(resource("AWS::EC2::VPC", Status::Blocked), "Blocked", "needed by S/Group")),
        (
            "S/Child".into(),
            because(
                at(resource("AWS::CloudFormation::Stack", Status::Failed), 0, 95_000, 0),
                "ChildFailed",
                "1 of the nested stack's resources are left; see S~Child",
            ),
        ),
        (
            "S~Child/Role".into(),
            because(
                at(resource("AWS::IAM::Role", Status::Failed), 13_000, 14_000, 3),
                "MalformedPhysicalId",
                "the state records none",
            ),
        ),
    ]);
    if let Some(child) = record.resources.get_mut("S/Child") {
        child.started_at = 0;
    }
    record.stacks.insert("S~Child".into(), StackLedger { before: "c".into(), after: "c".into(), removed: false });
    record.orphans = vec!["S/OldBucket".into()];
    record.warnings = vec!["S/Queue depends on Gone, which is not in the stack any more; ignored".into()];
    record.ended = Some(Ended {
        result: Ending::Partial,
        at: T + 140_000,
        message: Some("partially destroyed: 3 deleted, 1 retained, 1 skipped, 3 failed, 2 blocked".into()),
    });
    record
}

/// A dry run that looked at a table.
pub(crate) fn dry() -> RunRecord {
    let mut record = record();
    record.run.dry_run = true;
    let looked = Looked { code: Some("Protected".into()), reason: Some("deletion protection is on".into()) };
    let table = ResourceRecord { looked: Some(looked), ..resource("AWS::DynamoDB::Table", Status::Waiting) };
    record.resources = BTreeMap::from([
        ("S/Queue".into(), resource("AWS::SQS::Queue", Status::Waiting)),
        ("S/Table".into(), table),
        (
            "S/Role".into(),
            ResourceRecord { reason: Some("kept by its DeletionPolicy".into()), ..resource("AWS::IAM::Role", Status::Retained) },
        ),
    ]);
    record.ended = Some(Ended { result: Ending::DryRun, at: T + 61_000, message: None });
    record
}

/// Denies calls, and stops answering after a number of them.
#[derive(Default)]
pub(crate) struct Frail {
    denied: Mutex<HashSet<(&'static str, String)>>,
    types: Mutex<BTreeMap<String, &'static str>>,
    calls: Mutex<usize>,
    lives: Mutex<Option<usize>>,
}

impl Frail {
    pub(crate) fn deny(&self, operation: &'static str, key: &str) {
        self.denied.lock().unwrap().insert((operation, key.to_owned()));
    }

    /// From now on `calls` calls are answered, then none; `None`: all.
    pub(crate) fn live_for(&self, calls: Option<usize>) {
        *self.lives.lock().unwrap() = calls;
        *self.calls.lock().unwrap() = 0;
    }

    pub(crate) fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }

    pub(crate) fn content_type(&self, key: &str) -> Option<String> {
        self.types.lock().unwrap().get(key).map(|kind| (*kind).to_owned())
    }
}

impl Hook for Frail {
    async fn meet<T: Send>(
        &self,
        _: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        if self.lives.lock().unwrap().is_some_and(|lives| self.calls() >= lives) {
            std::future::pending::<()>().await;
        }
        *self.calls.lock().unwrap() += 1;
        if self.denied.lock().unwrap().contains(&(call.operation, call.key.to_owned())) {
            return Err(call.fails(BucketErrorKind::Denied));
        }
        // The event log is without a lock, last writer wins, and answers are swept up; all else is on a condition.
        let free = call.key.contains("/deployments/")
            || (call.operation == "DeleteObject" && call.key.starts_with("custom-resource-responses/"));
        assert!(free || call.when != Some(&When::Always), "unconditional: {call}");
        if let Some(kind) = call.content_type {
            self.types.lock().unwrap().insert(call.key.to_owned(), kind);
        }
        request.await
    }
}

/// A bucket with what a test puts there, and the finalizer beside it.
pub(crate) struct Bed {
    pub(crate) deps: Deps,
    pub(crate) bucket: Arc<Hooked<Frail>>,
    pub(crate) run: Run,
    one: Arc<OneWorld>,
}

impl Bed {
    /// What DescribeExecution answers.
    pub(crate) fn executes(&self, execution: Option<Execution>) {
        self.one.executes(Ok(execution));
    }

    pub(crate) fn new() -> Self {
        let clock = Arc::new(VirtualClock::starting_at(T));
        let memory = MemoryBucket::versioned("state", clock.clone());
        let bucket = Arc::new(Hooked { memory, hook: Frail::default() });
        let one = OneWorld::new(bucket.clone());
        Bed { deps: Deps { world: one.world(clock), app: "ebb".into() }, bucket, run: run(), one }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.deps.world.clock.as_ref()
    }

    pub(crate) async fn pass(&self, millis: Millis) {
        self.clock().sleep(Duration::from_millis(millis)).await;
    }

    pub(crate) fn put(&self, key: &str, body: &str) {
        self.bucket.memory.raw_put(key, body.to_owned());
    }

    pub(crate) fn remove(&self, key: &str) {
        self.bucket.memory.raw_delete(key);
    }

    pub(crate) fn body(&self, key: &str) -> Option<String> {
        let body = self.bucket.memory.snapshot().get(key).cloned();
        body.map(|body| String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.bucket.memory.snapshot().into_keys().collect()
    }

    /// The bodies that are there, for a search.
    pub(crate) fn bodies(&self) -> BTreeMap<String, String> {
        let all = self.bucket.memory.snapshot();
        all.into_iter().map(|(key, body)| (key, String::from_utf8_lossy(&body).into_owned())).collect()
    }

    pub(crate) fn lock(&self, stack: &str) -> Option<String> {
        self.body(&self.run.key().sibling(stack).lock())
    }

    /// Open locks of the run with a full lease.
    pub(crate) fn take_locks(&self, stacks: &[&str]) {
        let body = LockBody::open(&Identity::of(&self.run), self.clock().now()).to_json();
        for stack in stacks {
            self.put(&self.run.key().sibling(stack).lock(), &body);
        }
    }

    /// The record as it is stored.
    pub(crate) fn stored(&self) -> Option<RunRecord> {
        let body = self.body(&self.run.key().run_record(&self.run.run_id))?;
        Some(RunRecord::parse(body.as_bytes()).unwrap())
    }

    pub(crate) fn store(&self, record: &RunRecord) {
        self.put(&self.run.key().run_record(&self.run.run_id), &serde_json::to_string(record).unwrap());
    }

    pub(crate) async fn finish(&self) -> Result<Value, Failure> {
        self.finish_with(None, None).await
    }

    pub(crate) async fn finish_with(&self, error: Option<&str>, cause: Option<&str>) -> Result<Value, Failure> {
        let (error, cause) = (error.map(str::to_owned), cause.map(str::to_owned));
        crate::handle(FinalizerRequest::Finish { run: self.run.clone(), error, cause, last: false }, &self.deps).await
    }

    /// The keeper's finish, after which nobody comes.
    pub(crate) async fn finish_last(&self) -> Result<Value, Failure> {
        let request = FinalizerRequest::Finish { run: self.run.clone(), error: None, cause: None, last: true };
        crate::handle(request, &self.deps).await
    }

    pub(crate) async fn close(&self) -> Result<Value, Failure> {
        crate::handle(FinalizerRequest::Close { run: self.run.clone() }, &self.deps).await
    }
}
