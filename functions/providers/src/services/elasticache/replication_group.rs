//! A replication group goes through Cloud Control, after its final snapshot: Cloud Control has no parameter for one.

use aws_sdk_elasticache::types::{ReplicationGroup, Snapshot};
use ebb_core::Resource;

use crate::Cx;
use crate::call::{CallError, CallResult, StepError};
use crate::classify::{Rules, retry};
use crate::final_snapshot::{self, LONGEST_OF_CACHE, Saved, State, Taking, failed, then_cloud_control};
use crate::registry::TypeDef;

pub(super) const REPLICATION_GROUP: TypeDef = TypeDef {
    name: "AWS::ElastiCache::ReplicationGroup",
    step: |r, cx| Box::pin(then_cloud_control(saved(r, cx), &RULES, r, cx)),
    look: None,
    actions: &[
        "cloudformation:DeleteResource",
        "cloudformation:GetResourceRequestStatus",
        "elasticache:CreateSnapshot",
        "elasticache:DescribeReplicationGroups",
        "elasticache:DescribeSnapshots",
    ],
    rules: RULES,
};

/// The calls about the snapshot are about another resource: none of them says that the group is gone.
const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        retry("InvalidReplicationGroupState", 15, 1800),
        retry("InvalidCacheClusterState", 15, 1800),
        retry("~not available", 15, 1800),
        // Another of the same second; the next try has a later name.
        retry("SnapshotAlreadyExistsFault", 5, 60),
    ],
    ..Rules::NONE
};

const GONE: &[&str] = &["ReplicationGroupNotFoundFault"];
/// How many pages of snapshots are read for one that is still being taken.
const PAGES: usize = 10;

async fn saved(r: &Resource, cx: &Cx<'_>) -> Result<Saved, StepError> {
    if let Some(taking) = Taking::of(cx) {
        let state = state(&taking.snapshot, cx).await?;
        return taking.seen(state, cx);
    }
    let Some(group) = alive(&r.physical_id, cx).await? else { return Ok(Saved::Nothing) };
    let name = match under_way(&r.physical_id, &group, cx).await {
        Some(name) => name,
        None => match create(&r.physical_id, &group, cx).await? {
            Some(name) => name,
            None => return Ok(Saved::Nothing),
        },
    };
    Ok(Saved::NotYet(Taking::begun(name, cx).pending()))
}

/// The group, unless it is going or gone.
async fn alive(id: &str, cx: &Cx<'_>) -> Result<Option<ReplicationGroup>, StepError> {
    let call = cx.aws.elasticache().describe_replication_groups().replication_group_id(id);
    let found = call.send().await.ignore(GONE)?.and_then(|a| a.replication_groups).unwrap_or_default();
    let ours = found.into_iter().find(|g| g.replication_group_id().is_some_and(|theirs| theirs.eq_ignore_ascii_case(id)));
    Ok(ours.filter(|g| g.status() != Some("deleting")))
}

/// `None` when the group went meanwhile. With cluster mode off a snapshot is taken of the primary: AWS rejects the group's.
async fn create(id: &str, group: &ReplicationGroup, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    let name = final_snapshot::name(id, LONGEST_OF_CACHE, cx.clock.now());
    let call = cx.aws.elasticache().create_snapshot().snapshot_name(&name);
    let call = if group.cluster_enabled() == Some(true) {
        call.replication_group_id(id)
    } else {
        call.cache_cluster_id(primary(group).ok_or_else(|| failed("the replication group has no member to take a snapshot of"))?)
    };
    cx.fence.check().await?;
    match call.send().await.map_err(CallError::from) {
        Ok(_) => Ok(Some(name)),
        Err(call) if call.is(GONE) => Ok(None),
        // Also said of a group that is being changed: that one is neither saved nor deleted yet.
        Err(call) if call.is(&["InvalidReplicationGroupState"]) && alive(id, cx).await?.is_none() => Ok(None),
        Err(call) => Err(CallError { about_other: true, ..call }.into()),
    }
}

fn primary(group: &ReplicationGroup) -> Option<&str> {
    let members = || group.node_groups().iter().flat_map(|n| n.node_group_members());
    let primary = members().find(|m| m.current_role() == Some("primary")).or_else(|| members().next());
    primary.and_then(|m| m.cache_cluster_id()).or_else(|| group.member_clusters().first().map(String::as_str))
}

/// A snapshot of this group under our kind of name that is still being taken. A finished one may be of an earlier group of
/// the same name. What cannot be listed is taken anew.
async fn under_way(id: &str, group: &ReplicationGroup, cx: &Cx<'_>) -> Option<String> {
    let of_group = group.cluster_enabled() == Some(true);
    let of = |snapshot: &Snapshot| match snapshot.cache_cluster_id() {
        _ if of_group => snapshot.replication_group_id().is_some_and(|theirs| theirs.eq_ignore_ascii_case(id)),
        Some(member) => group.member_clusters().iter().any(|m| m == member) || primary(group) == Some(member),
        None => false,
    };
    let ours = |snapshot: &&Snapshot| {
        let named = snapshot.snapshot_name().is_some_and(|n| final_snapshot::is_name_of(n, id, LONGEST_OF_CACHE));
        named && of(snapshot) && snapshot.snapshot_status() == Some("creating")
    };
    let call = cx.aws.elasticache().describe_snapshots().snapshot_source("user");
    let call =
        if of_group { call.replication_group_id(id) } else { call.set_cache_cluster_id(primary(group).map(str::to_owned)) };
    let mut pages = call.into_paginator().send();
    for _ in 0..PAGES {
        let page = match pages.next().await? {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(code = %CallError::from(error).code, "snapshots cannot be listed: a new one is taken");
                return None;
            }
        };
        if let Some(name) = page.snapshots().iter().find(ours).and_then(|s| s.snapshot_name()) {
            return Some(name.to_owned());
        }
    }
    None
}

async fn state(name: &str, cx: &Cx<'_>) -> Result<State, StepError> {
    let answer = match cx.aws.elasticache().describe_snapshots().snapshot_name(name).send().await.map_err(CallError::from) {
        Ok(answer) => answer,
        Err(call) if call.is(&["SnapshotNotFoundFault"]) => return Ok(State::Missing),
        Err(call) => return Err(CallError { about_other: true, ..call }.into()),
    };
    let ours = answer.snapshots().iter().find(|s| s.snapshot_name() == Some(name));
    Ok(ours.map_or(State::Missing, |s| State::of(s.snapshot_status())))
}
