//! Internet gateways, and attachments of internet and VPN gateways to a VPC.

use std::time::Duration;

use aws_sdk_ec2::types::AttachmentStatus;
use ebb_core::{Resource, Step};

use super::{holders, malformed};
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;
use crate::watch::{Seen, Watch};

pub(super) const INTERNET_GATEWAY: TypeDef = TypeDef {
    name: "AWS::EC2::InternetGateway",
    step: |r, cx| Box::pin(internet_gateway(r, cx)),
    look: None,
    actions: &["ec2:DeleteInternetGateway", "ec2:DescribeInternetGateways"],
    rules: GATEWAY_RULES,
};

const GATEWAY_RULES: Rules =
    Rules { gone: &["InvalidInternetGatewayID.NotFound"], retry: &[blocked("DependencyViolation", 10, 600)], ..Rules::NONE };

pub(super) const VPC_GATEWAY_ATTACHMENT: TypeDef = TypeDef {
    name: "AWS::EC2::VPCGatewayAttachment",
    step: |r, cx| Box::pin(attachment(r, cx)),
    look: None,
    actions: &["ec2:DescribeNetworkInterfaces", "ec2:DescribeVpnGateways", "ec2:DetachInternetGateway", "ec2:DetachVpnGateway"],
    rules: ATTACHMENT_RULES,
};

const ATTACHMENT_RULES: Rules = Rules { gone: NOT_ATTACHED, retry: &[blocked("DependencyViolation", 10, 600)], ..Rules::NONE };

/// Without the gateway, the VPC or the attachment there is nothing attached.
const NOT_ATTACHED: &[&str] = &[
    "Gateway.NotAttached",
    "InvalidInternetGatewayID.NotFound",
    "InvalidVpcID.NotFound",
    "InvalidVpnGatewayAttachment.NotFound",
    "InvalidVpnGatewayID.NotFound",
];

/// A detach that AWS accepted this long ago counts as done, even while it is still listed.
const DETACH_ACCEPTED: Duration = Duration::from_secs(600);

async fn internet_gateway(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let deleted = cx.aws.ec2().delete_internet_gateway().internet_gateway_id(&r.physical_id).send().await;
    match deleted.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &GATEWAY_RULES) => {
            let by = holders::named("attachments", attached_to(cx, &r.physical_id).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn attached_to(cx: &Cx<'_>, gateway: &str) -> Result<Vec<String>, StepError> {
    let answer = cx.aws.ec2().describe_internet_gateways().internet_gateway_ids(gateway).send().await?;
    let ours = answer.internet_gateways().iter().filter(|g| g.internet_gateway_id() == Some(gateway));
    Ok(ours.flat_map(|g| g.attachments()).filter_map(|a| Some(format!("{} (attached)", a.vpc_id()?))).collect())
}

/// What is attached to which VPC.
struct Attachment<'r> {
    internet: Option<&'r str>,
    vpn: Option<&'r str>,
    vpc: &'r str,
}

impl<'r> Attachment<'r> {
    /// cdkd records the gateway first; Cloud Control's form names the kind of gateway instead.
    fn of(r: &'r Resource) -> Result<Self, StepError> {
        let (gateway, vpc) = match r.physical_id.split('|').collect::<Vec<_>>().as_slice() {
            [gateway, vpc] if !gateway.is_empty() && !vpc.is_empty() => (*gateway, *vpc),
            _ => return Err(malformed("gateway id|VPC id")),
        };
        let recorded = |property: &str| r.address(property)?.ok_or_else(|| StepError::missing(property));
        match gateway {
            "IGW" => Ok(Attachment { internet: Some(recorded("InternetGatewayId")?), vpn: None, vpc }),
            "VGW" => Ok(Attachment { internet: None, vpn: Some(recorded("VpnGatewayId")?), vpc }),
            id if id.starts_with("igw-") => Ok(Attachment { internet: Some(id), vpn: r.address("VpnGatewayId")?, vpc }),
            id if id.starts_with("vgw-") => Ok(Attachment { internet: None, vpn: Some(id), vpc }),
            _ => Err(malformed("gateway id|VPC id")),
        }
    }
}

/// Refused while the VPC has mapped public addresses: a NAT gateway that is going still holds one.
async fn attachment(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let at = Attachment::of(r)?;
    let watch = Watch::of(cx);
    let mut found = false;
    if let Some(gateway) = at.internet.filter(|_| !watch.asked()) {
        cx.fence.check().await?;
        let detached = cx.aws.ec2().detach_internet_gateway().internet_gateway_id(gateway).vpc_id(at.vpc).send().await;
        found |= match detached.map_err(CallError::from) {
            Ok(_) => true,
            Err(call) if call.is(NOT_ATTACHED) => false,
            Err(call) if is_blocked(&call, &ATTACHMENT_RULES) => {
                let by = holders::named("interfaces", holders::public_interfaces_in(cx, at.vpc).await);
                return Err(call.held_by(by).into());
            }
            Err(call) => return Err(call.into()),
        };
    }
    let Some(gateway) = at.vpn else { return Ok(Step::Gone { already: !found }) };
    if !watch.asked() {
        found |= detach_vpn(cx, gateway, at.vpc).await?;
    }
    match look(cx, gateway, at.vpc).await? {
        Seen::Gone => Ok(watch.gone(found)),
        Seen::Going if watch.waited(cx) >= DETACH_ACCEPTED => Ok(Step::DELETED),
        Seen::There if watch.asked() => {
            detach_vpn(cx, gateway, at.vpc).await?;
            Ok(watch.pending(r, cx, "the VPN gateway was still attached: detached again"))
        }
        Seen::Going | Seen::There => Ok(watch.pending(r, cx, "the VPN gateway is being detached")),
    }
}

async fn detach_vpn(cx: &Cx<'_>, gateway: &str, vpc: &str) -> Result<bool, StepError> {
    cx.fence.check().await?;
    let detached = cx.aws.ec2().detach_vpn_gateway().vpn_gateway_id(gateway).vpc_id(vpc).send().await;
    Ok(detached.ignore(NOT_ATTACHED)?.is_some())
}

async fn look(cx: &Cx<'_>, gateway: &str, vpc: &str) -> Result<Seen, StepError> {
    let answer = cx.aws.ec2().describe_vpn_gateways().vpn_gateway_ids(gateway).send().await.ignore(NOT_ATTACHED)?;
    let gateways = answer.and_then(|a| a.vpn_gateways).unwrap_or_default();
    let ours = gateways.iter().filter(|g| g.vpn_gateway_id() == Some(gateway)).flat_map(|g| g.vpc_attachments());
    let states = ours.filter(|a| a.vpc_id() == Some(vpc)).map(|a| match a.state() {
        Some(AttachmentStatus::Detached) => Seen::Gone,
        Some(AttachmentStatus::Detaching) => Seen::Going,
        _ => Seen::There,
    });
    Ok(states.max_by_key(|seen| *seen as u8).unwrap_or(Seen::Gone))
}
