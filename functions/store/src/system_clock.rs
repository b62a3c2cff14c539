//! The system's time, for Lambdas and tools. The only place that asks the machine for the time or sleeps on it;
//! everything else is given an [`ebb_core::Clock`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use ebb_core::{Clock, Millis};

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
#[allow(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_milliseconds_since_the_epoch() {
        let year_2024 = 1_704_067_200_000;
        let year_2200 = 7_258_118_400_000;
        assert!((year_2024..year_2200).contains(&SystemClock.now()));
    }

    #[tokio::test(start_paused = true)]
    async fn sleeps_for_as_long_as_asked() {
        let before = tokio::time::Instant::now();
        SystemClock.sleep(Duration::from_secs(90)).await;
        assert_eq!(before.elapsed(), Duration::from_secs(90));
    }
}
