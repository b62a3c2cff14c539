//! Which stacks a bucket holds under a prefix. cdkd has no list of them: a stack is a key that ends in `state.json`,
//! in the layout with regions or in the one before it, whose body tells the region.

use std::collections::HashSet;

use ebb_core::keys::{StateKey, parse_state_key};
use ebb_core::{StackKey, StackRef};
use serde_json::Value;

use crate::at_once::at_once;
use crate::bucket::{Bucket, BucketError};

const PAGE: usize = 1000;

/// A stack that has state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedStack {
    /// Its name.
    pub stack: String,
    /// Its region; `None` for a state of the old layout that names none, or that cannot be read.
    pub region: Option<String>,
    /// Where its state is.
    pub key: String,
    /// Whether that is the layout before regions.
    pub legacy: bool,
}

/// The stacks under `prefix`, by name and region. A state of the old layout is left out when the stack has one of the
/// new layout in the same region, which wins.
pub async fn list_stacks(bucket: &dyn Bucket, prefix: &str) -> Result<Vec<ListedStack>, BucketError> {
    let keys = keys_under(bucket, &format!("{prefix}/")).await?;
    stacks_of(bucket, prefix, keys, |_| true).await
}

/// The same for one stack: its regions.
pub async fn regions_of(bucket: &dyn Bucket, prefix: &str, stack: &str) -> Result<Vec<ListedStack>, BucketError> {
    // The old layout's key lies in the same folder.
    let keys = keys_under(bucket, &format!("{prefix}/{stack}/")).await?;
    stacks_of(bucket, prefix, keys, |name| name == stack).await
}

/// Every key under `prefix`.
pub(crate) async fn keys_under(bucket: &dyn Bucket, prefix: &str) -> Result<Vec<String>, BucketError> {
    let mut keys = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let page = bucket.list(prefix, next.as_deref(), PAGE).await?;
        keys.extend(page.keys);
        next = page.next;
        if next.is_none() {
            return Ok(keys);
        }
    }
}

async fn stacks_of(
    bucket: &dyn Bucket,
    prefix: &str,
    keys: Vec<String>,
    which: impl Fn(&str) -> bool,
) -> Result<Vec<ListedStack>, BucketError> {
    let mut stacks = Vec::new();
    let mut legacy = Vec::new();
    for key in keys {
        match parse_state_key(prefix, &key) {
            Some(StateKey::Regional(StackRef { stack, region })) if which(&stack) => {
                stacks.push(ListedStack { stack, region: Some(region), key, legacy: false });
            }
            Some(StateKey::Legacy(stack)) if which(&stack) => legacy.push(stack),
            _ => {}
        }
    }
    let with_region: HashSet<(String, String)> =
        stacks.iter().filter_map(|listed| Some((listed.stack.clone(), listed.region.clone()?))).collect();
    let read = legacy.into_iter().map(|stack| async move {
        let key = StackKey::new(prefix, &stack, "").legacy_state();
        let region = legacy_region(bucket, &key).await;
        ListedStack { stack, region, key, legacy: true }
    });
    let read = at_once(read).await;
    stacks.extend(read.into_iter().filter(|listed| match &listed.region {
        Some(region) => !with_region.contains(&(listed.stack.clone(), region.clone())),
        None => true,
    }));
    stacks.sort_by(|a, b| (&a.stack, &a.region, &a.key).cmp(&(&b.stack, &b.region, &b.key)));
    Ok(stacks)
}

/// The region that a state of the old layout names.
async fn legacy_region(bucket: &dyn Bucket, key: &str) -> Option<String> {
    let object = bucket.get(key).await.ok()??;
    let body: Value = serde_json::from_slice(&object.body).ok()?;
    body.get("region").and_then(Value::as_str).filter(|region| !region.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{MemoryBucket, VirtualClock};

    fn bucket(objects: &[(&str, &'static str)]) -> MemoryBucket {
        let bucket = MemoryBucket::plain("b", Arc::new(VirtualClock::starting_at(0)));
        for (key, body) in objects {
            bucket.raw_put(key, *body);
        }
        bucket
    }

    fn shown(stacks: &[ListedStack]) -> Vec<(&str, Option<&str>, bool)> {
        stacks.iter().map(|s| (s.stack.as_str(), s.region.as_deref(), s.legacy)).collect()
    }

    // Keys whose last segment is state.json, in two layouts; everything else is ignored.
    #[tokio::test(start_paused = true)]
    async fn only_states_are_stacks() {
        let bucket = bucket(&[
            ("cdkd/A/us-east-1/state.json", "{}"),
            ("cdkd/A/us-east-1/lock.json", "{}"),
            ("cdkd/A/eu-west-1/state.json", "not read"),
            ("cdkd/A/us-east-1/deployments/state.json", "{}"),
            ("cdkd/A~Child/us-east-1/state.json", "{}"),
            ("cdkd/_index/us-east-1/exports.json", "{}"),
            ("cdkd/_index/us-east-1/state.json", "{}"),
            ("cdkd/state.json", "{}"),
            ("cdkd2/B/us-east-1/state.json", "{}"),
        ]);
        let stacks = list_stacks(&bucket, "cdkd").await.unwrap();
        assert_eq!(
            shown(&stacks),
            [("A", Some("eu-west-1"), false), ("A", Some("us-east-1"), false), ("A~Child", Some("us-east-1"), false)]
        );
        assert_eq!(stacks[0].key, "cdkd/A/eu-west-1/state.json");
    }

    // Legacy: region = the body's; unreadable or absent = unknown. Both layouts of one pair: the one with regions wins.
    #[tokio::test(start_paused = true)]
    async fn the_old_layout_names_its_region_in_the_body() {
        let bucket = bucket(&[
            ("cdkd/A/state.json", r#"{"region": "us-east-1"}"#),
            ("cdkd/A/us-east-1/state.json", "{}"),
            ("cdkd/B/state.json", r#"{"region": "eu-west-1"}"#),
            ("cdkd/B/us-east-1/state.json", "{}"),
            ("cdkd/C/state.json", r#"{"region": ""}"#),
            ("cdkd/D/state.json", "not JSON"),
            ("cdkd/E/state.json", r#"{"region": 7}"#),
        ]);
        assert_eq!(
            shown(&list_stacks(&bucket, "cdkd").await.unwrap()),
            [
                ("A", Some("us-east-1"), false),
                ("B", Some("eu-west-1"), true),
                ("B", Some("us-east-1"), false),
                ("C", None, true),
                ("D", None, true),
                ("E", None, true),
            ]
        );
    }

    // A stack and region with the same letters are still two different pairs.
    #[tokio::test(start_paused = true)]
    async fn pairs_are_compared_as_pairs() {
        let bucket =
            bucket(&[("p/a/b-c/state.json", "{}"), ("p/a-b/c/state.json", "{}"), ("p/a-b/state.json", r#"{"region": "b-c"}"#)]);
        assert_eq!(list_stacks(&bucket, "p").await.unwrap().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_prefix_has_keys_with_a_leading_slash() {
        let bucket = bucket(&[("/A/us-east-1/state.json", "{}"), ("A/us-east-1/state.json", "{}")]);
        let stacks = list_stacks(&bucket, "").await.unwrap();
        assert_eq!(stacks.iter().map(|s| s.key.as_str()).collect::<Vec<_>>(), ["/A/us-east-1/state.json"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_regions_of_one_stack_and_of_no_other() {
        let bucket = bucket(&[
            ("cdkd/A/us-east-1/state.json", "{}"),
            ("cdkd/A/state.json", r#"{"region": "eu-west-1"}"#),
            ("cdkd/A~B/us-west-2/state.json", "{}"),
            ("cdkd/AA/us-west-2/state.json", "{}"),
        ]);
        let stacks = regions_of(&bucket, "cdkd", "A").await.unwrap();
        assert_eq!(shown(&stacks), [("A", Some("eu-west-1"), true), ("A", Some("us-east-1"), false)]);
        assert_eq!(regions_of(&bucket, "cdkd", "Gone").await.unwrap(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn more_stacks_than_a_page_holds_are_all_listed() {
        let bucket = bucket(&[]);
        for n in 0..1500 {
            bucket.raw_put(&format!("cdkd/S{n}/us-east-1/state.json"), "{}");
        }
        assert_eq!(list_stacks(&bucket, "cdkd").await.unwrap().len(), 1500);
    }
}
