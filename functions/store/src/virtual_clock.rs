//! Time for tests and the simulation: a chosen start plus what the runtime's own time has moved since. In a runtime
//! with paused time it jumps to the next sleeper when nothing else can run, so hours of a run take milliseconds.

use std::time::Duration;

use async_trait::async_trait;
use ebb_core::{Clock, Millis};
use tokio::time::Instant;

/// A clock that reads `start` when it is made and follows tokio's time from there.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    start: Millis,
    origin: Instant,
}

impl VirtualClock {
    /// A clock that reads `start` now.
    #[allow(clippy::disallowed_methods, reason = "a clock reads the runtime's time, which tests pause")]
    pub fn starting_at(start: Millis) -> Self {
        VirtualClock { start, origin: Instant::now() }
    }
}

#[async_trait]
#[allow(clippy::disallowed_methods, reason = "a clock sleeps on the runtime's time, which tests pause")]
impl Clock for VirtualClock {
    fn now(&self) -> Millis {
        self.start.saturating_add(Millis::try_from(self.origin.elapsed().as_millis()).unwrap_or(Millis::MAX))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn starts_where_it_was_told_and_moves_by_what_was_slept() {
        let clock = VirtualClock::starting_at(1_786_786_212_123);
        assert_eq!(clock.now(), 1_786_786_212_123);
        clock.sleep(Duration::from_secs(3600)).await;
        assert_eq!(clock.now(), 1_786_786_212_123 + 3_600_000);
    }

    #[tokio::test(start_paused = true)]
    async fn two_sleepers_wake_in_the_order_of_their_instants() {
        let clock = VirtualClock::starting_at(0);
        let woken = std::sync::Mutex::new(Vec::new());
        let sleeper = |seconds: u64| {
            let woken = &woken;
            async move {
                clock.sleep(Duration::from_secs(seconds)).await;
                woken.lock().unwrap().push((seconds, clock.now()));
            }
        };
        futures::future::join(sleeper(20), sleeper(10)).await;
        assert_eq!(*woken.lock().unwrap(), [(10, 10_000), (20, 20_000)]);
    }
}
