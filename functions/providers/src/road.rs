//! Which road a row takes: its handler, a native step, Cloud Control, or none (cdkd's routing).

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, DeleteError, Options, Resource};

use crate::classify::Rules;
use crate::registry::{TypeDef, find};
use crate::services;

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
            Road::CloudControl => &services::cloud_control::RULES,
            Road::NoCall | Road::CustomResource => &services::custom_resource::RULES,
        }
    }
}

/// Native types whose step takes a final snapshot when the policy asks for one.
const TAKES_SNAPSHOT: &[&str] = &["AWS::EC2::Volume"];

/// Types that are records only.
const NO_CALL: &[&str] = &[
    "AWS::AppSync::GraphQLSchema",
    "AWS::CDK::Metadata",
    "AWS::CloudFormation::WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle",
];

/// Rows recorded as made through Cloud Control that go the native way all the same: Cloud Control cannot delete them, or
/// deletes something else.
const STICKY_EXEMPT: &[&str] = &[
    "AWS::EC2::Volume",
    "AWS::IAM::Group",
    "AWS::IAM::InstanceProfile",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::IAM::User",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::LayerVersion",
    "AWS::Pipes::Pipe",
    "AWS::RDS::DBProxyTargetGroup",
    "AWS::Route53::HostedZone",
    "AWS::S3::BucketPolicy",
    "AWS::Scheduler::Schedule",
];

/// As [`STICKY_EXEMPT`], when the request lifts protections: Cloud Control cannot lift this type's.
const STICKY_UNLESS_UNPROTECTED: &[&str] = &["AWS::AutoScaling::AutoScalingGroup"];

/// The road of a row under the request's options, or why there is none.
pub fn road(resource: &Resource, options: &Options) -> Result<Road, DeleteError> {
    let name = resource.resource_type.as_str();
    // Deleting it plainly would lose what the policy was to keep (cdkd refuses such a row).
    if resource.snapshot && !TAKES_SNAPSHOT.contains(&name) {
        let message =
            format!("no final snapshot can be taken of {name}: change its DeletionPolicy, or ask with skipFinalSnapshot");
        return Err(DeleteError::refused(Code::FinalSnapshotUnsupported, message));
    }
    if name.starts_with("Custom::") || name == "AWS::CloudFormation::CustomResource" {
        return Ok(Road::CustomResource);
    }
    if NO_CALL.contains(&name) {
        return Ok(Road::NoCall);
    }
    let exempt = STICKY_EXEMPT.contains(&name) || options.remove_protection && STICKY_UNLESS_UNPROTECTED.contains(&name);
    let by_cloud_control = resource.provisioned_by == ProvisionedBy::CloudControl && !exempt;
    if !by_cloud_control && let Some(def) = find(name) {
        return Ok(Road::Native(def));
    }
    if name.starts_with("AWS::CloudFormation::") || STICKY_EXEMPT.contains(&name) || services::cloud_control::cannot_delete(name)
    {
        return Err(DeleteError::refused(
            Code::NoProvider,
            format!("no way to delete {name}: neither a native step nor Cloud Control"),
        ));
    }
    Ok(Road::CloudControl)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Bench, Script};

    /// contract 5.4: any other type with `Snapshot` is refused, its record kept and no call made.
    #[tokio::test]
    async fn a_type_that_takes_no_snapshot_is_refused_under_that_policy() {
        for name in ["AWS::SQS::Queue", "AWS::DynamoDB::Table", "Custom::Seed", "AWS::CDK::Metadata", "AWS::New::Thing"] {
            let mut bench = Bench::new(name, "id", json!({}));
            bench.resource.snapshot = true;
            let script = Script::new();
            assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FinalSnapshotUnsupported.name()), "{name}");
            assert!(script.seen().is_empty());
        }
    }
}
