//! The worker: takes one resource one step closer to gone, or looks whether anything would refuse that. It reads the
//! lock and the row itself, asks a provider, and answers where the resource stands; it writes nothing into the state.

mod aws;
mod fence;
mod outcome;
mod redact;
mod row;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use ebb_core::payload::StepRequest;
use ebb_core::rails::Rails;
use ebb_core::{Ending, Provider, Refusal, Run, StackKey, StepResult};
use ebb_store::{Bucket, Failure, World};

pub use aws::AwsProviders;
pub use fence::LockFence;

/// Where providers come from: AWS in the Lambda, a modelled one in the simulation.
#[async_trait]
pub trait ProviderFactory: Send + Sync {
    /// The provider for a run's resources in `region`; custom resources answer through `bucket`.
    async fn provider(&self, run: &Run, region: &str, bucket: Arc<dyn Bucket>) -> Result<Arc<dyn Provider>, Refusal>;
}

/// What the worker needs from outside.
pub struct Deps {
    /// Time, accounts and buckets.
    pub world: World,
    /// How resources go away.
    pub providers: Arc<dyn ProviderFactory>,
    /// What a run must not delete, because it stands on it.
    pub rails: Rails,
}

/// Answers one request. Whatever becomes of the resource is a result; only a request that makes no sense is a failure.
pub async fn handle(request: StepRequest, deps: &Deps) -> Result<StepResult, Failure> {
    let started = deps.world.clock.now();
    let (key, logical_id) = address(&request)?;
    let result = step::step(&request, &key, logical_id, deps, started).await;
    let ms = deps.world.clock.now().saturating_sub(started);
    let result = StepResult { ms, retry: request.retry, ..result }.fit();
    tracing::info!(
        stack = %key.stack,
        region = %key.region,
        run = %request.run.run_id,
        resource = logical_id,
        "type" = %request.item.resource_type,
        look = request.item.look,
        outcome = ?result.outcome,
        already = result.already,
        code = result.code.as_deref(),
        ms,
        "step"
    );
    Ok(result)
}

/// The stack and the row that an item names. A stack outside the run's tree has a lock and a state of its own, and no
/// business here.
fn address(request: &StepRequest) -> Result<(StackKey, &str), Failure> {
    let invalid = |what: &str| Failure::new(Ending::InvalidRequest.name(), what);
    let (run, item) = (&request.run, &request.item);
    let Some((stack, logical_id)) = item.id.split_once('/').filter(|(_, row)| !row.is_empty()) else {
        return Err(invalid("the item's `id` is not stack/LogicalId"));
    };
    let nested = stack.strip_prefix(run.stack.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('~'));
    if !nested {
        return Err(invalid("the item's `id` names a stack that is not the run's or nested in it"));
    }
    if run.dry_run && !item.look {
        return Err(invalid("a dry run only looks"));
    }
    Ok((run.key().sibling(stack), logical_id))
}
