//! Which road a row takes: its handler, a native step, Cloud Control, or none (cdkd's routing).

use ebb_core::provider::{ProvisionedBy, is_masked};
use ebb_core::{Code, DeleteError, Resource};

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
const TAKES_SNAPSHOT: &[&str] = &[
    "AWS::DocDB::DBCluster",
    "AWS::EC2::Volume",
    "AWS::ElastiCache::CacheCluster",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::Neptune::DBCluster",
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBInstance",
    "AWS::Redshift::Cluster",
];

/// Those of them whose delete call takes it. Cloud Control's delete has no parameter for it.
const BY_THE_DELETE: &[&str] = &[
    "AWS::DocDB::DBCluster",
    "AWS::ElastiCache::CacheCluster",
    "AWS::Neptune::DBCluster",
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBInstance",
];

/// Types that are records only.
const NO_CALL: &[&str] = &[
    "AWS::AppSync::GraphQLSchema",
    "AWS::CDK::Metadata",
    "AWS::CloudFormation::WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle",
    "AWS::EC2::SubnetNetworkAclAssociation",
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

/// The road of a row, or why there is none.
pub fn road(resource: &Resource) -> Result<Road, DeleteError> {
    let name = resource.resource_type.as_str();
    // Deleting it plainly would lose what the policy was to keep (cdkd refuses such a row).
    if resource.snapshot
        && let Some(why) = no_snapshot(resource)
    {
        let message =
            format!("no final snapshot can be taken of {why}: change its DeletionPolicy, or ask with skipFinalSnapshot");
        return Err(DeleteError::refused(Code::FinalSnapshotUnsupported, message));
    }
    if name.starts_with("Custom::") || name == "AWS::CloudFormation::CustomResource" {
        return Ok(Road::CustomResource);
    }
    if NO_CALL.contains(&name) {
        return Ok(Road::NoCall);
    }
    let sticky = resource.provisioned_by == ProvisionedBy::CloudControl;
    let by_cloud_control = sticky && !STICKY_EXEMPT.contains(&name) && !saves_unasked(resource);
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

/// Of what no final snapshot can be taken, if that is so.
fn no_snapshot(resource: &Resource) -> Option<String> {
    let name = resource.resource_type.as_str();
    let member = name == "AWS::RDS::DBInstance" && resource.is_cluster_member();
    if !TAKES_SNAPSHOT.contains(&name) {
        Some(name.to_owned())
    } else if resource.provisioned_by == ProvisionedBy::CloudControl && BY_THE_DELETE.contains(&name) && !member {
        Some(format!("a {name} that was made through Cloud Control"))
    } else {
        None
    }
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

    /// The way of a row: its native step, Cloud Control, or the code of a refusal.
    fn way(name: &str, properties: serde_json::Value, made: ProvisionedBy, snapshot: bool) -> String {
        let mut bench = Bench::new(name, "id", properties);
        bench.resource.provisioned_by = made;
        bench.resource.snapshot = snapshot;
        match road(&bench.resource) {
            Ok(Road::Native(def)) => def.name.to_owned(),
            Ok(Road::CloudControl) => "Cloud Control".to_owned(),
            Ok(_) => "another road".to_owned(),
            Err(error) => error.code,
        }
    }

    const BY_CLOUD_CONTROL: ProvisionedBy = ProvisionedBy::CloudControl;

    /// Contract 5.4: Cloud Control's delete takes no snapshot.
    #[test]
    fn a_row_of_cloud_control_whose_delete_takes_the_snapshot_is_refused() {
        for name in BY_THE_DELETE {
            assert_eq!(way(name, json!({}), BY_CLOUD_CONTROL, true), Code::FinalSnapshotUnsupported.name());
            assert_eq!(way(name, json!({}), ProvisionedBy::Sdk, true), **name);
        }
        for name in TAKES_SNAPSHOT.iter().filter(|name| !BY_THE_DELETE.contains(name)) {
            for made in [BY_CLOUD_CONTROL, ProvisionedBy::Sdk] {
                assert_eq!(way(name, json!({}), made, true), **name);
            }
        }
        // A member gets none, whoever made it.
        let member = json!({ "DBClusterIdentifier": "shop" });
        assert_eq!(way("AWS::RDS::DBInstance", member, BY_CLOUD_CONTROL, true), "AWS::RDS::DBInstance");
    }

    /// Its handler would take a snapshot of its own; members of global clusters are left to it as cdkd leaves them.
    #[test]
    fn a_database_of_cloud_control_goes_the_native_way_without_a_snapshot() {
        let global = |value: serde_json::Value| json!({ "GlobalClusterIdentifier": value });
        for kind in ["DBCluster", "DBInstance"] {
            let rds = format!("AWS::RDS::{kind}");
            for properties in [json!({}), global(json!(null)), global(json!("world"))] {
                assert_eq!(way(&rds, properties, BY_CLOUD_CONTROL, false), rds);
            }
            for properties in [global(json!({ "Ref": "World" })), global(json!("***")), global(json!("{{resolve:ssm:x}}"))] {
                assert_eq!(way(&rds, properties, BY_CLOUD_CONTROL, false), "Cloud Control");
            }
            let neptune = format!("AWS::Neptune::{kind}");
            assert_eq!(way(&neptune, json!({}), BY_CLOUD_CONTROL, false), neptune);
            assert_eq!(way(&neptune, global(json!("world")), BY_CLOUD_CONTROL, false), "Cloud Control");
            let docdb = format!("AWS::DocDB::{kind}");
            assert_eq!(way(&docdb, json!({}), BY_CLOUD_CONTROL, false), "Cloud Control");
            for name in [rds, neptune, docdb] {
                assert_eq!(way(&name, global(json!({ "Ref": "World" })), ProvisionedBy::Sdk, false), name);
            }
        }
        let cache = "AWS::ElastiCache::CacheCluster";
        assert_eq!(way(cache, json!({}), BY_CLOUD_CONTROL, false), "Cloud Control");
    }
}
