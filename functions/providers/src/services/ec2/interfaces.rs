//! Network interfaces: what holds a subnet, a group or a VPC. Lambda leaves its own behind, detached, some minutes after
//! the last function of a subnet and group pair is gone; those and no others are deleted here.

use std::time::Duration;

use aws_sdk_ec2::types::{Filter, NetworkInterface, NetworkInterfaceStatus};
use ebb_core::Step;

use super::filter;
use crate::Cx;
use crate::call::{CallError, CallResult, StepError};

/// What the description of each of Lambda's interfaces starts with.
const LAMBDAS: &str = "AWS Lambda VPC ENI-";

/// Which interfaces: everything that is set must hold; a filter that sets nothing finds none.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterfaceFilter {
    /// In one of these subnets.
    pub(crate) subnets: Vec<String>,
    /// In at least one of these security groups.
    pub(crate) groups: Vec<String>,
    /// In one of these VPCs.
    pub(crate) vpcs: Vec<String>,
}

impl InterfaceFilter {
    /// Everything in a subnet.
    pub(crate) fn subnet(id: &str) -> Self {
        InterfaceFilter { subnets: vec![id.to_owned()], ..Self::default() }
    }

    /// Everything in a security group.
    pub(crate) fn group(id: &str) -> Self {
        InterfaceFilter { groups: vec![id.to_owned()], ..Self::default() }
    }

    /// Everything in a VPC.
    pub(crate) fn vpc(id: &str) -> Self {
        InterfaceFilter { vpcs: vec![id.to_owned()], ..Self::default() }
    }

    fn on_the_wire(&self) -> Vec<Filter> {
        [("subnet-id", &self.subnets), ("group-id", &self.groups), ("vpc-id", &self.vpcs)]
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| filter(name, values))
            .collect()
    }

    fn holds(&self, interface: &NetworkInterface) -> bool {
        let among = |wanted: &[String], id: Option<&str>| id.is_some_and(|id| wanted.iter().any(|w| w == id));
        (self.subnets.is_empty() || among(&self.subnets, interface.subnet_id()))
            && (self.groups.is_empty() || interface.groups().iter().any(|g| among(&self.groups, g.group_id())))
            && (self.vpcs.is_empty() || among(&self.vpcs, interface.vpc_id()))
    }
}

/// What still stands behind a filter after [`release_lambda_interfaces`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// How many of Lambda's interfaces went in this call.
    pub(crate) released: usize,
    /// Lambda's that are still attached, or that would not go.
    pub(crate) lambdas: Vec<String>,
    /// Those of others: never touched.
    pub(crate) others: Vec<String>,
}

impl Leftover {
    /// What a step answers that only waits for Lambda; `None` when something else holds its resource.
    pub(crate) fn lambda_only(&self) -> Option<Step> {
        if self.released > 0 {
            let note = format!("deleted {} detached interfaces of Lambda", self.released);
            return Some(Step::pending(Duration::from_secs(1), note));
        }
        if self.others.is_empty() && !self.lambdas.is_empty() {
            let note = format!("Lambda has not let go of {}", self.lambdas.join(", "));
            return Some(Step::pending(Duration::from_secs(15), note));
        }
        None
    }
}

/// Deletes Lambda's interfaces behind `filter` that are detached (`available`) and names all that stay.
/// One that would not go is named as well: it is not the resource of the row, and another look may find it gone.
pub(crate) async fn release_lambda_interfaces(cx: &Cx<'_>, filter: &InterfaceFilter) -> Result<Leftover, StepError> {
    let mut left = Leftover::default();
    for interface in find(cx, filter).await? {
        let Some(id) = interface.network_interface_id() else { continue };
        if !interface.description().is_some_and(|d| d.starts_with(LAMBDAS)) {
            left.others.push(name(&interface));
            continue;
        }
        if interface.status() != Some(&NetworkInterfaceStatus::Available) || !cx.has_time() {
            left.lambdas.push(name(&interface));
            continue;
        }
        cx.fence.check().await?;
        match cx.aws.ec2().delete_network_interface().network_interface_id(id).send().await.map_err(CallError::from) {
            Ok(_) => left.released += 1,
            Err(call) if call.is(&["InvalidNetworkInterfaceID.NotFound"]) => left.released += 1,
            Err(call) if call.fence_shut => return Err(call.into()),
            Err(call) => left.lambdas.push(format!("{}: {}", name(&interface), call.code)),
        }
    }
    Ok(left)
}

/// The interfaces behind a filter, each looked at again on our side.
pub(super) async fn find(cx: &Cx<'_>, filter: &InterfaceFilter) -> Result<Vec<NetworkInterface>, StepError> {
    let wire = filter.on_the_wire();
    if wire.is_empty() {
        return Ok(Vec::new());
    }
    let call = cx.aws.ec2().describe_network_interfaces().set_filters(Some(wire));
    let mut found: Vec<NetworkInterface> = call.into_paginator().items().send().try_collect().await.about_other()?;
    found.retain(|interface| filter.holds(interface));
    Ok(found)
}

/// An interface as a person looks for it: what it is for, whose it is, how it stands.
pub(super) fn name(interface: &NetworkInterface) -> String {
    let owner = interface
        .attachment()
        .and_then(|a| a.instance_id())
        .or_else(|| interface.requester_id())
        .or_else(|| interface.owner_id())
        .unwrap_or("unknown");
    let what = interface.description().filter(|d| !d.is_empty()).unwrap_or("no description");
    let status = interface.status().map_or("unknown", NetworkInterfaceStatus::as_str);
    format!("{} ({what}; owner {owner}; {status})", interface.network_interface_id().unwrap_or("an interface"))
}
