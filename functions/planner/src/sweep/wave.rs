//! What of a group can be torn down now. The group's record is the claim on the step, as a run's record is on a plan.

use ebb_core::sweep::group::Group;
use ebb_core::sweep::payload::{WaveAnswer, WaveNext, WaveRequest};
use ebb_core::sweep::select::Selection;
use ebb_core::{Ending, Refusal};
use ebb_store::lambda::Failure;
use ebb_store::record_file::{RecordWriteError, claim};

use super::{bucket_of, read};
use crate::Deps;

/// Answers a group of the sweep machine.
pub(crate) async fn wave(request: &WaveRequest, deps: &Deps) -> Result<WaveAnswer, Failure> {
    let WaveRequest { sweep, group, step, results } = request;
    let bucket = bucket_of(deps, sweep, group.place).await?;
    let key = sweep.group_key(group.place, group.group);
    let lost = |why: &str| Refusal::new(Ending::RunRecordLost, format!("{key} {why}"));
    let (record, etag) = match read::<Group>(&*bucket, sweep, &key).await? {
        Some((record, etag)) => (record, Some(etag)),
        None if *step == 0 => {
            let selection = sweep.selection_key(group.place);
            let (selection, _) = read::<Selection>(&*bucket, sweep, &selection).await?.ok_or_else(|| lost("has no selection"))?;
            (Group::begin(&selection, group.group), None)
        }
        None => return Err(lost("is not there any more").into()),
    };
    let record = match record.step.cmp(step) {
        std::cmp::Ordering::Greater => record,
        std::cmp::Ordering::Less => return Err(lost("is older than what the sweep has seen").into()),
        std::cmp::Ordering::Equal => {
            let next = record.advance(results, sweep.dry_run);
            match claim(&*bucket, &*deps.world.clock, &key, &next, etag.as_deref()).await {
                Ok(_) => next,
                // Another delivery took the step: what it started stands.
                Err(RecordWriteError::Changed) => match read::<Group>(&*bucket, sweep, &key).await? {
                    Some((taken, _)) if taken.step > *step => taken,
                    _ => return Err(lost("was changed by somebody else").into()),
                },
                Err(RecordWriteError::Failed(error)) => return Err(error.refusal().into()),
            }
        }
    };
    let items = record.items(sweep, group.place);
    tracing::info!(sweep = %sweep.sweep_id, place = group.place, group = group.group, step = record.step, items = items.len(), "stacks to tear down");
    let next = if items.is_empty() { WaveNext::Done } else { WaveNext::Wave };
    Ok(WaveAnswer { next, step: record.step, items })
}
