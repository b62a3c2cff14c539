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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::replay::{Answer, Replay, answer};
    use crate::{MemoryBucket, S3Bucket, VirtualClock};

    const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
    const ROWS: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <Version><Key>k</Key><VersionId>v3</VersionId><IsLatest>true</IsLatest></Version>\
        <Version><Key>k</Key><VersionId>v2</VersionId><IsLatest>false</IsLatest></Version>\
        <Version><Key>k.bak</Key><VersionId>w1</VersionId><IsLatest>false</IsLatest></Version>\
        <DeleteMarker><Key>k</Key><VersionId>v1</VersionId><IsLatest>false</IsLatest></DeleteMarker></ListVersionsResult>";

    async fn purged(answers: impl IntoIterator<Item = Answer>) -> (Option<String>, Replay) {
        let replay = Replay::new(answers);
        let bucket = S3Bucket::new(&replay.config(), "b", "123456789012");
        (purge(&bucket, "k").await, replay)
    }

    // Keep only rows whose key equals the key exactly and that are not the latest; both versions and markers.
    #[tokio::test(start_paused = true)]
    async fn noncurrent_versions_and_markers_of_exactly_this_key_go() {
        let (warning, replay) = purged([answer(200, ROWS), answer(200, "<DeleteResult/>")]).await;
        assert_eq!(warning, None);
        let body = &replay.sent()[1].body;
        assert!(body.contains("v2") && body.contains("v1"), "{body}");
        assert!(!body.contains("v3") && !body.contains("w1"), "{body}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_delete_in_a_versioned_bucket_leaves_only_its_marker() {
        let bucket = MemoryBucket::versioned("b", Arc::new(VirtualClock::starting_at(0)));
        bucket.raw_put("k", "secret");
        bucket.raw_delete("k");
        assert_eq!(purge(&bucket, "k").await, None);
        assert_eq!(bucket.versions("k").await.unwrap().len(), 1);
        assert_eq!(purge(&bucket, "never there").await, None);
    }

    // Purging never throws; missing rights degrade to one warning.
    #[tokio::test(start_paused = true)]
    async fn missing_rights_are_one_warning_that_names_the_key() {
        const REFUSED: &str =
            "<DeleteResult><Error><Key>k</Key><VersionId>v2</VersionId><Code>AccessDenied</Code></Error></DeleteResult>";
        const BROKEN: &str = "<ListVersionsResult><IsTruncated>true</IsTruncated></ListVersionsResult>";
        for (answers, says) in [
            (vec![answer(403, DENIED)], "ListObjectVersions"),
            (vec![answer(200, ROWS), answer(403, DENIED)], "DeleteObjects"),
            (vec![answer(200, ROWS), answer(200, REFUSED)], "1 of 2"),
            (vec![answer(200, BROKEN)], "ListObjectVersions"),
        ] {
            let (warning, replay) = purged(answers).await;
            let warning = warning.unwrap();
            assert!(warning.contains("old versions of k stay") && warning.contains(says), "{warning}");
            assert!(replay.is_used_up());
        }
    }
}
