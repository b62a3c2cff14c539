//! VPCs.

use ebb_core::{Resource, Step};

use super::holders;
use crate::Cx;
use crate::call::{CallError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;

pub(super) const VPC: TypeDef = TypeDef {
    name: "AWS::EC2::VPC",
    step: |r, cx| Box::pin(vpc(r, cx)),
    look: None,
    actions: &["ec2:DeleteVpc", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeVpcEndpoints"],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: &["InvalidVpcID.NotFound"],
    retry: &[blocked("DependencyViolation", 5, 225), blocked("~has dependencies", 5, 225)],
    ..Rules::NONE
};

/// Things from outside the stack may stand in a VPC: they are named, not deleted.
async fn vpc(r: &Resource, cx: &Cx<'_>) -> StepResult {
    match cx.aws.ec2().delete_vpc().vpc_id(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => Err(call.held_by(holders::in_vpc(cx, &r.physical_id).await).into()),
        Err(call) => Err(call.into()),
    }
}
