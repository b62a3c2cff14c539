//! What of a group can be torn down now. The group's record is the claim on the step, as a run's record is on a plan.
//! Hours may have passed since the stacks were chosen, so each one's states are looked at before it is claimed.

use ebb_core::sweep::Sweep;
use ebb_core::sweep::group::{Group, Row};
use ebb_core::sweep::payload::{WaveAnswer, WaveNext, WaveRequest};
use ebb_core::sweep::select::Selection;
use ebb_core::{Clock, Ending, Refusal, StackKey};
use ebb_store::lambda::Failure;
use ebb_store::record_file::{RecordWriteError, claim};
use ebb_store::{Bucket, at_once, state_file};

use super::{bucket_of, place_of, read};
use crate::Deps;
use crate::patiently::patiently;
use crate::survey::is_about_the_record;

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
            let prefix = &place_of(sweep, group.place)?.prefix;
            let next = begun(record.advance(results, sweep.dry_run), sweep, prefix, &*bucket, &*deps.world.clock).await;
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

/// Starts whoever is free and still as it was chosen. Who is not makes room for another.
async fn begun(mut group: Group, sweep: &Sweep, prefix: &str, bucket: &dyn Bucket, clock: &dyn Clock) -> Group {
    loop {
        let look = |row: &Row| {
            let row = row.clone();
            async move { (row.n, as_chosen(&row, prefix, bucket, clock).await) }
        };
        let looks = at_once(group.free(sweep.dry_run).into_iter().map(look)).await;
        if looks.is_empty() {
            return group;
        }
        for (n, refusal) in looks.iter().filter_map(|(n, look)| Some((n, look.as_ref().err()?))) {
            tracing::warn!(sweep = %sweep.sweep_id, n, error = %refusal.ending, cause = %refusal.message, "stack not begun");
        }
        group = group.start(looks, sweep.dry_run);
    }
}

/// Whether the states of a stack's tree are those that it was chosen by. One that went away says nothing against it: its
/// teardown finds out, as it does of a nested one that never could be read.
async fn as_chosen(row: &Row, prefix: &str, bucket: &dyn Bucket, clock: &dyn Clock) -> Result<(), Refusal> {
    for (state, then) in &row.written {
        let key = StackKey::new(prefix, state, &row.region);
        match patiently(clock, || state_file::read(bucket, &key)).await {
            Ok(None) => {}
            Ok(Some(file)) => row.unchanged(state, file.doc.last_modified())?,
            Err(refusal) if *state != row.stack && then.is_none() && is_about_the_record(refusal.ending) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(())
}
