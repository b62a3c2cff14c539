//! The run record in the bucket. Every write is on the condition of what was read, so that of two deliveries of one plan
//! only one claims the step; the other finds the claim and answers from it.

use std::time::Duration;

use ebb_core::record::RecordError;
use ebb_core::{Clock, Ending, Refusal, Run, RunRecord};

use crate::bucket::{Bucket, BucketError, BucketErrorKind, Put, When};

/// A record as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The record.
    pub record: RunRecord,
    /// Its ETag: the condition of the next write.
    pub etag: String,
}

/// Why a record was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordWriteError {
    /// Somebody else wrote it in between: read it again.
    #[error("it changed in between")]
    Changed,
    /// It could not be written.
    #[error(transparent)]
    Failed(#[from] BucketError),
}

/// How often a write that met a concurrent one is tried again.
const TRIES: u32 = 4;

/// The record of a run; `None` when there is none. One that belongs to another execution, or that cannot be read, is lost.
pub async fn read(bucket: &dyn Bucket, run: &Run) -> Result<Option<Recorded>, Refusal> {
    let key = run.key().run_record(&run.run_id);
    let object = bucket.get(&key).await.map_err(|error| error.refusal())?;
    let Some(object) = object else { return Ok(None) };
    let lost = |why: String| Refusal::new(Ending::RunRecordLost, format!("{key}: {why}"));
    let record = RunRecord::parse(&object.body).map_err(|error: RecordError| lost(error.to_string()))?;
    if record.run.execution != run.execution {
        return Err(lost("it belongs to another execution".into()));
    }
    Ok(Some(Recorded { record, etag: object.etag }))
}

/// Writes the record, over the one that was read (`etag`) or as the first. Answers the new ETag.
pub async fn write(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    record: &RunRecord,
    etag: Option<&str>,
) -> Result<String, RecordWriteError> {
    claim(bucket, clock, &record.run.key().run_record(&record.run.run_id), record, etag).await
}

/// Writes a document that only one of several deliveries may write, over the one that was read (`etag`) or as the first.
/// Answers the new ETag.
pub async fn claim(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    key: &str,
    document: &impl serde::Serialize,
    etag: Option<&str>,
) -> Result<String, RecordWriteError> {
    let body = serde_json::to_vec(document).map_err(|error| unwritable(key, &error))?;
    let when = etag.map_or(When::Absent, |etag| When::Unchanged(etag.to_owned()));
    let mut tried = 0;
    loop {
        let error = match bucket.put(key, Put::json(body.clone()), when.clone()).await {
            Ok(etag) => return Ok(etag),
            Err(error) => error,
        };
        tried += 1;
        match error.kind {
            // A lost reply of our own, a second delivery, or nothing at all: only the object can tell.
            BucketErrorKind::Precondition | BucketErrorKind::NotFound | BucketErrorKind::Unknown => {
                match bucket.get(key).await? {
                    Some(object) if object.body == body => return Ok(object.etag),
                    now if now.as_ref().map(|o| o.etag.as_str()) == etag && tried < TRIES => {}
                    _ => return Err(RecordWriteError::Changed),
                }
            }
            BucketErrorKind::Conflict if tried < TRIES => {}
            _ => return Err(error.into()),
        }
        clock.sleep(Duration::from_millis(200 * u64::from(tried))).await;
    }
}

fn unwritable(key: &str, error: &serde_json::Error) -> BucketError {
    BucketError {
        kind: BucketErrorKind::Other,
        operation: "PutObject",
        key: key.to_owned(),
        code: "Unserializable".into(),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ebb_core::{Graph, plan};

    use super::*;
    use crate::{MemoryBucket, VirtualClock};

    fn run(execution: &str) -> Run {
        serde_json::from_value(serde_json::json!({
            "runId": "20261130T154512123Z-1a2b3c4d", "execution": execution, "owner": "ebb@1:r/m/n", "timestamp": 1, "account": "1",
            "bucket": "b", "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false,
        }))
        .unwrap()
    }

    fn record(execution: &str) -> RunRecord {
        let graph = Graph::build(Vec::new()).unwrap();
        plan::begin(run(execution), &graph, Default::default(), Vec::new(), 7)
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_deliveries_one_claims() {
        let clock = VirtualClock::starting_at(0);
        let bucket = MemoryBucket::plain("b", Arc::new(clock));
        let first = record("a");
        let etag = write(&bucket, &clock, &first, None).await.unwrap();
        assert_eq!(read(&bucket, &first.run).await.unwrap().unwrap(), Recorded { record: first.clone(), etag: etag.clone() });
        // The same bytes again: the lost reply of the first.
        assert_eq!(write(&bucket, &clock, &first, None).await, Ok(etag.clone()));
        let second = RunRecord { step: 1, ..first.clone() };
        write(&bucket, &clock, &second, Some(&etag)).await.unwrap();
        let third = RunRecord { step: 2, ..first };
        assert_eq!(write(&bucket, &clock, &third, Some(&etag)).await, Err(RecordWriteError::Changed));
    }

    #[tokio::test(start_paused = true)]
    async fn anothers_record_and_an_unreadable_one_are_lost() {
        let clock = VirtualClock::starting_at(0);
        let bucket = MemoryBucket::plain("b", Arc::new(clock));
        write(&bucket, &clock, &record("a"), None).await.unwrap();
        assert_eq!(read(&bucket, &run("b")).await.unwrap_err().ending, Ending::RunRecordLost);
        let key = run("a").key().run_record(&run("a").run_id);
        for body in ["{", "{\"recordVersion\": 2}"] {
            bucket.raw_put(&key, body);
            assert_eq!(read(&bucket, &run("a")).await.unwrap_err().ending, Ending::RunRecordLost, "{body}");
        }
    }
}
