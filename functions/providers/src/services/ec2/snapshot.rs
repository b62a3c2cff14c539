//! The final snapshot of a volume: found by its tag, made when there is none, waited for until it is complete. Nothing
//! that goes wrong here lets the volume go.

use aws_sdk_ec2::types::{ResourceType, Snapshot, SnapshotState, Tag, TagSpecification};
use ebb_core::Resource;

use super::filter;
use crate::Cx;
use crate::call::{CallResult, StepError};
use crate::final_snapshot::{Saved, State, Taking, failed};

/// cdkd's tag, whose value is the volume's id: ids are never used twice, so a snapshot with it is of this volume.
const TAG: &str = "cdkd:final-snapshot-of";

/// How far the volume is saved. Made and tagged in one call, so that a killed step finds its snapshot again.
pub(super) async fn final_snapshot(r: &Resource, cx: &Cx<'_>) -> Result<Saved, StepError> {
    let (taking, found) = match Taking::of(cx) {
        Some(taking) => {
            let found = by_id(cx, &taking.snapshot).await?;
            (taking, found)
        }
        None => {
            let found = match by_tag(cx, &r.physical_id).await? {
                Some(found) => found,
                None => match create(r, cx).await? {
                    Some(made) => made,
                    None => return Ok(Saved::Nothing),
                },
            };
            let id = found.snapshot_id().ok_or_else(|| failed("EC2 answered a final snapshot without an id"))?;
            (Taking::begun(id, cx), Some(found))
        }
    };
    taking.seen(found.map_or(State::Missing, |s| state(&s)), cx)
}

fn state(snapshot: &Snapshot) -> State {
    match snapshot.state() {
        Some(SnapshotState::Completed) => State::Complete,
        None | Some(SnapshotState::Pending | SnapshotState::Recovering) => State::UnderWay,
        Some(ended) => State::Ended(ended.as_str().to_owned()),
    }
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

/// `None` when the volume is not there any more.
async fn create(r: &Resource, cx: &Cx<'_>) -> Result<Option<Snapshot>, StepError> {
    cx.fence.check().await?;
    let tag = Tag::builder().key(TAG).value(&r.physical_id).build();
    let tags = TagSpecification::builder().resource_type(ResourceType::Snapshot).tags(tag).build();
    let create = cx.aws.ec2().create_snapshot().volume_id(&r.physical_id).tag_specifications(tags);
    let made = create.description(format!("final snapshot of {}", r.physical_id)).send().await;
    let made = made.ignore(&["InvalidVolume.NotFound"])?;
    Ok(made.map(|m| Snapshot::builder().set_snapshot_id(m.snapshot_id).set_state(m.state).build()))
}
