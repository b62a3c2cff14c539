//! RDS, DocumentDB and Neptune: one API on one endpoint. What the families do differently is data (`kind.rs`); how a
//! cluster or an instance goes is the same for all of them (`database.rs`).

mod database;
mod global;
mod kind;
mod proxy;
mod subnet_group;
mod target_group;

use database::{look, step};
use kind::{CLUSTER_RULES, INSTANCE_RULES};

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::DocDB::DBCluster",
        step: |r, cx| Box::pin(step(&kind::DOCDB_CLUSTER, r, cx)),
        look: Some(|r, cx| Box::pin(look(&kind::DOCDB_CLUSTER, r, cx))),
        actions: CLUSTER_ACTIONS,
        rules: CLUSTER_RULES,
    },
    TypeDef {
        name: "AWS::DocDB::DBInstance",
        step: |r, cx| Box::pin(step(&kind::DOCDB_INSTANCE, r, cx)),
        look: None,
        actions: &["rds:DeleteDBInstance", "rds:DescribeDBInstances"],
        rules: INSTANCE_RULES,
    },
    subnet_group::type_def("AWS::DocDB::DBSubnetGroup"),
    TypeDef {
        name: "AWS::Neptune::DBCluster",
        step: |r, cx| Box::pin(step(&kind::NEPTUNE_CLUSTER, r, cx)),
        look: Some(|r, cx| Box::pin(look(&kind::NEPTUNE_CLUSTER, r, cx))),
        actions: CLUSTER_ACTIONS,
        rules: CLUSTER_RULES,
    },
    TypeDef {
        name: "AWS::Neptune::DBInstance",
        step: |r, cx| Box::pin(step(&kind::NEPTUNE_INSTANCE, r, cx)),
        look: Some(|r, cx| Box::pin(look(&kind::NEPTUNE_INSTANCE, r, cx))),
        actions: &["rds:DeleteDBInstance", "rds:DescribeDBInstances", "rds:ModifyDBInstance"],
        rules: INSTANCE_RULES,
    },
    subnet_group::type_def("AWS::Neptune::DBSubnetGroup"),
    TypeDef {
        name: "AWS::RDS::DBCluster",
        step: |r, cx| Box::pin(step(&kind::RDS_CLUSTER, r, cx)),
        look: Some(|r, cx| Box::pin(look(&kind::RDS_CLUSTER, r, cx))),
        actions: &[
            "rds:AddTagsToResource",
            "rds:CreateDBClusterSnapshot",
            "rds:DeleteDBCluster",
            "rds:DescribeDBClusters",
            "rds:DescribeGlobalClusters",
            "rds:ModifyDBCluster",
            "rds:RemoveFromGlobalCluster",
        ],
        rules: CLUSTER_RULES,
    },
    TypeDef {
        name: "AWS::RDS::DBInstance",
        step: |r, cx| Box::pin(step(&kind::RDS_INSTANCE, r, cx)),
        look: Some(|r, cx| Box::pin(look(&kind::RDS_INSTANCE, r, cx))),
        actions: &[
            "rds:AddTagsToResource",
            "rds:CreateDBSnapshot",
            "rds:DeleteDBInstance",
            "rds:DescribeDBInstances",
            "rds:ModifyDBInstance",
        ],
        rules: INSTANCE_RULES,
    },
    proxy::PROXY,
    proxy::ENDPOINT,
    target_group::TARGET_GROUP,
    subnet_group::type_def("AWS::RDS::DBSubnetGroup"),
];

/// A delete that takes a final snapshot is refused without the right to create one, and to tag it.
const CLUSTER_ACTIONS: &[&str] = &[
    "rds:AddTagsToResource",
    "rds:CreateDBClusterSnapshot",
    "rds:DeleteDBCluster",
    "rds:DescribeDBClusters",
    "rds:ModifyDBCluster",
];

#[cfg(test)]
mod tests;
