//! Removing the old bodies of one object for good. A versioned bucket keeps what a delete hides, so objects that may
//! hold secrets or are of no use to anyone are purged after they were deleted. The state's versions never are: they
//! are the user's way back.

use ebb_core::text;

use crate::bucket::{Bucket, Version};

/// Removes the noncurrent versions and delete markers of exactly `key`. Never fails: answers a warning, or nothing.
pub async fn purge(bucket: &dyn Bucket, key: &str) -> Option<String> {
    let warn = |what: String| Some(text::display(&format!("old versions of {key} stay: {what}")));
    let noncurrent: Vec<Version> = match bucket.versions(key).await {
        // The listing's prefix also matches longer keys; the bucket filters, and this is too costly to get wrong.
        Ok(versions) => versions.into_iter().filter(|version| version.key == key && !version.latest).collect(),
        Err(error) => return warn(error.to_string()),
    };
    if noncurrent.is_empty() {
        return None;
    }
    match bucket.delete_versions(&noncurrent).await {
        Ok(left) if left.is_empty() => None,
        Ok(left) => warn(format!("{} of {} were refused, s3:DeleteObjectVersion is needed", left.len(), noncurrent.len())),
        Err(error) => warn(error.to_string()),
    }
}
