//! The finalizer: shuts a run's fence, and ends a run: state settled, result recorded, locks released, report and events
//! written. What the Lambda and the simulation run is [`handle`]; `main` only wires it. Everything here can be repeated.

mod answer;
mod close;
mod events;
mod finish;
mod forecast;
pub mod report;
mod responses;
mod settle;
mod verdict;

#[cfg(test)]
mod testing;

use ebb_core::payload::FinalizerRequest;
use ebb_store::World;
use ebb_store::lambda::{Failure, write};
use serde_json::Value;

use verdict::Said;

/// What the finalizer needs from outside.
#[derive(Clone)]
pub struct Deps {
    /// Buckets and time.
    pub world: World,
}

/// Answers one request.
pub async fn handle(request: FinalizerRequest, deps: &Deps) -> Result<Value, Failure> {
    match request {
        FinalizerRequest::Close { run } => write(&close::close(&run, deps).await?),
        FinalizerRequest::Finish { run, error, cause, last } => {
            let answer = finish::finish(&run, Said::of(error, cause).as_ref(), deps).await?;
            if last {
                finish::nothing_left(&run, deps).await?;
            }
            write(&answer)
        }
    }
}
