//! Makespan: Ebb's waves, cdkd's levels and the critical path of one stack, with every delete taking the same drawn time.

use ebb_core::payload::PlanNext;
use ebb_core::plan::{self, Moment, Weights};
use ebb_core::{Ending, Graph, Item, Millis, Outcome, Refusal, Run, Status, StepResult, catalogue};

/// What a wave costs besides its steps: plan, choices, map, warm invocations.
pub const WAVE_OVERHEAD: Millis = 150;
/// States that a teardown enters beside its drive, from its check to its end.
const TEARDOWN: u64 = 11;
/// States of the keeper's end, and of one of its ticks with the time between two, in milliseconds.
const KEEPER_END: u64 = 6;
const KEEPER_TICK: u64 = 3;
const KEEPER_EVERY: Millis = 120_000;
/// Deletes up to this long are over when the call returns.
const SHORT: Millis = 3_000;
/// One call of AWS.
const CALL: Millis = 100;
/// Steps at the same time.
pub const CONCURRENCY: usize = 40;
/// What most steps say of the next look.
const LOOK_AGAIN: Millis = 10_000;
/// A wait that is shorter than this ends a step (as in the worker).
const SHORTEST: Millis = 200;

/// Drawn times of one stack's deletes, in milliseconds, by node.
pub fn draw(graph: &Graph, random: &mut fastrand::Rng) -> Vec<Millis> {
    let drawn = graph.nodes().iter().map(|node| {
        let known = catalogue::lookup(&node.row.resource_type, false);
        // Log-normal through p50 and p90.
        let sigma = (known.p90_s / known.p50_s).ln() / 1.2816;
        let (a, b) = (random.f64().max(f64::MIN_POSITIVE), random.f64());
        let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
        let seconds = (known.p50_s * (sigma * normal).exp()).min(known.deadline().as_secs_f64());
        (seconds * 1000.0) as Millis
    });
    drawn.collect()
}

/// The longest chain: nothing is faster.
pub fn critical_path(graph: &Graph, takes: &[Millis]) -> Millis {
    let mut remaining = vec![0; takes.len()];
    for &node in graph.in_order().iter().rev() {
        remaining[node] = takes[node] + graph.needs(node).iter().map(|&n| remaining[n]).max().unwrap_or(0);
    }
    remaining.into_iter().max().unwrap_or(0)
}

/// cdkd: level by level, each as long as its slowest.
pub fn levels(graph: &Graph, takes: &[Millis]) -> Millis {
    graph.levels().iter().map(|level| level.iter().map(|&n| takes[n]).max().unwrap_or(0)).sum()
}

/// What one teardown came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Teardown {
    /// From the first plan to the finish, in milliseconds.
    pub makespan: Millis,
    /// Waves.
    pub waves: u64,
    /// State transitions of the drive.
    pub transitions: u64,
    /// Estimated history events of the drive.
    pub events: u64,
    /// Time that steps waited for a slower one of their wave, summed over waves in which something else was ready sooner.
    pub drag: Millis,
    /// Lambda time of the worker, in milliseconds.
    pub worker_ms: Millis,
    /// Steps, looks before the first delete among them.
    pub steps: u64,
    /// Plans.
    pub plans: u64,
}

impl Teardown {
    /// Transitions of the whole run: the drive's, the teardown's own and the keeper's.
    pub fn all_transitions(&self) -> u64 {
        self.transitions + TEARDOWN + KEEPER_END + KEEPER_TICK * (self.makespan / KEEPER_EVERY + 1)
    }

    /// What the run costs, in US dollars: transitions, Lambda time and requests, S3 requests. List prices of us-east-1, arm64.
    pub fn dollars(&self) -> f64 {
        const GB_SECOND: f64 = 0.000_013_333_4;
        const REQUEST: f64 = 0.000_000_2;
        const TRANSITION: f64 = 0.000_025;
        const S3_READ: f64 = 0.000_000_4;
        const S3_WRITE: f64 = 0.000_005;
        let worker = self.worker_ms as f64 / 1000.0 * 0.5 * GB_SECOND;
        // A plan takes the overhead of a wave, at most.
        let planner = self.plans as f64 * WAVE_OVERHEAD as f64 / 1000.0 * GB_SECOND;
        let requests = (self.steps + self.plans) as f64 * REQUEST;
        let s3 = (self.steps + self.plans) as f64 * 2.0 * S3_READ + self.plans as f64 * 2.0 * S3_WRITE;
        self.all_transitions() as f64 * TRANSITION + worker + planner + requests + s3
    }
}

/// Ebb: the planner's own code, with time and deletes modelled.
pub fn ebb(graph: &Graph, takes: &[Millis]) -> Result<Teardown, Refusal> {
    let weights = Weights::of(graph);
    let mut record = plan::begin(run(), graph, Default::default(), Vec::new(), 0);
    let mut began: Vec<Option<Millis>> = vec![None; takes.len()];
    let index: std::collections::HashMap<&str, usize> =
        graph.nodes().iter().enumerate().map(|(n, node)| (node.id.as_str(), n)).collect();
    let (mut now, mut done, mut drive) = (0, Teardown::default(), 1);
    let mut results = Vec::new();
    loop {
        now += WAVE_OVERHEAD;
        record = plan::advance(record, graph, &weights, &results, Moment { now, drive, paused: false });
        results.clear();
        done.transitions += 2;
        done.plans += 1;
        match record.answer.next {
            PlanNext::Wave => {
                let items = plan::items(&record, graph, &weights);
                done.waves += 1;
                done.transitions += 1 + items.len() as u64;
                let mut slots = vec![now; CONCURRENCY.min(items.len())];
                let mut shortest = Millis::MAX;
                for item in &items {
                    let Some(slot) = slots.iter_mut().min() else { continue };
                    let node = index[item.id.as_str()];
                    let (took, result) = step(&mut began[node], takes[node], *slot, item);
                    shortest = shortest.min(took);
                    *slot += took;
                    done.worker_ms += took;
                    done.steps += 1;
                    results.push(result);
                }
                let end = slots.into_iter().max().unwrap_or(now);
                done.drag += (end - now).saturating_sub(shortest);
                now = end;
            }
            PlanNext::Wait => {
                done.transitions += 1;
                now += record.answer.seconds * 1000;
            }
            PlanNext::Again => drive += 1,
            PlanNext::Finish | PlanNext::Stop => {
                done.transitions += 1;
                break;
            }
        }
        done.events = done.events.max(record.events);
    }
    done.makespan = now;
    match (record.resources.values().all(|row| row.status == Status::Deleted), record.refusal) {
        (true, None) => Ok(done),
        (_, refusal) => Err(refusal.unwrap_or(Refusal::new(Ending::Error, "a teardown of the bench left something"))),
    }
}

/// A step: it issues the delete or looks, and looks again as the worker does, as long as the planner has patience.
fn step(began: &mut Option<Millis>, takes: Millis, now: Millis, item: &Item) -> (Millis, StepResult) {
    let answer = |took, outcome| (took, StepResult::new(&item.id, item.step, outcome));
    if item.look {
        return answer(CALL, Outcome::Pending);
    }
    let fresh = began.is_none();
    let ends = *began.get_or_insert(now) + takes;
    let left = ends.saturating_sub(now);
    // Many short deletes are over when the call returns; others are looked at from time to time.
    if fresh && left <= SHORT {
        return answer(left.max(CALL), Outcome::Deleted);
    }
    let mut spent = CALL;
    while spent < left {
        let often = ((takes.saturating_sub(left) + spent) / 60).clamp(1_000, 5_000);
        let patience = item.patience_ms.saturating_sub(spent);
        let wait = if patience < SHORTEST { often } else { often.min(patience) };
        if spent + wait > item.patience_ms {
            let (spent, result) = answer(spent, Outcome::Pending);
            return (spent, StepResult { look_again_ms: Some(LOOK_AGAIN), ..result });
        }
        spent += wait + CALL;
    }
    answer(spent, Outcome::Deleted)
}

/// What no planner undercuts that is told of an end at once: the longest chain with a wave's overhead for each of its links,
/// and the looks before the first delete.
pub fn floor(graph: &Graph, takes: &[Millis]) -> Millis {
    let takes: Vec<Millis> = takes.iter().map(|t| t.max(&CALL) + WAVE_OVERHEAD).collect();
    let looks = graph.nodes().iter().any(|n| catalogue::lookup(&n.row.resource_type, false).looked_at);
    critical_path(graph, &takes) + if looks { CALL + WAVE_OVERHEAD } else { 0 }
}

pub(super) fn run() -> Run {
    Run {
        run_id: String::new(),
        execution: String::new(),
        owner: String::new(),
        timestamp: 0,
        account: String::new(),
        bucket: String::new(),
        bucket_region: String::new(),
        prefix: String::new(),
        stack: String::new(),
        region: String::new(),
        target: None,
        dry_run: false,
        expected_last_modified: None,
        options: Default::default(),
    }
}
