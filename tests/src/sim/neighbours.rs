//! Who else is at work: cdkd processes of today and of old, operators, people who stop, redrive and start again.

use std::sync::Arc;
use std::time::Duration;

use ebb_core::{Clock, Options, Run, StackKey};
use ebb_store::lock::{acquire_all, release_all, renew_all};
use ebb_store::{Bucket, Put, When};
use serde_json::{Value, json};

use super::bucket::SimBucket;
use super::executions::{ACCOUNT, Kind, Standing};
use super::functions::{Skewed, force_unlock};
use super::scenario::Deed;
use super::world::{ACTOR, Actor, RunName, START, Sim};

/// The app's region.
pub const HOME: &str = "us-east-1";

/// Does `deed`.
pub async fn act(sim: Arc<Sim>, n: usize, deed: Deed) {
    sim.event(|| format!("deed: {deed:?}"));
    match deed {
        Deed::Stop { drive_too } => stop(&sim, Kind::Teardown, drive_too),
        Deed::StopDrive => stop(&sim, Kind::Drive, true),
        Deed::StopKeeper => stop(&sim, Kind::Keeper, true),
        Deed::Redrive => redrive(&sim),
        Deed::Restart => start(&sim, HOME, &format!("again-{n}")),
        Deed::SameNameElsewhere => start(&sim, "eu-west-1", "first"),
        Deed::Deploy => deploy(&sim, n, 5).await,
        Deed::OldDeploy { minutes } => old_deploy(&sim, minutes).await,
        Deed::WriteUnlocked => write_unlocked(&sim),
        Deed::ForceUnlock => operator(&sim, n).await,
        Deed::LateDelivery => sim.fleet().deliver_again(&sim).await,
    }
}

/// Starts a teardown with the request that was drawn.
pub fn start(sim: &Arc<Sim>, region: &str, name: &str) {
    let request = sim.scenario.request.clone();
    let started = sim.executions.start(sim, region, Kind::Teardown, name, request, None);
    sim.event(|| format!("start {name} in {region}: {started:?}"));
}

fn stop(sim: &Arc<Sim>, kind: Kind, children_too: bool) {
    let running: Vec<String> = sim
        .executions
        .all()
        .iter()
        .filter(|e| e.kind == kind && e.standing == Standing::Running)
        .map(|e| e.arn.clone())
        .collect();
    if running.is_empty() {
        return;
    }
    let which = sim.rng.neighbours.below(running.len());
    if sim.executions.stop(sim, &running[which], children_too) {
        sim.fault(match kind {
            Kind::Teardown => "teardown stopped",
            Kind::Drive => "drive stopped",
            Kind::Keeper => "keeper stopped",
            Kind::Sweep => "sweep stopped",
        });
    }
}

fn redrive(sim: &Arc<Sim>) {
    let dead: Vec<String> = sim
        .executions
        .all()
        .iter()
        .filter(|e| e.kind == Kind::Teardown && !matches!(e.standing, Standing::Running | Standing::Succeeded(_)))
        .map(|e| e.arn.clone())
        .collect();
    if !dead.is_empty() && sim.executions.redrive(sim, &dead[sim.rng.neighbours.below(dead.len())]) {
        sim.fault("teardown redriven");
    }
}

/// The state files and resources of a new deployment, all at once. Nobody else may be at work.
pub fn put_deployment(sim: &Arc<Sim>, deployment: u64) {
    let shape = &sim.scenario.shape;
    sim.aws.deploy(sim, deployment);
    for file in &shape.files {
        let key = StackKey::new("cdkd", &file.stack, &shape.region);
        let mut state = file.state.clone();
        let legacy = file.legacy && deployment == 0;
        if file.legacy && !legacy {
            state["version"] = 2.into();
            sim.bucket.raw_delete(&key.legacy_state());
        }
        if deployment > 0 {
            state["simDeployment"] = deployment.into();
        }
        let at = if legacy { key.legacy_state() } else { key.state() };
        sim.bucket.raw_put(&at, serde_json::to_vec_pretty(&state).expect("a state"));
    }
    sim.event(|| format!("deployment {deployment}"));
}

/// A deployment is a run of cdkd's with an identity of its own.
fn identity(sim: &Sim, owner: &str) -> Run {
    let shape = &sim.scenario.shape;
    Run {
        run_id: "cdkd".into(),
        execution: String::new(),
        owner: owner.to_owned(),
        timestamp: sim.now(),
        account: ACCOUNT.into(),
        bucket: sim.scenario.bucket.clone(),
        bucket_region: HOME.into(),
        prefix: "cdkd".into(),
        stack: shape.stack.clone(),
        region: shape.region.clone(),
        target: None,
        dry_run: false,
        expected_last_modified: None,
        options: Options::default(),
    }
}

/// cdkd as it is now: takes the lock, renews it, deploys, releases what is its own.
async fn deploy(sim: &Arc<Sim>, n: usize, tries: u32) {
    let run = identity(sim, &format!("jo@laptop:{n}"));
    let name = RunName { owner: run.owner.clone(), timestamp: run.timestamp };
    let acts = Actor { name: "cdkd", invocation: 0, run: Some(name) };
    let clock = Skewed::new(sim.time, sim.scenario.cdkd_skew);
    let bucket = SimBucket::reliable(sim.clone());
    ACTOR
        .scope(acts, async {
            for _ in 0..tries {
                if acquire_all(&bucket, &clock, &run).await.is_err() {
                    sim.sleep(sim.rng.neighbours.millis(30_000, 300_000)).await;
                    continue;
                }
                sim.fault("neighbour: cdkd deploys");
                for _ in 0..sim.rng.neighbours.between(1, 4) {
                    sim.sleep(sim.rng.neighbours.millis(5_000, 100_000)).await;
                    let _ = renew_all(&bucket, &clock, &run).await;
                }
                if still_holds(sim, &run) {
                    put_deployment(sim, sim.truth.next_deployment());
                }
                sim.sleep(sim.rng.neighbours.millis(1_000, 30_000)).await;
                let _ = release_all(&bucket, &clock, &run).await;
                return;
            }
        })
        .await;
}

fn still_holds(sim: &Sim, run: &Run) -> bool {
    let key = run.key().lock();
    sim.truth.locks().iter().any(|(at, name, ..)| *at == key && name.owner == run.owner && name.timestamp == run.timestamp)
}

/// cdkd of old: one lease without renewal. It deploys while the lease goes on, and writes its state and deletes the lock
/// whenever it is done, whoever's that is by then.
async fn old_deploy(sim: &Arc<Sim>, minutes: u64) {
    let run = identity(sim, "old@laptop:1");
    let name = RunName { owner: run.owner.clone(), timestamp: run.timestamp };
    let bucket = SimBucket::reliable(sim.clone());
    let key = run.key().lock();
    let body = |now: u64| {
        json!({"owner": run.owner, "timestamp": run.timestamp, "expiresAt": now + 1_800_000, "operation": "deploy"}).to_string()
    };
    ACTOR
        .scope(Actor { name: "old cdkd", invocation: 0, run: Some(name) }, async {
            let clock = Skewed::new(sim.time, sim.scenario.cdkd_skew);
            if bucket.put(&key, Put::json(body(clock.now())), When::Absent).await.is_err() {
                let held = bucket.get(&key).await.ok().flatten();
                let lease = held
                    .and_then(|object| serde_json::from_slice::<Value>(&object.body).ok())
                    .and_then(|lock| lock["expiresAt"].as_u64());
                if lease.is_none_or(|lease| lease > clock.now().min(sim.now())) {
                    return;
                }
                let _ = bucket.delete(&key, When::Always).await;
                if bucket.put(&key, Put::json(body(clock.now())), When::Absent).await.is_err() {
                    return;
                }
            }
            sim.fault("neighbour: cdkd of old deploys");
            sim.sleep(Duration::from_secs(minutes * 60)).await;
            if still_holds(sim, &run) && minutes < 29 {
                put_deployment(sim, sim.truth.next_deployment());
            } else {
                // It writes what it read long ago; the resources are not there any more.
                let shape = &sim.scenario.shape;
                let root = &shape.files[0];
                let mut state = root.state.clone();
                state["lastModified"] = (sim.now() - START).into();
                if !root.legacy {
                    let state = serde_json::to_vec_pretty(&state).expect("a state");
                    let _ = bucket.put(&run.key().state(), Put::json(state), When::Always).await;
                }
            }
            let _ = bucket.delete(&key, When::Always).await;
        })
        .await;
}

/// A state comes back that lists what is long gone, under whoever's lock. A run has to stop then, not to go on from it.
fn write_unlocked(sim: &Arc<Sim>) {
    let shape = &sim.scenario.shape;
    let Some(file) = shape.files.first().filter(|file| !file.legacy) else { return };
    let key = StackKey::new("cdkd", &file.stack, &shape.region).state();
    let current = sim.bucket.snapshot().get(&key).cloned();
    let deployment =
        current.and_then(|body| serde_json::from_slice::<Value>(&body).ok()).map(|state| state["simDeployment"].clone());
    // Only where there is a state: nobody brings back a stack that is gone.
    let Some(deployment) = deployment else { return };
    let mut state = file.state.clone();
    state["lastModified"] = (sim.now() - START).into();
    if !deployment.is_null() {
        state["simDeployment"] = deployment;
    }
    sim.fault("state written without a lock");
    sim.bucket.raw_put(&key, serde_json::to_vec_pretty(&state).expect("a state"));
}

/// An operator who believes that the holder is dead: forces the lock open, waits as told, deploys.
async fn operator(sim: &Arc<Sim>, n: usize) {
    let shape = &sim.scenario.shape;
    sim.fault("operator forces the lock open");
    for file in &shape.files {
        let _ = force_unlock(sim, json!({"action": "force-unlock", "stack": file.stack, "region": shape.region})).await;
    }
    sim.sleep(Duration::from_secs(31) + sim.rng.neighbours.millis(0, 60_000)).await;
    deploy(sim, 100 + n, 1).await;
}
