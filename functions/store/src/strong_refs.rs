//! Who imports from a stack. A producer is never deleted under its consumers, and only their state files tell: the
//! exports index is a view. Stacks of a schema before 4 record no imports and cannot be seen.

use ebb_core::state::Members;
use ebb_core::{Ending, Refusal, StackKey, importers, text};
use serde_json::Value;

use crate::at_once::at_once;
use crate::bucket::Bucket;
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
    let others = listed.into_iter().filter(|listed| !(listed.stack == key.stack && listed.region.as_ref() == Some(&key.region)));
    let scans = others.map(|listed| async move {
        let found = match bucket.get(&listed.key).await {
            // Gone since it was listed: it imports nothing any more.
            Ok(None) => Ok(Vec::new()),
            // One of the old layout that names no region is the stack's own.
            Ok(Some(_)) if listed.stack == key.stack && listed.region.is_none() => Ok(Vec::new()),
            Ok(Some(object)) => imports(&object.body, &listed, key),
            Err(error) => Err(Silence::NotKnown(error.refusal())),
        };
        (listed, found)
    });
    let mut found = Consumers::default();
    for (listed, scan) in at_once(scans).await {
        match scan {
            Ok(consumers) => found.consumers.extend(consumers),
            Err(Silence::NotKnown(why)) => return Err(importers::not_known(&format!("others import from {stack}"), &why)),
            Err(Silence::PassedOver(why)) => {
                let warning = format!("{} could not be read, so whether it imports is not known: {why}", listed.key);
                found.warnings.push(text::display(&warning));
            }
        }
    }
    found.consumers.sort();
    found.consumers.dedup();
    Ok(found)
}

/// Why a state does not say what it imports.
enum Silence {
    /// It is none that anybody could read: cdkd passes it over.
    PassedOver(&'static str),
    /// It was not given out, or somebody else may be able to read it.
    NotKnown(Refusal),
}

/// What a listed state imports. Read as `JSON.parse` reads what `TextDecoder` makes of it: the rest of a state may hold what
/// Rust takes for no text.
fn imports(state: &[u8], listed: &ListedStack, from: &StackKey) -> Result<Vec<Consumer>, Silence> {
    let state = String::from_utf8_lossy(state);
    let state = Members::parse(state.trim_start_matches('\u{feff}')).map_err(|_| Silence::PassedOver("it is no JSON object"))?;
    // Absent before schema 4 and after a partial teardown.
    let Some(imports) = state.get("imports") else { return Ok(Vec::new()) };
    let imports: Value = serde_json::from_str(imports.get()).map_err(|_| {
        Silence::NotKnown(Refusal::new(Ending::MalformedState, format!("{} holds `imports` that are not understood", listed.key)))
    })?;
    let Some(imports) = imports.as_array() else { return Ok(Vec::new()) };
    let member = |import: &Value, name: &str| import.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut consumers = Vec::new();
    for import in imports.iter().filter(|import| member(import, "sourceStack").as_deref() == Some(&from.stack)) {
        let region = member(import, "sourceRegion").ok_or(Silence::PassedOver("an import from this stack names no region"))?;
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

    // JavaScript reads what Rust does not take for text: half a surrogate pair, a byte order mark, any depth, bytes that are no
    // UTF-8. Whoever holds such a value imports all the same.
    #[tokio::test(start_paused = true)]
    async fn what_cdkd_can_read_counts_as_cdkd_reads_it() {
        let state = |note: &[u8]| {
            let mut body =
                br#"{"version": 9, "imports": [{"sourceStack": "Network", "sourceRegion": "us-east-1", "exportName": "VpcId"}],
                "resources": {"Row": {"properties": {"Note": "#
                    .to_vec();
            body.extend_from_slice(note);
            body.extend_from_slice(b"}}}}");
            body
        };
        let deep = [b"[".repeat(300), b"]".repeat(300)].concat();
        for body in [state(br#""\ud800""#), state(b"\"\xff\""), state(&deep), [b"\xef\xbb\xbf".as_slice(), &state(b"1")].concat()]
        {
            let bucket = MemoryBucket::plain("b", Arc::new(VirtualClock::starting_at(0)));
            bucket.raw_put("cdkd/Web/us-east-1/state.json", body);
            let found = find_consumers(&bucket, &key()).await.unwrap();
            assert_eq!((names(&found), found.warnings.len()), (vec![("Web", "us-east-1", "VpcId")], 0));
        }
        let bucket = MemoryBucket::plain("b", Arc::new(VirtualClock::starting_at(0)));
        bucket.raw_put("cdkd/Web/us-east-1/state.json", r#"{"imports": [{"sourceStack": "\ud800"}]}"#);
        let refusal = find_consumers(&bucket, &key()).await.unwrap_err();
        assert_eq!(refusal.ending, Ending::MalformedState);
        assert!(refusal.message.contains("(repair it): cdkd/Web/us-east-1/state.json holds `imports`"), "{refusal}");
    }

    // A record of the old layout is the stack's own only when it could be read and names no other region.
    #[tokio::test(start_paused = true)]
    async fn an_old_record_of_the_same_name_that_is_denied_may_be_another_regions() {
        const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
        const PAGE: &str = "<ListBucketResult><Contents><Key>cdkd/Network/state.json</Key></Contents></ListBucketResult>";
        let answers = vec![answer(200, PAGE), answer(403, DENIED), answer(403, DENIED)];
        let bucket = S3Bucket::new(&Replay::new(answers).config(), "b", "123456789012");
        assert_eq!(find_consumers(&bucket, &key()).await.unwrap_err().ending, Ending::AccessDenied);
        assert_eq!(
            scan(&[(
                "cdkd/Network/state.json",
                r#"{"imports": [{"sourceStack": "Network", "sourceRegion": "us-east-1"}]}"#.into()
            )])
            .await,
            Consumers::default()
        );
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
        assert!(
            busy.message.contains("(try again, or mend what is said of it): GetObject of cdkd/A/us-east-1/state.json: "),
            "{busy}"
        );
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
