//! The next wave. In this order, so that every crash leaves something a second delivery can go on from: read the record,
//! check the locks, bring the state in line with the record, decide, claim the step in the record, bring the state in line
//! with it, answer.

use std::collections::BTreeMap;

use ebb_core::lock::FenceView;
use ebb_core::payload::{PlanAnswer, PlanNext, PlanRequest};
use ebb_core::plan::{self, Moment, Weights};
use ebb_core::run::told;
use ebb_core::{Ending, Graph, Node, Refusal, Run, RunRecord, StackKey, Status, text};
use ebb_store::in_line::{Files, bring_in_line, has_news, trimmed};
use ebb_store::lambda::Failure;
use ebb_store::record_file::{self, RecordWriteError, Recorded};
use ebb_store::state_file::digest;
use ebb_store::{Bucket, lock};

use crate::Deps;
use crate::survey::{Survey, survey};

/// What a warm container remembers of the run it planned last. Digests in the record say whether it still holds.
#[derive(Default)]
pub(crate) struct Warm {
    run_id: String,
    files: Files,
}

/// How long a drive waits before it asks again, when the bucket did not answer.
const TRY_AGAIN_SECONDS: u64 = 15;

/// Answers a drive.
pub(crate) async fn plan(request: &PlanRequest, deps: &Deps) -> Result<PlanAnswer, Failure> {
    let run = &request.run;
    let mut warm = std::mem::take(&mut *deps.warm.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    if warm.run_id != run.run_id {
        warm = Warm { run_id: run.run_id.clone(), files: Files::default() };
    }
    let answer = match deps.world.accounts.bucket(run).await {
        Ok(bucket) => Planner { deps, bucket: &*bucket, run }.answer(request, &mut warm.files).await,
        Err(refusal) => Err(refusal),
    };
    *deps.warm.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = warm;
    Ok(match answer {
        Ok(answer) => {
            let next = answer.next;
            tracing::info!(stack = %run.stack, region = %run.region, run = %run.run_id, step = answer.step, wave = answer.wave, items = answer.items.len(), ?next, "planned");
            answer
        }
        // The bucket did not answer or a part of it was busy: nothing is lost, ask again with the same results.
        Err(refusal) if refusal.ending == Ending::Error => {
            tracing::warn!(run = %run.run_id, cause = %refusal.message, "not planned, asking again");
            PlanAnswer { seconds: Some(TRY_AGAIN_SECONDS), ..blank(PlanNext::Wait, request.step) }
        }
        Err(refusal) => {
            tracing::error!(run = %run.run_id, error = %refusal.ending, cause = %refusal.message, "stopped");
            stop(&refusal, request.step, run)
        }
    })
}

fn blank(next: PlanNext, step: u64) -> PlanAnswer {
    PlanAnswer { next, step, wave: None, items: Vec::new(), seconds: None, error: None, cause: None }
}

fn stop(refusal: &Refusal, step: u64, run: &Run) -> PlanAnswer {
    PlanAnswer {
        error: Some(refusal.ending.name().into()),
        cause: Some(refusal.cause(told(Some(run)))),
        ..blank(PlanNext::Stop, step)
    }
}

struct Planner<'a> {
    deps: &'a Deps,
    bucket: &'a dyn Bucket,
    run: &'a Run,
}

impl Planner<'_> {
    async fn answer(&self, request: &PlanRequest, files: &mut Files) -> Result<PlanAnswer, Refusal> {
        let clock = &*self.deps.world.clock;
        let recorded = record_file::read(self.bucket, self.run).await?;
        let first = request.step == 0 && request.drive == 1;
        let Recorded { record, etag } = match recorded {
            None if first => return self.begin(request, files).await,
            None => return Err(lost("it is not there any more")),
            Some(recorded) => recorded,
        };
        self.fence(record.stacks.keys().map(|stack| self.run.key().sibling(stack))).await?;
        if record.ended.is_some() {
            return Err(Refusal::new(Ending::LockLost, "the run was already finished"));
        }
        if record.step < request.step {
            return Err(lost("it is older than what the drive has seen"));
        }
        match self.in_line(&record, files).await {
            // Another delivery of this plan may have gone on meanwhile; its record says so.
            Err(refusal) if refusal.ending == Ending::StateConflict => {
                return self.overtaken(record.step, request, files).await?.ok_or(refusal);
            }
            done => done?,
        }
        if record.step > request.step {
            return self.said(&record, files);
        }
        let graph = self.graph(files)?;
        let weights = Weights::of(&graph);
        let asked = record.step;
        let moment = Moment { now: clock.now(), drive: request.drive, paused: self.deps.rails.paused };
        let mut next = plan::advance(record, &graph, &weights, &request.results, moment);
        self.claim_states(&mut next, files);
        match record_file::write(self.bucket, clock, &next, Some(&etag)).await {
            Ok(_) => {}
            Err(RecordWriteError::Changed) => {
                return self.overtaken(asked, request, files).await?.ok_or_else(|| lost("somebody else wrote it"));
            }
            Err(RecordWriteError::Failed(error)) => return Err(error.refusal()),
        }
        self.in_line(&next, files).await?;
        self.said(&next, files)
    }

    /// The first plan: everything the check refused is refused again, now under the lock.
    async fn begin(&self, request: &PlanRequest, files: &mut Files) -> Result<PlanAnswer, Refusal> {
        let clock = &*self.deps.world.clock;
        // What a first delivery read before its claim failed does not count.
        *files = Files::default();
        let tree = lock::tree(self.bucket, self.run).await.map_err(|error| error.refusal())?;
        self.fence(tree.into_iter()).await?;
        // The check has seen to it that a record without a region is torn down only where a person said it lives.
        let surveyed = survey(self.bucket, self.run, &self.deps.rails, true).await;
        let (mut record, graph) = match surveyed {
            Ok(Some(survey)) => self.first_record(survey, files),
            Ok(None) => (RunRecord { absent: true, ..self.empty_record()? }, Graph::build(Vec::new())?),
            Err(refusal) if refusal.ending == Ending::Error => return Err(refusal),
            Err(refusal) => (RunRecord { refusal: Some(refusal), ..self.empty_record()? }, Graph::build(Vec::new())?),
        };
        let weights = Weights::of(&graph);
        let moment = Moment { now: clock.now(), drive: request.drive, paused: self.deps.rails.paused };
        record = plan::advance(record, &graph, &weights, &[], moment);
        self.claim_states(&mut record, files);
        match record_file::write(self.bucket, clock, &record, None).await {
            Ok(_) => {}
            Err(RecordWriteError::Changed) => {
                return self.overtaken(0, request, files).await?.ok_or_else(|| lost("somebody else wrote it"));
            }
            Err(RecordWriteError::Failed(error)) => return Err(error.refusal()),
        }
        self.in_line(&record, files).await?;
        self.said(&record, files)
    }

    fn empty_record(&self) -> Result<RunRecord, Refusal> {
        let graph = Graph::build(Vec::new())?;
        Ok(plan::begin(self.run.clone(), &graph, BTreeMap::new(), Vec::new(), self.deps.world.clock.now()))
    }

    fn first_record(&self, survey: Survey, files: &mut Files) -> (RunRecord, Graph) {
        let mut digests = BTreeMap::new();
        for (stack, file) in survey.files {
            digests.insert(stack.clone(), files.remember(&stack, file));
        }
        let mut record = plan::begin(self.run.clone(), &survey.graph, digests, survey.orphans, self.deps.world.clock.now());
        // Who may import comes first: outputs show the first warnings only.
        record.warnings.splice(0..0, survey.warnings);
        for (id, refusal) in survey.broken {
            if let Some(row) = record.resources.get_mut(&id).filter(|row| row.status == Status::Waiting) {
                row.status = Status::Failed;
                row.code = Some(refusal.ending.name().into());
                row.reason = Some(refusal.message);
                row.ended_at = record.at;
            }
        }
        (record, survey.graph)
    }

    /// Another delivery of this plan claimed a step after `seen` first: answer what it claimed. `None` when none did.
    async fn overtaken(&self, seen: u64, request: &PlanRequest, files: &mut Files) -> Result<Option<PlanAnswer>, Refusal> {
        let recorded = record_file::read(self.bucket, self.run).await?.ok_or_else(|| lost("it went away"))?;
        if recorded.record.step <= seen.max(request.step) {
            return Ok(None);
        }
        self.in_line(&recorded.record, files).await?;
        self.said(&recorded.record, files).map(Some)
    }

    /// Every lock of the run is ours, open and fresh enough; else the drive ends here. A dry run has none.
    async fn fence(&self, keys: impl Iterator<Item = StackKey>) -> Result<(), Refusal> {
        if self.run.dry_run {
            return Ok(());
        }
        let clock = &*self.deps.world.clock;
        for key in keys.filter(|key| *key != self.run.key()).chain([self.run.key()]) {
            let view = lock::read_fence(self.bucket, clock, &key, self.run).await;
            let view = view.map_err(|error| error.refusal())?;
            if !view.is_open(clock.now()) {
                let why = match view {
                    FenceView::Shut(shut) => shut.to_string(),
                    FenceView::Open { .. } => "its reading took too long".to_owned(),
                };
                return Err(Refusal::new(Ending::LockLost, format!("{}: {why}", text::ascii(&key.stack))));
            }
        }
        Ok(())
    }

    async fn in_line(&self, record: &RunRecord, files: &mut Files) -> Result<(), Refusal> {
        let warnings = bring_in_line(self.bucket, &*self.deps.world.clock, record, files).await?;
        for warning in warnings {
            tracing::warn!(run = %record.run.run_id, %warning, "state");
        }
        Ok(())
    }

    fn graph(&self, files: &Files) -> Result<Graph, Refusal> {
        Graph::build(Node::all(files.all().map(|file| (file.key.stack.as_str(), &file.doc))))
    }

    /// The answer, made from the record and the states that go with it and from nothing else, so that every repetition of
    /// it is the same.
    fn said(&self, record: &RunRecord, files: &Files) -> Result<PlanAnswer, Refusal> {
        match record.answer.next {
            PlanNext::Wave => Ok(said(record, &self.graph(files)?, files)),
            _ => Ok(said(record, &Graph::build(Vec::new())?, files)),
        }
    }

    /// Names, by digest, the bodies that belong to the step.
    fn claim_states(&self, record: &mut RunRecord, files: &Files) {
        let stacks: Vec<String> = record.stacks.keys().cloned().collect();
        for stack in stacks {
            let Some(file) = files.get(&stack).filter(|file| has_news(&file.doc, record, &stack)) else { continue };
            let after = digest(&trimmed(&file.doc, record, &file.key));
            if let Some(ledger) = record.stacks.get_mut(&stack) {
                ledger.after = after;
            }
        }
    }
}

/// What the record says is to be done. `files` are in line with it, so that a worker finds each row where they have it.
fn said(record: &RunRecord, graph: &Graph, files: &Files) -> PlanAnswer {
    let mut answer = blank(record.answer.next, record.step);
    match record.answer.next {
        PlanNext::Wave => {
            answer.wave = Some(record.wave);
            answer.items = plan::items(record, graph, &Weights::of(graph));
            for item in &mut answer.items {
                let row = item.id.split_once('/');
                item.span = row.and_then(|(stack, logical_id)| files.get(stack)?.span(logical_id));
            }
        }
        PlanNext::Wait => answer.seconds = Some(record.answer.seconds.max(1)),
        PlanNext::Finish => {
            answer.error = record.refusal.as_ref().map(|refusal| refusal.ending.name().into());
            answer.cause = record.refusal.as_ref().map(|refusal| refusal.cause(told(Some(&record.run))));
        }
        PlanNext::Again | PlanNext::Stop => {}
    }
    answer
}

fn lost(why: &str) -> Refusal {
    Refusal::new(Ending::RunRecordLost, format!("the run record: {why}"))
}
