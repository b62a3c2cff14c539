//! How each resource type goes away: one file per AWS service under `services/`, Cloud Control for the rest.
//! Only the worker links this crate. A step looks at what is there, does the next thing and answers; it never waits for
//! slow things, may run twice and may be killed between any two calls.

mod accepted;
mod arn;
mod budget;
mod call;
mod classify;
mod clients;
mod fence_guard;
mod final_snapshot;
mod holders;
#[cfg(test)]
mod hostile;
mod ids;
mod memo;
mod policies;
mod protection;
mod registry;
mod road;
mod services;
#[cfg(test)]
mod steps_log;
mod supported;
#[cfg(test)]
mod testing;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use ebb_core::{Code, Context, DeleteError, Look, Provider, Resource, Step};
use ebb_store::Bucket;

pub use call::{CallError, StepError, StepResult};
pub use clients::Clients;
pub use fence_guard::with_fence;
pub use policies::policies;
pub use registry::{TypeDef, types};
pub use road::{Road, road};
pub use services::{CLOUD_CONTROL_ACTIONS, CUSTOM_RESOURCE_ACTIONS};
pub use supported::{Guard, Supported, page as supported_page, supported};

/// What a step of a service file is given: the run's context, the clients of the resource's region, the state bucket.
pub struct Cx<'a> {
    /// Attempt, memo, fence, clock.
    pub ctx: &'a Context<'a>,
    /// Clients of the stack's account and region; every mutating call passes the fence.
    pub aws: &'a Clients,
    /// The state bucket, where custom resources answer.
    pub bucket: &'a dyn Bucket,
}

impl<'a> std::ops::Deref for Cx<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        self.ctx
    }
}

/// The registry at work in one account and region.
pub struct Providers {
    clients: Arc<Clients>,
    bucket: Arc<dyn Bucket>,
    extra_delete_policy: bool,
}

impl Providers {
    /// Providers that call with `clients` and leave custom resources' response objects in `bucket`.
    pub fn new(clients: Arc<Clients>, bucket: Arc<dyn Bucket>) -> Self {
        Providers { clients, bucket, extra_delete_policy: false }
    }

    /// Whether the worker has a delete policy besides the app's: types that the app's know nothing of are tried then.
    pub fn with_extra_delete_policy(self, given: bool) -> Self {
        Providers { extra_delete_policy: given, ..self }
    }
}

#[async_trait]
impl Provider for Providers {
    async fn step(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Step, DeleteError> {
        // What is not found in another region says nothing, and some deletes succeed for what they do not know.
        if resource.region != self.clients.region() {
            let message = format!("recorded in {}, but the calls would go to {}", resource.region, self.clients.region());
            return Err(DeleteError::refused(Code::WrongRegion, message));
        }
        let road = road(resource, &ctx.run.options, self.extra_delete_policy)?;
        let (inner, budget) = budget::split(ctx.memo);
        let ctx = Context { memo: inner.as_ref(), ..*ctx };
        let cx = Cx { ctx: &ctx, aws: &self.clients, bucket: &*self.bucket };
        let answer = match road {
            Road::NoCall => return Ok(Step::DELETED),
            Road::Native(def) => (def.step)(resource, &cx).await,
            Road::CloudControl => services::cloud_control::step(resource, &cx).await,
            Road::CustomResource => services::custom_resource::step(resource, &cx).await,
        };
        budget::settle(answer, road.rules(), &ctx, budget)
    }

    async fn look(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Look, DeleteError> {
        let cx = Cx { ctx, aws: &self.clients, bucket: &*self.bucket };
        match road(resource, &ctx.run.options, self.extra_delete_policy)? {
            Road::Native(TypeDef { look: Some(look), rules, .. }) => {
                look(resource, &cx).await.or_else(|error| budget::settle_look(error, rules))
            }
            road @ Road::CloudControl => {
                services::cloud_control::look(resource, &cx).await.or_else(|error| budget::settle_look(error, road.rules()))
            }
            _ => Ok(Look::Clear),
        }
    }
}

#[cfg(test)]
mod tests {
    use ebb_core::Code;
    use serde_json::json;

    use crate::testing::{Bench, Script};

    /// The client's region is compared with the recorded one before any call.
    #[tokio::test]
    async fn a_resource_of_another_region_is_not_asked_for() {
        let mut bench = Bench::new("AWS::SQS::Queue", "https://q/orders", json!({}));
        bench.resource.region = "eu-west-1".into();
        let script = Script::new();
        assert_eq!(bench.step(&script).await.unwrap_err().code, Code::WrongRegion.name());
        assert_eq!(script.seen(), Vec::<String>::new());
    }
}
