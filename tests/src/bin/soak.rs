//! Lives many seeds of the simulation and says what was found:
//! `cargo run -p ebb-tests --bin soak -- --seeds 20000 [--from N] [--threads N]`, or one seed with every event of it:
//! `cargo run -p ebb-tests --bin soak -- --seed N`.

use std::process::ExitCode;

use ebb_tests::sim::log::Trace;
use ebb_tests::sim::{seed, soak};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    if let Some(one) = number("--seed") {
        let outcome = seed::run(one, Trace::Lines);
        for line in &outcome.notes.lines {
            println!("{line}");
        }
        for violation in outcome.violations() {
            println!("{:>10.3}  {}: {}", violation.at as f64 / 1000.0, violation.invariant.name(), violation.what);
        }
        println!("seed {one}, {} violations", outcome.violations().len());
        return if outcome.violations().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let threads = number("--threads").unwrap_or(2) as usize;
    let summary = soak::live(number("--from").unwrap_or(1), number("--seeds").unwrap_or(2_000), threads);
    print!("{summary}");
    if summary.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
