//! Asking again what the bucket did not answer, before anything depends on it.

use std::time::Duration;

use ebb_core::{Clock, Ending, Refusal};

/// How often is asked before no answer is one.
const TRIES: u32 = 4;

/// An answer, unless the bucket gives none however often it is asked.
pub(crate) async fn patiently<T, F: Future<Output = Result<T, Refusal>>>(
    clock: &dyn Clock,
    ask: impl Fn() -> F,
) -> Result<T, Refusal> {
    let mut tried = 1;
    loop {
        match ask().await {
            Err(refusal) if refusal.ending == Ending::Error && tried < TRIES => {
                clock.sleep(Duration::from_millis(250 << tried)).await;
                tried += 1;
            }
            answer => return answer,
        }
    }
}
