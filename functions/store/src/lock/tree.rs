//! Which stacks belong to a run: its own and those nested in it, by their names.

use std::collections::BTreeMap;

use ebb_core::keys::{StateKey, parse_state_key};
use ebb_core::{Run, StackKey};

use crate::bucket::{Bucket, BucketError, BucketErrorKind};

/// Keys of a page.
const PAGE: usize = 1000;

/// The run's stack and every stack nested in it that has state in the run's region, in the order of their locks' keys
/// (a parent before its children).
pub async fn tree(bucket: &dyn Bucket, run: &Run) -> Result<Vec<StackKey>, BucketError> {
    nested(bucket, run, &["state.json"]).await
}

/// As [`tree`], and also those whose state is gone while their lock is still there: what a run renews, closes and
/// releases.
pub async fn locks(bucket: &dyn Bucket, run: &Run) -> Result<Vec<StackKey>, BucketError> {
    nested(bucket, run, &["state.json", "lock.json"]).await
}

async fn nested(bucket: &dyn Bucket, run: &Run, names: &[&str]) -> Result<Vec<StackKey>, BucketError> {
    let root = run.key();
    let mut found = BTreeMap::from([(root.lock(), root.clone())]);
    let prefix = format!("{}/{}~", run.prefix, run.stack);
    let mut next: Option<String> = None;
    loop {
        let page = bucket.list(&prefix, next.as_deref(), PAGE).await?;
        for key in &page.keys {
            let Some(folder) = names.iter().find_map(|name| key.strip_suffix(name)) else { continue };
            match parse_state_key(&run.prefix, &format!("{folder}state.json")) {
                Some(StateKey::Regional(stack)) if stack.region == run.region => {
                    let child = root.sibling(&stack.stack);
                    found.insert(child.lock(), child);
                }
                _ => {}
            }
        }
        match page.next {
            None => return Ok(found.into_values().collect()),
            // A listing that does not move on would never end.
            Some(token) if next.as_ref() == Some(&token) => {
                return Err(BucketError {
                    kind: BucketErrorKind::Other,
                    operation: "ListObjectsV2",
                    key: prefix,
                    code: "BrokenAnswer".into(),
                    message: "the same continuation token twice".into(),
                });
            }
            token => next = token,
        }
    }
}
