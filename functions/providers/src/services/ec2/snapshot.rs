//! The final snapshot of a volume: found by its tag, made when there is none, waited for until it is complete. Nothing
//! that goes wrong here lets the volume go.

use std::time::Duration;

use aws_sdk_ec2::types::{ResourceType, Snapshot, SnapshotState, Tag, TagSpecification};
use ebb_core::{Code, DeleteError, Millis, Resource, Step};
use serde::{Deserialize, Serialize};

use super::filter;
use crate::Cx;
use crate::call::{CallResult, StepError};

/// cdkd's tag, whose value is the volume's id: ids are never used twice, so a snapshot with it is of this volume.
const TAG: &str = "cdkd:final-snapshot-of";
const LOOK_AGAIN: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(3600);
/// How many looks may not find a snapshot that was just made.
const MISSING: u32 = 24;

/// What the next step needs to know.
#[derive(Clone, Deserialize, Serialize)]
struct Memo {
    snapshot: String,
    since: Millis,
    #[serde(default)]
    missing: u32,
}

/// `None` when a complete snapshot of the volume exists, or the volume went meanwhile; else what to answer.
pub(super) async fn final_snapshot(r: &Resource, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    let memo: Option<Memo> = cx.memo.and_then(|m| serde_json::from_value(m.clone()).ok());
    let found = match &memo {
        Some(memo) => by_id(cx, &memo.snapshot).await?,
        None => match by_tag(cx, &r.physical_id).await? {
            Some(found) => Some(found),
            None => match create(r, cx).await? {
                Some(made) => Some(made),
                None => return Ok(None),
            },
        },
    };
    let memo = match (memo, &found) {
        (Some(memo), Some(_)) => Memo { missing: 0, ..memo },
        (Some(memo), None) => Memo { missing: memo.missing + 1, ..memo },
        (None, found) => {
            let id = found.as_ref().and_then(|s| s.snapshot_id());
            let id = id.ok_or_else(|| failed("EC2 answered a final snapshot without an id"))?;
            Memo { snapshot: id.to_owned(), since: cx.clock.now(), missing: 0 }
        }
    };
    let state = found.as_ref().map(|s| s.state().cloned().unwrap_or(SnapshotState::Pending));
    match state {
        Some(SnapshotState::Completed) => return Ok(None),
        Some(SnapshotState::Pending | SnapshotState::Recovering) => {}
        Some(state) => {
            return Err(failed(&format!("the final snapshot {} ended as {}: the volume stays", memo.snapshot, state.as_str())));
        }
        None if memo.missing > MISSING => {
            return Err(failed(&format!("the final snapshot {} is nowhere to be found: the volume stays", memo.snapshot)));
        }
        None => {}
    }
    if Duration::from_millis(cx.clock.now().saturating_sub(memo.since)) >= PATIENCE {
        let message = format!("the final snapshot {} is not complete after an hour: the volume stays", memo.snapshot);
        return Err(DeleteError::refused(Code::FinalSnapshotTimeout, message).into());
    }
    let memo = serde_json::to_value(memo).map_err(|e| failed(&e.to_string()))?;
    Ok(Some(Step::pending_with(LOOK_AGAIN, "its final snapshot is being taken", memo)))
}

fn failed(message: &str) -> StepError {
    DeleteError::refused(Code::FinalSnapshotFailed, message).into()
}

async fn by_id(cx: &Cx<'_>, id: &str) -> Result<Option<Snapshot>, StepError> {
    let answer = cx.aws.ec2().describe_snapshots().snapshot_ids(id).send().await.ignore(&["InvalidSnapshot.NotFound"])?;
    let snapshots = answer.and_then(|a| a.snapshots).unwrap_or_default();
    Ok(snapshots.into_iter().find(|s| s.snapshot_id() == Some(id)))
}

/// The one that an earlier step or run made: a complete one before one under way.
async fn by_tag(cx: &Cx<'_>, volume: &str) -> Result<Option<Snapshot>, StepError> {
    let call = cx.aws.ec2().describe_snapshots().owner_ids("self").filters(filter(&format!("tag:{TAG}"), [volume]));
    let call = call.filters(filter("status", ["pending", "completed"]));
    let found: Vec<Snapshot> = call.into_paginator().items().send().try_collect().await.about_other()?;
    let usable = |s: &Snapshot| {
        s.volume_id() == Some(volume)
            && s.tags().iter().any(|t| t.key() == Some(TAG) && t.value() == Some(volume))
            && matches!(s.state(), Some(SnapshotState::Completed | SnapshotState::Pending))
    };
    Ok(found.into_iter().filter(usable).max_by_key(|s| s.state() == Some(&SnapshotState::Completed)))
}

/// `None` when the volume is not there any more. Made and tagged in one call, so a killed step finds it again.
async fn create(r: &Resource, cx: &Cx<'_>) -> Result<Option<Snapshot>, StepError> {
    cx.fence.check().await?;
    let tag = Tag::builder().key(TAG).value(&r.physical_id).build();
    let tags = TagSpecification::builder().resource_type(ResourceType::Snapshot).tags(tag).build();
    let create = cx.aws.ec2().create_snapshot().volume_id(&r.physical_id).tag_specifications(tags);
    let made = create.description(format!("final snapshot of {}", r.physical_id)).send().await;
    let made = made.ignore(&["InvalidVolume.NotFound"])?;
    Ok(made.map(|m| Snapshot::builder().set_snapshot_id(m.snapshot_id).set_state(m.state).build()))
}
