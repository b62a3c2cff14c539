//! Network ACLs, their entries, their associations with subnets.

use aws_sdk_ec2::types::{Filter, NetworkAcl, NetworkAclAssociation};
use ebb_core::{Code, Resource, Step};
use serde_json::Value;

use super::{filter, holders};
use crate::Cx;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;

pub(super) const NETWORK_ACL: TypeDef = TypeDef {
    name: "AWS::EC2::NetworkAcl",
    step: |r, cx| Box::pin(network_acl(r, cx)),
    look: None,
    actions: &["ec2:DeleteNetworkAcl", "ec2:DescribeNetworkAcls"],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: &["InvalidNetworkAclID.NotFound"],
    retry: &[blocked("DependencyViolation", 5, 300)],
    terminal: &["InvalidParameterValue"],
    ..Rules::NONE
};

pub(super) const NETWORK_ACL_ENTRY: TypeDef = TypeDef {
    name: "AWS::EC2::NetworkAclEntry",
    step: |r, cx| Box::pin(entry(r, cx)),
    look: None,
    actions: &["ec2:DeleteNetworkAclEntry"],
    rules: Rules { gone: &["InvalidNetworkAclEntry.NotFound", "InvalidNetworkAclID.NotFound"], ..Rules::NONE },
};

pub(super) const SUBNET_NETWORK_ACL_ASSOCIATION: TypeDef = TypeDef {
    name: "AWS::EC2::SubnetNetworkAclAssociation",
    step: |r, cx| Box::pin(association(r, cx)),
    look: None,
    actions: &["ec2:DescribeNetworkAcls", "ec2:ReplaceNetworkAclAssociation"],
    rules: Rules { gone: &["InvalidAssociationID.NotFound", "InvalidSubnetID.NotFound"], ..Rules::NONE },
};

async fn network_acl(r: &Resource, cx: &Cx<'_>) -> StepResult {
    match cx.aws.ec2().delete_network_acl().network_acl_id(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let by = holders::named("associations", subnets(cx, &r.physical_id).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn subnets(cx: &Cx<'_>, acl: &str) -> Result<Vec<String>, StepError> {
    let answer = cx.aws.ec2().describe_network_acls().network_acl_ids(acl).send().await?;
    let ours = answer.network_acls().iter().filter(|a| a.network_acl_id() == Some(acl));
    Ok(ours.flat_map(|a| a.associations()).filter_map(|a| Some(format!("{} (associated)", a.subnet_id()?))).collect())
}

/// A subnet always has an ACL, so what the stack gave it makes way for the VPC's default one (as CloudFormation does; cdkd
/// makes no call and leaves an ACL that cannot be deleted). An association has another id whenever it is replaced: the
/// subnet tells the one of now.
async fn association(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let recorded = r.address("NetworkAclId")?;
    let subnet = r.address("SubnetId")?;
    let by = match subnet {
        Some(subnet) => filter("association.subnet-id", [subnet]),
        None => filter("association.association-id", [&r.physical_id]),
    };
    let current = |a: &&NetworkAclAssociation| match subnet {
        Some(subnet) => a.subnet_id() == Some(subnet),
        None => a.network_acl_association_id() == Some(&r.physical_id),
    };
    let found = acls(cx, vec![by]).await?;
    let Some((acl, now)) = found.iter().find_map(|acl| Some((acl, acl.associations().iter().find(current)?))) else {
        return Ok(Step::ALREADY_GONE);
    };
    let ours = match recorded {
        Some(recorded) => acl.network_acl_id() == Some(recorded),
        None => now.network_acl_association_id() == Some(&r.physical_id),
    };
    if !ours || acl.is_default() == Some(true) {
        return Ok(Step::ALREADY_GONE);
    }
    let vpc = acl.vpc_id().unwrap_or_default();
    let defaults = acls(cx, vec![filter("vpc-id", [vpc]), filter("default", ["true"])]).await?;
    let default = defaults.iter().find(|acl| acl.vpc_id() == Some(vpc) && acl.is_default() == Some(true));
    let Some(default) = default.and_then(|acl| acl.network_acl_id()) else {
        let reason = "the VPC's default network ACL is not listed: the association cannot be given to it";
        return Err(StepError::Skip { code: Code::MissingAddress, reason: reason.into() });
    };
    cx.fence.check().await?;
    let replace = cx.aws.ec2().replace_network_acl_association().network_acl_id(default);
    replace.set_association_id(now.network_acl_association_id().map(str::to_owned)).send().await?;
    Ok(Step::DELETED)
}

async fn acls(cx: &Cx<'_>, filters: Vec<Filter>) -> Result<Vec<NetworkAcl>, StepError> {
    let call = cx.aws.ec2().describe_network_acls().set_filters(Some(filters));
    Ok(call.into_paginator().items().send().try_collect().await?)
}

async fn entry(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (acl, number, egress) = address(r)?;
    cx.aws.ec2().delete_network_acl_entry().network_acl_id(acl).rule_number(number).egress(egress).send().await?;
    Ok(Step::DELETED)
}

/// ACL, number and direction, from the id, else from the properties. Ingress and egress have numbers of their own, so a
/// direction that is neither `true` nor `false` is not read as one of them: it would delete another rule.
fn address(r: &Resource) -> Result<(&str, i32, bool), StepError> {
    if let [acl, number, egress, ..] = r.physical_id.split('|').collect::<Vec<_>>().as_slice()
        && !acl.is_empty()
        && let (Ok(number), Ok(egress)) = (number.parse(), egress.parse())
    {
        return Ok((acl, number, egress));
    }
    let number = match r.properties.get("RuleNumber") {
        Some(Value::Number(number)) => number.as_i64().and_then(|n| i32::try_from(n).ok()),
        Some(Value::String(number)) => number.parse().ok(),
        _ => None,
    };
    match (r.address("NetworkAclId")?, number) {
        (Some(acl), Some(number)) => Ok((acl, number, r.flag("Egress"))),
        _ => Err(StepError::malformed_id("network ACL id|rule number|egress")),
    }
}
