//! EMR: clusters, which take minutes to terminate, and the task groups and fleets in them, which only end with them.

use std::time::Duration;

use aws_sdk_emr::types::{Cluster, ClusterState, InstanceFleetModifyConfig, InstanceGroupModifyConfig};
use ebb_core::{Look, Resource, Step};
use serde_json::Value;

use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::protection;
use crate::registry::TypeDef;
use crate::watch::Watch;

const GONE: &[&str] = &["InvalidRequestException"];

const CLUSTER: Rules = Rules {
    gone: GONE,
    retry: &[
        retry("InternalServerError", 5, 120),
        retry("InternalServerException", 5, 120),
        retry("ThrottlingException", 5, 120),
    ],
    terminal: &[],
    protected: &["ValidationException~protect"],
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::EMR::Cluster",
        step: |r, cx| Box::pin(cluster(r, cx)),
        look: Some(|r, cx| Box::pin(look(r, cx))),
        actions: &[
            "elasticmapreduce:DescribeCluster",
            "elasticmapreduce:SetTerminationProtection",
            "elasticmapreduce:TerminateJobFlows",
        ],
        rules: CLUSTER,
    },
    TypeDef {
        name: "AWS::EMR::InstanceFleetConfig",
        step: |r, cx| Box::pin(instance_fleet(r, cx)),
        look: None,
        actions: &["elasticmapreduce:ModifyInstanceFleet"],
        rules: Rules { gone: GONE, ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::EMR::InstanceGroupConfig",
        step: |r, cx| Box::pin(instance_group(r, cx)),
        look: None,
        actions: &["elasticmapreduce:ModifyInstanceGroups"],
        rules: Rules { gone: GONE, ..Rules::NONE },
    },
];

const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// EMR words an id that it cannot read like one that it does not know, which would count as gone.
fn id(r: &Resource) -> Result<&str, StepError> {
    let id = r.physical_id.as_str();
    let is_id = id.strip_prefix("j-").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()));
    if is_id { Ok(id) } else { Err(StepError::malformed_id("a cluster id, j-…")) }
}

async fn cluster(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = id(r)?;
    let watch = Watch::of(cx);
    let Some(found) = describe(id, cx).await? else { return Ok(watch.gone(false)) };
    match state(&found) {
        Some(ClusterState::Terminated | ClusterState::TerminatedWithErrors) => return Ok(watch.gone(false)),
        Some(ClusterState::Terminating) => return Ok(watch.pending_for(LOOK_AGAIN, cx, "the cluster is TERMINATING")),
        _ => {}
    }
    let is_on = std::future::ready(Ok(found.termination_protected() == Some(true)));
    if let Some(step) = protection::lift(&CLUSTER, cx, is_on, protect(id, false, cx)).await? {
        return Ok(step);
    }
    cx.fence.check().await?;
    match cx.aws.emr().terminate_job_flows().job_flow_ids(id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(watch.pending_for(LOOK_AGAIN, cx, "the cluster is being terminated")),
        Err(call) => Err(protection::failed(call, &CLUSTER, cx, protect(id, true, cx)).await),
    }
}

/// The cluster; `None` when there is none of this id.
async fn describe(id: &str, cx: &Cx<'_>) -> Result<Option<Cluster>, StepError> {
    let answer = cx.aws.emr().describe_cluster().cluster_id(id).send().await.ignore(GONE)?;
    Ok(answer.map(|answer| answer.cluster.unwrap_or_else(|| Cluster::builder().build())))
}

fn state(cluster: &Cluster) -> Option<&ClusterState> {
    cluster.status().and_then(|status| status.state())
}

async fn protect(id: &str, on: bool, cx: &Cx<'_>) -> Result<(), CallError> {
    cx.aws.emr().set_termination_protection().job_flow_ids(id).termination_protected(on).send().await?;
    Ok(())
}

/// What has ended keeps its flag, which refuses nothing any more.
async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    let ends = [ClusterState::Terminating, ClusterState::Terminated, ClusterState::TerminatedWithErrors];
    let found = describe(id(r)?, cx).await?;
    let runs = found.filter(|c| state(c).is_none_or(|state| !ends.contains(state)));
    protection::look(cx, std::future::ready(Ok(runs.is_some_and(|c| c.termination_protected() == Some(true))))).await
}

/// The cluster of a TASK group or fleet, whose instances can go before it. MASTER and CORE end with the cluster, and there
/// is no delete for any of them: one whose cluster is masked or not recorded ends with it too.
fn shrinkable<'r>(r: &'r Resource, role: &str, cluster: &str) -> Option<&'r str> {
    if r.properties.get(role).and_then(Value::as_str) != Some("TASK") {
        return None;
    }
    r.address(cluster).ok().flatten()
}

async fn instance_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    if let Some(cluster) = shrinkable(r, "InstanceRole", "JobFlowId") {
        let none = InstanceGroupModifyConfig::builder().instance_group_id(&r.physical_id).instance_count(0).build();
        cx.aws.emr().modify_instance_groups().cluster_id(cluster).instance_groups(none).send().await.best_effort()?;
    }
    Ok(Step::DELETED)
}

async fn instance_fleet(r: &Resource, cx: &Cx<'_>) -> StepResult {
    if let Some(cluster) = shrinkable(r, "InstanceFleetType", "ClusterId") {
        let none = InstanceFleetModifyConfig::builder()
            .instance_fleet_id(&r.physical_id)
            .target_on_demand_capacity(0)
            .target_spot_capacity(0)
            .build();
        cx.aws.emr().modify_instance_fleet().cluster_id(cluster).instance_fleet(none).send().await.best_effort()?;
    }
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
