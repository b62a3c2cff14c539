//! The bookkeeping of the truth that the invariants are held against. Everything here sees the world as it is, not as a
//! function was told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ebb_core::record::RunRecord;
use ebb_core::{Ending, Millis, Status};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::aws::{Call, Quirk};
use super::executions::Standing;
use super::invariants::Invariant;
use super::world::{Actor, RunName, SECRET, START, Sim, actor};

/// A lock's body.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lock {
    owner: String,
    timestamp: Millis,
    expires_at: Millis,
    #[serde(default)]
    operation: String,
}

impl Lock {
    fn of(body: Option<&[u8]>) -> Option<Lock> {
        body.and_then(|body| serde_json::from_slice(body).ok())
    }

    fn name(&self) -> RunName {
        RunName { owner: self.owner.clone(), timestamp: self.timestamp }
    }

    fn is_open(&self) -> bool {
        self.operation == "destroy"
    }
}

/// A state as far as the invariants read it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    #[serde(default)]
    resources: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    sim_deployment: u64,
}

/// A run record as far as every write of it is read.
#[derive(Deserialize)]
struct Progressed {
    resources: BTreeMap<String, Stood>,
    #[serde(default)]
    ended: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Stood {
    status: Status,
}

#[derive(Default)]
struct Facts {
    /// Lock key → what is there.
    locks: BTreeMap<String, Lock>,
    /// Run and lock key → since when its lock is not there and open.
    shut: BTreeMap<(RunName, String), Millis>,
    /// Invocation and lock key → the last reading and when it was served.
    readings: BTreeMap<(u64, String), (Option<Lock>, Millis)>,
    /// Run → the deployment that was there when it took the lock.
    deployments: BTreeMap<RunName, u64>,
    /// Deployments so far.
    deployment: u64,
    /// Calls under way: invocation and resource.
    calls: BTreeMap<(u64, String), RunName>,
    /// How often a handler was asked, by request id.
    asked: BTreeMap<String, u32>,
    /// Things the world still has to do before it is quiet.
    pending: i64,
    /// Run records that hold a result.
    ended: BTreeSet<String>,
    /// Ends of teardowns.
    deaths: Vec<Millis>,
}

/// What is true.
#[derive(Default)]
pub struct Truth(Mutex<Facts>);

impl Truth {
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More or less that is still to come.
    pub fn pending(&self, more: i64) {
        self.facts().pending += more;
    }

    /// Whether nothing is still to come.
    pub fn is_quiet(&self) -> bool {
        self.facts().pending == 0
    }

    /// When the last teardown ended.
    pub fn last_death(&self) -> Millis {
        self.facts().deaths.iter().copied().max().unwrap_or(START)
    }

    /// The next deployment's number.
    pub fn next_deployment(&self) -> u64 {
        let mut facts = self.facts();
        facts.deployment += 1;
        facts.deployment
    }

    /// An invocation cannot start anything any more.
    pub fn invocation_over(&self, invocation: u64) {
        self.facts().readings.retain(|(of, _), _| *of != invocation);
    }

    /// Somebody read an object.
    pub fn bucket_read(&self, _: &Sim, actor: &Actor, key: &str, body: Option<&[u8]>, served: Millis) {
        if actor.name == "worker" && key.ends_with("/lock.json") {
            self.facts().readings.insert((actor.invocation, key.to_owned()), (Lock::of(body), served));
        }
    }

    /// An object was written or deleted.
    pub fn bucket_changed(&self, sim: &Arc<Sim>, actor: &Actor, key: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
        sim.event(|| {
            let size = |body: Option<&[u8]>| {
                body.map_or("nothing".to_owned(), |b| {
                    if key.ends_with("/lock.json") {
                        String::from_utf8_lossy(b).into_owned()
                    } else {
                        format!("{} bytes", b.len())
                    }
                })
            };
            format!("#{} {} {key}: {} -> {}", actor.invocation, actor.name, size(before), size(after))
        });
        if actor.is_ebb() {
            self.belongs(sim, actor, key);
            let leaks = !key.ends_with("state.json") && after.is_some_and(|body| contains(body, SECRET));
            sim.check(Invariant::Secrets, !leaks, || format!("in {key}"));
        }
        if key.ends_with("/lock.json") {
            self.lock_changed(sim, actor, key, Lock::of(before), Lock::of(after));
        } else if key.ends_with("/state.json") && actor.is_ebb() {
            self.state_changed(sim, actor, key, before);
        } else if key.starts_with("ebb/runs/") && key.ends_with(".json") && !key.ends_with(".report.json") {
            self.run_record_changed(sim, key, after);
        }
    }

    /// Whether a function has any business with a key.
    fn belongs(&self, sim: &Sim, actor: &Actor, key: &str) {
        let shape = &sim.scenario.shape;
        let region = &shape.region;
        let own = |rest: &str| {
            let (of, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let here = rest.split_once('/').is_some_and(|(at, _)| at == region) || rest == "state.json" || rest == "lock.json";
            shape.is_ours(of) && here
        };
        let run = |rest: &str| {
            rest.split_once('/').is_some_and(|(of, rest)| shape.is_ours(of) && rest.starts_with(&format!("{region}/")))
        };
        let belongs = key.strip_prefix("cdkd/").is_some_and(own)
            || key.strip_prefix("ebb/runs/cdkd/").is_some_and(run)
            || (key.starts_with("ebb/sweeps/cdkd/") && actor.name == "planner" && !shape.fleet.is_empty())
            || key.starts_with("custom-resource-responses/ebb-")
            || key == format!("cdkd/_index/{region}/exports.json");
        sim.check(Invariant::Neighbour, belongs, || format!("{} writes {key}", actor.name));
    }

    fn lock_changed(&self, sim: &Sim, actor: &Actor, key: &str, before: Option<Lock>, after: Option<Lock>) {
        let now = sim.now();
        if actor.is_ebb() {
            let harmless = match (&before, &after) {
                (None, _) => true,
                // Renewed or closed: the holder stays.
                (Some(before), Some(after)) => before.name() == after.name(),
                // Released by its run, or taken over once its lease is over.
                (Some(before), None) => {
                    actor.run.as_ref() == Some(&before.name())
                        || (actor.name == "lock-keeper" && before.expires_at <= now + 1_000)
                }
            };
            sim.check(Invariant::Neighbour, harmless, || {
                format!("{} {:?} changes the lock {key} of {before:?} to {after:?}", actor.name, actor.run)
            });
        }
        let mut facts = self.facts();
        if let Some(before) = before.filter(Lock::is_open)
            && !after.as_ref().is_some_and(|after| after.is_open() && after.name() == before.name())
        {
            facts.shut.insert((before.name(), key.to_owned()), now);
        }
        match after {
            Some(after) => {
                if after.is_open() {
                    facts.shut.remove(&(after.name(), key.to_owned()));
                    let deployment = facts.deployment;
                    facts.deployments.entry(after.name()).or_insert(deployment);
                }
                facts.locks.insert(key.to_owned(), after);
            }
            None => drop(facts.locks.remove(key)),
        }
    }

    fn state_changed(&self, sim: &Sim, actor: &Actor, key: &str, before: Option<&[u8]>) {
        sim.check(Invariant::Neighbour, !sim.is_dry(), || format!("{} writes {key} in a dry run", actor.name));
        let before = before.and_then(|body| serde_json::from_slice::<Recorded>(body).ok());
        if let (Some(before), Some(run)) = (&before, &actor.run) {
            let known = self.facts().deployments.get(run).copied();
            sim.check(Invariant::Neighbour, known.is_none_or(|known| before.sim_deployment <= known), || {
                format!("{} of a run of deployment {known:?} changes {key} of deployment {}", actor.name, before.sim_deployment)
            });
        }
        if let Some(stack) = key.strip_prefix("cdkd/").and_then(|rest| rest.split('/').next()) {
            self.nothing_is_lost(sim, stack);
        }
    }

    /// What lives is recorded, or was dropped by its policy with the whole record.
    fn nothing_is_lost(&self, sim: &Sim, stack: &str) {
        let now = sim.now();
        let body = state_of(sim, stack);
        let is_gone = body.is_none();
        let recorded: Recorded = body.and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
        let lost: Vec<String> = sim
            .aws
            .things()
            .values()
            .filter(|thing| thing.row.stack == stack && thing.is_alive(now))
            .filter(|thing| !(is_gone && thing.row.retained))
            .map(|thing| thing.row.id.clone())
            .filter(|id| !recorded.resources.contains_key(id.split_once('/').map_or("", |(_, row)| row)))
            .collect();
        sim.check(Invariant::Record, lost.is_empty(), || format!("alive and not recorded: {lost:?}"));
    }

    /// The record of everything at the end.
    pub fn nothing_was_lost(&self, sim: &Sim) {
        let shape = &sim.scenario.shape;
        for file in &shape.files {
            self.nothing_is_lost(sim, &file.stack);
        }
        let snapshot = sim.bucket.snapshot();
        for (key, body) in &shape.bystanders {
            let same = snapshot.get(key).is_some_and(|now| now == body);
            sim.check(Invariant::Neighbour, same, || format!("{key} is not what it was"));
        }
    }

    fn run_record_changed(&self, sim: &Arc<Sim>, key: &str, after: Option<&[u8]>) {
        if self.facts().ended.contains(key) {
            return;
        }
        let Some(progress) = after.and_then(|body| serde_json::from_slice::<Progressed>(body).ok()) else {
            sim.check(Invariant::Truth, false, || format!("{key} was removed or cannot be read"));
            return;
        };
        let now = sim.now();
        let alive: Vec<String> = {
            let things = sim.aws.things();
            let lives = |id: &&String| things.get(id.as_str()).is_some_and(|thing| thing.is_alive(now) && thing.deployment == 0);
            progress
                .resources
                .iter()
                .filter(|(_, row)| row.status == Status::Deleted)
                .map(|(id, _)| id)
                .filter(lives)
                .cloned()
                .collect()
        };
        // A later deployment makes things again; only the first one is compared with every record.
        sim.check(Invariant::Truth, alive.is_empty() || self.facts().deployment > 0, || {
            format!("recorded as deleted and alive: {alive:?}")
        });
        if progress.ended.is_some() {
            self.facts().ended.insert(key.to_owned());
        }
        if progress.ended.is_some()
            && let Some(record) = after.and_then(|body| RunRecord::parse(body).ok())
        {
            self.run_ended(sim, &record);
        }
    }

    /// A run writes its result, its lock still held.
    fn run_ended(&self, sim: &Arc<Sim>, record: &RunRecord) {
        let Some(ended) = &record.ended else { return };
        let counts = record.counts();
        let clean = matches!(ended.result, Ending::Deleted | Ending::Empty);
        sim.event(|| format!("{} ends {:?} {counts:?}", record.run.run_id, ended));
        if !clean {
            return;
        }
        let now = sim.now();
        let left: Vec<String> = {
            let things = sim.aws.things();
            let in_run = |stack: &str| record.stacks.contains_key(stack);
            things
                .values()
                .filter(|thing| in_run(&thing.row.stack) && !thing.row.retained && thing.is_alive(now))
                .map(|thing| thing.row.id.clone())
                .collect()
        };
        sim.check(Invariant::Truth, left.is_empty(), || {
            format!("{} says {} and these live: {left:?}", record.run.run_id, ended.result)
        });
        let snapshot = sim.bucket.snapshot();
        let kept: Vec<String> = record
            .stacks
            .keys()
            .map(|stack| record.run.key().sibling(stack).state())
            .filter(|key| snapshot.contains_key(key))
            .collect();
        sim.check(Invariant::Truth, kept.is_empty(), || {
            format!("{} says {} and these are there: {kept:?}", record.run.run_id, ended.result)
        });
        sim.check(Invariant::Truth, counts.is_clean(), || format!("{} says {} with {counts:?}", record.run.run_id, ended.result));
    }

    /// A teardown's execution is over.
    pub fn teardown_ended(&self, sim: &Sim, arn: &str, standing: &Standing) {
        let name = match standing {
            Standing::Running => "running".to_owned(),
            Standing::Succeeded(output) => output["result"].as_str().unwrap_or("?").to_owned(),
            Standing::Failed { error, .. } => error.clone(),
            Standing::TimedOut => "(timed out)".to_owned(),
            Standing::Aborted => "(stopped)".to_owned(),
        };
        if let Standing::Failed { error, cause } = standing {
            let said = serde_json::from_str::<Value>(cause).ok().and_then(|cause| cause["result"].as_str().map(str::to_owned));
            sim.check(Invariant::Truth, said.as_deref() == Some(error.as_str()), || {
                format!("{arn} fails with {error}, its cause says {said:?}: {cause}")
            });
        }
        *sim.log.notes().endings.entry(name).or_default() += 1;
        self.facts().deaths.push(sim.now());
    }

    /// A mutating call leaves.
    pub fn call_starts(&self, sim: &Sim, id: &str, call: Call) {
        let (actor, now) = (actor(), sim.now());
        let Some(run) = actor.run.clone() else { return };
        sim.check(Invariant::Neighbour, !sim.is_dry(), || format!("{call:?} {id} in a dry run"));
        let key = lock_key(sim, id);
        let (reading, shut, known, held) = {
            let mut facts = self.facts();
            facts.calls.insert((actor.invocation, id.to_owned()), run.clone());
            (
                facts.readings.get(&(actor.invocation, key.clone())).cloned(),
                facts.shut.get(&(run.clone(), key.clone())).copied(),
                facts.deployments.get(&run).copied(),
                facts.locks.get(&key).is_some_and(|lock| lock.name() == run),
            )
        };
        // The store's date has whole seconds, and its answer was a moment on its way.
        let fresh = match &reading {
            Some((Some(lock), served)) => {
                lock.name() == run
                    && lock.is_open()
                    && now - served <= 10_000
                    && lock.expires_at.saturating_sub(now) + 1_100 >= 60_000
            }
            _ => false,
        };
        sim.check(Invariant::Fence, fresh, || format!("(a) {call:?} {id} starts on the reading {reading:?}"));
        let open = if held && shut.is_none() { true } else { shut.is_some_and(|at| now - at <= 10_000) };
        sim.check(Invariant::Fence, open, || {
            format!("(b) {call:?} {id} starts {} ms after its lock was shut", shut.map_or(-1, |at| (now - at) as i64))
        });
        let deployment = sim.aws.things().get(id).map_or(0, |thing| thing.deployment);
        sim.check(Invariant::Neighbour, known.is_none_or(|known| deployment <= known), || {
            format!("{call:?} {id} of deployment {deployment} by a run of deployment {known:?}")
        });
    }

    /// A mutating call reaches its resource.
    pub fn call_reaches(&self, sim: &Sim, id: &str, call: Call, holders: &[String]) {
        match call {
            // What is gone already needs nothing any more.
            Call::Ask if !sim.aws.is_alive(id, sim.now()) => {}
            Call::Delete => {
                sim.check(Invariant::Order, holders.is_empty(), || {
                    format!("Delete reaches {id} while these need it: {holders:?}")
                });
                let things = sim.aws.things();
                let unsaved = things.get(id).is_some_and(|thing| {
                    let skip = sim.scenario.request["skipFinalSnapshot"] == true;
                    thing.row.snapshot && !thing.has_snapshot && !skip && thing.deployment == 0 && sim.is_first_request()
                });
                drop(things);
                sim.check(Invariant::Record, !unsaved, || format!("Delete reaches {id} before its snapshot was taken"));
            }
            Call::Ask => {
                let now = sim.now();
                let things = sim.aws.things();
                let needs = things.get(id).map(|thing| thing.row.needs.clone()).unwrap_or_default();
                let gone: Vec<String> = needs
                    .into_iter()
                    .filter(|need| {
                        things.get(need).is_some_and(|need| !need.is_alive(now) && !matches!(need.quirk, Quirk::Vanishes(_)))
                    })
                    .collect();
                drop(things);
                sim.check(Invariant::Order, gone.is_empty(), || format!("the handler of {id} is asked without {gone:?}"));
            }
            Call::Unprotect | Call::Empty | Call::Snapshot => {}
        }
    }

    /// A mutating call is over.
    pub fn call_ends(&self, sim: &Sim, id: &str) {
        let (actor, now) = (actor(), sim.now());
        let key = lock_key(sim, id);
        let shut = {
            let mut facts = self.facts();
            let Some(run) = facts.calls.remove(&(actor.invocation, id.to_owned())) else { return };
            facts.shut.get(&(run, key)).copied()
        };
        sim.check(Invariant::Fence, shut.is_none_or(|at| now - at <= 75_000), || {
            format!("(c) a call on {id} ends after {} ms", now - shut.unwrap_or(now))
        });
    }

    /// Whether a custom resource's handler is gone, so that nobody can be asked. That may only be when it went by itself, or
    /// when the resource itself went with it.
    pub fn handler_is_gone(&self, sim: &Sim, id: &str) -> bool {
        let now = sim.now();
        let mut things = sim.aws.things();
        let Some(custom) = things.get(id) else { return false };
        let lives = custom.is_alive(now);
        let handler = custom
            .row
            .needs
            .iter()
            .filter_map(|need| things.get(need))
            .find(|need| need.row.resource_type == "AWS::Lambda::Function");
        let Some(handler) = handler.filter(|handler| !handler.is_alive(now)) else { return false };
        let by_itself = matches!(handler.quirk, Quirk::Vanishes(_));
        let handler = handler.row.id.clone();
        if let Some(custom) = things.get_mut(id) {
            custom.abandon(now);
        }
        drop(things);
        sim.check(Invariant::Order, by_itself || !lives, || format!("{handler} went before {id}"));
        true
    }

    /// A handler is asked.
    pub fn handler_asked(&self, sim: &Sim, request: &str) {
        let times = {
            let mut facts = self.facts();
            let times = facts.asked.entry(request.to_owned()).or_default();
            *times += 1;
            *times
        };
        sim.check(Invariant::Once, times == 1, || format!("{request} was asked {times} times"));
    }

    /// The locks that are there: key, holder, whether open, end of the lease.
    pub fn locks(&self) -> Vec<(String, RunName, bool, Millis)> {
        self.facts().locks.iter().map(|(key, lock)| (key.clone(), lock.name(), lock.is_open(), lock.expires_at)).collect()
    }
}

impl Sim {
    /// Whether all runs so far only look.
    fn is_dry(&self) -> bool {
        self.scenario.request["dryRun"] == true && self.is_first_request()
    }

    /// Whether only the request that was drawn is at work, not the one after mending.
    pub fn is_first_request(&self) -> bool {
        !self.executions.all().iter().any(|execution| execution.name.starts_with("mended"))
    }
}

fn lock_key(sim: &Sim, id: &str) -> String {
    let stack = id.split_once('/').map_or(id, |(stack, _)| stack);
    format!("cdkd/{stack}/{}/lock.json", sim.scenario.shape.region)
}

/// A stack's state as it is now, in either layout.
fn state_of(sim: &Sim, stack: &str) -> Option<bytes::Bytes> {
    let snapshot = sim.bucket.snapshot();
    let regional = snapshot.get(&format!("cdkd/{stack}/{}/state.json", sim.scenario.shape.region));
    regional.or_else(|| snapshot.get(&format!("cdkd/{stack}/state.json"))).cloned()
}

fn contains(body: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(body).contains(text)
}
