use serde_json::Value;

use super::super::QUIET;

// Between close and finish the keeper waits until no step can be under way: longer than any function may run.
#[test]
fn the_keeper_drains_as_long_as_a_step_may_run() {
    let keeper: Value = serde_json::from_str(include_str!("../../../../../infra/keeper.asl.json")).unwrap();
    let states = &keeper["States"];
    assert_eq!(states["Close"]["Next"], "Drain");
    assert_eq!((&states["Drain"]["Type"], &states["Drain"]["Next"]), (&"Wait".into(), &"Finish".into()));
    assert_eq!(states["Drain"]["Seconds"], QUIET.as_secs());
    let template = include_str!("../../../../../infra/template.yaml");
    let timeouts: Vec<u64> = template
        .lines()
        .filter_map(|line| line.strip_prefix("      Timeout: "))
        .map(|seconds| seconds.trim().parse().unwrap())
        .collect();
    assert_eq!(timeouts.len(), crate::own::PARTS.len(), "one for each function");
    assert!(timeouts.iter().all(|&seconds| seconds + 10 < QUIET.as_secs()), "{timeouts:?}");
}
