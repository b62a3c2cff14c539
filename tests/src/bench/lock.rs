//! How many S3 requests the lock and a wave take, counted with a bucket in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ebb_core::payload::{FinalizerRequest, KeeperRequest, PlanAnswer, PlanNext, PlanRequest, PlannerRequest};
use ebb_core::rails::Rails;
use ebb_core::run::run_id;
use ebb_core::{Ending, Millis, Outcome, Run, StepResult};
use ebb_store::lambda::read;
use ebb_store::runs::Runs;
use ebb_store::{BucketError, Call, Execution, Failure, Hook, Hooked, MemoryBucket, OneWorld, VirtualClock, World};
use serde::Serialize;
use serde_json::json;

use super::row;

const T: Millis = 1_765_000_000_000;
const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:bench";
const STATE: &str = "cdkd-state-123456789012";
/// A stack without children.
const SAMPLE: &str = include_str!("../../states/02-v2-rest-api.json");

/// S3 requests, by what asked for them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lock {
    pub acquire: usize,
    pub renew: usize,
    /// The end: what settles state, record and reports is in it.
    pub finish: usize,
    /// The most of any wave of a planner that planned the wave before, and of one that did not.
    pub wave_warm: usize,
    pub wave_cold: usize,
    /// Writes of a wave of which nothing was deleted, beside the record.
    pub idle_writes: usize,
    /// Listings between the first plan and the finish.
    pub lists: usize,
    /// Bytes of a state of 10,000 resources, and the most that a step reads there, lock and row together.
    pub state_bytes_10000: u64,
    pub worker_bytes_10000: u64,
    /// What a warm wave asks for.
    pub warm: BTreeMap<String, usize>,
}

/// Plays one teardown twice: with planners that stay warm, and with cold ones.
pub fn measure() -> Result<Lock, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let mut lock = Lock::default();
        play(&mut lock, false).await.map_err(|failure| format!("{failure:?}"))?;
        play(&mut lock, true).await.map_err(|failure| format!("{failure:?}"))?;
        let bytes = row::measure(10_000).await.map_err(|failure| format!("{failure:?}"))?;
        (lock.state_bytes_10000, lock.worker_bytes_10000) = bytes;
        Ok(lock)
    })
}

async fn play(lock: &mut Lock, cold: bool) -> Result<(), Failure> {
    let stand = Stand::of(SAMPLE)?;
    let (bucket, run, world, keeper) = (&stand.bucket, &stand.run, &stand.world, stand.keeper());

    ebb_lock_keeper::handle(KeeperRequest::Acquire { run: run.clone() }, &keeper).await?;
    lock.acquire = bucket.hook.taken().len();
    ebb_lock_keeper::handle(KeeperRequest::Renew { execution: ARN.into() }, &keeper).await?;
    lock.renew = bucket.hook.taken().len();

    let mut warm = stand.planner();
    let (mut step, mut results, mut idle) = (0, Vec::new(), true);
    loop {
        if cold {
            warm = stand.planner();
        }
        let request = PlanRequest { run: run.clone(), drive: 1, step, results };
        let answer: PlanAnswer = read(ebb_planner::handle(PlannerRequest::Plan(Box::new(request)), &warm).await?)?;
        let calls = bucket.hook.taken();
        // The first plan surveys the stack.
        if step > 0 {
            lock.lists += calls.iter().filter(|call| call.starts_with("LIST") || call.starts_with("VERSIONS")).count();
            let most = if cold { &mut lock.wave_cold } else { &mut lock.wave_warm };
            if calls.len() > *most {
                *most = calls.len();
                if !cold {
                    lock.warm = by_kind(&calls);
                }
            }
            if idle {
                let state = |call: &&String| call.starts_with("PUT") && !call.contains("/runs/");
                lock.idle_writes = lock.idle_writes.max(calls.iter().filter(state).count());
            }
        }
        step = answer.step;
        // Looks and the first answers of the deletes: nothing is gone yet.
        idle = answer.items.iter().all(|item| item.look);
        let outcome = |look| if look { Outcome::Pending } else { Outcome::Deleted };
        results = answer.items.iter().map(|item| StepResult::new(&item.id, item.step, outcome(item.look))).collect();
        match answer.next {
            PlanNext::Wave => {}
            PlanNext::Wait => world.clock.sleep(Duration::from_secs(answer.seconds.unwrap_or(1))).await,
            PlanNext::Finish => break,
            PlanNext::Again | PlanNext::Stop => return Err(failure(&format!("the drive ended: {answer:?}"))),
        }
    }
    let finalizer = ebb_finalizer::Deps { world: world.clone(), app: "ebb".into() };
    let finish = json!({"action": "finish", "run": run});
    ebb_finalizer::handle(read::<FinalizerRequest>(finish)?, &finalizer).await?;
    lock.finish = bucket.hook.taken().len();
    Ok(())
}

/// One run of one stack, with what the functions need from outside.
pub(super) struct Stand {
    pub(super) bucket: Arc<Hooked<Counted>>,
    pub(super) run: Run,
    pub(super) world: World,
    pub(super) rails: Rails,
}

impl Stand {
    /// With this state in the bucket.
    pub(super) fn of(state: impl Into<Bytes>) -> Result<Self, Failure> {
        let clock = Arc::new(VirtualClock::starting_at(T));
        let memory = MemoryBucket::versioned(STATE, clock.clone());
        let bucket = Arc::new(Hooked { memory, hook: Counted::default() });
        let run = run();
        bucket.memory.raw_put(&run.key().state(), state);
        let one = OneWorld::new(bucket.clone());
        one.executes(Ok(Some(Execution {
            input: input().to_string(),
            started_at: T,
            running: true,
            redriven: false,
            end: None,
        })));
        let world = one.world(clock);
        let vars = |name: &str| match name {
            "EBB_APP" => Some("ebb".to_owned()),
            "EBB_MAX_RESOURCES" => Some("20000".to_owned()),
            _ => None,
        };
        let rails = Rails::from_vars(vars).map_err(|error| failure(&error.to_string()))?;
        Ok(Stand { bucket, run, world, rails })
    }

    pub(super) fn keeper(&self) -> ebb_lock_keeper::Deps {
        ebb_lock_keeper::Deps {
            world: self.world.clone(),
            resolve: Arc::new(Runs::new(self.world.clone(), Arc::new(self.rails.clone()))),
            rails: self.rails.clone(),
            home_region: None,
        }
    }

    /// A planner in a new container.
    pub(super) fn planner(&self) -> ebb_planner::Deps {
        ebb_planner::Deps::new(self.world.clone(), self.rails.clone())
    }
}

pub(super) fn failure(what: &str) -> Failure {
    Failure::new(Ending::Error.name(), what)
}

/// Calls by operation and the last part of the key.
fn by_kind(calls: &[String]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for call in calls {
        let (operation, key) = call.split_once(' ').unwrap_or((call, ""));
        let kind = if key.contains("/runs/") { "record" } else { key.rsplit('/').next().unwrap_or(key) };
        *kinds.entry(format!("{operation} {kind}")).or_default() += 1;
    }
    kinds
}

fn input() -> serde_json::Value {
    json!({"stack": "OrdersApi", "region": "us-west-2", "confirm": "OrdersApi", "deleteData": true, "removeProtection": true})
}

fn run() -> Run {
    let mut run = crate::bench::makespan::run();
    (run.options.delete_data, run.options.remove_protection) = (true, true);
    Run {
        run_id: run_id(ARN, T),
        execution: ARN.into(),
        owner: "ebb@123456789012:us-east-1/ebb-teardown/bench".into(),
        timestamp: T,
        account: "123456789012".into(),
        bucket: STATE.into(),
        bucket_region: "us-east-1".into(),
        prefix: "cdkd".into(),
        stack: "OrdersApi".into(),
        region: "us-west-2".into(),
        ..run
    }
}

/// Writes down what is asked for, and how many bytes are given out.
#[derive(Default)]
pub(super) struct Counted {
    calls: Mutex<Vec<String>>,
    bytes: AtomicU64,
}

impl Counted {
    fn calls(&self) -> MutexGuard<'_, Vec<String>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls())
    }

    /// Bytes that were read since the last time.
    pub(super) fn bytes_taken(&self) -> u64 {
        self.bytes.swap(0, Ordering::Relaxed)
    }
}

impl Hook for Counted {
    async fn meet<T: Send>(
        &self,
        _: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        self.calls().push(call.to_string());
        request.await
    }

    fn gives(&self, _key: &str, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
