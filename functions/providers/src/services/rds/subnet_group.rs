//! Subnet groups of all three families. AWS says "in use" by the group's state.

use ebb_core::{Resource, Step};

use super::kind::is;
use crate::Cx;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::registry::TypeDef;

pub(super) const fn type_def(name: &'static str) -> TypeDef {
    TypeDef {
        name,
        step: |r, cx| Box::pin(subnet_group(r, cx)),
        look: None,
        actions: &["rds:DeleteDBSubnetGroup", "rds:DescribeDBClusters", "rds:DescribeDBInstances"],
        rules: RULES,
    }
}

const RULES: Rules = Rules {
    gone: &["DBSubnetGroupNotFoundFault"],
    retry: &[blocked("InvalidDBSubnetGroupStateFault", 15, 1800), retry("InvalidDBSubnetStateFault", 15, 600)],
    ..Rules::NONE
};

async fn subnet_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let group = r.physical_id.as_str();
    match cx.aws.rds().delete_db_subnet_group().db_subnet_group_name(group).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let mut by = named("clusters", clusters_in(group, cx).await);
            by.extend(named("instances", instances_in(group, cx).await));
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn clusters_in(group: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let found = cx.aws.rds().describe_db_clusters().into_paginator().items().send().try_collect().await?;
    let ours = found.iter().filter(|c| is(c.db_subnet_group(), group));
    Ok(ours.filter_map(|c| Some(format!("{} (cluster)", c.db_cluster_identifier()?))).collect())
}

async fn instances_in(group: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let found = cx.aws.rds().describe_db_instances().into_paginator().items().send().try_collect().await?;
    let ours = found.iter().filter(|i| i.db_subnet_group().is_some_and(|g| is(g.db_subnet_group_name(), group)));
    Ok(ours.filter_map(|i| Some(format!("{} (instance)", i.db_instance_identifier()?))).collect())
}
