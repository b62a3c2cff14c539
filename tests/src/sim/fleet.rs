//! A sweep of a whole fleet: its state machine as it is deployed, its planner, and under it a real teardown of each stack,
//! in the same modelled world. Somebody holds the locks of some stacks for good, some rows cannot go, and some stacks are
//! deployed again while they wait for their readers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ebb_core::{Millis, RunRecord};
use serde_json::{Value, json};

use super::executions::{Kind, Standing};
use super::invariants::Invariant;
use super::log::Trace;
use super::neighbours::{HOME, put_deployment};
use super::rng::Rng;
use super::scenario::{Rates, Scenario};
use super::seed::{Outcome, quiet, run_as, settled, told};
use super::shapes;
use super::world::Sim;

/// A drawn scenario with a fleet of so many stacks, without deeds: others hold locks, and parts fail as `seed` draws.
pub fn scenario(seed: u64, stacks: usize, stormy: bool) -> Scenario {
    let rng = Rng::new(seed, "fleet");
    let mut shape = shapes::fleet(&rng, stacks);
    let held = r#"{"owner":"jo@host:1","timestamp":5,"expiresAt":99999999999999,"operation":"deploy"}"#;
    for stack in shape.fleet.iter().filter(|_| rng.chance(40)) {
        shape.bystanders.push((format!("cdkd/{stack}/{}/lock.json", shape.region), held.to_owned()));
    }
    let drawn = Scenario::draw(seed);
    let rates = if stormy { drawn.rates.clone() } else { Rates::default() };
    Scenario { shape, rates, denials: Vec::new(), deeds: Vec::new(), skews: [0; 4], ..drawn }
}

/// Sweeps the fleet of a scenario and holds what comes of it to what is true.
pub fn run(scenario: Scenario, trace: Trace) -> Outcome {
    run_as(scenario, trace, async |sim| live(&sim).await)
}

async fn live(sim: &Arc<Sim>) {
    put_deployment(sim, 0);
    for (key, body) in &sim.scenario.shape.bystanders {
        sim.bucket.raw_put(key, body.clone());
    }
    let mut before = sim.bucket.snapshot();
    let request = json!({
        "name": "fleet", "confirm": "fleet", "select": {"names": ["Fleet*"]}, "removeProtection": true, "deleteData": true,
        "skipFinalSnapshot": true,
    });
    let Ok(arn) = sim.executions.start(sim, HOME, Kind::Sweep, "sweep", request, None) else { return };
    let again = deployed_again(sim, &before).await;
    if !quiet(sim).await {
        return;
    }
    settled(sim).await;
    told(sim);
    sim.truth.nothing_was_lost(sim);
    let standing = sim.executions.all().iter().find(|e| e.arn == arn).map(|e| e.standing.clone());
    let output = match standing {
        Some(Standing::Succeeded(output)) => output,
        Some(Standing::Failed { cause, .. }) => serde_json::from_str(&cause).unwrap_or_default(),
        other => json!({"result": format!("{other:?}")}),
    };
    // A place that could not be read, however often it was tried: nothing was begun.
    if output["places"][0]["error"].is_string() && output["counts"]["chosen"] == 0 {
        let begun = sim.executions.all().iter().filter(|e| e.kind == Kind::Teardown).count();
        sim.check(Invariant::Truth, begun == 0, || format!("{begun} teardowns of a sweep that chose nobody"));
        return;
    }
    let report =
        sim.bucket.snapshot().into_iter().find(|(key, _)| key.starts_with("ebb/sweeps/") && key.ends_with("/report.json"));
    let report: Value = report.and_then(|(_, body)| serde_json::from_slice(&body).ok()).unwrap_or_default();
    sim.check(Invariant::Truth, report["stacks"].is_array(), || format!("the sweep ends {output} and leaves no report"));
    before.extend(again.iter().map(|(stack, (_, body))| (state_key(sim, stack), body.clone())));
    ordered(sim);
    in_line(sim, &output, &report, &before);
    judged_anew(sim, &report, &again);
}

fn state_key(sim: &Sim, stack: &str) -> String {
    format!("cdkd/{stack}/{}/state.json", sim.scenario.shape.region)
}

/// The start of a stack's teardown.
fn teardown_of(sim: &Sim, stack: &str) -> Option<Millis> {
    let all = sim.executions.all();
    all.iter().find(|e| e.kind == Kind::Teardown && e.input["stack"] == stack).map(|e| e.started_at)
}

/// Now and then a chosen stack that was not begun yet is deployed again, as it was. Answers when, and its new state.
async fn deployed_again(sim: &Arc<Sim>, before: &BTreeMap<String, Bytes>) -> BTreeMap<String, (Millis, Bytes)> {
    let mut again = BTreeMap::new();
    for _ in 0..sim.scenario.shape.fleet.len() / 4 {
        sim.sleep(sim.rng.neighbours.millis(2_000, 20_000)).await;
        let now = sim.bucket.snapshot();
        if !now.keys().any(|key| key.ends_with("/selection.json")) {
            continue;
        }
        let stack = sim.rng.neighbours.pick(&sim.scenario.shape.fleet);
        let key = state_key(sim, stack);
        let Some(body) = now.get(&key).filter(|body| before.get(&key) == Some(*body)) else { continue };
        let Ok(mut state) = serde_json::from_slice::<Value>(body) else { continue };
        if teardown_of(sim, stack).is_some() {
            continue;
        }
        state["lastModified"] = sim.now().into();
        let body = Bytes::from(state.to_string());
        sim.bucket.raw_put(&key, body.clone());
        sim.event(|| format!("{stack} is deployed again"));
        sim.count("stacks deployed again");
        again.insert(stack.clone(), (sim.now(), body));
    }
    again
}

/// How long after the look at its state a teardown may start: the reply of the look can be lost.
const LOOKED: Duration = Duration::from_secs(300);

/// What was deployed again is not torn down, unless its teardown was about to start.
fn judged_anew(sim: &Sim, report: &Value, again: &BTreeMap<String, (Millis, Bytes)>) {
    let rows = report["stacks"].as_array().into_iter().flatten();
    for row in rows {
        let Some((at, _)) = row["stack"].as_str().and_then(|stack| again.get(stack)) else { continue };
        let (stack, result) = (row["stack"].as_str().unwrap_or_default(), row["result"].as_str().unwrap_or_default());
        let begun = teardown_of(sim, stack);
        let told = match begun {
            Some(begun) => begun.saturating_sub(*at) <= LOOKED.as_millis() as u64,
            None => matches!(result, "Refused" | "Held" | "NotBegun" | "Error" | "NotHeard"),
        };
        sim.check(Invariant::Truth, told, || {
            format!("{stack} was deployed again at {at}, begun at {begun:?} and is told of as {result}")
        });
        if begun.is_none() && result == "Refused" {
            sim.count("stacks refused as deployed again");
        }
    }
}

/// By the records of the runs: no run of a producer began before the runs of all its consumers had ended with everything
/// gone. (That no single delete came early, the modelled AWS has checked at every call.)
fn ordered(sim: &Sim) {
    let snapshot = sim.bucket.snapshot();
    let runs = snapshot.iter().filter(|(key, _)| key.starts_with("ebb/runs/") && !key.ends_with(".report.json"));
    let runs: BTreeMap<String, RunRecord> =
        runs.filter_map(|(_, body)| RunRecord::parse(body).ok()).map(|record| (record.run.stack.clone(), record)).collect();
    for file in &sim.scenario.shape.files {
        let consumer = file.stack.split('~').next().unwrap_or_default();
        let reads = [&file.state["imports"], &file.state["outputReads"]];
        for source in reads.into_iter().flat_map(|r| r.as_array().into_iter().flatten()).filter_map(|r| r["sourceStack"].as_str())
        {
            let Some(producer) = runs.get(source).filter(|_| source != consumer) else { continue };
            let gone = runs.get(consumer).and_then(|run| run.ended.as_ref()).filter(|ended| ended.result.succeeds());
            sim.check(Invariant::Order, gone.is_some_and(|ended| ended.at <= producer.started_at), || {
                format!("{source} was begun at {}, {consumer} reads it and ended {gone:?}", producer.started_at)
            });
        }
    }
}

/// What the report says of each stack is what became of it; what is held is held by a reader that stayed, and untouched.
fn in_line(sim: &Sim, output: &Value, report: &Value, before: &BTreeMap<String, Bytes>) {
    let snapshot = sim.bucket.snapshot();
    let shape = &sim.scenario.shape;
    let said: BTreeMap<&str, &Value> =
        report["stacks"].as_array().into_iter().flatten().filter_map(|row| Some((row["stack"].as_str()?, row))).collect();
    // A state that the bucket did not give out leaves its stack, and what that imports from, for another sweep.
    let left = report["left"].as_array().into_iter().flatten();
    let left = left.filter(|row| row["stack"].as_str().is_some_and(|stack| stack.starts_with("Fleet"))).count();
    sim.check(Invariant::Truth, said.len() + left == shape.fleet.len(), || {
        format!("{} and {left} stacks are told of", said.len())
    });
    let mut deleted = 0;
    for (stack, row) in &said {
        let (key, result) = (state_key(sim, stack), row["result"].as_str().unwrap_or_default());
        let fits = match result {
            "Deleted" | "Empty" | "NothingToDo" | "StackNotFound" => {
                deleted += 1;
                !snapshot.contains_key(&key)
            }
            "Held" => snapshot.get(&key) == before.get(&key) && row["after"].as_array().is_some_and(|after| !after.is_empty()),
            "Refused" => snapshot.get(&key) == before.get(&key),
            // Its teardown may have gone on after the sweep lost sight of it.
            "Error" | "NotHeard" => true,
            _ => snapshot.contains_key(&key),
        };
        sim.check(Invariant::Truth, fits, || format!("{stack} is told of as {result}"));
    }
    sim.check(Invariant::Truth, output["counts"]["deleted"] == deleted, || {
        format!("{deleted} are gone, told of are {}", output["counts"])
    });
    let result = if said.is_empty() {
        "NothingToDo"
    } else if deleted == said.len() {
        "Deleted"
    } else {
        "Partial"
    };
    sim.check(Invariant::Truth, output["result"] == result, || {
        format!("{deleted} are gone and the sweep ends {}", output["result"])
    });
}
