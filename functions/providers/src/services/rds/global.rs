//! A cluster leaves its global cluster before it goes: AWS deletes no member.

use std::time::Duration;

use ebb_core::{Resource, Step};

use super::kind::{Live, is};
use crate::Cx;
use crate::arn::Arn;
use crate::call::{CallError, StepError};

const GONE: &[&str] = &["DBClusterNotFoundFault", "GlobalClusterNotFoundFault"];

/// The global cluster that it belongs to, as AWS says, else as recorded.
pub(super) fn recorded(live: &Live, r: &Resource) -> Result<Option<String>, StepError> {
    match &live.global {
        Some(global) => Ok(Some(global.clone())),
        None => Ok(r.address("GlobalClusterIdentifier")?.map(str::to_owned)),
    }
}

/// `None` when the cluster is no member (any more).
pub(super) async fn leave(global: &str, id: &str, cx: &Cx<'_>) -> Result<Option<Step>, CallError> {
    let Some(member) = member(global, id, cx).await? else { return Ok(None) };
    let call = cx.aws.rds().remove_from_global_cluster().global_cluster_identifier(global).db_cluster_identifier(member);
    match call.send().await.map_err(other) {
        Ok(_) => Ok(Some(Step::pending(Duration::from_secs(30), "the cluster is leaving its global cluster"))),
        Err(call) if call.is(GONE) => Ok(None),
        Err(call) => Err(call),
    }
}

/// The ARN under which the global cluster lists the cluster.
async fn member(global: &str, id: &str, cx: &Cx<'_>) -> Result<Option<String>, CallError> {
    let call = cx.aws.rds().describe_global_clusters().global_cluster_identifier(global);
    let found = match call.send().await.map_err(other) {
        Ok(answer) => answer.global_clusters.unwrap_or_default(),
        Err(call) if call.is(GONE) => return Ok(None),
        Err(call) => return Err(call),
    };
    let ours = found.iter().find(|g| is(g.global_cluster_identifier(), global));
    let arns = ours.into_iter().flat_map(|g| g.global_cluster_members()).filter_map(|m| m.db_cluster_arn());
    let is_ours =
        |arn: &&str| Arn::parse(arn).is_some_and(|a| a.region == cx.aws.region() && is(a.resource.strip_prefix("cluster:"), id));
    Ok(arns.map(str::to_owned).find(|arn| is_ours(&arn.as_str())))
}

/// What is not found here is not the cluster that goes.
fn other(error: impl Into<CallError>) -> CallError {
    CallError { about_other: true, ..error.into() }
}
