//! Standalone rules of security groups. Rules of one group may share ports and differ only in whom they admit, and so may
//! their recorded ids: the rule is revoked by its own id where that is known, else exactly as it was recorded.

use aws_sdk_ec2::types::{IpPermission, IpRange, Ipv6Range, PrefixListId, UserIdGroupPair};
use ebb_core::provider::is_masked;
use ebb_core::{Resource, Step};
use serde_json::Value;

use super::malformed;
use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::classify::Rules;
use crate::registry::TypeDef;

pub(super) const INGRESS: TypeDef = TypeDef {
    name: "AWS::EC2::SecurityGroupIngress",
    step: |r, cx| Box::pin(ingress(r, cx)),
    look: None,
    actions: &["ec2:RevokeSecurityGroupIngress"],
    rules: Rules { gone: GONE, ..Rules::NONE },
};

pub(super) const EGRESS: TypeDef = TypeDef {
    name: "AWS::EC2::SecurityGroupEgress",
    step: |r, cx| Box::pin(egress(r, cx)),
    look: None,
    actions: &["ec2:RevokeSecurityGroupEgress"],
    rules: Rules { gone: GONE, ..Rules::NONE },
};

/// A rule goes with its group.
const GONE: &[&str] = &[
    "InvalidGroup.NotFound",
    "InvalidPermission.NotFound",
    "InvalidSecurityGroupID.NotFound",
    "InvalidSecurityGroupRuleId.NotFound",
];

/// In a default VPC a rule that is not there is no error: the answer lists it as unknown.
async fn ingress(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let rule = Rule::of(r, &INGRESS_PEERS)?;
    let revoke = cx.aws.ec2().revoke_security_group_ingress().group_id(rule.group);
    let answer = match rule.what {
        What::Id(id) => revoke.security_group_rule_ids(id),
        What::Permission(permission) => revoke.ip_permissions(permission),
    };
    let answer = answer.send().await?;
    Ok(Step::Gone { already: !answer.unknown_ip_permissions().is_empty() })
}

async fn egress(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let rule = Rule::of(r, &EGRESS_PEERS)?;
    let revoke = cx.aws.ec2().revoke_security_group_egress().group_id(rule.group);
    let answer = match rule.what {
        What::Id(id) => revoke.security_group_rule_ids(id),
        What::Permission(permission) => revoke.ip_permissions(permission),
    };
    let answer = answer.send().await?;
    Ok(Step::Gone { already: !answer.unknown_ip_permissions().is_empty() })
}

/// Names of the properties that say whom a rule admits, beside `CidrIp` and `CidrIpv6`.
struct Peers {
    prefix_list: &'static str,
    group: &'static str,
    group_name: &'static str,
    group_owner: &'static str,
}

const INGRESS_PEERS: Peers = Peers {
    prefix_list: "SourcePrefixListId",
    group: "SourceSecurityGroupId",
    group_name: "SourceSecurityGroupName",
    group_owner: "SourceSecurityGroupOwnerId",
};

const EGRESS_PEERS: Peers = Peers {
    prefix_list: "DestinationPrefixListId",
    group: "DestinationSecurityGroupId",
    group_name: "DestinationSecurityGroupName",
    group_owner: "DestinationSecurityGroupOwnerId",
};

/// A rule of a group.
struct Rule<'r> {
    group: &'r str,
    what: What<'r>,
}

/// How it is named.
enum What<'r> {
    Id(&'r str),
    Permission(IpPermission),
}

/// What the recorded id says of protocol and ports.
#[derive(Default)]
struct Segments<'r> {
    protocol: Option<&'r str>,
    from: Option<i32>,
    to: Option<i32>,
}

impl<'r> Rule<'r> {
    fn of(r: &'r Resource, peers: &Peers) -> Result<Self, StepError> {
        let (group, segments) = match r.physical_id.split('|').collect::<Vec<_>>().as_slice() {
            [id] if id.starts_with("sgr-") => (None, Segments::default()),
            [group, protocol, from, to] if !group.is_empty() && !protocol.is_empty() => {
                (Some(*group), Segments { protocol: Some(protocol), from: port(from)?, to: port(to)? })
            }
            _ => return Err(malformed("group id|protocol|from port|to port, or a rule id")),
        };
        let group = match group {
            Some(group) => group,
            None => r.address("GroupId")?.ok_or_else(|| StepError::missing("GroupId"))?,
        };
        let attribute = r.attributes.get("Id").and_then(Value::as_str);
        let what = match [Some(r.physical_id.as_str()), attribute].into_iter().flatten().find(|id| id.starts_with("sgr-")) {
            Some(id) => What::Id(id),
            None => What::Permission(permission(r, peers, &segments)?),
        };
        Ok(Rule { group, what })
    }
}

/// The port of a segment; `-1` stands for none.
fn port(segment: &str) -> Result<Option<i32>, StepError> {
    match segment.parse() {
        Ok(-1) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(malformed("group id|protocol|from port|to port")),
    }
}

/// The rule as it was made. Protocol and ports may come from the id; whom it admits stands in the properties alone, and
/// without that nothing is revoked.
fn permission(r: &Resource, peers: &Peers, segments: &Segments<'_>) -> Result<IpPermission, StepError> {
    let protocol = match r.properties.get("IpProtocol") {
        Some(Value::String(protocol)) if !protocol.is_empty() && !is_masked(protocol) => protocol.clone(),
        Some(Value::Number(protocol)) => protocol.to_string(),
        _ => segments.protocol.ok_or_else(|| StepError::missing("IpProtocol"))?.to_owned(),
    };
    let ports = |property: &str, recorded: Option<i32>| match r.properties.get(property) {
        Some(Value::Number(port)) => port.as_i64().and_then(|p| i32::try_from(p).ok()),
        Some(Value::String(port)) if !is_masked(port) => port.parse().ok(),
        _ => recorded,
    };
    let (from, to) = match protocol.as_str() {
        "-1" => (None, None),
        _ => (ports("FromPort", segments.from), ports("ToPort", segments.to)),
    };

    let cidr = r.address("CidrIp")?.map(|cidr| IpRange::builder().cidr_ip(cidr).build());
    let cidr6 = r.address("CidrIpv6")?.map(|cidr| Ipv6Range::builder().cidr_ipv6(cidr).build());
    let list = r.address(peers.prefix_list)?.map(|list| PrefixListId::builder().prefix_list_id(list).build());
    let owner = r.address(peers.group_owner)?.map(str::to_owned);
    let group = match (r.address(peers.group)?, r.address(peers.group_name)?) {
        (Some(id), _) => Some(UserIdGroupPair::builder().group_id(id).set_user_id(owner).build()),
        (None, Some(name)) => Some(UserIdGroupPair::builder().group_name(name).set_user_id(owner).build()),
        (None, None) => None,
    };
    if cidr.is_none() && cidr6.is_none() && list.is_none() && group.is_none() {
        return Err(StepError::missing("source or destination of the rule"));
    }
    Ok(IpPermission::builder()
        .ip_protocol(protocol)
        .set_from_port(from)
        .set_to_port(to)
        .set_ip_ranges(cidr.map(|c| vec![c]))
        .set_ipv6_ranges(cidr6.map(|c| vec![c]))
        .set_prefix_list_ids(list.map(|l| vec![l]))
        .set_user_id_group_pairs(group.map(|g| vec![g]))
        .build())
}
