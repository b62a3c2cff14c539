//! Measures, prints tables and writes `bench/*.json` under the target directory: `bench [makespan|planner|lock]…`, all by default.

use ebb_tests::bench::report::report;
use ebb_tests::bench::{corpus, graphs, lock, planner};

/// How often each stack is torn down.
const DRAWS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    if wanted("makespan") {
        report("makespan", &corpus::measure(&graphs::constructs()?, DRAWS)?)?;
    }
    if wanted("planner") {
        report("planner", &planner::measure()?)?;
    }
    if wanted("lock") {
        report("lock", &lock::measure()?)?;
    }
    Ok(())
}
