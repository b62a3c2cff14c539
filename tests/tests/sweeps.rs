//! Fleets swept in the simulated world: calm and stormy, small and of 200 stacks.

use ebb_tests::sim::fleet::{run, scenario};
use ebb_tests::sim::log::Trace;
use ebb_tests::sim::seed::Outcome;

fn sound(outcome: &Outcome) {
    let what: Vec<String> = outcome.violations().iter().take(4).map(|v| format!("{}: {}", v.invariant.name(), v.what)).collect();
    assert!(what.is_empty(), "seed {}: {what:#?}", outcome.seed);
}

/// Imports, failures and held locks: no producer is deleted before its consumers, what is told is true, and one execution's
/// history and payloads hold it all.
#[test]
fn a_fleet_of_two_hundred_stacks_is_swept_consumers_first() {
    let outcome = run(scenario(1, 200, false), Trace::Off);
    sound(&outcome);
    assert!(outcome.notes.checks.get("order").is_some_and(|count| *count > 200), "{:?}", outcome.notes.checks);
    let ends = &outcome.notes.endings;
    let of = |name: &str| ends.get(name).copied().unwrap_or_default();
    assert!(of("Deleted") > 80 && of("LockHeld") > 0 && of("Partial") > 0, "{ends:?}");
    let begun: u64 = ends.values().sum();
    assert!(begun < 200, "some are held: {ends:?}");
    let done = |what: &str| outcome.notes.done.get(what).copied().unwrap_or_default();
    assert_eq!(done("sweeps"), 1);
    let (again, refused) = (done("stacks deployed again"), done("stacks refused as deployed again"));
    assert!(again > 20 && refused > 5, "{again} were deployed again, {refused} refused for it");
}

/// Replies that are lost, deliveries that come twice, functions that are killed: the same holds.
#[test]
fn fleets_are_swept_in_storms() {
    let mut begun = 0;
    for seed in 1..=24 {
        let outcome = run(scenario(seed, 24, true), Trace::Off);
        sound(&outcome);
        begun += outcome.notes.done.get("teardowns").copied().unwrap_or_default();
    }
    assert!(begun > 200, "{begun} teardowns prove little");
}
