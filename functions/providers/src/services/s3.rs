//! S3: buckets and bucket policies. How a bucket with data goes is in `emptying.rs`.

pub(super) mod emptying;

use ebb_core::{Resource, Step};

use self::emptying::Bucket;
use crate::Cx;
use crate::arn::Arn;
use crate::call::{StepError, StepResult};
use crate::classify::{Rules, retry};
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
        step: |r, cx| Box::pin(emptying::delete(general_purpose(r), r, cx)),
        look: Some(|r, cx| Box::pin(emptying::look(general_purpose(r), r, cx))),
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

fn name(id: &str) -> &str {
    Arn::parse(id).map_or(id, |arn| arn.resource)
}

fn general_purpose(r: &Resource) -> Bucket<'_> {
    Bucket { name: name(&r.physical_id), directory: false }
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
