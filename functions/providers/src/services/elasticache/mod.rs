//! ElastiCache: single clusters, replication groups, and the subnet groups they stand in.

mod cache_cluster;
mod replication_group;
mod subnet_group;

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] =
    &[cache_cluster::CACHE_CLUSTER, replication_group::REPLICATION_GROUP, subnet_group::SUBNET_GROUP];

#[cfg(test)]
mod tests;
