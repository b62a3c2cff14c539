//! The finalizer: shuts a run's fence, and ends a run: state settled, result recorded, locks released, report and events
//! written; and says how an execution ended. What the Lambda and the simulation run is [`handle`]; `main` only wires it. Everything here can be repeated.

mod announce;
mod answer;
mod close;
mod events;
mod finish;
mod forecast;
pub mod report;
mod responses;
mod settle;
mod unprotected;
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
    /// The app's name.
    pub app: String,
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
        FinalizerRequest::Announce { execution } => write(&announce::announce(&execution, deps).await?),
    }
}
