//! Instances. Terminated ones stay visible for about an hour; volumes that are told to outlive their instance do.

use std::time::Duration;

use aws_sdk_ec2::types::{AttributeBooleanValue, InstanceAttributeName, InstanceStateName};
use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource};

use crate::Cx;
use crate::budget::protected;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;
use crate::watch::{Seen, Watch};

pub(super) const INSTANCE: TypeDef = TypeDef {
    name: "AWS::EC2::Instance",
    step: |r, cx| Box::pin(instance(r, cx)),
    look: Some(|r, cx| Box::pin(look_for_protection(r, cx))),
    actions: &["ec2:DescribeInstanceAttribute", "ec2:DescribeInstances", "ec2:ModifyInstanceAttribute", "ec2:TerminateInstances"],
    rules: Rules { gone: GONE, retry: &[retry("IncorrectInstanceState", 5, 120)], ..Rules::NONE },
};

const GONE: &[&str] = &["InvalidInstanceID.NotFound"];

const PROTECTED: &str = "termination protection is on: switch DisableApiTermination off, or ask with removeProtection";

async fn look_for_protection(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if cx.run.options.remove_protection {
        return Ok(Look::Clear);
    }
    let attribute = InstanceAttributeName::DisableApiTermination;
    let answer = cx.aws.ec2().describe_instance_attribute().instance_id(&r.physical_id).attribute(attribute).send().await?;
    match answer.disable_api_termination().and_then(|on| on.value()) {
        Some(true) => Ok(Look::Refuses { code: Code::Protected, reason: PROTECTED.into() }),
        _ => Ok(Look::Clear),
    }
}

async fn instance(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let watch = Watch::of(cx);
    let found = if watch.asked() { true } else { terminate(r, cx).await? };
    match look(r, cx).await? {
        Seen::Gone => Ok(watch.gone(found)),
        Seen::There if watch.asked() => {
            terminate(r, cx).await?;
            Ok(watch.pending(r, cx, "the instance was not going: asked again"))
        }
        Seen::Going | Seen::There => Ok(watch.pending(r, cx, "the instance is shutting down")),
    }
}

/// Switches the termination protection off, whatever is recorded of it: the switch may take half a minute to count. One
/// that fails is EC2's to refuse at the delete.
pub(crate) async fn allow_termination(r: &Resource, cx: &Cx<'_>) -> Result<(), StepError> {
    cx.fence.check().await?;
    let off = AttributeBooleanValue::builder().value(false).build();
    let modify = cx.aws.ec2().modify_instance_attribute().instance_id(&r.physical_id).disable_api_termination(off);
    match modify.send().await.map_err(CallError::from) {
        Err(call) if call.fence_shut => Err(call.into()),
        Err(call) => {
            tracing::warn!(resource = %r.logical_id, code = %call.code, "termination protection could not be switched off");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Whether there was one to terminate. The protection is switched off right before.
async fn terminate(r: &Resource, cx: &Cx<'_>) -> Result<bool, StepError> {
    let remove_protection = cx.run.options.remove_protection;
    if remove_protection {
        allow_termination(r, cx).await?;
    }
    cx.fence.check().await?;
    match cx.aws.ec2().terminate_instances().instance_ids(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(true),
        Err(call) if call.is(GONE) => Ok(false),
        Err(call) if is_protection(&call) && remove_protection => {
            let class = ErrorClass::Retry { after: Duration::from_secs(3), give_up: Some(Duration::from_secs(45)) };
            let CallError { code, message, request_id, .. } = call;
            Err(DeleteError { class, code, message, request_id }.into())
        }
        Err(call) if is_protection(&call) => Err(protected(PROTECTED)),
        Err(call) => Err(call.into()),
    }
}

/// The code alone also stands for instances that a service manages.
fn is_protection(call: &CallError) -> bool {
    let text = call.message.to_lowercase();
    call.is(&["OperationNotPermitted"]) && (text.contains("disableapitermination") || text.contains("may not be terminated"))
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Seen, StepError> {
    let answer = cx.aws.ec2().describe_instances().instance_ids(&r.physical_id).send().await.ignore(GONE)?;
    let reservations = answer.and_then(|a| a.reservations).unwrap_or_default();
    let ours = reservations.iter().flat_map(|r| r.instances()).find(|i| i.instance_id() == Some(&r.physical_id));
    Ok(match ours.map(|i| i.state().and_then(|s| s.name())) {
        None | Some(Some(InstanceStateName::Terminated)) => Seen::Gone,
        Some(Some(InstanceStateName::ShuttingDown)) => Seen::Going,
        Some(_) => Seen::There,
    })
}
