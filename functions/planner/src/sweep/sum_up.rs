//! What came of a sweep: a report beside each selection, and the execution's answer.

use ebb_core::Refusal;
use ebb_core::payload::{FinishAnswer, FinishNext};
use ebb_core::sweep::Sweep;
use ebb_core::sweep::group::Group;
use ebb_core::sweep::payload::{Selected, SumUpRequest};
use ebb_core::sweep::select::Selection;
use ebb_core::sweep::summary::{PlaceOutcome, report, summary};
use ebb_store::lambda::Failure;
use ebb_store::{Bucket, Put, When, at_once};

use super::{bucket_of, read};
use crate::Deps;

/// Sums up all places. A place whose objects cannot be read is told as one.
pub(crate) async fn sum_up(request: &SumUpRequest, deps: &Deps) -> Result<FinishAnswer, Failure> {
    let SumUpRequest { sweep, selected } = request;
    let places = at_once(selected.iter().map(|selected| outcome(sweep, selected, deps))).await;
    let (result, output) = summary(sweep, &places);
    tracing::info!(sweep = %sweep.sweep_id, name = %sweep.name, outcome = %result, counts = %output["counts"], "swept");
    Ok(match result.succeeds() {
        true => FinishAnswer { next: FinishNext::Succeed, output, error: None, cause: None },
        false => {
            let cause = Some(output.to_string());
            FinishAnswer { next: FinishNext::Fail, output, error: Some(result.name().into()), cause }
        }
    })
}

async fn outcome(sweep: &Sweep, selected: &Selected, deps: &Deps) -> PlaceOutcome {
    let selected = selected.clone();
    if selected.error.is_some() {
        return PlaceOutcome { selected, read: None };
    }
    match gathered(sweep, &selected, deps).await {
        Ok(read) => PlaceOutcome { selected, read: Some(read) },
        Err(refusal) => {
            tracing::warn!(sweep = %sweep.sweep_id, place = selected.place, error = %refusal.ending, cause = %refusal.message, "place not summed up");
            PlaceOutcome { selected: selected.not_read(refusal.ending.name(), &refusal.message), read: None }
        }
    }
}

async fn gathered(sweep: &Sweep, selected: &Selected, deps: &Deps) -> Result<(Selection, Vec<Group>), Refusal> {
    let place = selected.place;
    let bucket = bucket_of(deps, sweep, place).await?;
    let selection = read::<Selection>(&*bucket, sweep, &sweep.selection_key(place)).await?;
    let (selection, _) = selection
        .ok_or_else(|| Refusal::new(ebb_core::Ending::RunRecordLost, format!("{} went away", sweep.selection_key(place))))?;
    let groups = at_once((0..selected.groups).map(|group| one_group(&*bucket, sweep, place, group))).await;
    let groups: Vec<Group> = groups.into_iter().flatten().collect();
    let report = report(sweep, &selection, &groups).to_string();
    if let Err(error) = bucket.put(&sweep.report_key(place), Put::json(report), When::Always).await {
        tracing::warn!(sweep = %sweep.sweep_id, place, %error, "no report");
    }
    Ok((selection, groups))
}

/// A group that nothing is known of counts as not begun.
async fn one_group(bucket: &dyn Bucket, sweep: &Sweep, place: usize, group: usize) -> Option<Group> {
    match read::<Group>(bucket, sweep, &sweep.group_key(place, group)).await {
        Ok(found) => found.map(|(group, _)| group),
        Err(refusal) => {
            tracing::warn!(sweep = %sweep.sweep_id, place, group, cause = %refusal.message, "group not read");
            None
        }
    }
}
