//! Cache subnet groups.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::holders::named;
use crate::registry::TypeDef;

pub(super) const SUBNET_GROUP: TypeDef = TypeDef {
    name: "AWS::ElastiCache::SubnetGroup",
    step: |r, cx| Box::pin(subnet_group(r, cx)),
    look: None,
    actions: &["elasticache:DeleteCacheSubnetGroup", "elasticache:DescribeCacheClusters"],
    rules: RULES,
};

const RULES: Rules =
    Rules { gone: &["CacheSubnetGroupNotFoundFault"], retry: &[blocked("CacheSubnetGroupInUse", 15, 1800)], ..Rules::NONE };

async fn subnet_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let group = r.physical_id.as_str();
    let call = cx.aws.elasticache().delete_cache_subnet_group().cache_subnet_group_name(group);
    match call.send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let by = named("cache clusters", clusters_in(group, cx).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn clusters_in(group: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let found = cx.aws.elasticache().describe_cache_clusters().into_paginator().items().send().try_collect().await?;
    let ours = found.iter().filter(|c| c.cache_subnet_group_name().is_some_and(|theirs| theirs.eq_ignore_ascii_case(group)));
    Ok(ours.filter_map(|c| Some(format!("{} (cache cluster)", c.cache_cluster_id()?))).collect())
}
