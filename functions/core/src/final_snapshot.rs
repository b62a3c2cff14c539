//! Of what a final snapshot can be taken: known from a row alone, so that it is said before anything is deleted.

use crate::Resource;
use crate::provider::ProvisionedBy;

/// Types whose native step takes a final snapshot when the policy asks for one.
pub const TAKES: &[&str] = &[
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
pub const BY_THE_DELETE: &[&str] = &[
    "AWS::DocDB::DBCluster",
    "AWS::ElastiCache::CacheCluster",
    "AWS::Neptune::DBCluster",
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBInstance",
];

/// Why the snapshot that the row asks for cannot be taken. Deleting it plainly would lose what the policy was to keep (cdkd
/// refuses such a row).
pub fn unsupported(resource: &Resource) -> Option<String> {
    if !resource.snapshot {
        return None;
    }
    let name = resource.resource_type.as_str();
    let member = name == "AWS::RDS::DBInstance" && resource.is_cluster_member();
    if !TAKES.contains(&name) {
        Some(none_of(name))
    } else if resource.provisioned_by == ProvisionedBy::CloudControl && BY_THE_DELETE.contains(&name) && !member {
        Some(none_of(&format!("a {name} that was made through Cloud Control")))
    } else {
        None
    }
}

/// What is said of a row of which no final snapshot can be taken.
pub fn none_of(what: &str) -> String {
    format!("no final snapshot can be taken of {what}: change its DeletionPolicy, or ask with skipFinalSnapshot")
}
