//! Functions. One in a VPC is taken out of it first, so that Lambda starts to give its network interfaces back; the
//! steps of subnets and security groups see to what is left of them.

use std::time::Duration;

use aws_sdk_lambda::types::{LastUpdateStatus, VpcConfig};
use ebb_core::{Millis, Resource, Step};
use serde_json::{Value, json};

use super::{FunctionName, GONE, not_deleted};
use crate::Cx;
use crate::call::{CallError, StepError, StepResult};

const FIRST_LOOK: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Then the delete goes on: it strands interfaces at worst, and those are swept later.
const LONGEST_DETACH: Millis = 600_000;

pub(super) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    // A qualifier in the recorded id would delete that version only and leave the function.
    let name = FunctionName::parse(&r.physical_id, cx.aws.region())?.function;
    if is_in_vpc(r) && !is_detached(name, cx).await? {
        let look_again = if detached_at(cx).is_none() { FIRST_LOOK } else { LOOK_AGAIN };
        let since = detached_at(cx).unwrap_or_else(|| cx.clock.now());
        return Ok(Step::pending_with(look_again, "Lambda is taking it out of its VPC", json!({ "detached": since })));
    }
    cx.fence.check().await?;
    cx.aws.lambda().delete_function().function_name(name).send().await.map_err(not_deleted)?;
    Ok(Step::DELETED)
}

fn is_in_vpc(r: &Resource) -> bool {
    let subnets = r.properties.get("VpcConfig").and_then(|vpc| vpc.get("SubnetIds")).and_then(Value::as_array);
    subnets.is_some_and(|subnets| !subnets.is_empty())
}

fn detached_at(cx: &Cx<'_>) -> Option<Millis> {
    cx.memo?.get("detached")?.as_u64()
}

/// Whether the delete may go on. A delete while the update is in progress would abort the detach.
async fn is_detached(name: &str, cx: &Cx<'_>) -> Result<bool, StepError> {
    let lambda = cx.aws.lambda();
    let in_progress = |status: Option<&LastUpdateStatus>| status == Some(&LastUpdateStatus::InProgress);
    if let Some(since) = detached_at(cx) {
        if cx.clock.now().saturating_sub(since) >= LONGEST_DETACH {
            return Ok(true);
        }
        return match lambda.get_function().function_name(name).send().await.map_err(CallError::from) {
            Ok(found) => Ok(!in_progress(found.configuration().and_then(|c| c.last_update_status()))),
            Err(error) if error.is(GONE) => Err(error.into()),
            Err(_) => Ok(false),
        };
    }
    cx.fence.check().await?;
    let nowhere = VpcConfig::builder().set_subnet_ids(Some(Vec::new())).set_security_group_ids(Some(Vec::new())).build();
    match lambda.update_function_configuration().function_name(name).vpc_config(nowhere).send().await.map_err(CallError::from) {
        Ok(updated) => Ok(!in_progress(updated.last_update_status())),
        Err(error) if error.is(GONE) || error.fence_shut => Err(error.into()),
        Err(error) => {
            tracing::warn!(function = name, code = %error.code, "not taken out of its VPC before the delete");
            Ok(true)
        }
    }
}
