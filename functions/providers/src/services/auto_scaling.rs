//! Auto Scaling groups. Cloud Control cannot lift the protection of one or force its delete, so with removeProtection
//! its rows come here as well.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use aws_sdk_autoscaling::types::{AutoScalingGroup, DeletionProtection};
use aws_sdk_ec2::types::AttributeBooleanValue;
use ebb_core::{Look, Resource, Step};
use serde_json::json;

use crate::arn::name_of;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;
use crate::watch::Watch;
use crate::{Cx, memo, protection};

/// ValidationError is this API's code for everything: only the text tells.
const RULES: Rules = Rules {
    gone: &["ValidationError~not found", "ValidationError~does not exist"],
    retry: &[retry("ScalingActivityInProgress", 10, 900), retry("ResourceInUse", 10, 900), retry("ResourceContention", 3, 120)],
    terminal: &[],
    protected: &["ValidationError~deletion protection"],
};

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::AutoScaling::AutoScalingGroup",
    step: |r, cx| Box::pin(group(r, cx)),
    look: Some(|r, cx| Box::pin(look(r, cx))),
    actions: &[
        "autoscaling:DeleteAutoScalingGroup",
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:UpdateAutoScalingGroup",
        "ec2:ModifyInstanceAttribute",
    ],
    rules: RULES,
}];

const LOOK_AGAIN: Duration = Duration::from_secs(15);

fn name<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    name_of(r, "autoScalingGroupName/", cx)
}

/// Protection off when asked, then delete with the instances, then look until the group is not listed any more.
async fn group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = name(r, cx)?;
    let watch = Watch::of(cx);
    let Some(found) = describe(name, cx).await? else { return Ok(watch.gone(false)) };
    if found.status().is_some() {
        return Ok(watch.pending_for(LOOK_AGAIN, cx, "the group is being deleted"));
    }
    if cx.run.options.remove_protection
        && let Some(step) = unprotect(&found, name, cx).await?
    {
        return Ok(step);
    }
    cx.fence.check().await?;
    let delete = cx.aws.autoscaling().delete_auto_scaling_group().auto_scaling_group_name(name).force_delete(forced(&found, cx));
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(watch.pending_for(LOOK_AGAIN, cx, "the group's instances are being terminated")),
        Err(call) => {
            let before = protection::level(cx).map_or(DeletionProtection::PreventAllDeletion, DeletionProtection::from);
            Err(protection::failed(call, &RULES, cx, protect(name, before, cx)).await)
        }
    }
}

/// Without force, a group with instances or a warm pool is refused; with it, an empty one that is protected against just
/// that.
fn forced(found: &AutoScalingGroup, cx: &Cx<'_>) -> bool {
    cx.run.options.remove_protection
        || !found.instances().is_empty()
        || level(found) != Some(&DeletionProtection::PreventForceDeletion)
}

async fn describe(name: &str, cx: &Cx<'_>) -> Result<Option<AutoScalingGroup>, CallError> {
    let answer = cx.aws.autoscaling().describe_auto_scaling_groups().auto_scaling_group_names(name).send().await?;
    let groups = answer.auto_scaling_groups.unwrap_or_default();
    Ok(groups.into_iter().find(|g| g.auto_scaling_group_name() == Some(name)))
}

/// What the group is protected against, if anything.
fn level(found: &AutoScalingGroup) -> Option<&DeletionProtection> {
    found.deletion_protection().filter(|level| **level != DeletionProtection::None)
}

async fn protect(name: &str, level: DeletionProtection, cx: &Cx<'_>) -> Result<(), CallError> {
    let update = cx.aws.autoscaling().update_auto_scaling_group().auto_scaling_group_name(name).deletion_protection(level);
    update.send().await?;
    Ok(())
}

/// The group's protection, then that of its instances: the forced delete would leave a protected one running alone.
async fn unprotect(found: &AutoScalingGroup, name: &str, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    if let Some(level) = level(found) {
        if let Some(step) = protection::remember_level(cx, level.as_str()) {
            return Ok(Some(step));
        }
        if let Some(step) = protection::switch_off(&RULES, cx, protect(name, DeletionProtection::None, cx)).await? {
            return Ok(Some(step));
        }
    }
    release_instances(found, cx).await
}

/// The last instance that an earlier step released; they are released in the order of their ids.
const RELEASED: &str = "released";
/// Of which instances it was the last: when the group has others now, all are gone through again.
const AMONG: &str = "among";

/// A short sign of a list of ids, the same in each step.
fn sign(ids: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    ids.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

async fn release_instances(found: &AutoScalingGroup, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    let mut ids: Vec<&str> = found.instances().iter().filter_map(|i| i.instance_id()).collect();
    ids.sort_unstable();
    let among = sign(&ids);
    let released = memo::text(cx, RELEASED).filter(|_| memo::text(cx, AMONG) == Some(&among));
    let done = released.map_or(0, |last| ids.partition_point(|id| *id <= last));
    for (n, id) in ids.iter().enumerate().skip(done) {
        cx.fence.check().await?;
        let off = AttributeBooleanValue::builder().value(false).build();
        cx.aws.ec2().modify_instance_attribute().instance_id(*id).disable_api_termination(off).send().await.best_effort()?;
        if n + 1 < ids.len() && !cx.has_time() {
            let note = "switching off the termination protection of the group's instances";
            let memo = memo::with(cx, [(RELEASED, json!(id)), (AMONG, json!(among))]);
            return Ok(Some(Step::pending_with(Duration::ZERO, note, memo)));
        }
    }
    Ok(None)
}

/// Whether AWS would refuse the delete that a step without removeProtection asks for.
async fn refused(name: &str, cx: &Cx<'_>) -> Result<bool, CallError> {
    let found = describe(name, cx).await?;
    Ok(found.is_some_and(|g| match level(&g) {
        None => false,
        Some(DeletionProtection::PreventForceDeletion) => !g.instances().is_empty(),
        Some(_) => true,
    }))
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    protection::look(cx, refused(name(r, cx)?, cx)).await
}

#[cfg(test)]
mod tests;
