//! Time and sleep are injected, so that everything that decides can be simulated with a seed.

use std::time::Duration;

use async_trait::async_trait;

/// Milliseconds since the Unix epoch, the unit of every instant in cdkd's files.
pub type Millis = u64;

/// The only source of time. Lambdas use the system's, the simulation a virtual one.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The local clock, in milliseconds since the epoch.
    fn now(&self) -> Millis;

    /// Returns after `duration` of this clock's time.
    async fn sleep(&self, duration: Duration);
}
