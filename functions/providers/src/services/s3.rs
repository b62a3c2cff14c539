//! S3: buckets and bucket policies. A bucket with data goes only when the stack itself opted in by tag, or the request
//! says so; it is emptied page by page, always from the start of the listing, so that a killed step costs nothing.

use std::time::Duration;

use aws_sdk_s3::operation::list_object_versions::ListObjectVersionsOutput;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use ebb_core::provider::is_true;
use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource, Step};
use serde::{Deserialize, Serialize};

use crate::Cx;
use crate::arn::Arn;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, classify, retry};
use crate::registry::TypeDef;

/// A client of the wrong region is ours to mend: such a bucket is never gone.
const WRONG_REGION: &[&str] =
    &["PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "MovedPermanently"];

const BUCKET: Rules = Rules {
    gone: &["NoSuchBucket"],
    retry: &[retry("OperationAborted", 5, 120), retry("SlowDown", 2, 120), retry("InternalError", 2, 60)],
    terminal: WRONG_REGION,
    protected: &[],
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::S3::Bucket",
        step: |r, cx| Box::pin(bucket(r, cx)),
        look: Some(|r, cx| Box::pin(look(r, cx))),
        actions: &["s3:DeleteBucket", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:ListBucketVersions"],
        rules: BUCKET,
    },
    TypeDef {
        name: "AWS::S3::BucketPolicy",
        step: |r, cx| Box::pin(bucket_policy(r, cx)),
        look: None,
        actions: &["s3:DeleteBucketPolicy"],
        rules: Rules {
            gone: &["NoSuchBucket", "NoSuchBucketPolicy"],
            retry: &[retry("OperationAborted", 5, 60)],
            terminal: WRONG_REGION,
            protected: &[],
        },
    },
];

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

fn name(id: &str) -> &str {
    Arn::parse(id).map_or(id, |arn| arn.resource)
}

/// Only what is recorded counts: the tag as cdkd deployed it, `true` as a boolean or text. A mask is no consent.
fn may_empty(r: &Resource, cx: &Cx<'_>) -> bool {
    cx.run.options.delete_data || is_true(r.tag("aws-cdk:auto-delete-objects"))
}

/// Delete first: most buckets are empty. With consent, empty and delete again.
async fn bucket(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let bucket = name(&r.physical_id);
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
        let page = list(bucket, 1000, cx).await?;
        let objects = objects(&page)?;
        if !objects.is_empty() {
            let all = objects.len();
            let failures = delete_page(bucket, objects, cx).await?;
            emptied += all.saturating_sub(failures.len());
            if let Some(error) = worst(&failures) {
                return still_there(error, emptied, memo);
            }
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
async fn deleted(bucket: &str, cx: &Cx<'_>) -> Result<bool, StepError> {
    let delete = cx.aws.s3().delete_bucket().bucket(bucket).expected_bucket_owner(&cx.run.account);
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(true),
        Err(call) if call.is(&["BucketNotEmpty"]) => Ok(false),
        Err(call) => Err(StepError::Call(call)),
    }
}

/// The first page of versions and markers of this very bucket.
async fn list(bucket: &str, at_most: i32, cx: &Cx<'_>) -> Result<ListObjectVersionsOutput, StepError> {
    let list = cx.aws.s3().list_object_versions().bucket(bucket).max_keys(at_most).expected_bucket_owner(&cx.run.account);
    let page = list.send().await?;
    match page.name() {
        Some(listed) if listed != bucket => Err(DeleteError::refused(
            Code::DataGuard,
            "S3 listed another bucket than the one that goes away: nothing was deleted",
        )
        .into()),
        _ => Ok(page),
    }
}

/// Versions and delete markers: either keeps a bucket from being empty.
fn objects(page: &ListObjectVersionsOutput) -> Result<Vec<ObjectIdentifier>, StepError> {
    let versions = page.versions().iter().map(|v| (v.key(), v.version_id()));
    let markers = page.delete_markers().iter().map(|m| (m.key(), m.version_id()));
    versions
        .chain(markers)
        .map(|(key, version)| {
            ObjectIdentifier::builder().set_key(key.map(str::to_owned)).set_version_id(version.map(str::to_owned)).build()
        })
        .collect::<Result<_, _>>()
        .map_err(|_| DeleteError::refused(Code::DataGuard, "S3 listed an object without a key").into())
}

/// Deletes one page and answers what failed: a reply of 200 still carries failures, key by key. A key that XML cannot
/// carry goes by a call of its own.
async fn delete_page(bucket: &str, objects: Vec<ObjectIdentifier>, cx: &Cx<'_>) -> Result<Vec<CallError>, StepError> {
    let (objects, odd): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| fits_xml(object.key()));
    let mut failures = Vec::new();
    if !objects.is_empty() {
        cx.fence.check().await?;
        let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
        let delete = delete.map_err(|_| StepError::from(DeleteError::refused(Code::DataGuard, "S3 listed no objects")))?;
        let delete = cx.aws.s3().delete_objects().bucket(bucket).delete(delete).expected_bucket_owner(&cx.run.account);
        let answer = delete.send().await?;
        failures.extend(answer.errors().iter().map(|error| CallError {
            about_other: true,
            ..CallError::inside(error.code().unwrap_or_default(), error.message().unwrap_or_default())
        }));
    }
    for object in odd {
        cx.fence.check().await?;
        let delete = cx.aws.s3().delete_object().bucket(bucket).key(object.key()).set_version_id(object.version_id);
        match delete.expected_bucket_owner(&cx.run.account).send().await.map_err(CallError::from) {
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

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if may_empty(r, cx) {
        return Ok(Look::Clear);
    }
    let page = list(name(&r.physical_id), 1, cx).await?;
    if page.versions().is_empty() && page.delete_markers().is_empty() {
        return Ok(Look::Clear);
    }
    Ok(Look::Refuses { code: Code::DataGuard, reason: NOT_EMPTY.into() })
}

/// After the custom resource that empties the bucket: its access often comes from this policy.
async fn bucket_policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let bucket = match name(&r.physical_id) {
        "" => r.address("Bucket")?.ok_or_else(|| StepError::missing("Bucket"))?,
        bucket => bucket,
    };
    cx.aws.s3().delete_bucket_policy().bucket(bucket).expected_bucket_owner(&cx.run.account).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
