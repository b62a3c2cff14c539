//! `finish`: ends a run, at its own end and again after every stop and crash. The record is claimed before the first
//! effect, the result is written after the last one, and only then the locks are released; so wherever it is killed, the next
//! finish goes on from there, and of two at the same time one result stands.

use std::time::Duration;

use ebb_core::payload::FinishAnswer;
use ebb_core::record::{Ended, RunRecord};
use ebb_core::{Clock, Ending, Refusal, Run, text};
use ebb_store::Bucket;
use ebb_store::lambda::Failure;
use ebb_store::lock::{locks, read_fence, release_all};
use ebb_store::record_file::{self, RecordWriteError, Recorded};

use crate::forecast::forecast;
use crate::responses::remove_responses;
use crate::settle::{leave, may_settle, settle};
use crate::verdict::{Said, had_state, is_clean, verdict};
use crate::{Deps, answer, events, report, unprotected};

/// The keeper tries again on it.
const LOCK_NOT_RELEASED: &str = "LockNotReleased";
/// Pauses between tries to release, in seconds: a passing refusal must not keep a lock for its whole lease.
const RELEASE_PAUSES: [u64; 3] = [0, 1, 3];
/// How often another writer of the record may get in between.
const ROUNDS: u32 = 6;

/// Settles the run and answers how it ended.
pub(crate) async fn finish(run: &Run, said: Option<&Said>, deps: &Deps) -> Result<FinishAnswer, Failure> {
    let bucket = deps.world.accounts.bucket(run).await?;
    let desk = Desk { bucket: bucket.as_ref(), clock: deps.world.clock.as_ref(), run };
    let recorded = match record_file::read(desk.bucket, run).await {
        Ok(Some(recorded)) => recorded,
        Ok(None) => return desk.without_record(said).await,
        Err(refusal) if refusal.ending == Ending::RunRecordLost => return Ok(desk.lost(&refusal.message).await),
        Err(refusal) => return Err(refusal.into()),
    };
    let repeated = recorded.record.ended.is_some();
    match desk.end(recorded, said).await? {
        Some(ended) => Ok(desk.publish(ended, repeated).await),
        None => Ok(desk.lost("the run's record was removed while the run was settled").await),
    }
}

/// After the last finish of a run no lock of it may be left: it would hold others up until it lapses. Nor an answer of a
/// custom resource's handler that came after the finish before, which can hold secrets.
pub(crate) async fn nothing_left(run: &Run, deps: &Deps) -> Result<(), Failure> {
    if run.dry_run {
        return Ok(());
    }
    let (bucket, clock) = (deps.world.accounts.bucket(run).await?, deps.world.clock.as_ref());
    let unknown = |error: ebb_store::BucketError| Failure::new(Ending::LockError.name(), &error.to_string());
    for key in locks(bucket.as_ref(), run).await.map_err(unknown)? {
        if read_fence(bucket.as_ref(), clock, &key, run).await.map_err(unknown)?.may_settle() {
            let message = format!("the lock of {} is still this run's: it could not be released", text::ascii(&key.stack));
            return Err(Failure::new(LOCK_NOT_RELEASED, &message));
        }
    }
    if let Some(Recorded { record, .. }) = record_file::read(bucket.as_ref(), run).await? {
        for warning in remove_responses(bucket.as_ref(), &record).await {
            tracing::warn!(run = %run.run_id, warning, "after the last finish");
        }
    }
    Ok(())
}

/// What every step of a finish works with.
struct Desk<'a> {
    bucket: &'a dyn Bucket,
    clock: &'a dyn Clock,
    run: &'a Run,
}

impl Desk<'_> {
    /// A run without a record has deleted nothing, or lost what it knew: its locks go and nothing else is touched.
    async fn without_record(&self, said: Option<&Said>) -> Result<FinishAnswer, Failure> {
        let held = self.is_held().await?;
        let Some(said) = said else {
            return Ok(match held || self.run.dry_run {
                true => self.lost("there is no record of the run").await,
                false => {
                    answer::without_record(self.run, Ending::Error, "the run never began: it has neither a record nor a lock")
                }
            });
        };
        self.release().await;
        let refusal = said.refusal();
        let answer = answer::without_record(self.run, refusal.ending, &refusal.message);
        Ok(FinishAnswer { error: Some(said.error.clone()), cause: said.cause.clone().or(answer.cause), ..answer })
    }

    /// The record is missing or another execution's: never start over, touch nothing but our own locks.
    async fn lost(&self, why: &str) -> FinishAnswer {
        self.release().await;
        answer::without_record(self.run, Ending::RunRecordLost, why)
    }

    /// Whether the root's lock is ours, in whatever shape. The children's are taken after it.
    async fn is_held(&self) -> Result<bool, Failure> {
        let view = read_fence(self.bucket, self.clock, &self.run.key(), self.run).await;
        view.map(|view| !view.is_lost()).map_err(|error| Failure::new(Ending::LockError.name(), &error.to_string()))
    }

    /// Claims the record, settles, writes the result; until the record holds one. `None` when the record is gone.
    async fn end(&self, mut recorded: Recorded, said: Option<&Said>) -> Result<Option<Recorded>, Failure> {
        for _ in 0..ROUNDS {
            if recorded.record.ended.is_some() {
                return Ok(Some(recorded));
            }
            if let Some(ended) = self.round(recorded, said).await? {
                return Ok(Some(ended));
            }
            match record_file::read(self.bucket, self.run).await? {
                Some(again) => recorded = again,
                None => return Ok(None),
            }
        }
        Err(Failure::new(Ending::Error.name(), "others keep writing the run's record"))
    }

    /// One try. `None` when somebody else wrote the record in between.
    async fn round(&self, recorded: Recorded, said: Option<&Said>) -> Result<Option<Recorded>, Failure> {
        let Recorded { mut record, mut etag } = recorded;
        let mut problem = None;
        if !record.run.dry_run {
            problem = may_settle(self.bucket, self.clock, &record).await?.err();
            if problem.is_none() {
                claim(&mut record, said);
                etag = match self.write(&record, &etag).await? {
                    Some(etag) => etag,
                    None => return Ok(None),
                };
                problem = self.settled(&mut record, said).await?;
            }
            // Request ids are this run's alone, so this needs no lock.
            let warnings = remove_responses(self.bucket, &record).await;
            note(&mut record, warnings);
            let warnings = unprotected::warnings(&record);
            note(&mut record, warnings);
        }
        let (result, message) = verdict(&record, said, problem.as_ref());
        record.ended = Some(Ended { result, at: self.clock.now().max(record.at), message });
        Ok(self.write(&record, &etag).await?.map(|etag| Recorded { record, etag }))
    }

    /// Settles the state under the claim; answers what kept it from being settled.
    async fn settled(&self, record: &mut RunRecord, said: Option<&Said>) -> Result<Option<Refusal>, Failure> {
        let refusal = match settle(self.bucket, self.clock, record).await? {
            Ok(warnings) => {
                note(record, warnings);
                return Ok(None);
            }
            Err(refusal) => refusal,
        };
        let warnings = leave(self.bucket, self.clock, record, &refusal).await;
        note(record, warnings);
        if let Some(ledger) = record.stacks.get_mut(&self.run.stack) {
            ledger.removed = false;
        }
        if matches!(refusal.ending, Ending::StateConflict | Ending::LockLost) || is_clean(record, said) {
            return Ok(Some(refusal));
        }
        // The state records too much, never too little: a rerun finds the rest gone.
        note(record, vec![format!("the state still records what is gone: {}", refusal.message)]);
        Ok(None)
    }

    async fn write(&self, record: &RunRecord, etag: &str) -> Result<Option<String>, Failure> {
        match record_file::write(self.bucket, self.clock, record, Some(etag)).await {
            Ok(etag) => Ok(Some(etag)),
            Err(RecordWriteError::Changed) => Ok(None),
            Err(RecordWriteError::Failed(error)) => Err(Failure::new(Ending::Error.name(), &error.to_string())),
        }
    }

    /// Releases what is ours and makes the end known: report and events. None of it changes the result.
    async fn publish(&self, recorded: Recorded, repeated: bool) -> FinishAnswer {
        let Recorded { mut record, etag } = recorded;
        let mut foretold = None;
        if record.run.dry_run {
            foretold = forecast(self.bucket, &record).await;
        } else {
            let warnings = self.release().await;
            if !repeated && note(&mut record, warnings) && self.write(&record, &etag).await.is_err() {
                tracing::warn!(run = %self.run.run_id, "the run's record lacks the warnings of the release");
            }
        }
        let written = report::write(self.bucket, &record, foretold.as_ref()).await;
        if !record.run.dry_run {
            for warning in events::publish(self.bucket, self.clock, &record, repeated).await {
                tracing::warn!(run = %self.run.run_id, stack = %self.run.stack, %warning, "events");
            }
        }
        if let Some(ended) = &record.ended {
            tracing::info!(
                run = %self.run.run_id, stack = %self.run.stack, region = %self.run.region, outcome = %ended.result, repeated,
                "finished"
            );
        }
        answer::of_record(&record, &written, foretold.as_ref())
    }

    async fn release(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for pause in RELEASE_PAUSES.into_iter().filter(|_| !self.run.dry_run) {
            self.clock.sleep(Duration::from_secs(pause)).await;
            warnings = release_all(self.bucket, self.clock, self.run).await;
            if warnings.is_empty() {
                break;
            }
        }
        for warning in &warnings {
            tracing::warn!(run = %self.run.run_id, stack = %self.run.stack, %warning, "lock not released");
        }
        warnings
    }
}

/// The last claim: after it no plan can claim another step. `at` stays, because the state's bytes of the step before
/// belong to it; a clean end claims the removal of the stack's own state, as a plan does for nested ones.
fn claim(record: &mut RunRecord, said: Option<&Said>) {
    record.step += 1;
    let removed = is_clean(record, said) && had_state(record);
    if let Some(ledger) = record.stacks.get_mut(&record.run.stack) {
        ledger.removed |= removed;
    }
}

/// Adds warnings that are not there yet; answers whether any was new.
fn note(record: &mut RunRecord, warnings: Vec<String>) -> bool {
    let before = record.warnings.len();
    for warning in warnings.into_iter().map(|warning| text::display(&warning)) {
        if !record.warnings.contains(&warning) {
            record.warnings.push(warning);
        }
    }
    record.warnings.len() > before
}

#[cfg(test)]
mod tests;
