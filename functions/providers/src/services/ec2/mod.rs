//! EC2: networks and what stands in them, instances and volumes; one file per kind of resource.
//! A step touches what its row names and nothing else, but for Lambda's own detached interfaces (`interfaces.rs`).
//! Whatever else holds a resource is named in the answer and left alone: a step does not know the plan.

mod address;
mod endpoint;
mod flow_log;
mod gateway;
pub(crate) mod holders;
mod instance;
pub(crate) mod interfaces;
mod nat_gateway;
mod network_acl;
mod route_table;
mod security_group;
mod security_group_rule;
mod snapshot;
mod subnet;
#[cfg(test)]
mod tests;
mod volume;
mod vpc;

use crate::call::{CallError, StepError};
use crate::registry::TypeDef;
use aws_sdk_ec2::types::Filter;

pub(crate) use self::instance::allow_termination;

pub(crate) const TYPES: &[TypeDef] = &[
    address::EIP,
    endpoint::VPC_ENDPOINT,
    flow_log::FLOW_LOG,
    gateway::INTERNET_GATEWAY,
    gateway::VPC_GATEWAY_ATTACHMENT,
    instance::INSTANCE,
    nat_gateway::NAT_GATEWAY,
    network_acl::NETWORK_ACL,
    network_acl::NETWORK_ACL_ENTRY,
    route_table::ROUTE,
    route_table::ROUTE_TABLE,
    route_table::SUBNET_ROUTE_TABLE_ASSOCIATION,
    security_group::SECURITY_GROUP,
    security_group_rule::EGRESS,
    security_group_rule::INGRESS,
    subnet::SUBNET,
    network_acl::SUBNET_NETWORK_ACL_ASSOCIATION,
    volume::VOLUME,
    vpc::VPC,
];

/// One filter of a Describe call. It only narrows the answer: an endpoint may ignore it, so whoever acts on the answer
/// looks at every item again.
fn filter(name: &str, values: impl IntoIterator<Item = impl Into<String>>) -> Filter {
    Filter::builder().name(name).set_values(Some(values.into_iter().map(Into::into).collect())).build()
}

/// A recorded id that cannot be parsed, of a type where cdkd fails the row for it.
fn malformed(expected: &str) -> StepError {
    StepError::unreadable_id(expected)
}

/// The first error that stands inside the answer of a batch call about `id`. An item without an id is ours: one was sent.
fn unsuccessful(items: &[aws_sdk_ec2::types::UnsuccessfulItem], id: &str) -> Result<(), CallError> {
    let ours = |item: &&aws_sdk_ec2::types::UnsuccessfulItem| item.resource_id().is_none_or(|r| r == id);
    match items.iter().find(ours).and_then(|item| item.error()) {
        Some(error) => Err(CallError::inside(error.code().unwrap_or_default(), error.message().unwrap_or_default())),
        None => Ok(()),
    }
}
