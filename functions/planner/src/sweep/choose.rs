//! Which stacks of a place: everything that has state there is read once, the candidates' whole trees a second time. A
//! stack that the bucket does not give out is left for another sweep.

use ebb_core::plan::Weights;
use ebb_core::state::Layout;
use ebb_core::sweep::payload::{SelectRequest, Selected};
use ebb_core::sweep::select::{Forecast, Seen, Selection, Tree, pick, settle, trees};
use ebb_core::sweep::{Found, Place, Sweep};
use ebb_core::{Clock, Ending, Refusal};
use ebb_store::lambda::Failure;
use ebb_store::record_file::{RecordWriteError, claim};
use ebb_store::{Bucket, ListedStack, at_once, list_stacks};

use super::{place_of, read, run_of};
use crate::Deps;
use crate::patiently::patiently;
use crate::survey::tree;

/// How many were chosen. A place that cannot be read is an answer; a bucket that does not answer is tried again.
pub(crate) async fn choose(request: &SelectRequest, deps: &Deps) -> Result<Selected, Failure> {
    let SelectRequest { sweep, place } = request;
    match chosen(sweep, *place, deps).await {
        Ok((found, selection)) => {
            let (chosen, left) = (selection.chosen.len(), selection.left.len());
            tracing::info!(sweep = %sweep.sweep_id, place, account = %found.account, chosen, left, "stacks chosen");
            Ok(Selected {
                place: *place,
                found: Some(found),
                chosen,
                left,
                groups: selection.groups(),
                error: None,
                message: None,
            })
        }
        Err(refusal) if refusal.ending == Ending::Error => Err(refusal.into()),
        Err(refusal) => {
            tracing::warn!(sweep = %sweep.sweep_id, place, error = %refusal.ending, cause = %refusal.message, "place not read");
            Ok(Selected::failed(*place, &refusal))
        }
    }
}

async fn chosen(sweep: &Sweep, n: usize, deps: &Deps) -> Result<(Found, Selection), Refusal> {
    let place = place_of(sweep, n)?;
    let found = find(sweep, place, deps).await?;
    let bucket = deps.world.accounts.bucket(&run_of(sweep, place, &found, "", "")).await?;
    let key = sweep.selection_key(n);
    if let Some((selection, _)) = read(&*bucket, sweep, &key).await? {
        return Ok((found, selection));
    }
    let selection = select(sweep, place, &found, &*bucket, deps).await?;
    match claim(&*bucket, &*deps.world.clock, &key, &selection, None).await {
        Ok(_) => Ok((found, selection)),
        // Another delivery chose first; what it chose stands, for the stacks may have changed in between.
        Err(RecordWriteError::Changed) => match read(&*bucket, sweep, &key).await? {
            Some((selection, _)) => Ok((found, selection)),
            None => Err(Refusal::new(Ending::Error, format!("{key} went away"))),
        },
        Err(RecordWriteError::Failed(error)) => Err(error.refusal()),
    }
}

async fn find(sweep: &Sweep, place: &Place, deps: &Deps) -> Result<Found, Refusal> {
    let (accounts, target) = (&deps.world.accounts, place.target.as_ref());
    let account = accounts.account(target, &sweep.sweep_id).await?;
    let name = deps.rails.bucket(place.bucket.as_deref(), target);
    let region = place.select.regions.first().map(String::as_str);
    let bucket = accounts.find_bucket(target, &sweep.sweep_id, &account, name, region).await?;
    Ok(Found { account, bucket: bucket.name, bucket_region: bucket.region })
}

async fn select(sweep: &Sweep, place: &Place, found: &Found, bucket: &dyn Bucket, deps: &Deps) -> Result<Selection, Refusal> {
    let listed = list_stacks(bucket, &place.prefix).await.map_err(|error| error.refusal())?;
    let clock = &*deps.world.clock;
    let seen = at_once(listed.into_iter().map(|listed| look(bucket, clock, listed, place.select.due_tag.as_deref()))).await;
    let trees = trees(seen.into_iter().flatten().collect());
    let (picked, left) = pick(&trees, &place.select, sweep.timestamp);
    let judge = |n: usize| {
        let one = &trees[n];
        async move { (n, judged(sweep, place, found, bucket, one, deps).await) }
    };
    let judged = at_once(picked.into_iter().map(judge)).await;
    Ok(settle(sweep, &place.select, &trees, judged, left))
}

/// What a listed state says; `None` when it went away in between.
async fn look(bucket: &dyn Bucket, clock: &dyn Clock, listed: ListedStack, due_tag: Option<&str>) -> Option<Seen> {
    let layout = if listed.legacy { Layout::Legacy } else { Layout::Regional };
    let get = || async { bucket.get(&listed.key).await.map_err(|error| error.refusal()) };
    match patiently(clock, get).await {
        Ok(object) => object.map(|object| Seen::of(listed.stack, listed.region, &object.body, layout, due_tag)),
        Err(refusal) => Some(Seen::unread(listed.stack, listed.region, refusal)),
    }
}

/// What the rails and the tree's own states say of a stack.
async fn judged(
    sweep: &Sweep,
    place: &Place,
    found: &Found,
    bucket: &dyn Bucket,
    one: &Tree,
    deps: &Deps,
) -> Result<Forecast, Refusal> {
    let run = run_of(sweep, place, found, &one.stack, &one.region);
    let survey = patiently(&*deps.world.clock, || tree(bucket, &run, &deps.rails, false)).await?;
    let survey = survey.ok_or_else(|| Refusal::new(Ending::StackNotFound, "it went away while the stacks were chosen"))?;
    Ok(Forecast {
        resources: survey.files.values().map(|file| file.doc.resource_count()).sum(),
        waves: survey.graph.levels().len(),
        seconds: Weights::of(&survey.graph).longest().ceil() as u64,
    })
}
