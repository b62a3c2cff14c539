//! How resources of the modelled AWS go away: one provider for all types, built like Ebb's own. It looks, checks the
//! fence, makes one call, and answers where the resource stands.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ebb_core::{Code, Context, DeleteError, ErrorClass, Look, Provider, Resource, Step, catalogue, final_snapshot};
use ebb_store::Bucket;
use serde_json::json;

use super::aws::{Call, Quirk, Refused, Shown};
use super::custom;
use super::scenario::Sabotage;
use super::world::{SECRET, Sim};

/// The provider of one step.
pub struct SimProvider {
    pub sim: Arc<Sim>,
    pub bucket: Arc<dyn Bucket>,
}

#[async_trait]
impl Provider for SimProvider {
    async fn step(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Step, DeleteError> {
        let id = format!("{}/{}", resource.stack, resource.logical_id);
        if masked(resource) {
            return Ok(Step::skipped(Code::MaskedAddress, "a recorded property is masked"));
        }
        if ebb_core::provider::is_custom_resource(&resource.resource_type) {
            return custom::step(self, &id, resource, ctx).await;
        }
        self.look_costs().await;
        let (shown, quirk) = self.sim.aws.show(&id, self.sim.now());
        let wait =
            Duration::from_secs_f64(catalogue::lookup(&resource.resource_type, is_in_vpc(resource)).p50_s.clamp(0.2, 300.0));
        match shown {
            Shown::Missing => return Ok(Step::Gone { already: ctx.memo.is_none() }),
            Shown::Going => {
                return Ok(Step::pending_with(wait / 4 + Duration::from_secs(1), "it is being deleted", json!({"asked": true})));
            }
            Shown::Alive => {}
        }
        if resource.snapshot && !snapshots(&resource.resource_type) {
            return Err(DeleteError::refused(Code::FinalSnapshotUnsupported, "no snapshot of this type can be taken"));
        }
        if resource.snapshot && ctx.memo.is_none() {
            self.call(&id, Call::Snapshot, resource, ctx).await?;
            return Ok(Step::pending_with(Duration::from_secs(5), "its snapshot is being taken", json!({"snapshot": "snap-1"})));
        }
        if quirk == Quirk::Protected && ctx.run.options.remove_protection {
            self.call(&id, Call::Unprotect, resource, ctx).await?;
        }
        if quirk == Quirk::HoldsData {
            if !ctx.run.options.delete_data {
                return Err(DeleteError::refused(Code::DataGuard, "it holds data"));
            }
            for _ in 0..3 {
                self.call(&id, Call::Empty, resource, ctx).await?;
            }
        }
        self.call(&id, Call::Delete, resource, ctx).await?;
        match self.sim.aws.show(&id, self.sim.now()).0 {
            _ if self.sim.scenario.sabotage == Some(Sabotage::TooEarly) => Ok(Step::DELETED),
            Shown::Missing => Ok(Step::DELETED),
            _ => Ok(Step::pending_with(wait, "it is being deleted", json!({"asked": true}))),
        }
    }

    async fn look(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Look, DeleteError> {
        let id = format!("{}/{}", resource.stack, resource.logical_id);
        self.look_costs().await;
        let refuses = |code, reason: &str| Ok(Look::Refuses { code, reason: reason.to_owned() });
        match self.sim.aws.show(&id, self.sim.now()) {
            (Shown::Alive, Quirk::Protected) if !ctx.run.options.remove_protection => {
                refuses(Code::Protected, "deletion protection is on")
            }
            (Shown::Alive, Quirk::HoldsData) if !ctx.run.options.delete_data => refuses(Code::DataGuard, "it holds data"),
            _ => Ok(Look::Clear),
        }
    }
}

impl SimProvider {
    async fn look_costs(&self) {
        self.sim.sleep(self.sim.rng.aws.millis(20, 200)).await;
    }

    /// One mutating call behind the fence.
    pub async fn call(&self, id: &str, call: Call, resource: &Resource, ctx: &Context<'_>) -> Result<(), DeleteError> {
        ctx.fence.check().await?;
        if self.sim.scenario.sabotage == Some(Sabotage::SlowStart) {
            self.sim.sleep(Duration::from_secs(12)).await;
        }
        match self.sim.aws.call(&self.sim, id, call).await {
            // A call that found nothing: the next look says so.
            Ok(()) | Err(Refused::Missing) => Ok(()),
            Err(refused) if self.sim.scenario.sabotage == Some(Sabotage::Leak) => {
                Err(DeleteError { code: format!("{SECRET}-code"), ..refusal(refused, resource) })
            }
            Err(refused) => Err(refusal(refused, resource)),
        }
    }
}

/// As AWS words it, which may repeat what it was once given.
fn refusal(refused: Refused, resource: &Resource) -> DeleteError {
    let after = Duration::from_secs(10);
    let (class, code) = match refused {
        Refused::Missing => (ErrorClass::AlreadyGone, "ResourceNotFoundException"),
        Refused::InUse => (ErrorClass::Blocked { after, by: Vec::new() }, "DependencyViolation"),
        Refused::Protected => (ErrorClass::Protected, "OperationNotPermitted"),
        Refused::NotEmpty => (ErrorClass::Terminal, "BucketNotEmpty"),
        Refused::Denied => (ErrorClass::Denied, "AccessDenied"),
        Refused::Invalid => (ErrorClass::Terminal, "ValidationException"),
        Refused::NotReady => (ErrorClass::Retry { after, give_up: None }, "ResourceInUseException"),
        Refused::Throttled => (ErrorClass::Throttled, "ThrottlingException"),
        Refused::Busy => (ErrorClass::Retry { after: Duration::from_secs(2), give_up: None }, "InternalFailure"),
        Refused::NoAnswer => (ErrorClass::Retry { after: Duration::from_secs(1), give_up: None }, "TimeoutError"),
    };
    let message = format!(
        "refused by the modelled AWS: {}",
        resource.properties.get("SimSecret").and_then(|s| s.as_str()).unwrap_or_default()
    );
    DeleteError { class, code: code.into(), message, request_id: Some("req-1".into()) }
}

fn masked(resource: &Resource) -> bool {
    resource.properties.values().filter_map(|value| value.as_str()).any(ebb_core::provider::is_masked)
}

fn is_in_vpc(resource: &Resource) -> bool {
    resource.properties.contains_key("VpcConfig")
}

/// Types that a snapshot can be taken of.
pub fn snapshots(resource_type: &str) -> bool {
    final_snapshot::TAKES.contains(&resource_type)
}
