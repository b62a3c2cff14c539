//! EFS: file systems, their mount targets and access points. A mount target takes a minute to go and holds an interface in
//! its subnet meanwhile; the file system is refused while any is left.

use std::time::Duration;

use aws_sdk_efs::types::{LifeCycleState, ReplicationStatus};
use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, retry};
use crate::holders::named;
use crate::registry::TypeDef;
use crate::watch::Watch;

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::EFS::AccessPoint",
        step: |r, cx| Box::pin(access_point(r, cx)),
        look: None,
        actions: &["elasticfilesystem:DeleteAccessPoint"],
        rules: Rules { gone: &["AccessPointNotFound"], retry: &[retry("InternalServerError", 5, 60)], ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::EFS::FileSystem",
        step: |r, cx| Box::pin(file_system(r, cx)),
        look: None,
        actions: &[
            "elasticfilesystem:DeleteFileSystem",
            "elasticfilesystem:DeleteReplicationConfiguration",
            "elasticfilesystem:DescribeFileSystems",
            "elasticfilesystem:DescribeMountTargets",
            "elasticfilesystem:DescribeReplicationConfigurations",
        ],
        rules: Rules {
            gone: NO_FILE_SYSTEM,
            retry: &[
                blocked("FileSystemInUse", 10, 600),
                retry("IncorrectFileSystemLifeCycleState", 10, 300),
                retry("InternalServerError", 5, 60),
            ],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::EFS::MountTarget",
        step: |r, cx| Box::pin(mount_target(r, cx)),
        look: None,
        actions: &["ec2:DeleteNetworkInterface", "elasticfilesystem:DeleteMountTarget", "elasticfilesystem:DescribeMountTargets"],
        rules: Rules {
            gone: NO_MOUNT_TARGET,
            retry: &[
                retry("DependencyTimeout", 10, 300),
                retry("InternalServerError", 5, 60),
                retry("IncorrectMountTargetState", 10, 300),
            ],
            ..Rules::NONE
        },
    },
];

const NO_FILE_SYSTEM: &[&str] = &["FileSystemNotFound"];
const NO_MOUNT_TARGET: &[&str] = &["MountTargetNotFound", "FileSystemNotFound"];

/// The id in a recorded one that may be an ARN of `kind`.
fn id<'r>(r: &'r Resource, kind: &str, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    same_region(&r.physical_id, cx)?;
    match Arn::parse(&r.physical_id) {
        Some(arn) => match arn.resource.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/')) {
            Some(id) if !id.is_empty() => Ok(id),
            _ => Err(StepError::malformed_id("an id or its ARN")),
        },
        None => Ok(&r.physical_id),
    }
}

async fn access_point(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = id(r, "access-point", cx)?;
    cx.aws.efs().delete_access_point().access_point_id(id).send().await?;
    Ok(Step::DELETED)
}

/// An accepted delete counts as gone.
async fn file_system(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = id(r, "file-system", cx)?;
    match cx.aws.efs().delete_file_system().file_system_id(id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["IncorrectFileSystemLifeCycleState"]) && is_going(id, cx).await? => Ok(Step::DELETED),
        Err(call) if call.is(&["FileSystemInUse"]) || call.message.to_lowercase().contains("replication") => {
            in_use(id, call, cx).await
        }
        Err(call) => Err(call.into()),
    }
}

async fn is_going(id: &str, cx: &Cx<'_>) -> Result<bool, StepError> {
    let found = cx.aws.efs().describe_file_systems().file_system_id(id).send().await?;
    let ours = found.file_systems().iter().find(|f| f.file_system_id() == id);
    Ok(ours.is_some_and(|f| matches!(f.life_cycle_state(), LifeCycleState::Deleting | LifeCycleState::Deleted)))
}

/// Ends a replication of its own, or names what holds it: mount targets that are still going, or are of nobody's plan, and
/// a replication that another file system sends.
async fn in_use(id: &str, call: CallError, cx: &Cx<'_>) -> StepResult {
    let mut by = named("mount targets", mount_targets(id, cx).await);
    if by.is_empty() || call.message.to_lowercase().contains("replication") {
        match replication(id, cx).await {
            Ok(Some(Replication::Sends { going: true })) => {
                return Ok(Step::pending(Duration::from_secs(10), "its replication is being deleted"));
            }
            Ok(Some(Replication::Sends { going: false })) => {
                cx.fence.check().await?;
                let end = cx.aws.efs().delete_replication_configuration().source_file_system_id(id).send().await;
                end.ignore(&["ReplicationNotFound"])?;
                return Ok(Step::pending(Duration::from_secs(10), "its replication is being deleted"));
            }
            Ok(Some(Replication::Receives { from })) => by.push(format!("{from} (replicates to it)")),
            Ok(None) => {}
            Err(error) => by.extend(named("replications", Err(error))),
        }
    }
    Err(call.held_by(by).into())
}

async fn mount_targets(id: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let found = cx.aws.efs().describe_mount_targets().file_system_id(id).into_paginator().items().send().try_collect().await?;
    let ours = found.iter().filter(|t| t.file_system_id() == id && *t.life_cycle_state() != LifeCycleState::Deleted);
    Ok(ours.map(|t| format!("{} (mount target)", t.mount_target_id())).collect())
}

/// A file system's part in a replication.
enum Replication {
    Sends { going: bool },
    Receives { from: String },
}

async fn replication(id: &str, cx: &Cx<'_>) -> Result<Option<Replication>, StepError> {
    let call = cx.aws.efs().describe_replication_configurations().file_system_id(id);
    let answer = call.send().await.ignore(&["ReplicationNotFound", "FileSystemNotFound"])?;
    let all = answer.and_then(|a| a.replications).unwrap_or_default();
    if let Some(ours) = all.iter().find(|c| c.source_file_system_id() == id) {
        let going = ours.destinations().iter().all(|d| *d.status() == ReplicationStatus::Deleting);
        return Ok(Some(Replication::Sends { going: going && !ours.destinations().is_empty() }));
    }
    let to_us = all.iter().find(|c| c.destinations().iter().any(|d| d.file_system_id() == id));
    Ok(to_us.map(|c| Replication::Receives { from: c.source_file_system_id().to_owned() }))
}

/// cdkd waits no longer than this for one that AWS is deleting, and counts it as gone.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_secs(5);

async fn mount_target(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (id, watch) = (r.physical_id.as_str(), Watch::of(cx));
    let answer = cx.aws.efs().describe_mount_targets().mount_target_id(id).send().await.ignore(NO_MOUNT_TARGET)?;
    let found = answer.and_then(|a| a.mount_targets).unwrap_or_default();
    match found.iter().find(|t| t.mount_target_id() == id).map(|t| t.life_cycle_state()) {
        None | Some(LifeCycleState::Deleted) => Ok(watch.gone(false)),
        Some(LifeCycleState::Deleting) if watch.waited(cx) >= PATIENCE => {
            Ok(watch.telling("AWS was still deleting it after two minutes, and will finish").gone(true))
        }
        Some(LifeCycleState::Deleting) => Ok(watch.pending_for(LOOK_AGAIN, cx, "the mount target is being deleted")),
        Some(_) => {
            cx.fence.check().await?;
            cx.aws.efs().delete_mount_target().mount_target_id(id).send().await?;
            Ok(watch.pending_for(LOOK_AGAIN, cx, "the mount target is being deleted"))
        }
    }
}

#[cfg(test)]
mod tests;
