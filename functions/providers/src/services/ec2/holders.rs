//! Looks that only name: what stands in a VPC, which groups name a group. Nothing that is found here is touched, and a
//! look that fails says so among the names instead of failing the step.

use aws_sdk_ec2::types::{IpPermission, SecurityGroup};

use super::interfaces::{self, InterfaceFilter};
use super::{endpoint, filter};
use crate::Cx;
use crate::call::StepError;
pub(super) use crate::holders::named;

/// What keeps a VPC: interfaces, endpoints, groups but the default one. Much of it comes from outside the stack
/// (GuardDuty's endpoints and group, load balancers made by hand).
pub(super) async fn in_vpc(cx: &Cx<'_>, vpc: &str) -> Vec<String> {
    let mut by = named("interfaces", interfaces_in(cx, vpc).await);
    by.extend(named("endpoints", endpoints_in(cx, vpc).await));
    by.extend(named("security groups", groups_in(cx, vpc).await));
    by
}

async fn interfaces_in(cx: &Cx<'_>, vpc: &str) -> Result<Vec<String>, StepError> {
    Ok(interfaces::find(cx, &InterfaceFilter::vpc(vpc)).await?.iter().map(interfaces::name).collect())
}

/// The interfaces of a VPC that have a public address: what keeps a gateway attached.
pub(super) async fn public_interfaces_in(cx: &Cx<'_>, vpc: &str) -> Result<Vec<String>, StepError> {
    let found = interfaces::find(cx, &InterfaceFilter::vpc(vpc)).await?;
    Ok(found.iter().filter(|i| i.association().is_some_and(|a| a.public_ip().is_some())).map(interfaces::name).collect())
}

async fn endpoints_in(cx: &Cx<'_>, vpc: &str) -> Result<Vec<String>, StepError> {
    let call = cx.aws.ec2().describe_vpc_endpoints().filters(filter("vpc-id", [vpc]));
    let found = call.into_paginator().items().send().try_collect().await?;
    let there = found.iter().filter(|e| e.vpc_id() == Some(vpc) && endpoint::state(e) != "deleted");
    Ok(there.filter_map(|e| Some(format!("{} (endpoint of {})", e.vpc_endpoint_id()?, e.service_name()?))).collect())
}

async fn groups_in(cx: &Cx<'_>, vpc: &str) -> Result<Vec<String>, StepError> {
    let call = cx.aws.ec2().describe_security_groups().filters(filter("vpc-id", [vpc]));
    let found = call.into_paginator().items().send().try_collect().await?;
    let kept = found.iter().filter(|g| g.vpc_id() == Some(vpc) && g.group_name() != Some("default"));
    Ok(kept.filter_map(|g| Some(format!("{} (security group {})", g.group_id()?, g.group_name()?))).collect())
}

/// Other groups whose rules name `group`. They stay as they are: whether the stack owns them is not known here, and a
/// rule of another stack's group is that stack's.
pub(super) async fn groups_that_name(cx: &Cx<'_>, group: &str) -> Vec<String> {
    let mut by = Vec::new();
    for (name, rules) in [("ip-permission.group-id", "ingress"), ("egress.ip-permission.group-id", "egress")] {
        let call = cx.aws.ec2().describe_security_groups().filters(filter(name, [group]));
        let found = call.into_paginator().items().send().try_collect().await.map_err(StepError::from);
        let names = |g: &&SecurityGroup| {
            let permissions = if rules == "ingress" { g.ip_permissions() } else { g.ip_permissions_egress() };
            g.group_id() != Some(group) && permissions.iter().any(|p| names_group(p, group))
        };
        let found = found.map(|groups: Vec<SecurityGroup>| {
            let named = groups.iter().filter(names).filter_map(SecurityGroup::group_id);
            named.map(|id| format!("{id} (its {rules} rules name this group)")).collect()
        });
        by.extend(named("security groups", found));
    }
    by
}

fn names_group(permission: &IpPermission, group: &str) -> bool {
    permission.user_id_group_pairs().iter().any(|pair| pair.group_id() == Some(group))
}
