//! How many bytes a step reads of a large state, counted with a bucket in memory.

use std::sync::Arc;

use async_trait::async_trait;
use ebb_core::payload::{KeeperRequest, PlanAnswer, PlanRequest, PlannerRequest, StepRequest};
use ebb_core::{Context, DeleteError, Look, Outcome, Provider, Refusal, Resource, Run, Step};
use ebb_store::lambda::read;
use ebb_store::{Bucket, Failure};
use ebb_worker::ProviderFactory;
use serde_json::json;

use super::lock::{Stand, failure};
use super::planner;

/// Bytes of the state of so many topics, and the most that a step of the first wave reads, lock and row together.
pub(super) async fn measure(resources: usize) -> Result<(u64, u64), Failure> {
    let rows = planner::wide(resources, &mut fastrand::Rng::with_seed(7));
    let state = json!({"version": 11, "stackName": "OrdersApi", "region": "us-west-2", "resources": rows}).to_string();
    let size = state.len() as u64;
    let stand = Stand::of(state)?;
    ebb_lock_keeper::handle(KeeperRequest::Acquire { run: stand.run.clone() }, &stand.keeper()).await?;
    let request = PlanRequest { run: stand.run.clone(), drive: 1, step: 0, results: Vec::new() };
    let answer: PlanAnswer = read(ebb_planner::handle(PlannerRequest::Plan(Box::new(request)), &stand.planner()).await?)?;
    let worker = ebb_worker::Deps { world: stand.world.clone(), providers: Arc::new(Gone), rails: stand.rails.clone() };
    let mut most = 0;
    for item in answer.items {
        stand.bucket.hook.bytes_taken();
        let result = ebb_worker::handle(StepRequest { run: stand.run.clone(), item, retry: 0 }, &worker).await?;
        if result.outcome != Outcome::Deleted {
            return Err(failure(&format!("a step ended otherwise: {result:?}")));
        }
        most = most.max(stand.bucket.hook.bytes_taken());
    }
    Ok((size, most))
}

/// Everything goes at once.
struct Gone;

#[async_trait]
impl ProviderFactory for Gone {
    async fn provider(&self, _: &Run, _: &str, _: Arc<dyn Bucket>) -> Result<Arc<dyn Provider>, Refusal> {
        Ok(Arc::new(Gone))
    }
}

#[async_trait]
impl Provider for Gone {
    async fn step(&self, _: &Resource, _: &Context<'_>) -> Result<Step, DeleteError> {
        Ok(Step::DELETED)
    }

    async fn look(&self, _: &Resource, _: &Context<'_>) -> Result<Look, DeleteError> {
        Ok(Look::Clear)
    }
}
