//! VPC endpoints. A gateway endpoint goes at once, an interface endpoint gives its interfaces back first.

use aws_sdk_ec2::types::{State, VpcEndpoint};
use ebb_core::Resource;

use super::unsuccessful;
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::Rules;
use crate::registry::TypeDef;
use crate::watch::{Seen, Watch};

pub(super) const VPC_ENDPOINT: TypeDef = TypeDef {
    name: "AWS::EC2::VPCEndpoint",
    step: |r, cx| Box::pin(endpoint(r, cx)),
    look: None,
    actions: &["ec2:DeleteVpcEndpoints", "ec2:DescribeVpcEndpoints"],
    rules: Rules { gone: GONE, ..Rules::NONE },
};

/// AWS writes it in more than one way.
const GONE: &[&str] =
    &["InvalidVpcEndpoint.NotFound", "InvalidVpcEndpointId.NotFound", "InvalidVpcEndpointID.NotFound", "VpcEndpointId.NotFound"];

async fn endpoint(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let watch = Watch::of(cx);
    let found = if watch.asked() { true } else { delete(r, cx).await? };
    match look(r, cx).await? {
        Seen::Gone => Ok(watch.gone(found)),
        Seen::There if watch.asked() => {
            delete(r, cx).await?;
            Ok(watch.pending(r, cx, "the endpoint was not going: asked again"))
        }
        Seen::Going | Seen::There => Ok(watch.pending(r, cx, "the endpoint is going")),
    }
}

/// Whether there was one to delete: the call succeeds all the same and says so inside its answer.
async fn delete(r: &Resource, cx: &Cx<'_>) -> Result<bool, StepError> {
    cx.fence.check().await?;
    let answer = cx.aws.ec2().delete_vpc_endpoints().vpc_endpoint_ids(&r.physical_id).send().await;
    match answer.map_err(CallError::from).and_then(|a| unsuccessful(a.unsuccessful(), &r.physical_id)) {
        Ok(()) => Ok(true),
        Err(call) if call.is(GONE) => Ok(false),
        Err(call) => Err(call.into()),
    }
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Seen, StepError> {
    let answer = cx.aws.ec2().describe_vpc_endpoints().vpc_endpoint_ids(&r.physical_id).send().await.ignore(GONE)?;
    let endpoints = answer.and_then(|a| a.vpc_endpoints).unwrap_or_default();
    let ours = endpoints.iter().find(|e| e.vpc_endpoint_id() == Some(&r.physical_id));
    Ok(match ours.map(state).as_deref() {
        None | Some("deleted") => Seen::Gone,
        Some("deleting") => Seen::Going,
        Some(_) => Seen::There,
    })
}

/// In small letters: EC2 answers `deleted`, its model and other endpoints say `Deleted`.
pub(super) fn state(endpoint: &VpcEndpoint) -> String {
    endpoint.state().map(State::as_str).unwrap_or_default().to_lowercase()
}
