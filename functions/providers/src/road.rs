//! Which road a row takes: its handler, a native step, Cloud Control, or none (cdkd's routing).

use ebb_core::provider::{ProvisionedBy, is_masked};
use ebb_core::{Code, DeleteError, Options, Resource, final_snapshot};

use crate::classify::Rules;
use crate::registry::{TypeDef, find};
use crate::services::{self, cloud_control};

/// A road toward gone.
#[derive(Clone, Copy)]
pub enum Road {
    /// Nothing in AWS to delete.
    NoCall,
    /// A step of this crate.
    Native(&'static TypeDef),
    /// Cloud Control's DeleteResource.
    CloudControl,
    /// The handler that made it.
    CustomResource,
}

impl Road {
    /// The error rules on this road.
    pub fn rules(&self) -> &'static Rules {
        match self {
            Road::Native(def) => &def.rules,
            Road::CloudControl => &cloud_control::RULES,
            Road::NoCall | Road::CustomResource => &services::custom_resource::RULES,
        }
    }
}

/// Types that are records only.
const NO_CALL: &[&str] = &[
    "AWS::AppSync::GraphQLSchema",
    "AWS::BedrockAgentCore::Browser",
    "AWS::BedrockAgentCore::CodeInterpreter",
    "AWS::CDK::Metadata",
    "AWS::CloudFormation::WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle",
];

/// Rows recorded as made through Cloud Control that go the native way all the same: Cloud Control cannot delete them,
/// deletes something else, or is asked by the native step after a snapshot.
const STICKY_EXEMPT: &[&str] = &[
    "AWS::EC2::Volume",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::FSx::FileSystem",
    "AWS::IAM::Group",
    "AWS::IAM::InstanceProfile",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::IAM::User",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::LayerVersion",
    "AWS::Pipes::Pipe",
    "AWS::RDS::DBProxyTargetGroup",
    "AWS::Redshift::Cluster",
    "AWS::Route53::HostedZone",
    "AWS::S3::BucketPolicy",
    "AWS::Scheduler::Schedule",
];

/// The road of a row under the request's options, or why there is none. `extra_policy`: the worker has more rights than the
/// app's policies give, so a type that they know nothing of may go through Cloud Control all the same.
pub fn road(resource: &Resource, options: &Options, extra_policy: bool) -> Result<Road, DeleteError> {
    let name = resource.resource_type.as_str();
    if let Some(why) = final_snapshot::unsupported(resource) {
        return Err(DeleteError::refused(Code::FinalSnapshotUnsupported, why));
    }
    if name.starts_with("Custom::") || name == "AWS::CloudFormation::CustomResource" {
        return Ok(Road::CustomResource);
    }
    if NO_CALL.contains(&name) {
        return Ok(Road::NoCall);
    }
    if let Some(def) = find(name)
        && (!by_cloud_control(resource) || by_native_all_the_same(name, options))
    {
        return Ok(Road::Native(def));
    }
    if name.starts_with("AWS::CloudFormation::") || STICKY_EXEMPT.contains(&name) || cloud_control::cannot_delete(name) {
        let message = format!("no way to delete {name}: neither a native step nor Cloud Control");
        return Err(DeleteError::refused(Code::NoProvider, message));
    }
    if cloud_control::permissions::of(name).is_none() && !extra_policy {
        let message = format!(
            "no way to delete {name}: the worker's policies hold no rights for it; give them by a managed policy, named in the \
             stack parameter ExtraDeletePolicyArn"
        );
        return Err(DeleteError::refused(Code::NoProvider, message));
    }
    // Cloud Control's delete has no parameter for a final snapshot.
    if resource.snapshot {
        return Err(DeleteError::refused(Code::FinalSnapshotUnsupported, final_snapshot::none_of(name)));
    }
    Ok(Road::CloudControl)
}

/// Whether Cloud Control's handler would take a snapshot that nobody asked for and nothing names (cdkd deletes such a row
/// through the service's own API). Members of a global cluster are left to it where cdkd leaves them.
fn saves_unasked(resource: &Resource) -> bool {
    let global = resource.properties.get("GlobalClusterIdentifier").filter(|value| !value.is_null());
    match resource.resource_type.as_str() {
        "AWS::RDS::DBCluster" | "AWS::RDS::DBInstance" => {
            global.is_none_or(|value| value.as_str().is_some_and(|id| !is_masked(id)))
        }
        "AWS::Neptune::DBCluster" | "AWS::Neptune::DBInstance" => global.is_none(),
        _ => false,
    }
}

/// Whether the row is recorded as made through Cloud Control, which is sticky where Cloud Control can delete.
fn by_cloud_control(resource: &Resource) -> bool {
    let name = resource.resource_type.as_str();
    resource.provisioned_by == ProvisionedBy::CloudControl
        && !STICKY_EXEMPT.contains(&name)
        && !saves_unasked(resource)
        && cloud_control::permissions::of(name).is_some()
}

/// A protected group has protected instances, and Cloud Control does not force a delete.
fn by_native_all_the_same(name: &str, options: &Options) -> bool {
    name == "AWS::AutoScaling::AutoScalingGroup" && options.remove_protection
}

#[cfg(test)]
mod tests;
