//! Keeps state files in line with the run record. The record is written first and names, by digest, the body that was
//! there and the body that belongs to its step; whatever else is found was written by someone who does not hold the lock.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ebb_core::state::Layout;
use ebb_core::{Clock, Ending, Refusal, RunRecord, StackKey, StateDoc};

use crate::bucket::Bucket;
use crate::exports::remove_exports;
use crate::state_file::{self, Body, StateFile, WriteError, digest};

/// State files as last seen, by stack, with the digest of their bodies. A warm container saves the read with it; a digest
/// that is not the record's makes it read again.
#[derive(Default, Debug)]
pub struct Files {
    known: BTreeMap<String, (String, StateFile)>,
    removed: BTreeSet<String>,
}

impl Files {
    /// Remembers a file that was read or written.
    pub fn remember(&mut self, stack: &str, file: StateFile) -> String {
        let digest = digest(&file.body.0);
        self.known.insert(stack.to_owned(), (digest.clone(), file));
        digest
    }

    /// The file of a stack.
    pub fn get(&self, stack: &str) -> Option<&StateFile> {
        self.known.get(stack).map(|(_, file)| file)
    }

    /// All files that are there.
    pub fn all(&self) -> impl Iterator<Item = &StateFile> {
        self.known.values().map(|(_, file)| file)
    }
}

/// The bytes that belong to a record's step, made from the body before it: rows that are deleted are left out.
pub fn trimmed(doc: &StateDoc, record: &RunRecord, key: &StackKey) -> Vec<u8> {
    let deleted: BTreeSet<&str> = record.deleted_in(&key.stack).collect();
    doc.trim(&deleted, record.at, key)
}

/// Whether the step that a record claims takes rows out of a state.
pub fn has_news(doc: &StateDoc, record: &RunRecord, stack: &str) -> bool {
    record.deleted_in(stack).any(|id| doc.contains(id))
}

/// Makes every state file what the record says, and removes what belongs to nested stacks that are done. Repeating it
/// changes nothing.
pub async fn bring_in_line(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    record: &RunRecord,
    files: &mut Files,
) -> Result<Vec<String>, Refusal> {
    let mut warnings = Vec::new();
    // Nested stacks first: a parent drops its row only after the child's clean end.
    for (stack, ledger) in record.stacks.iter().rev() {
        let key = record.run.key().sibling(stack);
        // What is to be removed may be gone by another container's hand, so it is read afresh.
        let is_of_step =
            |(digest, _): &(String, StateFile)| !ledger.removed && (*digest == ledger.after || *digest == ledger.before);
        if !files.known.get(stack).is_some_and(is_of_step) && !files.removed.contains(stack) {
            files.known.remove(stack);
            if let Some(file) = state_file::read(bucket, &key).await? {
                files.remember(stack, file);
            }
        }
        match files.known.get(stack) {
            Some((digest, _)) if *digest == ledger.after => {}
            Some((digest, file)) if *digest == ledger.before => {
                let body = Bytes::from(trimmed(&file.doc, record, &key));
                if state_file::digest(&body) != ledger.after {
                    return Err(conflict(&key, "the record does not fit the state that is there"));
                }
                let written =
                    state_file::write_trimmed(bucket, clock, file, body.clone()).await.map_err(|error| match error {
                        WriteError::Conflict(_) => conflict(&key, &error.to_string()),
                        WriteError::Failed(error) => error.refusal(),
                    })?;
                warnings.extend(written.warnings);
                let doc = StateDoc::parse(&body, Layout::Regional)?;
                let layout = Layout::Regional;
                files.remember(stack, StateFile { key: key.clone(), layout, etag: written.etag, body: Body(body), doc });
            }
            // A clean end removed it; a repeated one finds it so, or finds the legacy record that lay beside it.
            None if ledger.removed => {}
            Some((_, file)) if ledger.removed && file.layout == Layout::Legacy => {}
            None => return Err(conflict(&key, "the state is gone")),
            Some(_) => return Err(conflict(&key, "the state is not the one this run wrote")),
        }
        if ledger.removed && !files.removed.contains(stack) {
            warnings.extend(remove(bucket, clock, &key, files).await?);
            files.removed.insert(stack.clone());
        }
    }
    Ok(warnings)
}

/// What a clean end removes of a stack, in cdkd's order: ledger, state, journal, exports. The journal goes even when the
/// state could not.
pub async fn remove(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, files: &mut Files) -> Result<Vec<String>, Refusal> {
    let mut warnings = Vec::new();
    if let Err(refusal) = state_file::delete_ledger(bucket, clock, key).await {
        if refusal.ending != Ending::StateConflict {
            state_file::delete_journal(bucket, clock, key).await;
        }
        return Err(refusal);
    }
    let state = match files.known.remove(&key.stack) {
        Some((_, file)) => state_file::delete_state(bucket, clock, &file).await.map_err(|error| error.refusal()),
        None => Ok(Vec::new()),
    };
    if !matches!(&state, Err(refusal) if refusal.ending == Ending::StateConflict) {
        warnings.extend(state_file::delete_journal(bucket, clock, key).await);
    }
    warnings.extend(state?);
    warnings.extend(remove_exports(bucket, key, clock).await);
    Ok(warnings)
}

fn conflict(key: &StackKey, why: &str) -> Refusal {
    Refusal::new(Ending::StateConflict, format!("{}: {why}", key.state()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ebb_core::{Graph, Node, Status, plan};

    use super::*;
    use crate::{MemoryBucket, VirtualClock};

    const STATE: &str = r#"{"version": 2, "stackName": "S", "region": "us-east-1", "lastModified": 1, "resources": {
        "Queue": {"physicalId": "q", "resourceType": "AWS::SQS::Queue", "properties": {}}}}"#;

    /// A bucket with the state, the record of a step that took its row out and removes it, and a container's warm files.
    async fn removing() -> (MemoryBucket, VirtualClock, RunRecord, Files) {
        let clock = VirtualClock::starting_at(0);
        let bucket = MemoryBucket::plain("b", Arc::new(clock));
        let key = StackKey::new("cdkd", "S", "us-east-1");
        bucket.raw_put(&key.state(), STATE);
        let file = state_file::read(&bucket, &key).await.unwrap().unwrap();
        let nodes = file.doc.rows().map(|row| Node { id: "S/Queue".into(), stack: "S".into(), row }).collect();
        let run = serde_json::from_value(serde_json::json!({
            "runId": "r", "execution": "e", "owner": "ebb@1:r/m/n", "timestamp": 1, "account": "1", "bucket": "b",
            "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false,
        }))
        .unwrap();
        let digests = BTreeMap::from([("S".to_owned(), digest(STATE.as_bytes()))]);
        let mut record = plan::begin(run, &Graph::build(nodes).unwrap(), digests, Vec::new(), 7);
        record.resources.get_mut("S/Queue").unwrap().status = Status::Deleted;
        let after = digest(&trimmed(&file.doc, &record, &key));
        let ledger = record.stacks.get_mut("S").unwrap();
        ledger.after = after;
        ledger.removed = true;
        let mut warm = Files::default();
        warm.remember("S", file);
        (bucket, clock, record, warm)
    }

    /// What another container of the run removed meanwhile is done, not somebody else's write.
    #[tokio::test(start_paused = true)]
    async fn a_warm_container_finds_a_removal_done() {
        let (bucket, clock, record, mut warm) = removing().await;
        bring_in_line(&bucket, &clock, &record, &mut Files::default()).await.unwrap();
        assert!(bucket.snapshot().is_empty());
        assert_eq!(bring_in_line(&bucket, &clock, &record, &mut warm).await, Ok(vec![]));
    }

    /// Killed between the state and the legacy record beside it: the rest goes, whatever that record lists.
    #[tokio::test(start_paused = true)]
    async fn a_legacy_record_beside_a_removed_state_goes_too() {
        let (bucket, clock, record, _) = removing().await;
        bring_in_line(&bucket, &clock, &record, &mut Files::default()).await.unwrap();
        bucket.raw_put(&record.run.key().legacy_state(), STATE.replace("Queue", "Other"));
        bring_in_line(&bucket, &clock, &record, &mut Files::default()).await.unwrap();
        assert!(bucket.snapshot().is_empty());
    }
}
