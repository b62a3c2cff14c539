//! EBS volumes, with a final snapshot first when the policy asks for one.

use aws_sdk_ec2::types::{Volume, VolumeState};
use ebb_core::Resource;

use super::snapshot::final_snapshot;
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::final_snapshot::{Saved, told};
use crate::registry::TypeDef;
use crate::watch::{Seen, Watch};

pub(super) const VOLUME: TypeDef = TypeDef {
    name: "AWS::EC2::Volume",
    step: |r, cx| Box::pin(volume(r, cx)),
    look: None,
    actions: &["ec2:CreateSnapshot", "ec2:CreateTags", "ec2:DeleteVolume", "ec2:DescribeSnapshots", "ec2:DescribeVolumes"],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        blocked("VolumeInUse", 10, 600),
        retry("IncorrectState", 5, 900),
        retry("SnapshotCreationPerVolumeRateExceeded", 15, 600),
        retry("ConcurrentSnapshotLimitExceeded", 30, 1800),
    ],
    ..Rules::NONE
};

const GONE: &[&str] = &["InvalidVolume.NotFound"];

async fn volume(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let mut watch = Watch::of(cx);
    // The memo of a delete is written only after the snapshot was seen complete.
    if r.snapshot && !watch.asked() {
        match saved(r, cx).await? {
            Saved::In(snapshot) => watch = watch.telling(told(&snapshot)),
            Saved::Nothing => {}
            Saved::NotYet(step) => return Ok(step),
        }
    }
    let found = if watch.asked() { true } else { delete(r, cx).await? };
    match seen(find(r, cx).await?.as_ref()) {
        Seen::Gone => Ok(watch.gone(found)),
        Seen::There if watch.asked() => {
            delete(r, cx).await?;
            Ok(watch.pending(r, cx, "the volume was not going: asked again"))
        }
        Seen::Going | Seen::There => Ok(watch.pending(r, cx, "the volume is going")),
    }
}

/// How far the volume is saved. While it is attached more can be written, so the snapshot waits for that.
async fn saved(r: &Resource, cx: &Cx<'_>) -> Result<Saved, StepError> {
    let Some(volume) = find(r, cx).await? else { return Ok(Saved::Nothing) };
    if seen(Some(&volume)) != Seen::There {
        return Ok(Saved::Nothing);
    }
    if volume.state() == Some(&VolumeState::InUse) || !volume.attachments().is_empty() {
        let call = CallError::inside("VolumeInUse", "the volume is attached: its final snapshot waits");
        return Err(call.held_by(attachments(Some(&volume))).into());
    }
    final_snapshot(r, cx).await
}

/// Whether there was one to delete.
async fn delete(r: &Resource, cx: &Cx<'_>) -> Result<bool, StepError> {
    cx.fence.check().await?;
    match cx.aws.ec2().delete_volume().volume_id(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(true),
        Err(call) if call.is(GONE) => Ok(false),
        Err(call) if is_blocked(&call, &RULES) => {
            let volume = find(r, cx).await.unwrap_or_default();
            Err(call.held_by(attachments(volume.as_ref())).into())
        }
        Err(call) if call.is(&["IncorrectState"]) => match seen(find(r, cx).await?.as_ref()) {
            // On its way already.
            Seen::Gone | Seen::Going => Ok(true),
            Seen::There => Err(call.into()),
        },
        Err(call) => Err(call.into()),
    }
}

async fn find(r: &Resource, cx: &Cx<'_>) -> Result<Option<Volume>, StepError> {
    let answer = cx.aws.ec2().describe_volumes().volume_ids(&r.physical_id).send().await.ignore(GONE)?;
    let volumes = answer.and_then(|a| a.volumes).unwrap_or_default();
    Ok(volumes.into_iter().find(|v| v.volume_id() == Some(&r.physical_id)))
}

fn seen(volume: Option<&Volume>) -> Seen {
    match volume.map(|v| v.state()) {
        None | Some(Some(VolumeState::Deleted)) => Seen::Gone,
        Some(Some(VolumeState::Deleting)) => Seen::Going,
        Some(_) => Seen::There,
    }
}

fn attachments(volume: Option<&Volume>) -> Vec<String> {
    let attachments = volume.map(|v| v.attachments()).unwrap_or_default();
    attachments.iter().filter_map(|a| Some(format!("{} (attached)", a.instance_id().or(a.associated_resource())?))).collect()
}
