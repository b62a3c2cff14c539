//! Model-checks the lock and prints what was found: `model [threads]`. Fails when a property breaks where it must hold,
//! or holds where it must break.

use std::process::ExitCode;

use ebb_tests::lock_model::{check, scenes};

fn main() -> ExitCode {
    let threads = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let mut sound = true;
    let mut states = 0;
    for scene in scenes::sound() {
        let report = check(scene, threads);
        states += report.states;
        println!("{:<75} {:>9} states, depth {:>3}  {}", report.scene, report.states, report.depth, verdict(report.holds()));
        for (property, path) in &report.broken {
            println!("  BROKEN: {property}\n{path}");
        }
        for property in &report.unreached {
            println!("  NEVER: {property}");
        }
        sound &= report.holds();
    }
    for scene in scenes::spoilt() {
        let report = check(scene, threads);
        states += report.states;
        let found = !report.broken.is_empty();
        println!(
            "{:<75} {:>9} states, depth {:>3}  {}",
            report.scene,
            report.states,
            report.depth,
            if found { "found, as it must be" } else { "NOT FOUND" }
        );
        sound &= found;
    }
    // One thread finds a shortest way there.
    let report = check(scenes::known_limit(), 1);
    states += report.states;
    println!(
        "{states} states in all\n\nKnown limit: {}. It releases without a condition, so it can delete a lock that is not its own;",
        report.scene
    );
    println!("the run whose lock it was finds out at its next reading, at most 10 s later, and starts nothing more.");
    match report.broken.iter().find(|(property, _)| property.contains("removes a lock")) {
        Some((_, path)) => println!("{path}"),
        None => {
            println!("NOT FOUND");
            sound = false;
        }
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "DOES NOT HOLD" }
}
