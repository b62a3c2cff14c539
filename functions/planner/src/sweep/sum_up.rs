//! What came of a sweep: a report beside each selection, and the execution's answer.

use ebb_core::payload::{FinishAnswer, FinishNext};
use ebb_core::sweep::Sweep;
use ebb_core::sweep::group::Group;
use ebb_core::sweep::payload::{Selected, SumUpRequest};
use ebb_core::sweep::select::Selection;
use ebb_core::sweep::summary::{PlaceOutcome, report, summary};
use ebb_core::{Ending, Refusal};
use ebb_store::lambda::Failure;
use ebb_store::{Put, When, at_once};

use super::{bucket_of, read};
use crate::Deps;
use crate::patiently::patiently;

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
        return PlaceOutcome { selected, read: None, reported: false };
    }
    match gathered(sweep, &selected, deps).await {
        Ok((selection, groups, reported)) => PlaceOutcome { selected, read: Some((selection, groups)), reported },
        Err(refusal) => {
            tracing::warn!(sweep = %sweep.sweep_id, place = selected.place, error = %refusal.ending, cause = %refusal.message, "place not summed up");
            PlaceOutcome { selected: selected.not_read(refusal.ending.name(), &refusal.message), read: None, reported: false }
        }
    }
}

async fn gathered(sweep: &Sweep, selected: &Selected, deps: &Deps) -> Result<(Selection, Vec<Group>, bool), Refusal> {
    let place = selected.place;
    let bucket = bucket_of(deps, sweep, place).await?;
    let (bucket, clock) = (&*bucket, &*deps.world.clock);
    let key = sweep.selection_key(place);
    let selection = patiently(clock, || read::<Selection>(bucket, sweep, &key)).await?;
    let (selection, _) = selection.ok_or_else(|| Refusal::new(Ending::RunRecordLost, format!("{key} went away")))?;
    let one = |group| async move {
        let key = sweep.group_key(place, group);
        patiently(clock, || read::<Group>(bucket, sweep, &key)).await
    };
    // One that cannot be read makes the place unread: its stacks may be gone. One that is not there has not begun.
    let groups = at_once((0..selected.groups).map(one)).await.into_iter().collect::<Result<Vec<_>, Refusal>>()?;
    let groups: Vec<Group> = groups.into_iter().flatten().map(|(group, _)| group).collect();
    let report = report(sweep, &selection, &groups).to_string();
    let key = sweep.report_key(place);
    let put = || async { bucket.put(&key, Put::json(report.clone()), When::Always).await.map_err(|error| error.refusal()) };
    let written = patiently(clock, put).await;
    if let Err(refusal) = &written {
        tracing::warn!(sweep = %sweep.sweep_id, place, error = %refusal.ending, cause = %refusal.message, "no report");
    }
    Ok((selection, groups, written.is_ok()))
}
