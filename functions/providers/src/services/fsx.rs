//! FSx: a file system takes a final backup of its own accord, of Windows and OpenZFS by default, of Lustre not.

use std::time::Duration;

use aws_sdk_fsx::types::{
    DeleteFileSystemOpenZfsConfiguration, DeleteFileSystemWindowsConfiguration, FileSystem, FileSystemLifecycle, FileSystemType,
};
use ebb_core::Resource;

use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;
use crate::watch::Watch;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::FSx::FileSystem",
    step: |r, cx| Box::pin(file_system(r, cx)),
    look: None,
    actions: &["fsx:CreateBackup", "fsx:DeleteFileSystem", "fsx:DescribeFileSystems", "fsx:TagResource"],
    rules: Rules {
        gone: GONE,
        retry: &[
            retry("BadRequest~storage virtual machine", 30, 1800),
            retry("BadRequest~volume", 30, 1800),
            retry("InternalServerError", 10, 120),
        ],
        // ServiceLimitExceeded: the quota of backups.
        terminal: &["ServiceLimitExceeded", "IncompatibleParameterError"],
        ..Rules::NONE
    },
}];

const GONE: &[&str] = &["FileSystemNotFound"];
const LOOK_AGAIN: Duration = Duration::from_secs(30);

async fn file_system(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let watch = Watch::of(cx);
    let Some(live) = find(&r.physical_id, cx).await? else { return Ok(watch.gone(false)) };
    match live.lifecycle() {
        Some(FileSystemLifecycle::Deleting) => Ok(watch.pending_for(LOOK_AGAIN, cx, "the file system is being deleted")),
        // It is half deleted and goes on costing.
        Some(FileSystemLifecycle::Failed) if watch.asked() => {
            Err(StepError::terminal("FAILED", "the file system's delete failed in AWS: it is still there"))
        }
        _ => delete(&live, watch, r, cx).await,
    }
}

/// `skipFinalSnapshot` is the consent to go without the final backup.
async fn delete(live: &FileSystem, watch: Watch, r: &Resource, cx: &Cx<'_>) -> StepResult {
    let mut call = cx.aws.fsx().delete_file_system().file_system_id(&r.physical_id).client_request_token(cx.token(r, "delete"));
    if cx.run.options.skip_final_snapshot {
        call = match live.file_system_type() {
            Some(FileSystemType::Windows) => {
                call.windows_configuration(DeleteFileSystemWindowsConfiguration::builder().skip_final_backup(true).build())
            }
            Some(FileSystemType::Openzfs) => {
                call.open_zfs_configuration(DeleteFileSystemOpenZfsConfiguration::builder().skip_final_backup(true).build())
            }
            _ => call,
        };
    }
    cx.fence.check().await?;
    let answer = call.send().await?;
    let windows = answer.windows_response().and_then(|w| w.final_backup_id());
    let backup = windows.or_else(|| answer.open_zfs_response().and_then(|z| z.final_backup_id()));
    Ok(match backup {
        Some(backup) => {
            let note = format!("the file system is being deleted; its final backup is {backup}");
            watch.telling(format!("final backup: {backup}")).pending_for(LOOK_AGAIN, cx, note)
        }
        None => watch.pending_for(LOOK_AGAIN, cx, "the file system is being deleted"),
    })
}

async fn find(id: &str, cx: &Cx<'_>) -> Result<Option<FileSystem>, StepError> {
    let answer = cx.aws.fsx().describe_file_systems().file_system_ids(id).send().await.ignore(GONE)?;
    let found = answer.and_then(|a| a.file_systems).unwrap_or_default();
    Ok(found.into_iter().find(|f| f.file_system_id() == Some(id)))
}

#[cfg(test)]
mod tests;
