//! The only source of chance: SplitMix64, so that a seed means the same run on every machine and in every release.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A stream of chance. One per part of the world, so that a change in one part leaves the draws of the others alone.
#[derive(Debug)]
pub struct Rng(Mutex<u64>);

impl Rng {
    /// The stream of a seed and a part's name.
    pub fn new(seed: u64, part: &str) -> Self {
        let state = part.bytes().fold(seed ^ 0x9e37_79b9_7f4a_7c15, |state, byte| mix(state ^ u64::from(byte)));
        Rng(Mutex::new(state))
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(*state)
    }

    /// From 0 to `n` - 1.
    pub fn below(&self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True `per_mille` times in a thousand. Draws nothing when it cannot be true.
    pub fn chance(&self, per_mille: u64) -> bool {
        per_mille > 0 && self.next() % 1000 < per_mille
    }

    /// One of them.
    pub fn pick<'a, T>(&self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Between `low` and `high` milliseconds.
    pub fn millis(&self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    /// From 0 to 1.
    pub fn unit(&self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A log-normal number of seconds through its median and its ninetieth percentile.
    pub fn log_normal(&self, p50: f64, p90: f64) -> f64 {
        if p50 <= 0.0 {
            return 0.0;
        }
        let sigma = (p90.max(p50) / p50).ln() / 1.281_6;
        let (u, v) = (self.unit().max(1e-12), self.unit());
        let normal = (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos();
        p50 * (sigma * normal).exp()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_seeds_and_its_names() {
        let first = |seed, part| Rng::new(seed, part).next();
        assert_eq!(first(1, "aws"), first(1, "aws"));
        assert_ne!(first(1, "aws"), first(2, "aws"));
        assert_ne!(first(1, "aws"), first(1, "bucket"));
    }

    #[test]
    fn a_log_normal_goes_through_its_percentiles() {
        let rng = Rng::new(7, "test");
        let mut drawn: Vec<f64> = (0..10_000).map(|_| rng.log_normal(90.0, 150.0)).collect();
        drawn.sort_by(f64::total_cmp);
        assert!((85.0..95.0).contains(&drawn[5_000]), "{}", drawn[5_000]);
        assert!((142.0..158.0).contains(&drawn[9_000]), "{}", drawn[9_000]);
    }
}
