//! Security groups. Standalone rules are rows of their own; see `security_group_rule.rs`.

use ebb_core::{Resource, Step};

use super::interfaces::{InterfaceFilter, release_lambda_interfaces};
use super::{filter, holders};
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;

pub(super) const SECURITY_GROUP: TypeDef = TypeDef {
    name: "AWS::EC2::SecurityGroup",
    step: |r, cx| Box::pin(security_group(r, cx)),
    look: None,
    actions: &[
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteSecurityGroup",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
    ],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: &["InvalidGroup.NotFound", "InvalidSecurityGroupID.NotFound"],
    retry: &[
        blocked("DependencyViolation", 5, 1800),
        blocked("InvalidGroup.InUse", 5, 600),
        blocked("~has a dependent object", 5, 1800),
    ],
    terminal: &["CannotDelete"],
    ..Rules::NONE
};

/// Groups of one stack that admit each other do so through rows of their own, which go first. A rule elsewhere that still
/// names the group is named and never revoked.
async fn security_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let Some(id) = group_id(r, cx).await? else { return Ok(Step::ALREADY_GONE) };
    let call = match cx.aws.ec2().delete_security_group().group_id(&id).send().await.map_err(CallError::from) {
        Ok(_) => return Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => call,
        Err(call) => return Err(call.into()),
    };
    let left = release_lambda_interfaces(cx, &InterfaceFilter::group(&id)).await?;
    if let Some(step) = left.lambda_only() {
        return Ok(step);
    }
    let rules = holders::groups_that_name(cx, &id).await;
    Err(call.held_by([left.lambdas, left.others, rules].concat()).into())
}

/// The recorded id; some states hold the group's name, which says something only within its VPC.
async fn group_id(r: &Resource, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    if r.physical_id.starts_with("sg-") {
        return Ok(Some(r.physical_id.clone()));
    }
    let Some(vpc) = r.address("VpcId")? else { return Err(StepError::malformed_id("a security group id")) };
    let name = r.physical_id.as_str();
    let call = cx.aws.ec2().describe_security_groups().filters(filter("group-name", [name])).filters(filter("vpc-id", [vpc]));
    let found = call.into_paginator().items().send().try_collect().await.about_other()?;
    let ours = found.into_iter().find(|g| g.group_name() == Some(name) && g.vpc_id() == Some(vpc));
    Ok(ours.and_then(|g| g.group_id))
}
