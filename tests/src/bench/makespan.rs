//! Makespan: Ebb's waves, cdkd's levels and the critical path of one stack, with every delete taking the same drawn time.

use ebb_core::payload::PlanNext;
use ebb_core::plan::{self, Moment, Weights};
use ebb_core::{Graph, Millis, Outcome, Refusal, Run, StepResult, catalogue};

/// What a wave costs besides its steps: plan, choices, map, warm invocations.
pub const WAVE_OVERHEAD: Millis = 150;
/// How long a step waits for a short delete before it answers.
pub const IN_STEP_WAIT: Millis = 3_000;
/// Steps at the same time.
pub const CONCURRENCY: usize = 40;

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
            PlanNext::Finish | PlanNext::Stop => break,
        }
        done.events = done.events.max(record.events);
    }
    done.makespan = now;
    Ok(done)
}

/// A step: it issues the delete or looks, and waits a moment for what is nearly done.
fn step(began: &mut Option<Millis>, takes: Millis, now: Millis, item: &ebb_core::Item) -> (Millis, StepResult) {
    let look_only = |took| (took, StepResult::new(&item.id, item.step, Outcome::Pending));
    if item.look {
        return look_only(100);
    }
    let ends = *began.get_or_insert(now) + takes;
    let left = ends.saturating_sub(now);
    if left <= IN_STEP_WAIT {
        return (left.max(100), StepResult::new(&item.id, item.step, Outcome::Deleted));
    }
    look_only(100)
}

fn run() -> Run {
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
        options: Default::default(),
    }
}
