//! Makespan over all graphs of real stacks, as flat numbers.

use ebb_core::{Millis, Refusal};
use serde::Serialize;

use super::graphs::Template;
use super::makespan::{self, Teardown};

/// A critical path from which a stack counts as slow, in milliseconds.
const SLOW: Millis = 30_000;

/// What all teardowns came to. `ebb`, `levels` and `floor` are times; cdkd's levels are told of an end at once and cost nothing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Makespan {
    pub teardowns: usize,
    pub resources: usize,
    pub ebb_over_critical: f64,
    pub levels_over_critical: f64,
    pub floor_over_critical: f64,
    /// Of the slow stacks: the share on which Ebb is at least as fast as levels, and the share that the floor allows.
    pub won_share_over_30s: f64,
    pub floor_won_share_over_30s: f64,
    /// The share on which it is at most 5 % slower.
    pub won_within_5_percent_over_30s: f64,
    /// Levels over Ebb on slow stacks: the tenth on which levels do worst, and percentiles.
    pub worst_tenth_of_levels: f64,
    pub levels_over_ebb_p10: f64,
    pub levels_over_ebb_p50: f64,
    pub levels_over_ebb_p90: f64,
    /// Milliseconds behind the critical path on the others, and what the floor is behind it.
    pub small_behind_p50_ms: Millis,
    pub small_behind_p90_ms: Millis,
    pub small_behind_max_ms: Millis,
    pub small_floor_p90_ms: Millis,
    pub transitions_per_resource: f64,
    pub waves_per_resource: f64,
    pub worker_seconds_per_resource: f64,
    pub events_max: u64,
    /// The dearest stack of fifty resources or more, scaled to a hundred; and the average of those.
    pub usd_per_100_resources_max: f64,
    pub usd_per_100_resources: f64,
    /// The share of the time that steps waited for a slower one of their wave.
    pub wave_drag: f64,
}

/// Tears every stack down `draws` times, each time with other durations. The same numbers every time.
pub fn measure(templates: &[Template], draws: usize) -> Result<Makespan, Refusal> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut all = Makespan::default();
    let (mut critical_sum, mut levels_sum, mut floor_sum) = (0, 0, 0);
    let mut sum = Teardown::default();
    let (mut ratios, mut floors, mut behind, mut floor_behind, mut dollars) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut transitions = 0;
    for template in templates {
        let graph = template.graph()?;
        for _ in 0..draws {
            let takes = makespan::draw(&graph, &mut random);
            let (critical, levels) = (makespan::critical_path(&graph, &takes), makespan::levels(&graph, &takes));
            let (ebb, floor) = (makespan::ebb(&graph, &takes)?, makespan::floor(&graph, &takes));
            all.teardowns += 1;
            all.resources += takes.len();
            critical_sum += critical;
            levels_sum += levels;
            floor_sum += floor;
            transitions += ebb.all_transitions();
            sum = Teardown {
                makespan: sum.makespan + ebb.makespan,
                waves: sum.waves + ebb.waves,
                drag: sum.drag + ebb.drag,
                worker_ms: sum.worker_ms + ebb.worker_ms,
                events: sum.events.max(ebb.events),
                ..sum
            };
            if critical >= SLOW {
                ratios.push(levels as f64 / ebb.makespan as f64);
                floors.push(levels as f64 / floor as f64);
            } else {
                behind.push(ebb.makespan.saturating_sub(critical));
                floor_behind.push(floor.saturating_sub(critical));
            }
            if takes.len() >= 50 {
                dollars.push(ebb.dollars() * 100.0 / takes.len() as f64);
            }
        }
    }
    let per_resource = |n: u64| n as f64 / all.resources as f64;
    let share = |of: &[f64], least: f64| of.iter().filter(|&&r| r >= least).count() as f64 / of.len().max(1) as f64;
    ratios.sort_by(f64::total_cmp);
    behind.sort_unstable();
    floor_behind.sort_unstable();
    dollars.sort_by(f64::total_cmp);
    all.ebb_over_critical = sum.makespan as f64 / critical_sum as f64;
    all.levels_over_critical = levels_sum as f64 / critical_sum as f64;
    all.floor_over_critical = floor_sum as f64 / critical_sum as f64;
    all.won_share_over_30s = share(&ratios, 1.0);
    all.floor_won_share_over_30s = share(&floors, 1.0);
    all.won_within_5_percent_over_30s = share(&ratios, 1.0 / 1.05);
    all.worst_tenth_of_levels = at(&ratios, 0.9);
    all.levels_over_ebb_p10 = at(&ratios, 0.1);
    all.levels_over_ebb_p50 = at(&ratios, 0.5);
    all.levels_over_ebb_p90 = at(&ratios, 0.9);
    all.small_behind_p50_ms = at(&behind, 0.5);
    all.small_behind_p90_ms = at(&behind, 0.9);
    all.small_behind_max_ms = at(&behind, 1.0);
    all.small_floor_p90_ms = at(&floor_behind, 0.9);
    all.transitions_per_resource = per_resource(transitions);
    all.waves_per_resource = per_resource(sum.waves);
    all.worker_seconds_per_resource = per_resource(sum.worker_ms) / 1000.0;
    all.events_max = sum.events;
    all.usd_per_100_resources_max = at(&dollars, 1.0);
    all.usd_per_100_resources = dollars.iter().sum::<f64>() / dollars.len().max(1) as f64;
    all.wave_drag = sum.drag as f64 / sum.makespan as f64;
    Ok(all)
}

/// A percentile of sorted values.
fn at<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share) as usize).copied().unwrap_or_default()
}
