//! The four functions as Lambda runs them: warm and cold containers, at least one delivery, deliveries that are refused,
//! doubled, cut off, killed between any two of their requests, or over after 60 s. They run on when the execution that
//! asked has been stopped.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::payload::WorkerRequest;
use ebb_core::rails::Rails;
use ebb_core::{Clock, Ending, Millis, Provider, Refusal, Run, Target};
use ebb_store::lambda::{read, write};
use ebb_store::runs::Runs;
use ebb_store::{Accounts, Bucket, BucketPlace, Execution, Executions, ExecutionsError, Failure, VirtualClock, World};
use ebb_worker::ProviderFactory;
use serde_json::Value;
use tokio::sync::oneshot;

use super::bucket::SimBucket;
use super::executions::{ACCOUNT, Standing};
use super::invariants::Invariant;
use super::log::{brief, weigh};
use super::machine::Fault;
use super::provider::SimProvider;
use super::scenario::Deed;
use super::world::{ACTOR, Actor, RunName, SECRET, Sim, actor};

/// Every function's time-out.
const TIME_OUT: Duration = Duration::from_secs(60);
/// Containers of a function that stay warm.
const WARM: usize = 3;

/// A clock that is off.
pub struct Skewed {
    time: VirtualClock,
    by: i64,
}

impl Skewed {
    /// `time`, ahead by `by` milliseconds.
    pub fn new(time: VirtualClock, by: i64) -> Self {
        Skewed { time, by }
    }
}

#[async_trait]
impl Clock for Skewed {
    fn now(&self) -> Millis {
        self.time.now().saturating_add_signed(self.by)
    }

    async fn sleep(&self, duration: Duration) {
        self.time.sleep(duration).await;
    }
}

/// What the functions reach of the simulated world.
struct Outside(Weak<Sim>);

impl Outside {
    fn sim(&self) -> Result<Arc<Sim>, Refusal> {
        self.0.upgrade().ok_or_else(|| Refusal::new(Ending::Error, "the simulation ended"))
    }
}

#[async_trait]
impl Executions for Outside {
    async fn describe(&self, execution_arn: &str) -> Result<Option<Execution>, ExecutionsError> {
        let sim = self.sim().map_err(|error| ExecutionsError(error.message))?;
        let (rates, rng) = (&sim.scenario.rates, &sim.rng.machines);
        sim.sleep(rng.millis(10, 120)).await;
        if rng.chance(sim.odds(rates.describe_error)) {
            sim.fault("DescribeExecution fails");
            return Err(ExecutionsError("ThrottlingException".into()));
        }
        if rng.chance(sim.odds(rates.describe_unknown)) {
            sim.fault("DescribeExecution does not know yet");
            return Ok(None);
        }
        let late = rng.chance(sim.odds(rates.describe_stale));
        let now = sim.now();
        let all = sim.executions.all();
        let Some(found) = all.iter().find(|e| e.arn == execution_arn) else { return Ok(None) };
        let running = found.standing == Standing::Running;
        // What ended a moment ago may still be told as running.
        let stale = late && found.ended_at.is_some_and(|at| now - at < 30_000);
        let answer = Execution {
            input: found.input.to_string(),
            started_at: found.started_at,
            running: running || stale,
            redriven: found.redrives > 0,
            end: None,
        };
        drop(all);
        if stale {
            sim.fault("DescribeExecution is stale");
        }
        Ok(Some(answer))
    }
}

#[async_trait]
impl Accounts for Outside {
    async fn account(&self, _: Option<&Target>, _: &str) -> Result<String, Refusal> {
        Ok(ACCOUNT.to_owned())
    }

    async fn find_bucket(
        &self,
        _: Option<&Target>,
        _: &str,
        _: &str,
        name: Option<&str>,
        _: Option<&str>,
    ) -> Result<BucketPlace, Refusal> {
        let sim = self.sim()?;
        let name = name.unwrap_or(&sim.scenario.bucket).to_owned();
        Ok(BucketPlace { name, region: "us-east-1".into(), warnings: Vec::new() })
    }

    async fn bucket(&self, _: &Run) -> Result<Arc<dyn Bucket>, Refusal> {
        Ok(Arc::new(SimBucket::new(self.sim()?)))
    }
}

#[async_trait]
impl ProviderFactory for Outside {
    async fn provider(&self, _: &Run, _: &str, bucket: Arc<dyn Bucket>) -> Result<Arc<dyn Provider>, Refusal> {
        Ok(Arc::new(SimProvider { sim: self.sim()?, bucket }))
    }
}

/// One container's code with what it remembers.
#[derive(Clone)]
enum Container {
    Planner(Arc<ebb_planner::Deps>),
    Worker(Arc<ebb_worker::Deps>),
    LockKeeper(Arc<ebb_lock_keeper::Deps>),
    Finalizer(Arc<ebb_finalizer::Deps>),
}

impl Container {
    async fn handle(&self, payload: Value) -> Result<Value, Failure> {
        match self {
            Container::Planner(deps) => ebb_planner::handle(read(payload)?, deps).await,
            Container::Worker(deps) => {
                let WorkerRequest::Step(request) = read(payload)?;
                write(&ebb_worker::handle(request, deps).await?)
            }
            Container::LockKeeper(deps) => ebb_lock_keeper::handle(read(payload)?, deps).await,
            Container::Finalizer(deps) => ebb_finalizer::handle(read(payload)?, deps).await,
        }
    }
}

/// All functions of the app.
pub struct Fleet {
    outside: Arc<Outside>,
    time: VirtualClock,
    rails: Rails,
    warm: [Mutex<Vec<Container>>; 4],
    invocations: Mutex<u64>,
    /// Payloads that were sent, oldest first; a few, and no acquire: Lambda does not deliver one after minutes.
    sent: Mutex<Vec<(usize, Value)>>,
}

const NAMES: [&str; 4] = ["planner", "worker", "lock-keeper", "finalizer"];

/// What goes wrong with one invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Luck {
    Good,
    /// Never started.
    Refused,
    /// Done, but the caller hears of an error of the service; after this long, when it comes early.
    ReplyLost(Option<Duration>),
    /// Delivered a second time.
    Twice(Duration),
    /// Killed at this poll.
    Killed(u32),
}

impl Fleet {
    /// The functions of `sim`.
    pub fn new(sim: &Arc<Sim>) -> Self {
        let var = |name: &str| match name {
            "EBB_APP" => Some("ebb-app".to_owned()),
            "EBB_MAX_STACKS" => Some("500".to_owned()),
            _ => None,
        };
        let rails = Rails::from_vars(var).expect("the rails of the simulation");
        Fleet {
            outside: Arc::new(Outside(Arc::downgrade(sim))),
            time: sim.time,
            rails,
            warm: Default::default(),
            invocations: Mutex::new(0),
            sent: Mutex::default(),
        }
    }

    fn world(&self, sim: &Sim, function: usize) -> World {
        let by = sim.scenario.skews[function];
        World { clock: Arc::new(Skewed::new(self.time, by)), executions: self.outside.clone(), accounts: self.outside.clone() }
    }

    fn container(&self, sim: &Sim, function: usize) -> Container {
        let mut warm = self.warm[function].lock().unwrap_or_else(PoisonError::into_inner);
        let cold = warm.is_empty() || sim.rng.functions.chance(sim.odds(100));
        if !cold {
            let at = sim.rng.functions.below(warm.len());
            return warm.swap_remove(at);
        }
        let (world, rails) = (self.world(sim, function), self.rails.clone());
        match function {
            0 => Container::Planner(Arc::new(ebb_planner::Deps::new(world, rails))),
            1 => Container::Worker(Arc::new(ebb_worker::Deps { world, providers: self.outside.clone(), rails })),
            2 => Container::LockKeeper(Arc::new(ebb_lock_keeper::Deps {
                resolve: Arc::new(Runs::new(world.clone(), Arc::new(rails.clone()))),
                world,
                rails,
                home_region: Some("us-east-1".into()),
            })),
            _ => Container::Finalizer(Arc::new(ebb_finalizer::Deps { world, app: "ebb".into() })),
        }
    }

    /// Invokes a function for a state machine. The answer comes when it comes; nobody has to wait for it.
    pub fn invoke(&self, sim: &Arc<Sim>, name: &str, payload: Value) -> Result<oneshot::Receiver<Result<Value, Fault>>, Fault> {
        let function =
            NAMES.iter().position(|known| *known == name).ok_or_else(|| Fault::Runtime(format!("no function {name}")))?;
        let (_, secret) = weigh(&payload, SECRET);
        sim.check(Invariant::Secrets, !secret, || format!("in a payload of {name}"));
        if sim.scenario.deeds.iter().any(|(_, deed)| *deed == Deed::LateDelivery) && NAMES[function] != "lock-keeper" {
            self.sent.lock().unwrap_or_else(PoisonError::into_inner).push((function, payload.clone()));
        }
        let (answer, receiver) = oneshot::channel();
        let luck = self.luck(sim);
        let sim = sim.clone();
        tokio::spawn(async move {
            let result = match luck {
                Luck::Refused => {
                    sim.fault("function: refused by Lambda");
                    sim.sleep(sim.rng.functions.millis(20, 3_000)).await;
                    Err(Fault::error("Lambda.TooManyRequestsException", "Rate Exceeded."))
                }
                Luck::ReplyLost(early) => {
                    sim.fault(if early.is_some() { "function: given up while it runs" } else { "function: reply lost" });
                    let first = tokio::spawn(deliver(sim.clone(), function, payload, None));
                    match early {
                        Some(early) => sim.sleep(early).await,
                        None => drop(first.await),
                    }
                    let names = ["Lambda.SdkClientException", "Lambda.ServiceException", "Lambda.AWSLambdaException"];
                    Err(Fault::error(names[sim.rng.functions.below(names.len())], "in the simulation"))
                }
                Luck::Twice(after) => {
                    sim.fault("function: delivered twice");
                    let (again, twice) = (sim.clone(), payload.clone());
                    tokio::spawn(async move {
                        again.sleep(after).await;
                        drop(deliver(again, function, twice, None).await);
                    });
                    deliver(sim.clone(), function, payload, None).await
                }
                Luck::Killed(polls) => deliver(sim.clone(), function, payload, Some(polls)).await,
                Luck::Good => deliver(sim.clone(), function, payload, None).await,
            };
            let _ = answer.send(result);
        });
        Ok(receiver)
    }

    /// Delivers a payload of earlier once more.
    pub async fn deliver_again(&self, sim: &Arc<Sim>) {
        let old = {
            let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            // The finalizer's are the ones that remove things.
            let finishes: Vec<_> = sent.iter().filter(|(function, _)| NAMES[*function] == "finalizer").collect();
            match (finishes.len(), sent.len()) {
                (0, 0) => return,
                (some, _) if some > 0 && sim.rng.neighbours.chance(600) => finishes[sim.rng.neighbours.below(some)].clone(),
                (_, all) => sent[sim.rng.neighbours.below(all)].clone(),
            }
        };
        sim.fault("function: delivered again, late");
        drop(deliver(sim.clone(), old.0, old.1, None).await);
    }

    fn luck(&self, sim: &Sim) -> Luck {
        let (rates, rng) = (&sim.scenario.rates, &sim.rng.functions);
        if rng.chance(sim.odds(rates.function_refused)) {
            Luck::Refused
        } else if rng.chance(sim.odds(rates.function_reply_lost)) {
            Luck::ReplyLost(rng.chance(500).then(|| rng.millis(0, 4_000)))
        } else if rng.chance(sim.odds(rates.function_twice)) {
            // While the first one works, right after it, or long after.
            let latest = *rng.pick(&[300, 3_000, 60_000]);
            Luck::Twice(rng.millis(0, latest))
        } else if rng.chance(sim.odds(rates.function_killed)) {
            Luck::Killed(rng.between(1, 30) as u32)
        } else {
            Luck::Good
        }
    }
}

/// One delivery.
async fn deliver(sim: Arc<Sim>, function: usize, payload: Value, killed: Option<u32>) -> Result<Value, Fault> {
    let (fleet, name) = (sim.fleet(), NAMES[function]);
    let invocation = {
        let mut invocations = fleet.invocations.lock().unwrap_or_else(PoisonError::into_inner);
        *invocations += 1;
        *invocations
    };
    let run = payload.get("run").and_then(|run| {
        Some(RunName { owner: run.get("owner")?.as_str()?.to_owned(), timestamp: run.get("timestamp")?.as_u64()? })
    });
    sim.count(match payload["action"].as_str() {
        Some("check") => "checks",
        Some("plan") => "plans",
        Some("step") => "steps",
        Some("acquire") => "acquires",
        Some("renew") => "renewals",
        Some("close") => "closes",
        Some("finish") => "finishes",
        _ => "other invocations",
    });
    sim.event(|| format!("#{invocation} {name} {}", shown(&payload)));
    let container = fleet.container(&sim, function);
    let acts = Actor { name, invocation, run };
    let rng = &sim.rng.functions;
    let work = ACTOR.scope(acts.clone(), async {
        sim.sleep(rng.millis(5, 60)).await;
        if rng.chance(sim.odds(sim.scenario.rates.function_slow)) {
            sim.fault("function: slow");
            sim.sleep(rng.millis(1_000, 58_000)).await;
        }
        container.handle(payload).await
    });
    let outcome = tokio::time::timeout(TIME_OUT, Mortal { work: Some(Box::pin(work)), left: killed }).await;
    sim.truth.invocation_over(invocation);
    let result = match outcome {
        Ok(Some(Ok(answer))) => {
            let mut warm = fleet.warm[function].lock().unwrap_or_else(PoisonError::into_inner);
            if warm.len() < WARM {
                warm.push(container);
            }
            Ok(answer)
        }
        Ok(Some(Err(failure))) => Err(Fault::error(&failure.name, failure.message)),
        Ok(None) => {
            sim.fault("function: killed");
            Err(Fault::error("Runtime.ExitError", "killed in the simulation"))
        }
        Err(_) => {
            sim.fault("function: timed out");
            Err(Fault::error("Sandbox.Timedout", "Task timed out after 60.00 seconds"))
        }
    };
    let secret = match &result {
        Ok(answer) => weigh(answer, SECRET).1,
        Err(fault) => format!("{fault:?}").contains(SECRET),
    };
    sim.check(Invariant::Secrets, !secret, || format!("in an answer of {name}"));
    sim.event(|| match &result {
        Ok(answer) => format!("#{invocation} {name} -> {}", shown(answer)),
        Err(fault) => format!("#{invocation} {name} -> {fault:?}"),
    });
    result
}

/// A payload without the run, which is the same all the time.
fn shown(payload: &Value) -> String {
    let mut payload = payload.clone();
    if let Some(members) = payload.as_object_mut() {
        members.remove("run");
    }
    brief(&payload)
}

/// Work that may be killed: it is dropped at its n-th poll, between two of its requests.
struct Mortal<F> {
    work: Option<Pin<Box<F>>>,
    left: Option<u32>,
}

impl<F: Future> Future for Mortal<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.left {
            Some(0) => {
                self.work = None;
                return Poll::Ready(None);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        match &mut self.work {
            Some(work) => work.as_mut().poll(context).map(Some),
            None => Poll::Ready(None),
        }
    }
}

/// The lock-keeper's `force-unlock`, invoked by an operator by hand.
pub async fn force_unlock(sim: &Arc<Sim>, payload: Value) -> Result<Value, Fault> {
    debug_assert!(actor().name != "lock-keeper");
    let container = sim.fleet().container(sim, 2);
    let work = container.handle(payload);
    let acts = Actor { name: "operator", invocation: 0, run: None };
    ACTOR.scope(acts, work).await.map_err(|failure| Fault::error(&failure.name, failure.message))
}
