//! The region's exports index: a view that cdkd keeps of what stacks export. A clean end takes the stack's entries out
//! and leaves every other byte of meaning as it was. It never decides anything, and a failure is only a warning.

use std::time::Duration;

use ebb_core::{Clock, Millis, StackKey, text};
use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::bucket::{Bucket, BucketErrorKind, Put, When};

/// How often a concurrent writer may get in the way.
const TRIES: u32 = 5;
/// Waits between the tries double from the first to the second.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// The newest index version that is understood.
const INDEX_VERSION: f64 = 1.0;

/// Values as they were written: numbers keep their digits, members we do not know stay.
type Members = IndexMap<String, Box<RawValue>>;

/// Removes what `key`'s stack exports from its region's index. Answers warnings.
pub async fn remove_exports(bucket: &dyn Bucket, key: &StackKey, clock: &dyn Clock) -> Vec<String> {
    let index = key.exports_index();
    let warn = |what: &str| vec![text::display(&format!("the exports index {index} keeps its entries: {what}"))];
    let mut wait = WAITS.0;
    for attempt in 1..=TRIES {
        let object = match bucket.get(&index).await {
            Ok(Some(object)) => object,
            // cdkd makes it anew from the states when it needs it.
            Ok(None) => return Vec::new(),
            Err(error) => return warn(&error.to_string()),
        };
        let body = match without_stack(&object.body, key, clock.now()) {
            Ok(Some(body)) => body,
            Ok(None) => return Vec::new(),
            Err(why) => return warn(&why),
        };
        match bucket.put(&index, Put::json(body), When::Unchanged(object.etag)).await {
            Ok(_) => return Vec::new(),
            // Deleted meanwhile: the next read finds it gone.
            Err(error) if is_race(error.kind) => {
                if attempt < TRIES {
                    clock.sleep(wait).await;
                    wait = (wait * 2).min(WAITS.1);
                }
            }
            Err(error) => return warn(&error.to_string()),
        }
    }
    warn(&format!("others wrote it {TRIES} times meanwhile"))
}

fn is_race(kind: BucketErrorKind) -> bool {
    matches!(kind, BucketErrorKind::Precondition | BucketErrorKind::Conflict | BucketErrorKind::NotFound)
}

/// The index without the stack's entries; `None` when it has none. An error says why the index must not be touched.
fn without_stack(body: &[u8], key: &StackKey, now: Millis) -> Result<Option<Vec<u8>>, String> {
    // A syntax error's text has a position, never a value.
    let mut index: Members = serde_json::from_slice(body)
        .map_err(|error| if error.is_data() { "it is not an object".to_owned() } else { format!("it is not JSON ({error})") })?;
    let version = index.get("indexVersion").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    match version.as_ref().map(|version| version.as_f64().ok_or(version)) {
        Some(Ok(version)) if version <= INDEX_VERSION => {}
        Some(Ok(_)) => return Err("its indexVersion is newer than this release knows".to_owned()),
        Some(Err(other)) => return Err(format!("its indexVersion is {}, not a number", text::kind(other))),
        None => return Err("it has no indexVersion".to_owned()),
    }
    let exports = index.get("exports").ok_or("it has no exports")?;
    let mut exports: Members = serde_json::from_str(exports.get()).map_err(|_| "its exports are not an object".to_owned())?;
    let before = exports.len();
    exports.retain(|_, entry| !is_of(entry, key));
    if exports.len() == before {
        return Ok(None);
    }
    let raw = |error: serde_json::Error| error.to_string();
    index.insert("exports".to_owned(), RawValue::from_string(pretty(&exports, "  ")?).map_err(raw)?);
    index.insert("lastModified".to_owned(), to_raw_value(&now).map_err(raw)?);
    pretty(&index, "").map(|text| Some(text.into_bytes()))
}

/// Whether an entry is the stack's. One that is not an object is nobody's and stays.
fn is_of(entry: &RawValue, key: &StackKey) -> bool {
    let Ok(Value::Object(entry)) = serde_json::from_str(entry.get()) else {
        return false;
    };
    let is = |member: &str, value: &str| entry.get(member).and_then(Value::as_str) == Some(value);
    is("producerStack", &key.stack) && is("producerRegion", &key.region)
}

/// Members with two spaces of indentation, as cdkd writes. Only our own line breaks are indented: what stands inside a
/// value keeps the indentation that it came with.
fn pretty(members: &Members, indent: &str) -> Result<String, String> {
    let mut lines = Vec::with_capacity(members.len());
    for (name, value) in members {
        let name = serde_json::to_string(name).map_err(|error| error.to_string())?;
        lines.push(format!("\n{indent}  {name}: {}", value.get()));
    }
    let end = if lines.is_empty() { String::new() } else { format!("\n{indent}") };
    Ok(format!("{{{}{end}}}", lines.join(",")))
}

#[cfg(test)]
mod tests;
