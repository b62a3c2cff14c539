//! The index of a stack's event streams: the newest twenty runs. A view without a lock, the last writer wins; the
//! streams are the truth.

use ebb_core::{Millis, StackKey, text};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{RunEvents, RunResult, VERSION, warning};
use crate::bucket::{Bucket, Put, When};

/// So many runs the index keeps.
const MOST_RUNS: usize = 20;
const INDEX_VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    index_version: u32,
    stack_name: &'a str,
    region: &'a str,
    runs: Vec<Box<RawValue>>,
    last_modified: Millis,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    run_id: &'a str,
    command: &'static str,
    cdkd_version: &'static str,
    started_at: String,
    finished_at: String,
    result: RunResult,
    event_count: usize,
}

/// What is read of an index; entries of others stay as they were written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    #[serde(default)]
    index_version: Option<f64>,
    runs: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Id {
    run_id: String,
}

/// Puts `run` at the top of the index. Answers the oldest run's id when the index is full; the error is a warning.
pub(super) async fn add(bucket: &dyn Bucket, key: &StackKey, run: &RunEvents) -> Result<Option<String>, String> {
    let index = key.events_index();
    let body = match bucket.get(&index).await {
        Ok(object) => object.map(|object| object.body),
        // To write without having read would drop the runs of others.
        Err(error) => return Err(warning("the run is not in the index of events", &error)),
    };
    let mut runs: Vec<(String, Box<RawValue>)> = vec![(run.run_id.clone(), entry(run).map_err(|error| error.to_string())?)];
    match body.as_deref().map_or(Ok(Vec::new()), read) {
        Ok(others) => runs.extend(others.into_iter().filter(|(id, _)| *id != run.run_id)),
        Err(Unreadable::Newer) => {
            return Err(text::display(&format!("the run is not in {index}: its indexVersion is newer than this release knows")));
        }
        // A new one with our run: no guesses about what stood there.
        Err(Unreadable::Corrupt) => {}
    }
    runs.truncate(MOST_RUNS);
    let oldest = runs.iter().map(|(id, _)| id).min().cloned().filter(|_| runs.len() == MOST_RUNS);
    let file = Index {
        index_version: INDEX_VERSION,
        stack_name: &key.stack,
        region: &key.region,
        runs: runs.into_iter().map(|(_, raw)| raw).collect(),
        last_modified: run.finished_at,
    };
    let body = serde_json::to_vec_pretty(&file).map_err(|error| error.to_string())?;
    let written = bucket.put(&index, Put::json(body), When::Always).await;
    written.map(|_| oldest).map_err(|error| warning("the run is not in the index of events", &error))
}

enum Unreadable {
    Newer,
    Corrupt,
}

fn read(body: &[u8]) -> Result<Vec<(String, Box<RawValue>)>, Unreadable> {
    let index: Read = serde_json::from_slice(body).map_err(|_| Unreadable::Corrupt)?;
    if index.index_version.is_some_and(|version| version > f64::from(INDEX_VERSION)) {
        return Err(Unreadable::Newer);
    }
    let named = |raw: Box<RawValue>| serde_json::from_str::<Id>(raw.get()).map(|id| (id.run_id, raw));
    index.runs.into_iter().map(named).collect::<Result<_, _>>().map_err(|_| Unreadable::Corrupt)
}

/// Our entry, indented as it stands in the file.
fn entry(run: &RunEvents) -> Result<Box<RawValue>, serde_json::Error> {
    let entry = Entry {
        run_id: &run.run_id,
        command: "destroy",
        cdkd_version: VERSION,
        started_at: text::iso(run.started_at),
        finished_at: text::iso(run.finished_at),
        result: run.result,
        event_count: run.events.len(),
    };
    let raw = to_raw_value(&entry)?;
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(raw.get())?)?;
    RawValue::from_string(pretty.replace('\n', "\n    "))
}
