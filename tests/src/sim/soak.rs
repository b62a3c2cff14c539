//! Many seeds over several threads, and the table of what they came to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::log::Trace;
use super::seed::{Outcome, run};

/// What many seeds came to.
#[derive(Debug, Default)]
pub struct Summary {
    pub seeds: u64,
    /// Virtual hours.
    pub hours: f64,
    pub faults: BTreeMap<&'static str, u64>,
    pub done: BTreeMap<&'static str, u64>,
    pub endings: BTreeMap<String, u64>,
    pub checks: BTreeMap<&'static str, u64>,
    /// Seeds that broke something, and what.
    pub failed: BTreeMap<u64, Vec<String>>,
}

impl Summary {
    fn add(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.hours += outcome.took as f64 / 3_600_000.0;
        for (sum, tally) in [
            (&mut self.faults, &outcome.notes.faults),
            (&mut self.done, &outcome.notes.done),
            (&mut self.checks, &outcome.notes.checks),
        ] {
            for (name, count) in tally {
                *sum.entry(name).or_default() += count;
            }
        }
        for (name, count) in &outcome.notes.endings {
            *self.endings.entry(name.clone()).or_default() += count;
        }
        if !outcome.violations().is_empty() {
            let what = |v: &super::log::Violation| format!("{:.3} s  {}: {}", v.at as f64 / 1000.0, v.invariant.name(), v.what);
            self.failed.insert(outcome.seed, outcome.violations().iter().map(what).collect());
        }
    }

    /// Violations in all.
    pub fn violations(&self) -> usize {
        self.failed.values().map(Vec::len).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = |title: &str, rows: Vec<(&str, u64)>| -> fmt::Result {
            writeln!(f, "{title}")?;
            rows.into_iter().try_for_each(|(name, count)| writeln!(f, "  {name:<44} {count:>12}"))
        };
        table("faults injected", self.faults.iter().map(|(name, count)| (*name, *count)).collect())?;
        table("done", self.done.iter().map(|(name, count)| (*name, *count)).collect())?;
        table("how teardowns ended", self.endings.iter().map(|(name, count)| (name.as_str(), *count)).collect())?;
        table("invariants checked", self.checks.iter().map(|(name, count)| (*name, *count)).collect())?;
        writeln!(f, "{:.0} virtual hours", self.hours)?;
        for (seed, what) in &self.failed {
            writeln!(f, "\nseed {seed} broke, replay: cargo run -p ebb-tests --bin soak -- --seed {seed}")?;
            what.iter().take(4).try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        writeln!(f, "{} seeds, {} violations", self.seeds, self.violations())
    }
}

/// Lives `seeds` seeds from `first` on.
pub fn live(first: u64, seeds: u64, threads: usize) -> Summary {
    of(&(first..first + seeds).collect::<Vec<_>>(), threads)
}

/// Lives these seeds.
pub fn of(seeds: &[u64], threads: usize) -> Summary {
    let (next, summary) = (AtomicU64::new(0), Mutex::new(Summary::default()));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let outcome = run(*seed, Trace::Off);
                    summary.lock().expect("no thread panics with it").add(outcome);
                }
            });
        }
    });
    summary.into_inner().expect("no thread panics with it")
}
