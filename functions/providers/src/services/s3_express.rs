//! S3 Express One Zone: directory buckets, under the same data guard as any bucket. Their name carries their zone, from
//! which the SDK takes the endpoint.

use ebb_core::Resource;

use super::s3::emptying::{self, Bucket};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::S3Express::DirectoryBucket",
    step: |r, cx| Box::pin(emptying::delete(directory(r), r, cx)),
    look: Some(|r, cx| Box::pin(emptying::look(directory(r), r, cx))),
    // A session carries the rights on objects and uploads.
    actions: &["s3express:CreateSession", "s3express:DeleteBucket"],
    rules: Rules {
        gone: &["NoSuchBucket", "BucketNotFound"],
        retry: &[retry("OperationAborted", 5, 60), retry("SlowDown", 2, 120), retry("InternalError", 2, 60)],
        ..Rules::NONE
    },
}];

fn directory(r: &Resource) -> Bucket<'_> {
    Bucket { name: &r.physical_id, directory: true }
}

#[cfg(test)]
mod tests;
