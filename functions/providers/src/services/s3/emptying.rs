//! Emptying a bucket. One with data goes only when the stack itself opted in by tag, or the request says so; it is emptied
//! page by page, always from the start of the listing, so that a killed step costs nothing.

use std::time::Duration;

use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use ebb_core::provider::is_true;
use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource, Step};
use serde::{Deserialize, Serialize};

use super::BUCKET;
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::classify;

/// A bucket of either kind.
#[derive(Clone, Copy)]
pub(crate) struct Bucket<'a> {
    pub name: &'a str,
    /// A directory bucket: no versions, but unfinished uploads hold it.
    pub directory: bool,
}

impl Bucket<'_> {
    /// Whose bucket it must be. Directory buckets answer 501 to the question (S3 API reference, DeleteBucket).
    fn owner(self, cx: &Cx<'_>) -> Option<String> {
        (!self.directory).then(|| cx.run.account.clone())
    }
}

/// Times that a bucket found empty may turn out to have been written to again.
const LATE_WRITERS: u32 = 3;

const NOT_EMPTY: &str = "the bucket is not empty: nothing in it is deleted unless the stack's bucket carries the tag \
                         aws-cdk:auto-delete-objects = true, or the request says deleteData";

/// How far the emptying is.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Memo {
    /// DeleteBucket said that it is not empty.
    emptying: bool,
    /// How often it was empty and DeleteBucket still refused.
    rounds: u32,
}

/// Only what is recorded counts: the tag as cdkd deployed it, `true` as a boolean or text. A mask is no consent.
fn may_empty(r: &Resource, cx: &Cx<'_>) -> bool {
    cx.run.options.delete_data || is_true(r.tag("aws-cdk:auto-delete-objects"))
}

/// Delete first: most buckets are empty. With consent, empty and delete again.
pub(crate) async fn delete(bucket: Bucket<'_>, r: &Resource, cx: &Cx<'_>) -> StepResult {
    let mut memo = cx.memo.and_then(|memo| Memo::deserialize(memo).ok()).unwrap_or_default();
    if !memo.emptying && deleted(bucket, cx).await? {
        return Ok(Step::DELETED);
    }
    if !may_empty(r, cx) {
        return Err(DeleteError::refused(Code::DataGuard, NOT_EMPTY).into());
    }
    memo.emptying = true;
    let mut emptied = 0;
    loop {
        cx.fence.check().await?;
        let objects = list(bucket, 1000, cx).await?;
        if !objects.is_empty() {
            let all = objects.len();
            let failures = delete_page(bucket, objects, cx).await?;
            emptied += all.saturating_sub(failures.len());
            if let Some(error) = worst(&failures) {
                return still_there(error, emptied, memo);
            }
        } else if bucket.directory && abort_uploads(bucket.name, cx).await? {
            // Aborted or not, the listing says what is left.
        } else {
            cx.fence.check().await?;
            if deleted(bucket, cx).await? {
                return Ok(Step::DELETED);
            }
            if memo.rounds >= LATE_WRITERS {
                return Err(late_writers());
            }
            memo.rounds += 1;
            return pending(Duration::from_secs(1), "something wrote to the emptied bucket: emptying it again", memo);
        }
        if !cx.has_time() {
            return pending(Duration::ZERO, "emptying the bucket", memo);
        }
    }
}

/// Whether DeleteBucket took it; `false` when it is not empty.
async fn deleted(bucket: Bucket<'_>, cx: &Cx<'_>) -> Result<bool, StepError> {
    let delete = cx.aws.s3().delete_bucket().bucket(bucket.name).set_expected_bucket_owner(bucket.owner(cx));
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(true),
        Err(call) if call.is(&["BucketNotEmpty"]) => Ok(false),
        Err(call) => Err(StepError::Call(call)),
    }
}

/// The first page of what keeps this very bucket from being empty: versions and delete markers, or the objects of a
/// directory bucket, which has no versions.
async fn list(bucket: Bucket<'_>, at_most: i32, cx: &Cx<'_>) -> Result<Vec<ObjectIdentifier>, StepError> {
    let (listed, objects): (_, Vec<(Option<String>, Option<String>)>) = if bucket.directory {
        let page = cx.aws.s3().list_objects_v2().bucket(bucket.name).max_keys(at_most).send().await?;
        (page.name, page.contents.unwrap_or_default().into_iter().map(|object| (object.key, None)).collect())
    } else {
        let list = cx.aws.s3().list_object_versions().bucket(bucket.name).max_keys(at_most);
        let page = list.set_expected_bucket_owner(bucket.owner(cx)).send().await?;
        let versions = page.versions.unwrap_or_default().into_iter().map(|version| (version.key, version.version_id));
        let markers = page.delete_markers.unwrap_or_default().into_iter().map(|marker| (marker.key, marker.version_id));
        (page.name, versions.chain(markers).collect())
    };
    if listed.is_some_and(|listed| listed != bucket.name) {
        let message = "S3 listed another bucket than the one that goes away: nothing was deleted";
        return Err(DeleteError::refused(Code::DataGuard, message).into());
    }
    objects
        .into_iter()
        .map(|(key, version)| ObjectIdentifier::builder().set_key(key).set_version_id(version).build())
        .collect::<Result<_, _>>()
        .map_err(|_| DeleteError::refused(Code::DataGuard, "S3 listed an object without a key").into())
}

/// Unfinished uploads keep a directory bucket from being deleted. Aborts the first page of them and answers whether there
/// were any.
async fn abort_uploads(bucket: &str, cx: &Cx<'_>) -> Result<bool, StepError> {
    let page = cx.aws.s3().list_multipart_uploads().bucket(bucket).send().await?;
    for upload in page.uploads() {
        cx.fence.check().await?;
        let abort = cx.aws.s3().abort_multipart_upload().bucket(bucket);
        let abort = abort.set_key(upload.key.clone()).set_upload_id(upload.upload_id.clone());
        abort.send().await.ignore(&["NoSuchUpload"])?;
        if !cx.has_time() {
            break;
        }
    }
    Ok(!page.uploads().is_empty())
}

/// Deletes one page and answers what failed: a reply of 200 still carries failures, key by key. A key that XML cannot
/// carry goes by a call of its own.
async fn delete_page(bucket: Bucket<'_>, objects: Vec<ObjectIdentifier>, cx: &Cx<'_>) -> Result<Vec<CallError>, StepError> {
    let (objects, odd): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| fits_xml(object.key()));
    let mut failures = Vec::new();
    if !objects.is_empty() {
        cx.fence.check().await?;
        let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
        let delete = delete.map_err(|_| StepError::from(DeleteError::refused(Code::DataGuard, "S3 listed no objects")))?;
        let delete = cx.aws.s3().delete_objects().bucket(bucket.name).delete(delete);
        let answer = delete.set_expected_bucket_owner(bucket.owner(cx)).send().await?;
        failures.extend(answer.errors().iter().map(|error| CallError {
            about_other: true,
            ..CallError::inside(error.code().unwrap_or_default(), error.message().unwrap_or_default())
        }));
    }
    for object in odd {
        cx.fence.check().await?;
        let delete = cx.aws.s3().delete_object().bucket(bucket.name).key(object.key()).set_version_id(object.version_id);
        match delete.set_expected_bucket_owner(bucket.owner(cx)).send().await.map_err(CallError::from) {
            Ok(_) => {}
            Err(call) if call.fence_shut => return Err(call.into()),
            Err(call) => failures.push(CallError { about_other: true, ..call }),
        }
        if !cx.has_time() {
            break;
        }
    }
    Ok(failures)
}

/// XML 1.0 has no place for most control characters: S3 would refuse the whole page.
fn fits_xml(key: &str) -> bool {
    key.chars().all(|c| c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}' || matches!(c, '\t' | '\n' | '\r'))
}

/// The failure that decides: a final one before those that pass.
fn worst(failures: &[CallError]) -> Option<DeleteError> {
    let passes = |error: &DeleteError| matches!(error.class, ErrorClass::Retry { .. } | ErrorClass::Throttled);
    let mut errors: Vec<DeleteError> = failures.iter().map(|call| classify(call, &BUCKET)).collect();
    errors.sort_by_key(passes);
    errors.into_iter().next()
}

/// Objects that cannot be deleted now are listed again by the next step; one that never can ends it.
fn still_there(error: DeleteError, emptied: usize, memo: Memo) -> StepResult {
    match error.class {
        ErrorClass::Retry { .. } | ErrorClass::Throttled if emptied > 0 => {
            pending(Duration::from_secs(2), "S3 is slow to delete the objects: emptying goes on", memo)
        }
        ErrorClass::Retry { .. } | ErrorClass::Throttled => Err(StepError::Ours(error)),
        _ => Err(StepError::Ours(DeleteError {
            message: format!(
                "an object cannot be deleted (an object lock, MFA delete or the bucket's policy?): {}",
                error.message
            ),
            ..error
        })),
    }
}

fn late_writers() -> StepError {
    StepError::Ours(DeleteError {
        class: ErrorClass::Terminal,
        code: "BucketNotEmpty".into(),
        message: "the bucket is not empty: it was emptied and something keeps writing to it".into(),
        request_id: None,
    })
}

fn pending(look_again: Duration, note: &'static str, memo: Memo) -> StepResult {
    Ok(Step::pending_with(look_again, note, serde_json::json!(memo)))
}

/// Refuses as the step would without consent.
pub(crate) async fn look(bucket: Bucket<'_>, r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if may_empty(r, cx) {
        return Ok(Look::Clear);
    }
    let mut empty = list(bucket, 1, cx).await?.is_empty();
    if empty && bucket.directory {
        empty = cx.aws.s3().list_multipart_uploads().bucket(bucket.name).max_uploads(1).send().await?.uploads().is_empty();
    }
    if empty {
        return Ok(Look::Clear);
    }
    Ok(Look::Refuses { code: Code::DataGuard, reason: NOT_EMPTY.into() })
}
