//! One seed from its draw to its verdict.

use std::sync::Arc;
use std::time::Duration;

use ebb_core::RunRecord;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::executions::{Kind, Standing};
use super::invariants::Invariant;
use super::log::{Notes, Trace, Violation};
use super::neighbours::{HOME, act, put_deployment, start};
use super::scenario::Scenario;
use super::world::{START, Sim};

/// What came of a seed.
#[derive(Debug)]
pub struct Outcome {
    pub seed: u64,
    pub shape: String,
    /// Virtual milliseconds.
    pub took: u64,
    pub notes: Notes,
}

impl Outcome {
    /// What broke.
    pub fn violations(&self) -> &[Violation] {
        &self.notes.violations
    }
}

/// Longer than any run may last.
const PATIENCE: u64 = 3 * 24 * 3_600_000;

/// Runs a seed in a world and a runtime of its own.
pub fn run(seed: u64, trace: Trace) -> Outcome {
    run_scenario(Scenario::draw(seed), trace)
}

/// Runs a scenario, drawn or changed.
pub fn run_scenario(scenario: Scenario, trace: Trace) -> Outcome {
    run_as(scenario, trace, async |sim| live(&sim).await)
}

/// Runs a scenario in a runtime of its own; `life` says what happens in it.
pub(super) fn run_as(scenario: Scenario, trace: Trace, life: impl AsyncFnOnce(Arc<Sim>)) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let seed = scenario.seed;
        let sim = Sim::new(scenario, trace);
        sim.event(|| format!("{:?}", Header(&sim.scenario)));
        life(sim.clone()).await;
        let took = sim.elapsed();
        let shape = sim.scenario.shape.name.clone();
        Outcome { seed, shape, took, notes: sim.log.take() }
    })
}

/// A scenario without its stacks.
struct Header<'a>(&'a Scenario);

impl std::fmt::Debug for Header<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = self.0;
        write!(
            f,
            "seed {} shape {} ({} rows) request {} versioned {} calm after {} s\n{:?}\n{:?} {:?} skews {:?} cdkd {} deeds {:?}",
            s.seed,
            s.shape.name,
            s.shape.rows().len(),
            s.request,
            s.versioned,
            s.calm_after / 1000,
            s.rates,
            s.denials,
            s.notice,
            s.skews,
            s.cdkd_skew,
            s.deeds
        )
    }
}

async fn live(sim: &Arc<Sim>) {
    put_deployment(sim, 0);
    for (key, body) in &sim.scenario.shape.bystanders {
        sim.bucket.raw_put(key, body.clone());
    }
    start(sim, HOME, "first");
    for (n, (at, deed)) in sim.scenario.deeds.iter().enumerate() {
        let (world, at, deed) = (sim.clone(), *at, *deed);
        sim.truth.pending(1);
        tokio::spawn(async move {
            world.sleep(Duration::from_secs(at)).await;
            act(world.clone(), n, deed).await;
            world.truth.pending(-1);
        });
    }
    if !quiet(sim).await {
        return;
    }
    settled(sim).await;
    told(sim);
    sim.truth.nothing_was_lost(sim);
    mended(sim).await;
}

/// Waits until nothing runs and nothing is to come.
pub(super) async fn quiet(sim: &Arc<Sim>) -> bool {
    loop {
        sim.sleep(Duration::from_secs(20)).await;
        if sim.truth.is_quiet() && !sim.executions.any_running() {
            return true;
        }
        if sim.elapsed() > PATIENCE {
            let running: Vec<String> =
                sim.executions.all().iter().filter(|e| e.standing == Standing::Running).map(|e| e.arn.clone()).collect();
            sim.check(Invariant::Progress, false, || format!("still running after three days: {running:?}"));
            return false;
        }
    }
}

/// Five minutes after the last death and the last fault, no lock of a run is left.
pub(super) async fn settled(sim: &Arc<Sim>) {
    let last = sim.truth.last_death().max(sim.log.notes().last_fault).max(START);
    let until = last + 300_000;
    if sim.now() < until {
        sim.sleep(Duration::from_millis(until - sim.now())).await;
    }
    let scenario = &sim.scenario;
    if scenario.has_wild_clocks() || scenario.is_denied_for_good() {
        return;
    }
    let now = sim.now();
    let keepers_failed =
        sim.executions.all().iter().any(|e| e.kind == Kind::Keeper && !matches!(e.standing, Standing::Succeeded(_)));
    for (key, name, open, lease) in sim.truth.locks() {
        if !name.owner.starts_with("ebb@") {
            continue;
        }
        // Without its keeper a lock lapses: an open one after its lease, a closed one within five minutes.
        // While it may not be deleted, a lapsed lock is all that a keeper can wait for.
        let lapsed_in_denial = lease <= now && !scenario.denials.is_empty();
        let excused = lapsed_in_denial || (keepers_failed && lease <= now + 1_800_000);
        sim.check(Invariant::Release, excused, || {
            format!("{key} of {} is still there, open {open}, {} s of lease left", name.owner, lease.saturating_sub(now) / 1000)
        });
    }
    sim.check(Invariant::Release, true, String::new);
}

/// What runs say of themselves is what their records say.
pub(super) fn told(sim: &Arc<Sim>) {
    let snapshot = sim.bucket.snapshot();
    let records: Vec<RunRecord> = snapshot
        .iter()
        .filter(|(key, _)| key.starts_with("ebb/runs/") && key.ends_with(".json") && !key.ends_with(".report.json"))
        .filter_map(|(_, body)| RunRecord::parse(body).ok())
        .collect();
    let calm = sim.log.notes().faults.is_empty();
    for execution in sim.executions.all().iter().filter(|e| e.kind == Kind::Teardown && e.redrives == 0) {
        let output = match &execution.standing {
            Standing::Succeeded(output) => output.clone(),
            Standing::Failed { cause, .. } => serde_json::from_str(cause).unwrap_or_default(),
            _ => continue,
        };
        let Some(record) = records.iter().find(|record| record.run.execution == execution.arn) else { continue };
        // Drives and keepers may end a run whose teardown crashed.
        let crashed = output.get("counts").is_none();
        if let Some(ended) = record.ended.as_ref().filter(|_| !crashed) {
            sim.check(Invariant::Truth, output["result"] == ended.result.name(), || {
                format!("{} answers {}, its record says {}", execution.name, output["result"], ended.result)
            });
            let counts = serde_json::to_value(record.counts()).unwrap_or_default();
            if !record.run.dry_run {
                sim.check(Invariant::Truth, output["counts"] == counts, || {
                    format!("{} answers {}, its record says {counts}", execution.name, output["counts"])
                });
            }
            let events =
                snapshot.get(&record.run.key().events(&record.run.run_id)).map(|body| String::from_utf8_lossy(body).into_owned());
            told_in_events(sim, record, events.as_deref(), calm);
            let report = snapshot.get(&record.run.key().report_json(&record.run.run_id));
            let said = report.and_then(|body| serde_json::from_slice::<Value>(body).ok());
            if let Some(report) = &said {
                sim.check(Invariant::Truth, report["result"] == ended.result.name(), || {
                    format!("the report says {}", report["result"])
                });
            }
            sim.check(Invariant::Truth, said.is_some() || !calm, || "there is no report".to_owned());
        }
    }
}

fn told_in_events(sim: &Sim, record: &RunRecord, stream: Option<&str>, calm: bool) {
    let (Some(ended), false) = (&record.ended, record.run.dry_run) else { return };
    let purged = record.run.options.purge_events && ended.result.succeeds();
    let Some(stream) = stream else {
        sim.check(Invariant::Truth, purged || !calm, || "there is no event stream".to_owned());
        return;
    };
    let lines: Vec<Value> = stream.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let finished = lines.iter().filter(|line| line["eventType"] == "RUN_FINISHED").count();
    let last = lines.last().cloned().unwrap_or_default();
    let says = if ended.result.succeeds() { "SUCCEEDED" } else { "FAILED" };
    let gone = record.in_stack(&record.run.stack).filter(|(_, row)| row.status == ebb_core::Status::Deleted).count();
    sim.check(Invariant::Truth, finished == 1 && last["result"] == says && last["counts"]["deleted"] == gone, || {
        format!("the events end with {last}, the record with {} and {gone} deleted", ended.result)
    });
}

/// Everything is mended, nothing goes wrong any more: one more run has to take the stack away.
async fn mended(sim: &Arc<Sim>) {
    let scenario = &sim.scenario;
    if scenario.is_denied_for_good() || scenario.has_wild_clocks() {
        return;
    }
    // Whatever lock is left lapses; whatever was sent arrives.
    sim.sleep(Duration::from_secs(3_600)).await;
    sim.aws.mend();
    let shape = &scenario.shape;
    let mut request = json!({
        "stack": shape.stack, "region": shape.region, "confirm": shape.stack, "removeProtection": true, "deleteData": true,
        "skipFinalSnapshot": true,
    });
    if shape.nested_by_itself {
        request["allowNestedChild"] = true.into();
    }
    let there = sim.bucket.snapshot().keys().any(|key| {
        key == &format!("cdkd/{}/{}/state.json", shape.stack, shape.region) || key == &format!("cdkd/{}/state.json", shape.stack)
    });
    let expected = match (shape.refused, there) {
        (Some(refused), _) => refused,
        (None, false) => "StackNotFound",
        (None, true) if shape.can_be_clean() => "Deleted",
        (None, true) => "Partial",
    };
    let Ok(arn) = sim.executions.start(sim, HOME, Kind::Teardown, "mended", request, None) else { return };
    if !quiet(sim).await {
        return;
    }
    let ended = sim.executions.all().iter().find(|e| e.arn == arn).map(|e| e.standing.clone());
    let result = match &ended {
        Some(Standing::Succeeded(output)) => output["result"].as_str().unwrap_or("?").to_owned(),
        Some(Standing::Failed { error, .. }) => error.clone(),
        other => format!("{other:?}"),
    };
    let fits = result == expected || (expected == "Deleted" && result == "Empty");
    sim.check(Invariant::Progress, fits, || {
        format!("after everything was mended the run ends {result}, not {expected}: {ended:?}")
    });
    sim.truth.nothing_was_lost(sim);
    // A lapsed lock of a nested stack whose state is gone is litter that nobody comes back for; it holds nobody up.
    let now = sim.now();
    let left: Vec<String> = sim.truth.locks().into_iter().filter(|(_, _, _, lease)| *lease > now).map(|(key, ..)| key).collect();
    sim.check(Invariant::Release, left.is_empty(), || format!("locks that are left in the end: {left:?}"));
}
