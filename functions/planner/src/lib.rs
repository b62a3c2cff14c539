//! The planner: may this execution tear its stack down (`check`), and what is to be done now (`plan`)? For a sweep: which
//! stacks, in which order, and what came of them. It reads and
//! writes the bucket and decides nothing itself: `ebb_core::plan` does. It calls no AWS service but S3, STS and
//! DescribeExecution.

mod check;
mod patiently;
mod plan;
mod survey;
mod sweep;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use ebb_core::payload::PlannerRequest;
use ebb_core::rails::Rails;
use ebb_core::sweep::payload::{Selected, StackResult};
use ebb_store::World;
use ebb_store::lambda::{Failure, write};
use serde_json::Value;

/// What the planner needs from outside, and what a warm container remembers.
pub struct Deps {
    world: World,
    rails: Rails,
    warm: Mutex<plan::Warm>,
}

impl Deps {
    /// The planner of an app in a world.
    pub fn new(world: World, rails: Rails) -> Self {
        Deps { world, rails, warm: Mutex::default() }
    }
}

/// Answers one request.
pub async fn handle(request: PlannerRequest, deps: &Deps) -> Result<Value, Failure> {
    match request {
        PlannerRequest::Check { execution } => write(&check::check(&execution, deps).await?),
        PlannerRequest::Plan(request) => write(&plan::plan(&request, deps).await?),
        PlannerRequest::Sweep { execution } => write(&sweep::ask(&execution, deps).await?),
        PlannerRequest::Select(request) => write(&sweep::choose(&request, deps).await?),
        PlannerRequest::Unread(request) => write(&Selected::crashed(&request, &deps.rails.app)),
        PlannerRequest::Admit(request) => write(&sweep::admit(&request, deps)),
        PlannerRequest::Wave(request) => write(&sweep::wave(&request, deps).await?),
        PlannerRequest::Ended(request) => write(&StackResult::read(&request)),
        PlannerRequest::SumUp(request) => write(&sweep::sum_up(&request, deps).await?),
    }
}
