//! cdkd's deployment events, so that `cdkd events` shows our runs: one stream of JSON lines per run, and an index of the
//! newest runs. Written once, at the end; everything here is best effort and answers warnings, never an error.

mod event;
mod index;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ebb_core::{Millis, StackKey, text};

use crate::bucket::{Bucket, BucketError, Put, When};
use crate::versions::purge;
pub use event::{Counts, Event, EventError, EventType, RunResult};

/// What stands in `cdkdVersion`.
pub const VERSION: &str = concat!("ebb/", env!("CARGO_PKG_VERSION"));

/// A run as its event stream and the index tell it.
#[derive(Clone, Debug)]
pub struct RunEvents {
    /// The run's id, which names the stream.
    pub run_id: String,
    /// When the run started.
    pub started_at: Millis,
    /// When it ended; also the index's `lastModified`.
    pub finished_at: Millis,
    /// How it ended.
    pub result: RunResult,
    /// Everything that happened, in order.
    pub events: Vec<Event>,
}

/// Writes the stream of `run`, then the index, then removes the streams that fell out of the index. Writing the same
/// run again replaces it. Answers warnings.
pub async fn write_run(bucket: &dyn Bucket, key: &StackKey, run: &RunEvents) -> Vec<String> {
    if run.events.is_empty() {
        return Vec::new();
    }
    // The index never names a stream that is not there.
    let mut warnings = match write_stream(bucket, key, &run.run_id, &run.events).await {
        Ok(()) => Vec::new(),
        Err(warning) => return vec![warning],
    };
    match index::add(bucket, key, run).await {
        Ok(Some(oldest_kept)) => warnings.extend(prune(bucket, key, &oldest_kept).await),
        Ok(None) => {}
        Err(warning) => warnings.push(warning),
    }
    warnings
}

/// Writes the stream of a run, which may still go on: it is always the whole file. The error is a warning.
pub async fn write_stream(bucket: &dyn Bucket, key: &StackKey, run_id: &str, events: &[Event]) -> Result<(), String> {
    let stream = key.events(run_id);
    let mut body = Vec::new();
    for event in events {
        serde_json::to_writer(&mut body, event).map_err(|error| format!("{stream} was not written: {error}"))?;
        body.push(b'\n');
    }
    let put = Put { body: body.into(), content_type: "application/x-ndjson", metadata: BTreeMap::new() };
    let written = bucket.put(&stream, put, When::Always).await;
    written.map(drop).map_err(|error| warning("the run's events were not written", &error))
}

/// Removes all of the stack's deployment events, old versions too. Only after a clean end that asked for it.
pub async fn purge_events(bucket: &dyn Bucket, key: &StackKey) -> Vec<String> {
    remove(bucket, &key.deployments(), |_| true).await
}

/// Removes the streams of runs older than the oldest that the index keeps.
async fn prune(bucket: &dyn Bucket, key: &StackKey, oldest_kept: &str) -> Vec<String> {
    let folder = key.deployments();
    let is_older = |name: &str| name.strip_suffix(".jsonl").is_some_and(|id| is_run_id(id) && id < oldest_kept);
    remove(bucket, &folder, is_older).await
}

/// Removes objects of a folder by name, and their old versions.
async fn remove(bucket: &dyn Bucket, folder: &str, which: impl Fn(&str) -> bool) -> Vec<String> {
    let mut keys = Vec::new();
    let mut next: Option<String> = None;
    loop {
        match bucket.list(folder, next.as_deref(), 1000).await {
            Ok(page) => {
                keys.extend(page.keys.into_iter().filter(|key| key.strip_prefix(folder).is_some_and(&which)));
                next = page.next;
            }
            Err(error) => return vec![warning("old deployment events stay", &error)],
        }
        if next.is_none() {
            break;
        }
    }
    let mut warnings = Vec::new();
    for key in keys {
        match bucket.delete(&key, When::Always).await {
            Ok(()) => warnings.extend(purge(bucket, &key).await),
            Err(error) => warnings.push(warning("old deployment events stay", &error)),
        }
    }
    warnings
}

/// cdkd's form of a run id, which sorts by time. Streams named otherwise are not judged by age.
fn is_run_id(id: &str) -> bool {
    let form = |text: &str, mask: &str| {
        text.len() == mask.len()
            && text.bytes().zip(mask.bytes()).all(|(c, m)| if m == b'0' { c.is_ascii_digit() } else { c == m })
    };
    let hex = |text: &str| text.len() == 8 && text.bytes().all(|c| c.is_ascii_hexdigit());
    id.split_once('-').is_some_and(|(instant, suffix)| form(instant, "00000000T000000000Z") && hex(suffix))
}

fn warning(what: &str, error: &BucketError) -> String {
    text::display(&format!("{what}: {error}"))
}
