//! The whole system under faults: thousands of seeds, each a run in a world of its own. `soak` lives more of them.

use ebb_tests::bench::{corpus, graphs, lock};
use ebb_tests::sim::invariants::Invariant;
use ebb_tests::sim::log::Trace;
use ebb_tests::sim::regressions::REGRESSIONS;
use ebb_tests::sim::scenario::{Rates, Sabotage, Scenario};
use ebb_tests::sim::{seed, shapes, soak};
use serde_json::json;

const SEEDS: u64 = 2_000;

/// Whatever goes wrong: order, fence, record, neighbours, locks, deliveries, results, secrets and payloads hold, and what is
/// mended is torn down in the end.
#[test]
fn nothing_is_lost_and_nothing_is_stuck_whatever_goes_wrong() {
    let seeds: Vec<u64> = REGRESSIONS.iter().map(|(seed, _)| *seed).chain(1..=SEEDS).collect();
    let summary = soak::of(&seeds, 2);
    println!("{summary}");
    assert!(summary.failed.is_empty(), "{summary}");
    // What is never injected or never checked proves nothing.
    assert_eq!(summary.faults.keys().copied().collect::<Vec<_>>(), FAULTS);
    assert_eq!(summary.checks.keys().copied().collect::<Vec<_>>(), CHECKED);
    for ending in ["Deleted", "Partial", "LockLost", "StateConflict", "LockHeld", "DryRun", "Refused", "NothingToDo", "(stopped)"]
    {
        assert!(summary.endings.contains_key(ending), "no run ended {ending}");
    }
}

const FAULTS: &[&str] = &[
    "AWS: a resource has its own ways",
    "AWS: a resource refuses",
    "AWS: internal error",
    "AWS: reply lost",
    "AWS: slow",
    "AWS: throttled",
    "DescribeExecution does not know yet",
    "DescribeExecution fails",
    "DescribeExecution is stale",
    "access denied for a while",
    "access denied for good",
    "bucket conflict (409)",
    "bucket slow",
    "bucket unavailable",
    "bucket: own write met by the retry",
    "bucket: reply lost",
    "bucket: request late",
    "bucket: request lost",
    "death event late, twice or never",
    "drive stopped",
    "function: delivered again, late",
    "function: delivered twice",
    "function: given up while it runs",
    "function: killed",
    "function: refused by Lambda",
    "function: reply lost",
    "function: slow",
    "function: timed out",
    "keeper stopped",
    "neighbour: cdkd deploys",
    "neighbour: cdkd of old deploys",
    "operator forces the lock open",
    "state written without a lock",
    "teardown redriven",
    "teardown stopped",
];

const CHECKED: &[&str] = &["fence", "neighbour", "once", "order", "payload", "progress", "record", "release", "secrets", "truth"];

/// A seed is a run: the same events at the same instants, every time.
#[test]
fn a_seed_is_the_same_run_every_time() {
    for one in 1..=16 {
        let (first, again) = (seed::run(one, Trace::Digest), seed::run(one, Trace::Digest));
        assert_eq!(first.notes.digest, again.notes.digest, "seed {one}");
    }
}

/// One history holds 25,000 events and one payload 256 KiB: the largest stack is handed over from drive to drive.
#[test]
fn the_largest_stack_is_torn_down_in_several_drives() {
    let shape = shapes::huge(270);
    let request = json!({"stack": shape.stack, "region": shape.region, "confirm": shape.stack, "deleteData": true, "removeProtection": true});
    let scenario = Scenario {
        shape,
        request,
        rates: Rates::default(),
        denials: Vec::new(),
        deeds: Vec::new(),
        skews: [0; 4],
        ..Scenario::draw(1)
    };
    let outcome = seed::run_scenario(scenario, Trace::Off);
    assert_eq!(outcome.violations(), []);
    assert_eq!(outcome.notes.endings.get("Deleted"), Some(&1), "{:?}", outcome.notes.endings);
    assert!(outcome.notes.done["drives"] > 1, "{:?}", outcome.notes.done);
}

/// What is built in wrong is found.
#[test]
fn a_step_that_breaks_its_promise_is_found() {
    for (sabotage, broken) in [
        (Sabotage::SlowStart, Invariant::Fence),
        (Sabotage::TooEarly, Invariant::Record),
        (Sabotage::NoMark, Invariant::Once),
        (Sabotage::Leak, Invariant::Secrets),
        (Sabotage::HiddenNeeds, Invariant::Order),
        (Sabotage::NoKeeper, Invariant::Release),
    ] {
        let found = (1..=120).any(|one| {
            let scenario = Scenario { sabotage: Some(sabotage), ..Scenario::draw(one) };
            seed::run_scenario(scenario, Trace::Off).violations().iter().any(|violation| violation.invariant == broken)
        });
        assert!(found, "{sabotage:?} does not break {broken:?}");
    }
}

/// How close teardowns of real stacks come to their critical path, and what they cost. The bounds leave a little room over
/// what `make bench` measures; docs/performance.md says why some are not the targets themselves.
#[test]
fn the_schedule_is_good() {
    let measured = corpus::measure(&graphs::constructs().unwrap(), 2).unwrap();
    assert_eq!(measured.teardowns, 506);
    assert!(measured.ebb_over_critical <= 1.04, "{measured:#?}");
    assert!(measured.won_share_over_30s >= 0.70, "{measured:#?}");
    assert!(measured.won_within_5_percent_over_30s >= 0.92, "{measured:#?}");
    assert!(measured.worst_tenth_of_levels >= 1.5, "{measured:#?}");
    assert!(measured.small_behind_p50_ms <= 2_200 && measured.small_behind_p90_ms <= 4_200, "{measured:#?}");
    assert!(measured.transitions_per_resource <= 6.1, "{measured:#?}");
    assert!(measured.usd_per_100_resources <= 0.0215, "{measured:#?}");
}

/// What a wave asks of the bucket: lock, record, and one write of each.
#[test]
fn a_wave_takes_four_requests() {
    let measured = lock::measure().unwrap();
    assert!(measured.wave_warm <= 4 && measured.wave_cold <= 5, "{measured:#?}");
    assert_eq!((measured.idle_writes, measured.lists), (0, 0), "{measured:#?}");
}
