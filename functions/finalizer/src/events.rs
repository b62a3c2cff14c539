//! The run as cdkd's deployment events tell it, so that `cdkd events` shows it beside the deploys. Made of the record alone,
//! written once at the end; a failure is a warning.

use ebb_core::record::{ResourceRecord, RunRecord};
use ebb_core::{Clock, Code, Ending, Millis, Status};
use ebb_store::event_log::{purge_events, write_run};
use ebb_store::lock::read_fence;
use ebb_store::{Bucket, Counts, Event, EventError, EventType, RunEvents, RunResult};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};

/// Writes the run's stream and its place in the index; instead of that, removes all of the stack's events when the run
/// asked for it and ended clean. A `repeated` finish does only what is still missing. Answers warnings.
pub(crate) async fn publish(bucket: &dyn Bucket, clock: &dyn Clock, record: &RunRecord, repeated: bool) -> Vec<String> {
    let key = record.run.key();
    let clean = record.ended.as_ref().is_some_and(|ended| ended.result.succeeds());
    if clean && record.run.options.purge_events {
        // Long after the end the stack may be there again, with events of its own.
        if repeated && !is_unused(bucket, clock, record).await {
            return Vec::new();
        }
        return purge_events(bucket, &key).await;
    }
    if repeated && is_indexed(bucket, record).await {
        return Vec::new();
    }
    write_run(bucket, &key, &run_events(record)).await
}

/// Whether nobody has the stack: no lock, or still ours, and no state.
async fn is_unused(bucket: &dyn Bucket, clock: &dyn Clock, record: &RunRecord) -> bool {
    use ebb_core::lock::{FenceView, Shut};
    let key = record.run.key();
    let free = match read_fence(bucket, clock, &key, &record.run).await {
        Ok(FenceView::Shut(Shut::Missing)) => true,
        Ok(view) => !view.is_lost(),
        Err(_) => false,
    };
    free && matches!(bucket.get(&key.state()).await, Ok(None))
}

async fn is_indexed(bucket: &dyn Bucket, record: &RunRecord) -> bool {
    let index = bucket.get(&record.run.key().events_index()).await;
    let names = |body: &[u8]| String::from_utf8_lossy(body).contains(&record.run.run_id);
    matches!(index, Ok(Some(object)) if names(&object.body))
}

/// The stream of a run. Rows of nested stacks have no events, as in cdkd: their row in the parent stands for them.
pub(crate) fn run_events(record: &RunRecord) -> RunEvents {
    let key = record.run.key();
    let ended = record.ended.as_ref();
    let ending = ended.map_or(Ending::Error, |ended| ended.result);
    let finished_at = ended.map_or(record.at, |ended| ended.at);
    let result = if ending.succeeds() { RunResult::Succeeded } else { RunResult::Failed };
    let rows: Vec<(&str, &ResourceRecord)> = record.in_stack(&key.stack).collect();

    let mut dated: Vec<(Millis, Event)> = Vec::new();
    for (id, row) in &rows {
        dated.extend(row_events(record, id, row));
    }
    // Stable: a row's start stays before its end.
    dated.sort_by_key(|(at, _)| *at);
    let mut events = vec![Event::run_started(record.started_at, &key)];
    events.extend(dated.into_iter().map(|(_, event)| event));

    let count = |wanted: &[Status]| rows.iter().filter(|(_, r)| wanted.contains(&r.status)).count() as u32;
    let counts = Counts::of(count(&[Status::Deleted]), count(&[Status::Failed, Status::Blocked]), count(&[Status::Skipped]));
    let error = (!ending.succeeds()).then(|| {
        let message = ended.and_then(|ended| ended.message.as_deref()).unwrap_or(ending.meaning());
        EventError::new(ending.name(), message, None, None)
    });
    let took = finished_at.saturating_sub(record.started_at);
    events.push(Event::run_finished(finished_at, &key.stack, result, counts, took, error));
    RunEvents { run_id: record.run.run_id.clone(), started_at: record.started_at, finished_at, result, events }
}

/// Start and end of a row, as far as it came.
fn row_events(record: &RunRecord, id: &str, row: &ResourceRecord) -> Vec<(Millis, Event)> {
    let stack = &record.run.stack;
    let event = |at, kind| {
        let event = Event::resource(at, kind, stack, id, &row.resource_type);
        if row.physical_id.is_empty() { event } else { event.physical_id(&row.physical_id) }
    };
    let mut events = Vec::new();
    let began = began(record, id, row);
    if let Some(began) = began {
        events.push((began, event(began, EventType::ResourceStarted)));
    }
    let kind = match row.status {
        Status::Deleted => EventType::ResourceSucceeded,
        Status::Retained => EventType::ResourceRetained,
        Status::Skipped => EventType::ResourceSkipped,
        // cdkd tries what a failure holds up and fails; its readers find our blocked rows in the same place.
        Status::Failed | Status::Blocked => EventType::ResourceFailed,
        Status::Waiting | Status::InFlight | Status::Pending => return events,
    };
    let at = row.ended_at.max(began.unwrap_or(0));
    let mut ended = event(at, kind).took(began.map_or(0, |began| at - began));
    let code = row.code.as_deref().unwrap_or("Failed");
    let reason = row.reason.as_deref().unwrap_or_default();
    match row.status {
        Status::Failed | Status::Blocked => ended = ended.failed_with(EventError::new(code, reason, aws_code(row), None)),
        Status::Skipped => ended = ended.reason(if reason.is_empty() { code } else { reason }),
        _ => {}
    }
    events.push((at, ended));
    events
}

/// When work on a row began; for a nested stack, when work on its first row began.
fn began(record: &RunRecord, id: &str, row: &ResourceRecord) -> Option<Millis> {
    let first = match row.resource_type.as_str() {
        "AWS::CloudFormation::Stack" => {
            let child = format!("{}~{id}", record.run.stack);
            record
                .resources
                .iter()
                .filter(|(id, r)| r.started_at > 0 && id.strip_prefix(&child).is_some_and(|rest| rest.starts_with(['/', '~'])))
                .map(|(_, r)| r.started_at)
                .min()
        }
        _ => None,
    };
    first.or(Some(row.started_at)).filter(|at| *at > 0)
}

/// The AWS error code of a failed row; codes that Ebb itself gives are none.
fn aws_code(row: &ResourceRecord) -> Option<&str> {
    let code = row.code.as_deref().filter(|_| row.status == Status::Failed)?;
    let deserializer: StrDeserializer<'_, ValueError> = code.into_deserializer();
    let ours = Code::deserialize(deserializer).is_ok() || matches!(code, "ChildFailed" | "ChildSkipped" | "UnexpectedOutcome");
    (!ours).then_some(code)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Bed, foreign_lock, partial};

    fn lines(record: &RunRecord) -> Vec<Value> {
        run_events(record).events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    /// Exactly one RUN_STARTED and RUN_FINISHED; RESOURCE_STARTED before the first call, not for retained rows; one end
    /// each. Children of a destroy write no events into the parent's.
    #[test]
    fn the_stream_tells_what_happened_in_order() {
        let mut lines = lines(&partial());
        assert_eq!(lines[0]["cdkdVersion"], concat!("ebb/", env!("CARGO_PKG_VERSION")));
        lines[0]["cdkdVersion"] = "ebb/its version".into();
        insta::assert_json_snapshot!(lines);
    }

    /// Counts are those of the rows that have events; what was not attempted has none.
    #[test]
    fn an_interrupted_run_leaves_rows_open() {
        let mut record = partial();
        let row = record.resources.get_mut("S/Queue").unwrap();
        (row.status, row.ended_at) = (Status::InFlight, 0);
        let all = lines(&record);
        let of: Vec<&Value> = all.iter().filter(|e| e["logicalId"] == "Queue").map(|e| &e["eventType"]).collect();
        assert_eq!(of, ["RESOURCE_STARTED"]);
    }

    /// Writing again replaces the run; a repeated finish writes only what is missing.
    #[tokio::test(start_paused = true)]
    async fn a_repeated_finish_writes_what_is_missing() {
        let bed = Bed::new();
        let record = partial();
        let key = record.run.key();
        assert!(publish(&*bed.bucket, bed.clock(), &record, true).await.is_empty());
        let first = bed.keys();
        assert_eq!(first, [key.events(&record.run.run_id), key.events_index()]);
        bed.put(&key.events_index(), &format!("{{\"runs\":[\"{}\"]}}", record.run.run_id));
        publish(&*bed.bucket, bed.clock(), &record, true).await;
        let index: Value = serde_json::from_str(&bed.body(&key.events_index()).unwrap()).unwrap();
        assert_eq!(index, json!({"runs": [record.run.run_id]}), "it was left alone");
    }

    /// After a clean end that asked for it, all events go; later only while nobody has the stack.
    #[tokio::test(start_paused = true)]
    async fn a_purge_never_takes_the_events_of_a_new_stack() {
        let mut record = partial();
        record.run.options.purge_events = true;
        if let Some(ended) = &mut record.ended {
            ended.result = Ending::Deleted;
        }
        let key = record.run.key();
        for (lock, state, repeated, gone) in [
            (None, None, false, true),
            (None, None, true, true),
            (Some(foreign_lock()), None, true, false),
            (None, Some("{}"), true, false),
        ] {
            let bed = Bed::new();
            bed.put(&key.events("20250101T000000000Z-00000000"), "");
            for (key, body) in [(key.lock(), lock.as_deref()), (key.state(), state)] {
                body.inspect(|body| bed.put(&key, body));
            }
            assert_eq!(publish(&*bed.bucket, bed.clock(), &record, repeated).await, Vec::<String>::new());
            assert_eq!(!bed.keys().iter().any(|key| key.contains("/deployments/")), gone, "{lock:?} {state:?} {repeated}");
        }
        let mut unclean = record;
        if let Some(ended) = &mut unclean.ended {
            ended.result = Ending::Partial;
        }
        let bed = Bed::new();
        publish(&*bed.bucket, bed.clock(), &unclean, false).await;
        assert!(bed.body(&key.events(&unclean.run.run_id)).is_some());
    }
}
