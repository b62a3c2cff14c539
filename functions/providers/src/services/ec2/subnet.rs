//! Subnets.

use ebb_core::{Resource, Step};

use super::interfaces::{InterfaceFilter, release_lambda_interfaces};
use crate::Cx;
use crate::call::{CallError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;

pub(super) const SUBNET: TypeDef = TypeDef {
    name: "AWS::EC2::Subnet",
    step: |r, cx| Box::pin(subnet(r, cx)),
    look: None,
    actions: &["ec2:DeleteNetworkInterface", "ec2:DeleteSubnet", "ec2:DescribeNetworkInterfaces"],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: &["InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound"],
    retry: &[blocked("DependencyViolation", 5, 1800), blocked("~has dependencies", 5, 1800)],
    ..Rules::NONE
};

/// Lambda's interfaces lag its functions by minutes and are nobody's resource: the subnet does that work.
async fn subnet(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let call = match cx.aws.ec2().delete_subnet().subnet_id(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => return Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => call,
        Err(call) => return Err(call.into()),
    };
    let left = release_lambda_interfaces(cx, &InterfaceFilter::subnet(&r.physical_id)).await?;
    match left.lambda_only() {
        Some(step) => Ok(step),
        None => Err(call.held_by([left.lambdas, left.others].concat()).into()),
    }
}
