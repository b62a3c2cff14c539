//! Network ACLs and their entries. An association with a subnet ends with the subnet.

use ebb_core::{Resource, Step};
use serde_json::Value;

use crate::Cx;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;
use crate::holders::named;

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

async fn network_acl(r: &Resource, cx: &Cx<'_>) -> StepResult {
    match cx.aws.ec2().delete_network_acl().network_acl_id(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let by = named("associations", subnets(cx, &r.physical_id).await);
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
