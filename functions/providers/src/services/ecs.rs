//! Elastic Container Service: clusters, services, task definitions. A deleted cluster and a deregistered task definition
//! stay describable as INACTIVE.

mod service;

use std::time::Duration;

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::name_of;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::registry::TypeDef;

/// What is still in a cluster drains by itself, but for tasks that nobody's service runs.
const CLUSTER: Rules = Rules {
    gone: &["ClusterNotFoundException"],
    retry: &[
        blocked("ClusterContainsServicesException", 10, 900),
        blocked("ClusterContainsTasksException", 10, 900),
        blocked("ClusterContainsContainerInstancesException", 15, 1800),
        blocked("ClusterContainsCapacityProviderException", 10, 600),
        retry("UpdateInProgressException", 10, 600),
        retry("ServerException", 3, 60),
    ],
    ..Rules::NONE
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::ECS::Cluster",
        step: |r, cx| Box::pin(cluster(r, cx)),
        look: None,
        actions: &[
            "ecs:DeleteCluster",
            "ecs:DescribeClusters",
            "ecs:ListContainerInstances",
            "ecs:ListServices",
            "ecs:ListTasks",
        ],
        rules: CLUSTER,
    },
    TypeDef {
        name: "AWS::ECS::Service",
        step: |r, cx| Box::pin(service::service(r, cx)),
        look: None,
        actions: &[
            "application-autoscaling:DeregisterScalableTarget",
            "ecs:DeleteService",
            "ecs:DescribeServices",
            "ecs:UpdateService",
        ],
        rules: service::RULES,
    },
    TypeDef {
        name: "AWS::ECS::TaskDefinition",
        step: |r, cx| Box::pin(task_definition(r, cx)),
        look: None,
        actions: &["ecs:DeregisterTaskDefinition"],
        // ClientException is this API's code for everything: only the text tells.
        rules: Rules {
            gone: &[
                "ClientException~does not exist",
                "ClientException~Unable to describe task definition",
                "ClientException~not found",
                "ClientException~inactive",
                "InvalidParameterException~not found",
            ],
            retry: &[
                retry("ClientException~Too many concurrent", 2, 60),
                retry("ServerException", 3, 60),
                retry("ThrottlingException", 2, 60),
            ],
            ..Rules::NONE
        },
    },
];

async fn cluster(r: &Resource, cx: &Cx<'_>) -> StepResult {
    name_of(r, "cluster/", cx)?;
    let cluster = r.physical_id.as_str();
    let answer = match cx.aws.ecs().delete_cluster().cluster(cluster).send().await.map_err(CallError::from) {
        Ok(answer) => answer,
        Err(call) if is_blocked(&call, &CLUSTER) => {
            let by = named("what the cluster holds", held(cluster, &call, cx).await);
            return Err(call.held_by(by).into());
        }
        Err(call) => return Err(call.into()),
    };
    // The cluster's capacity providers go first.
    if answer.cluster().and_then(|c| c.status()) == Some("DEPROVISIONING") {
        return Ok(Step::pending(Duration::from_secs(5), "the cluster is DEPROVISIONING"));
    }
    Ok(Step::DELETED)
}

/// The first page of what AWS says is in the cluster.
async fn held(cluster: &str, refusal: &CallError, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let ecs = cx.aws.ecs();
    let (what, found) = match refusal.code.as_str() {
        "ClusterContainsServicesException" => {
            ("service", ecs.list_services().cluster(cluster).send().await?.service_arns.unwrap_or_default())
        }
        "ClusterContainsTasksException" => {
            ("task", ecs.list_tasks().cluster(cluster).send().await?.task_arns.unwrap_or_default())
        }
        "ClusterContainsContainerInstancesException" => {
            let answer = ecs.list_container_instances().cluster(cluster).send().await?;
            ("container instance", answer.container_instance_arns.unwrap_or_default())
        }
        _ => {
            let answer = ecs.describe_clusters().clusters(cluster).send().await?;
            let clusters = answer.clusters.unwrap_or_default().into_iter();
            ("capacity provider", clusters.flat_map(|c| c.capacity_providers.unwrap_or_default()).collect())
        }
    };
    Ok(found.iter().map(|arn| format!("{} ({what})", last_part(arn))).collect())
}

/// The name in an ARN or name.
fn last_part(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// As CloudFormation leaves it: INACTIVE, for the tasks that still run on it. A family without a revision would be another
/// revision than the recorded one.
async fn task_definition(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let revision = name_of(r, "task-definition/", cx)?.rsplit_once(':').map(|(_, revision)| revision);
    if !revision.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
        return Err(StepError::malformed_id("family:revision"));
    }
    cx.aws.ecs().deregister_task_definition().task_definition(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
