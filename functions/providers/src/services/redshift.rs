//! A Redshift cluster goes through Cloud Control, after its final snapshot and once it has calmed down from it.

use std::time::Duration;

use aws_sdk_redshift::types::Snapshot;
use ebb_core::{Resource, Step};
use serde_json::{Value, json};

use crate::call::{CallError, CallResult, StepError};
use crate::classify::{Rules, retry};
use crate::final_snapshot::{self, LONGEST, Saved, State, Taking, then_cloud_control};
use crate::registry::TypeDef;
use crate::{Cx, memo};

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::Redshift::Cluster",
    step: |r, cx| Box::pin(then_cloud_control(saved(r, cx), &RULES, r, cx)),
    look: None,
    actions: &[
        "cloudformation:DeleteResource",
        "cloudformation:GetResourceRequestStatus",
        "redshift:CreateClusterSnapshot",
        "redshift:DescribeClusterSnapshots",
        "redshift:DescribeClusters",
    ],
    rules: RULES,
}];

/// The calls about the snapshot are about another resource: none of them says that the cluster is gone.
const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        // The tail of the snapshot, which no status shows.
        retry("~There is an operation running on the Cluster", 15, 1200),
        retry("InvalidClusterState", 15, 1800),
        // Another of the same second; the next try has a later name.
        retry("ClusterSnapshotAlreadyExists", 5, 60),
    ],
    ..Rules::NONE
};

const GONE: &[&str] = &["ClusterNotFound"];
/// How many pages of snapshots are read for one that is still being taken.
const PAGES: usize = 10;

/// How long the cluster may take to be available again after its snapshot before the delete is tried all the same.
const CALMS_DOWN: Duration = Duration::from_secs(1200);
const TAKEN: &str = "taken";
const CALM: &str = "calm";

async fn saved(r: &Resource, cx: &Cx<'_>) -> Result<Saved, StepError> {
    let id = r.physical_id.as_str();
    if let Some(taking) = Taking::of(cx) {
        let state = match memo::get(cx, TAKEN) {
            Some(_) => State::Complete,
            None => state(&taking.snapshot, cx).await?,
        };
        return match taking.seen(state, cx)? {
            Saved::In(name) => calm(id, name, cx).await,
            other => Ok(other),
        };
    }
    if status(id, cx).await?.is_none() {
        return Ok(Saved::Nothing);
    }
    let name = match under_way(id, cx).await {
        Some(name) => name,
        None => match create(id, cx).await? {
            Some(name) => name,
            None => return Ok(Saved::Nothing),
        },
    };
    Ok(Saved::NotYet(Taking::begun(name, cx).pending()))
}

/// Waits, but not for ever, until the cluster is available again, and five seconds more.
async fn calm(id: &str, name: String, cx: &Cx<'_>) -> Result<Saved, StepError> {
    if memo::get(cx, CALM).is_some() {
        return Ok(Saved::In(name));
    }
    let taken = memo::get(cx, TAKEN).and_then(Value::as_u64).unwrap_or_else(|| cx.clock.now());
    let wait = |seconds, note: &str, more: Value| {
        Saved::NotYet(Step::pending_with(
            Duration::from_secs(seconds),
            format!("its final snapshot {name} is complete; {note}"),
            more,
        ))
    };
    match status(id, cx).await?.as_deref() {
        None => Ok(Saved::In(name)),
        Some("available") => {
            Ok(wait(5, "the cluster is available again", memo::with(cx, [(TAKEN, json!(taken)), (CALM, json!(true))])))
        }
        Some(_) if Duration::from_millis(cx.clock.now().saturating_sub(taken)) >= CALMS_DOWN => {
            tracing::warn!("the cluster is not available 20 minutes after its snapshot: deleting it all the same");
            Ok(Saved::In(name))
        }
        Some(_) => Ok(wait(15, "the cluster is not available yet", memo::with(cx, [(TAKEN, json!(taken))]))),
    }
}

/// The cluster's status, unless it is going or gone.
async fn status(id: &str, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    let answer = cx.aws.redshift().describe_clusters().cluster_identifier(id).send().await.ignore(GONE)?;
    let found = answer.and_then(|a| a.clusters).unwrap_or_default();
    let ours = found.iter().find(|c| c.cluster_identifier().is_some_and(|theirs| theirs.eq_ignore_ascii_case(id)));
    let status = ours.map(|c| c.cluster_status().unwrap_or_default().to_owned());
    Ok(status.filter(|status| !matches!(status.as_str(), "deleting" | "final-snapshot")))
}

/// `None` when the cluster went meanwhile.
async fn create(id: &str, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    let name = final_snapshot::name(id, LONGEST, cx.clock.now());
    cx.fence.check().await?;
    let call = cx.aws.redshift().create_cluster_snapshot().snapshot_identifier(&name).cluster_identifier(id);
    // For ever: the cluster's own default may let it expire.
    match call.manual_snapshot_retention_period(-1).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Some(name)),
        Err(call) if call.is(GONE) => Ok(None),
        // Also said of a cluster that is paused or being resized: that one is neither saved nor deleted yet.
        Err(call) if call.is(&["InvalidClusterState"]) && status(id, cx).await?.is_none() => Ok(None),
        Err(call) => Err(CallError { about_other: true, ..call }.into()),
    }
}

/// A snapshot of this cluster under our kind of name that is still being taken. A finished one may be of an earlier cluster
/// of the same name. What cannot be listed is taken anew.
async fn under_way(id: &str, cx: &Cx<'_>) -> Option<String> {
    let ours = |snapshot: &&Snapshot| {
        snapshot.cluster_identifier().is_some_and(|theirs| theirs.eq_ignore_ascii_case(id))
            && snapshot.status() == Some("creating")
            && snapshot.snapshot_identifier().is_some_and(|name| final_snapshot::is_name_of(name, id, LONGEST))
    };
    let call = cx.aws.redshift().describe_cluster_snapshots().cluster_identifier(id).snapshot_type("manual");
    let mut pages = call.into_paginator().send();
    for _ in 0..PAGES {
        let page = match pages.next().await? {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(code = %CallError::from(error).code, "snapshots cannot be listed: a new one is taken");
                return None;
            }
        };
        if let Some(name) = page.snapshots().iter().find(ours).and_then(|s| s.snapshot_identifier()) {
            return Some(name.to_owned());
        }
    }
    None
}

async fn state(name: &str, cx: &Cx<'_>) -> Result<State, StepError> {
    let call = cx.aws.redshift().describe_cluster_snapshots().snapshot_identifier(name);
    let answer = match call.send().await.map_err(CallError::from) {
        Ok(answer) => answer,
        Err(call) if call.is(&["ClusterSnapshotNotFound"]) => return Ok(State::Missing),
        Err(call) => return Err(CallError { about_other: true, ..call }.into()),
    };
    let ours = answer.snapshots().iter().find(|s| s.snapshot_identifier() == Some(name));
    Ok(ours.map_or(State::Missing, |s| State::of(s.status())))
}

#[cfg(test)]
mod tests;
