//! A cluster of its own, with its final snapshot as a parameter of the delete.

use std::time::Duration;

use aws_sdk_elasticache::types::CacheCluster;
use ebb_core::Resource;

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::final_snapshot::{self, LONGEST_OF_CACHE};
use crate::registry::TypeDef;
use crate::watch::Watch;

pub(super) const CACHE_CLUSTER: TypeDef = TypeDef {
    name: "AWS::ElastiCache::CacheCluster",
    step: |r, cx| Box::pin(cache_cluster(r, cx)),
    look: None,
    actions: &["elasticache:CreateSnapshot", "elasticache:DeleteCacheCluster", "elasticache:DescribeCacheClusters"],
    rules: Rules {
        gone: GONE,
        retry: &[retry("InvalidCacheClusterState", 15, 1800)],
        terminal: &[
            "SnapshotFeatureNotSupportedFault",
            "SnapshotQuotaExceededFault",
            SNAPSHOT_EXISTS,
            "InvalidParameterCombination",
        ],
        ..Rules::NONE
    },
};

const GONE: &[&str] = &["CacheClusterNotFound", "CacheClusterNotFoundFault"];
const SNAPSHOT_EXISTS: &str = "SnapshotAlreadyExistsFault";

const LOOK_AGAIN: Duration = Duration::from_secs(30);
const GOING: &str = "the cache cluster is being deleted";

async fn cache_cluster(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = id(r, cx)?;
    let watch = Watch::of(cx);
    let Some(live) = find(id, cx).await? else { return Ok(final_snapshot::gone(watch, cx)) };
    if live.cache_cluster_status() == Some("deleting") {
        return Ok(watch.pending_for(LOOK_AGAIN, cx, GOING));
    }
    if let Some(group) = live.replication_group_id().filter(|group| !group.is_empty()) {
        return Err(StepError::terminal(
            "InvalidParameterCombination",
            format!("it is a member of the replication group {group} and goes with the group alone"),
        ));
    }
    let name = match (r.snapshot, final_snapshot::planned(cx)) {
        (false, _) => None,
        (true, None) => return Ok(final_snapshot::plan(id, LONGEST_OF_CACHE, cx)),
        (true, Some(name)) => Some(name),
    };
    cx.fence.check().await?;
    let call = cx.aws.elasticache().delete_cache_cluster().cache_cluster_id(id);
    match call.set_final_snapshot_identifier(name.map(str::to_owned)).send().await.map_err(CallError::from) {
        Ok(_) => Ok(match name {
            Some(name) => {
                let note = format!("{GOING}; its final snapshot is {name}");
                watch.telling(final_snapshot::told(name)).pending_for(LOOK_AGAIN, cx, note)
            }
            None => watch.pending_for(LOOK_AGAIN, cx, GOING),
        }),
        Err(call) if call.is(GONE) => Ok(final_snapshot::gone(watch, cx)),
        // It is that of an earlier delete which failed afterwards, whose answer may not have been seen, or somebody else's:
        // what came since is not in it.
        Err(call) if call.is(&[SNAPSHOT_EXISTS]) && (watch.asked() || live.cache_cluster_status() == Some("available")) => {
            Ok(final_snapshot::plan(id, LONGEST_OF_CACHE, cx))
        }
        Err(call) => Err(call.into()),
    }
}

/// The identifier in a recorded id that may be an ARN.
fn id<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    same_region(&r.physical_id, cx)?;
    let id = match Arn::parse(&r.physical_id) {
        Some(arn) => arn.resource.strip_prefix("cluster:").unwrap_or_default(),
        None => &r.physical_id,
    };
    if id.is_empty() { Err(StepError::malformed_id("a cache cluster id or its ARN")) } else { Ok(id) }
}

async fn find(id: &str, cx: &Cx<'_>) -> Result<Option<CacheCluster>, StepError> {
    let answer = cx.aws.elasticache().describe_cache_clusters().cache_cluster_id(id).send().await.ignore(GONE)?;
    let found = answer.and_then(|a| a.cache_clusters).unwrap_or_default();
    Ok(found.into_iter().find(|c| c.cache_cluster_id().is_some_and(|theirs| theirs.eq_ignore_ascii_case(id))))
}
