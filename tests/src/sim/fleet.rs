//! A sweep of a whole fleet: its state machine as it is deployed, its planner, and under it a real teardown of each stack,
//! in the same modelled world. Somebody holds the locks of some stacks for good, some rows cannot go.

use std::collections::BTreeMap;
use std::sync::Arc;

use ebb_core::RunRecord;
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
    let before = sim.bucket.snapshot();
    let request = json!({
        "name": "fleet", "confirm": "fleet", "select": {"names": ["Fleet*"]}, "removeProtection": true, "deleteData": true,
        "skipFinalSnapshot": true,
    });
    let Ok(arn) = sim.executions.start(sim, HOME, Kind::Sweep, "sweep", request, None) else { return };
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
    ordered(sim);
    in_line(sim, &output, &report, &before);
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
fn in_line(sim: &Sim, output: &Value, report: &Value, before: &BTreeMap<String, bytes::Bytes>) {
    let snapshot = sim.bucket.snapshot();
    let shape = &sim.scenario.shape;
    let state = |stack: &str| format!("cdkd/{stack}/{}/state.json", shape.region);
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
        let (key, result) = (state(stack), row["result"].as_str().unwrap_or_default());
        let fits = match result {
            "Deleted" | "Empty" | "NothingToDo" | "StackNotFound" => {
                deleted += 1;
                !snapshot.contains_key(&key)
            }
            "Held" => snapshot.get(&key) == before.get(&key) && row["after"].as_array().is_some_and(|after| !after.is_empty()),
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
