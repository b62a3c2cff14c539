//! S3 Tables: table buckets, namespaces, tables. A bucket goes with everything in it, without a guard: cdkd does the same.

use std::time::Duration;

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["NotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::S3Tables::Namespace",
        step: |r, cx| Box::pin(namespace(r, cx)),
        look: None,
        actions: &["s3tables:DeleteNamespace"],
        rules: Rules { gone: GONE, retry: &[retry("ConflictException", 3, 120)], ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::S3Tables::Table",
        step: |r, cx| Box::pin(table(r, cx)),
        look: None,
        actions: &["s3tables:DeleteTable", "s3tables:GetTable"],
        rules: Rules { gone: GONE, retry: &[retry("ConflictException", 3, 60)], ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::S3Tables::TableBucket",
        step: |r, cx| Box::pin(table_bucket(r, cx)),
        look: None,
        actions: &[
            "s3tables:DeleteNamespace",
            "s3tables:DeleteTable",
            "s3tables:DeleteTableBucket",
            "s3tables:ListNamespaces",
            "s3tables:ListTables",
        ],
        rules: Rules {
            gone: GONE,
            // Not empty yet, or a concurrent change: one code for both.
            retry: &[
                retry("ConflictException", 3, 120),
                retry("TooManyRequestsException", 2, 60),
                retry("InternalServerErrorException", 3, 60),
            ],
            ..Rules::NONE
        },
    },
];

/// The parts of `bucketARN|…`, the first of them a table bucket's ARN of this region. Parts beyond `N` are not ours.
fn parts<'r, const N: usize>(r: &'r Resource, expected: &str, cx: &Cx<'_>) -> Result<[&'r str; N], StepError> {
    let mut split = r.physical_id.split('|');
    let parts: [&str; N] = std::array::from_fn(|_| split.next().unwrap_or_default());
    let is_bucket = Arn::parse(parts[0]).is_some_and(|arn| arn.resource.starts_with("bucket/"));
    if !is_bucket || parts.iter().any(|part| part.is_empty()) {
        return Err(StepError::malformed_id(expected));
    }
    same_region(parts[0], cx)?;
    Ok(parts)
}

async fn namespace(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let [bucket, namespace] = parts(r, "tableBucketARN|namespace", cx)?;
    cx.aws.s3tables().delete_namespace().table_bucket_arn(bucket).namespace(namespace).send().await?;
    Ok(Step::DELETED)
}

/// A bare table ARN does not say the namespace: the table is asked for it.
async fn table(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = r.physical_id.as_str();
    let (bucket, namespace, name) = if id.starts_with("arn:") && !id.contains('|') {
        let malformed = || StepError::malformed_id("tableBucketARN|namespace|name, or a table's ARN");
        let (bucket, _) = id.split_once("/table/").ok_or_else(malformed)?;
        same_region(id, cx)?;
        let found = cx.aws.s3tables().get_table().table_arn(id).send().await?;
        let namespace = found.namespace().first().cloned().ok_or_else(malformed)?;
        (bucket, namespace, found.name)
    } else {
        let [bucket, namespace, name] = parts(r, "tableBucketARN|namespace|name", cx)?;
        (bucket, namespace.to_owned(), name.to_owned())
    };
    cx.fence.check().await?;
    cx.aws.s3tables().delete_table().table_bucket_arn(bucket).namespace(namespace).name(name).send().await?;
    Ok(Step::DELETED)
}

/// Tables, namespaces, bucket; each step starts at the beginning of the listing.
async fn table_bucket(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let [bucket] = parts(r, "a table bucket's ARN", cx)?;
    let mut pages = cx.aws.s3tables().list_namespaces().table_bucket_arn(bucket).into_paginator().items().send();
    while let Some(found) = pages.try_next().await? {
        // The reply holds a namespace as a list whose first element is its name.
        let Some(namespace) = found.namespace().first() else { continue };
        if !empty(bucket, namespace, cx).await? {
            return Ok(Step::pending(Duration::ZERO, "deleting the bucket's tables"));
        }
        cx.fence.check().await?;
        let delete = cx.aws.s3tables().delete_namespace().table_bucket_arn(bucket).namespace(namespace);
        delete.send().await.ignore(GONE)?;
    }
    cx.fence.check().await?;
    cx.aws.s3tables().delete_table_bucket().table_bucket_arn(bucket).send().await?;
    Ok(Step::DELETED)
}

/// Deletes the tables of a namespace, and answers whether time was left for all of them.
async fn empty(bucket: &str, namespace: &str, cx: &Cx<'_>) -> Result<bool, StepError> {
    let mut pages = cx.aws.s3tables().list_tables().table_bucket_arn(bucket).namespace(namespace).into_paginator().items().send();
    while let Some(table) = pages.next().await {
        // The namespace may have gone meanwhile; that is not the bucket's not-found.
        let Some(table) = table.ignore(GONE)? else { break };
        if table.namespace().first().map(String::as_str) != Some(namespace) {
            continue;
        }
        if !cx.has_time() {
            return Ok(false);
        }
        cx.fence.check().await?;
        let delete = cx.aws.s3tables().delete_table().table_bucket_arn(bucket).namespace(namespace).name(table.name());
        delete.send().await.ignore(GONE)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
