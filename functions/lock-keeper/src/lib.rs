//! The lock-keeper: takes the locks of a run, renews them from an execution of its own, and removes a lock on an
//! operator's word. What the Lambda and the simulation run is [`handle`]; `main` only wires it.

mod acquire;
mod force_unlock;
mod renew;

#[cfg(test)]
mod testing;

use std::sync::Arc;

use ebb_core::payload::KeeperRequest;
use ebb_core::rails::Rails;
use ebb_store::lambda::{Failure, write};
use ebb_store::{ResolveRun, World};
use serde_json::Value;

pub use force_unlock::{ForceUnlockAnswer, Unlocked};

/// What the lock-keeper needs from outside.
#[derive(Clone)]
pub struct Deps {
    /// Buckets and time.
    pub world: World,
    /// From an execution to its run.
    pub resolve: Arc<dyn ResolveRun>,
    /// The app's defaults, and the roles it may work through.
    pub rails: Rails,
    /// The function's own region: where a stack without state is looked for.
    pub home_region: Option<String>,
}

/// Answers one request.
pub async fn handle(request: KeeperRequest, deps: &Deps) -> Result<Value, Failure> {
    match request {
        KeeperRequest::Acquire { run } => write(&acquire::acquire(&run, deps).await?),
        KeeperRequest::Renew { execution } => write(&renew::renew(&execution, deps).await?),
        KeeperRequest::ForceUnlock(request) => write(&force_unlock::force_unlock(&request, deps).await?),
    }
}
