//! The sweep's side of the planner. What it decides is `ebb_core::sweep`'s; here it is read and written.

mod ask;
mod choose;
mod sum_up;
mod wave;

pub(crate) use ask::{admit, ask};
pub(crate) use choose::choose;
pub(crate) use sum_up::sum_up;
pub(crate) use wave::wave;

use std::sync::Arc;

use ebb_core::sweep::{Found, Place, RECORD_VERSION, Sweep};
use ebb_core::{Ending, Refusal, Run};
use ebb_store::Bucket;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Deps;

/// The run as whom a sweep reads a stack of a place, or with an empty name its own objects there.
fn run_of(sweep: &Sweep, place: &Place, found: &Found, stack: &str, region: &str) -> Run {
    Run {
        run_id: sweep.sweep_id.clone(),
        execution: sweep.execution.clone(),
        owner: String::new(),
        timestamp: sweep.timestamp,
        account: found.account.clone(),
        bucket: found.bucket.clone(),
        bucket_region: found.bucket_region.clone(),
        prefix: place.prefix.clone(),
        stack: stack.to_owned(),
        region: region.to_owned(),
        target: place.target.clone(),
        dry_run: true,
        expected_last_modified: None,
        options: sweep.options.clone(),
    }
}

/// A place of the sweep, or a refusal.
fn place_of(sweep: &Sweep, place: usize) -> Result<&Place, Refusal> {
    sweep.places.get(place).ok_or_else(|| Refusal::new(Ending::Error, format!("the sweep has no place {place}")))
}

/// The bucket of a place that was found before.
async fn bucket_of(deps: &Deps, sweep: &Sweep, place: usize) -> Result<Arc<dyn Bucket>, Refusal> {
    let of = place_of(sweep, place)?;
    let found = of.found.as_ref();
    let found = found.ok_or_else(|| Refusal::new(Ending::Error, format!("the bucket of place {place} was not found yet")))?;
    deps.world.accounts.bucket(&run_of(sweep, of, found, "", "")).await
}

/// One of the sweep's own objects with its ETag; `None` when it is not there.
async fn read<T: DeserializeOwned>(bucket: &dyn Bucket, sweep: &Sweep, key: &str) -> Result<Option<(T, String)>, Refusal> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        record_version: u64,
        execution: String,
    }
    let Some(object) = bucket.get(key).await.map_err(|error| error.refusal())? else { return Ok(None) };
    let lost = |why: &str| Refusal::new(Ending::RunRecordLost, format!("{key} {why}"));
    let head: Head = serde_json::from_slice(&object.body).map_err(|_| lost("cannot be read"))?;
    if head.execution != sweep.execution {
        return Err(lost("belongs to another execution"));
    }
    if head.record_version > RECORD_VERSION {
        return Err(lost("was written by a newer release"));
    }
    let document = serde_json::from_slice(&object.body).map_err(|_| lost("cannot be read"))?;
    Ok(Some((document, object.etag)))
}
