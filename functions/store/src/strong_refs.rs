//! Who imports from a stack. A producer is never deleted under its consumers, and only their state files tell: the
//! exports index is a view. Stacks of a schema before 4 record no imports and cannot be seen.

use ebb_core::{Refusal, StackKey, importers, text};
use serde_json::Value;

use crate::at_once::at_once;
use crate::bucket::{Bucket, BucketError};
use crate::stacks::{ListedStack, list_stacks};

/// One import of an export of the stack. Texts are display-safe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Consumer {
    /// The stack that imports.
    pub stack: String,
    /// Its region; empty when it is not known.
    pub region: String,
    /// The export's name.
    pub export: String,
}

/// What a scan found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consumers {
    /// Everyone who imports, in order.
    pub consumers: Vec<Consumer>,
    /// States that do not say what they import, which cdkd passes over: their stacks may import too.
    pub warnings: Vec<String>,
}

/// Finds the other stacks that import from `key`'s stack. A listing or a state that the bucket does not give out is a
/// refusal, never "nobody".
pub async fn find_consumers(bucket: &dyn Bucket, key: &StackKey) -> Result<Consumers, Refusal> {
    let stack = text::display(&key.stack);
    let listed = list_stacks(bucket, &key.prefix).await.map_err(|error| {
        let message = format!("whether others import from {stack} could not be read: {error}");
        Refusal::new(error.refusal().ending, message)
    })?;
    let scans = listed.into_iter().filter(|listed| !is_self(listed, key)).map(|listed| async move {
        // Gone since it was listed: it imports nothing any more.
        let Some(object) = bucket.get(&listed.key).await? else { return Ok((listed, Ok(Vec::new()))) };
        let found = imports(&object.body, &listed, key);
        Ok::<_, BucketError>((listed, found))
    });
    let mut found = Consumers::default();
    for scan in at_once(scans).await {
        let (listed, scan) =
            scan.map_err(|error| importers::not_known(&format!("others import from {stack}"), &error.refusal()))?;
        match scan {
            Ok(consumers) => found.consumers.extend(consumers),
            Err(why) => {
                let warning = format!("{} could not be read, so whether it imports is not known: {why}", listed.key);
                found.warnings.push(text::display(&warning));
            }
        }
    }
    found.consumers.sort();
    found.consumers.dedup();
    Ok(found)
}

/// The stack's own state, of the old layout too when it belongs to the region.
fn is_self(listed: &ListedStack, key: &StackKey) -> bool {
    listed.stack == key.stack && listed.region.as_ref().is_none_or(|region| *region == key.region)
}

/// What a listed state imports, or why it does not say so.
fn imports(state: &[u8], listed: &ListedStack, from: &StackKey) -> Result<Vec<Consumer>, &'static str> {
    let state: Value = serde_json::from_slice(state).map_err(|_| "it is not JSON")?;
    let state = state.as_object().ok_or("it is not an object")?;
    // Absent before schema 4 and after a partial teardown.
    let Some(imports) = state.get("imports").and_then(Value::as_array) else {
        return Ok(Vec::new());
    };
    let member = |import: &Value, name: &str| import.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut consumers = Vec::new();
    for import in imports.iter().filter(|import| member(import, "sourceStack").as_deref() == Some(&from.stack)) {
        let region = member(import, "sourceRegion").ok_or("an import from this stack names no region")?;
        if same_region(&region, &from.region) {
            consumers.push(Consumer {
                stack: text::display(&listed.stack),
                region: text::display(listed.region.as_deref().unwrap_or_default()),
                export: text::display_value(import.get("exportName")),
            });
        }
    }
    Ok(consumers)
}

/// Regions of imports are compared without case and space around them; identities never are.
fn same_region(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ebb_core::Ending;

    use super::*;
    use crate::replay::{Answer, Replay, answer};
    use crate::{MemoryBucket, S3Bucket, VirtualClock};

    fn key() -> StackKey {
        StackKey::new("cdkd", "Network", "us-east-1")
    }

    fn importing(stack: &str, region: &str, export: &str) -> String {
        format!(
            r#"{{"version": 9, "imports": [{{"sourceStack": "{stack}", "sourceRegion": "{region}", "exportName": "{export}"}}]}}"#
        )
    }

    async fn scan(objects: &[(&str, String)]) -> Consumers {
        let bucket = MemoryBucket::plain("b", Arc::new(VirtualClock::starting_at(0)));
        for (key, body) in objects {
            bucket.raw_put(key, body.clone());
        }
        find_consumers(&bucket, &key()).await.unwrap()
    }

    fn names(found: &Consumers) -> Vec<(&str, &str, &str)> {
        found.consumers.iter().map(|c| (c.stack.as_str(), c.region.as_str(), c.export.as_str())).collect()
    }

    // Cases 343 and 348: another stack's import refuses, and the refusal lists stack, region and export name.
    #[tokio::test(start_paused = true)]
    async fn every_import_from_this_stack_and_region_counts() {
        let found = scan(&[
            ("cdkd/Network/us-east-1/state.json", importing("Network", "us-east-1", "Own")),
            ("cdkd/Web/us-east-1/state.json", importing("Network", "us-east-1", "VpcId")),
            ("cdkd/Api/eu-west-1/state.json", importing("Network", "us-east-1", "SubnetId")),
            ("cdkd/Web/us-west-2/state.json", importing("Network", "us-west-2", "VpcId")),
            ("cdkd/Db/us-east-1/state.json", importing("network", "us-east-1", "VpcId")),
            ("cdkd/Old/state.json", importing("Network", "us-east-1", "VpcId")),
            ("cdkd/Plain/us-east-1/state.json", r#"{"version": 3}"#.into()),
            (
                "cdkd/Weak/us-east-1/state.json",
                r#"{"outputReads": [{"sourceStack": "Network", "sourceRegion": "us-east-1"}]}"#.into(),
            ),
            ("cdkd/Strange/us-east-1/state.json", r#"{"imports": {"sourceStack": "Network"}}"#.into()),
        ])
        .await;
        assert_eq!(names(&found), [("Api", "eu-west-1", "SubnetId"), ("Old", "", "VpcId"), ("Web", "us-east-1", "VpcId")]);
        assert_eq!(found.warnings, Vec::<String>::new());
    }

    // Case 3746: the text of an import's region may differ in case and in space around it.
    #[tokio::test(start_paused = true)]
    async fn regions_of_imports_are_normalised() {
        let found = scan(&[("cdkd/Web/us-east-1/state.json", importing("Network", "US-EAST-1 ", "VpcId"))]).await;
        assert_eq!(names(&found), [("Web", "us-east-1", "VpcId")]);
    }

    // Self is skipped by name and region: the same name in another region is another stack.
    #[tokio::test(start_paused = true)]
    async fn the_same_name_elsewhere_is_another_stack() {
        let found = scan(&[
            ("cdkd/Network/eu-west-1/state.json", importing("Network", "us-east-1", "VpcId")),
            ("cdkd/Network/state.json", importing("Network", "us-east-1", "Own")),
        ])
        .await;
        assert_eq!(names(&found), [("Network", "eu-west-1", "VpcId")]);
    }

    // Consumers whose state is none are skipped with a warning (cdkd).
    #[tokio::test(start_paused = true)]
    async fn a_state_that_is_none_is_a_warning() {
        let found = scan(&[
            ("cdkd/A/us-east-1/state.json", "hunter2 {".into()),
            ("cdkd/B/us-east-1/state.json", "[]".into()),
            ("cdkd/C/us-east-1/state.json", r#"{"imports": [{"sourceStack": "Network", "exportName": "VpcId"}]}"#.into()),
            ("cdkd/D/us-east-1/state.json", r#"{"imports": [7, {"sourceStack": 7}]}"#.into()),
            ("cdkd/E/us-east-1/state.json", importing("Network", "us-east-1", "VpcId")),
        ])
        .await;
        assert_eq!(names(&found), [("E", "us-east-1", "VpcId")]);
        assert_eq!(found.warnings.len(), 3, "{:?}", found.warnings);
        for (warning, key) in found.warnings.iter().zip(["cdkd/A/", "cdkd/B/", "cdkd/C/"]) {
            assert!(warning.starts_with(key) && !warning.contains("hunter2"), "{warning}");
        }
    }

    // What the bucket does not give out must never read as "nobody imports", be it the listing or one state.
    #[tokio::test(start_paused = true)]
    async fn a_denied_listing_and_a_denied_or_busy_state_refuse() {
        const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
        const BUSY: &str = "<Error><Code>SlowDown</Code></Error>";
        const PAGE: &str = "<ListBucketResult><Contents><Key>cdkd/A/us-east-1/state.json</Key></Contents></ListBucketResult>";
        let s3 = |answers: Vec<Answer>| S3Bucket::new(&Replay::new(answers).config(), "b", "123456789012");
        let refused = async |answers: Vec<Answer>| find_consumers(&s3(answers), &key()).await.unwrap_err();
        let listing = refused(vec![answer(403, DENIED)]).await;
        assert_eq!(listing.ending, Ending::AccessDenied);
        assert!(listing.message.starts_with("whether others import from Network could not be read: "), "{listing}");

        let denied = refused(vec![answer(200, PAGE), answer(403, DENIED)]).await;
        assert_eq!(denied.ending, Ending::AccessDenied);
        let said = "whether others import from Network is not known, for a state could not be read (grant s3:GetObject on it \
                    and, for SSE-KMS, kms:Decrypt): GetObject of cdkd/A/us-east-1/state.json: ";
        assert!(denied.message.starts_with(said), "{denied}");
        let busy = refused([answer(200, PAGE)].into_iter().chain((0..3).map(|_| answer(503, BUSY))).collect()).await;
        assert_eq!(busy.ending, Ending::Error);
        assert!(busy.message.contains("(try again): GetObject of cdkd/A/us-east-1/state.json: "), "{busy}");
        // Gone since it was listed.
        let gone = answer(404, "<Error><Code>NoSuchKey</Code></Error>");
        let found = find_consumers(&s3(vec![answer(200, PAGE), gone]), &key()).await.unwrap();
        assert_eq!(found, Consumers::default());
    }

    #[tokio::test(start_paused = true)]
    async fn names_are_display_safe() {
        let found = scan(&[("cdkd/Web/us-east-1/state.json", importing("Network", "us-east-1", "Vpc\\u001b[2JId"))]).await;
        assert_eq!(names(&found), [("Web", "us-east-1", "Vpc [2JId")]);
        let odd = r#"{"imports": [{"sourceStack": "Network", "sourceRegion": "us-east-1", "exportName": {"x": 1}}]}"#;
        let found = scan(&[("cdkd/Web/us-east-1/state.json", odd.into())]).await;
        assert_eq!(names(&found), [("Web", "us-east-1", "an object")]);
    }
}
