//! S3 Vectors: vector buckets. Their indexes go first, without a guard: cdkd does the same.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::name_of;
use crate::call::{CallResult, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::S3Vectors::VectorBucket",
    step: |r, cx| Box::pin(vector_bucket(r, cx)),
    look: None,
    actions: &["s3vectors:DeleteIndex", "s3vectors:DeleteVectorBucket", "s3vectors:ListIndexes"],
    rules: Rules {
        gone: &["NotFoundException", "ResourceNotFoundException", "NoSuchVectorBucket", "NoSuchBucket"],
        retry: &[
            retry("ConflictException", 3, 120),
            retry("TooManyRequestsException", 2, 60),
            retry("ServiceUnavailableException", 3, 60),
        ],
        ..Rules::NONE
    },
}];

/// Each step starts at the beginning of the listing: what was before is gone.
async fn vector_bucket(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let bucket = name_of(r, "bucket/", cx)?;
    let mut pages = cx.aws.s3vectors().list_indexes().vector_bucket_name(bucket).into_paginator().items().send();
    while let Some(index) = pages.try_next().await? {
        if index.vector_bucket_name() != bucket {
            continue;
        }
        if !cx.has_time() {
            return Ok(Step::pending(std::time::Duration::ZERO, "deleting the bucket's indexes"));
        }
        cx.fence.check().await?;
        let delete = cx.aws.s3vectors().delete_index().vector_bucket_name(bucket).index_name(index.index_name());
        delete.send().await.ignore(&["NotFoundException"])?;
    }
    cx.fence.check().await?;
    cx.aws.s3vectors().delete_vector_bucket().vector_bucket_name(bucket).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
