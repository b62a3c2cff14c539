//! NAT gateways. While one is going it keeps its interface and its address, and with them subnet, address and internet
//! gateway; it is looked at until it has let go.

use std::time::Duration;

use aws_sdk_ec2::types::NatGatewayState;
use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;
use crate::watch::{Seen, Watch};

pub(super) const NAT_GATEWAY: TypeDef = TypeDef {
    name: "AWS::EC2::NatGateway",
    step: |r, cx| Box::pin(nat_gateway(r, cx)),
    look: None,
    actions: &["ec2:DeleteNatGateway", "ec2:DescribeNatGateways"],
    rules: Rules { gone: GONE, retry: &[retry("DependencyViolation", 10, 300)], ..Rules::NONE },
};

const GONE: &[&str] = &["NatGatewayNotFound", "InvalidNatGatewayID.NotFound"];

/// cdkd waits no longer than this for one that AWS is deleting, and counts it as gone.
const PATIENCE: Duration = Duration::from_secs(900);

async fn nat_gateway(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let watch = Watch::of(cx);
    let found = if watch.asked() { true } else { delete(r, cx).await? };
    match look(r, cx).await? {
        Seen::Gone => Ok(watch.gone(found)),
        Seen::Going if watch.waited(cx) >= PATIENCE => {
            tracing::warn!(resource = %r.logical_id, "still deleting after 15 minutes: counted as gone");
            Ok(Step::DELETED)
        }
        Seen::There if watch.asked() => {
            delete(r, cx).await?;
            Ok(watch.pending(r, cx, "the NAT gateway was not going: asked again"))
        }
        Seen::Going | Seen::There => Ok(watch.pending(r, cx, "the NAT gateway is going")),
    }
}

/// Whether there was one to delete. Not found is not believed before the look: one that is going may be answered so.
async fn delete(r: &Resource, cx: &Cx<'_>) -> Result<bool, StepError> {
    cx.fence.check().await?;
    Ok(cx.aws.ec2().delete_nat_gateway().nat_gateway_id(&r.physical_id).send().await.ignore(GONE)?.is_some())
}

/// A deleted gateway stays visible for about an hour; a failed one never worked and goes by itself.
async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Seen, StepError> {
    let answer = cx.aws.ec2().describe_nat_gateways().nat_gateway_ids(&r.physical_id).send().await.ignore(GONE)?;
    let gateways = answer.and_then(|a| a.nat_gateways).unwrap_or_default();
    let ours = gateways.iter().find(|g| g.nat_gateway_id() == Some(&r.physical_id));
    Ok(match ours.map(|g| g.state()) {
        None | Some(Some(NatGatewayState::Deleted | NatGatewayState::Failed)) => Seen::Gone,
        Some(Some(NatGatewayState::Deleting)) => Seen::Going,
        Some(_) => Seen::There,
    })
}
