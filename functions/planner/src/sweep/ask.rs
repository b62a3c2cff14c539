//! May this execution sweep, and, once the stacks are chosen, may it sweep so many?

use ebb_core::run::{ExecutionArn, run_id};
use ebb_core::sweep::Sweep;
use ebb_core::sweep::payload::{AdmitAnswer, AdmitRequest, GroupRef, SweepAnswer, SweepNext};
use ebb_core::sweep::request::{SweepRequest, refuse_overlap};
use ebb_core::{Ending, Refusal};
use ebb_store::Execution;
use ebb_store::lambda::Failure;
use ebb_store::runs::NOT_LEARNT;
use serde_json::{Value, json};

use crate::Deps;

/// So many selections are named in a Cause, which holds 32 KiB.
const MOST_SELECTIONS: usize = 20;

/// The sweep of an execution, or a refusal as the error and cause that the machine fails with.
pub(crate) async fn ask(execution_arn: &str, deps: &Deps) -> Result<SweepAnswer, Failure> {
    let not_ours = "`execution` is not the ARN of an execution";
    if ExecutionArn::parse(execution_arn).is_none() {
        return Ok(refuse(&Refusal::new(Ending::InvalidRequest, not_ours)));
    }
    let execution = deps.world.executions.describe(execution_arn).await;
    let execution = execution.map_err(|error| Failure::new(Ending::Error.name(), &error.to_string()))?;
    let Some(Execution { input, started_at, .. }) = execution else {
        return Err(Failure::new(NOT_LEARNT, "DescribeExecution does not know the execution yet"));
    };
    match admitted(&input, deps) {
        Err(refusal) => Ok(refuse(&refusal)),
        Ok(request) => {
            let sweep = Sweep {
                sweep_id: run_id(execution_arn, started_at),
                execution: execution_arn.to_owned(),
                name: request.name,
                timestamp: started_at,
                dry_run: request.dry_run,
                options: request.options,
                places: request.places,
            };
            tracing::info!(sweep = %sweep.sweep_id, name = %sweep.name, places = sweep.places.len(), dry_run = sweep.dry_run, "sweep admitted");
            let places = (0..sweep.places.len()).collect();
            Ok(SweepAnswer { next: SweepNext::Select, sweep: Some(sweep), places, error: None, cause: None })
        }
    }
}

fn admitted(input: &str, deps: &Deps) -> Result<SweepRequest, Refusal> {
    let request = SweepRequest::parse(input, &deps.rails.default_prefix)?;
    deps.rails.admits_start()?;
    for place in &request.places {
        deps.rails.admits_target(place.target.as_ref())?;
        place.select.regions.iter().try_for_each(|region| deps.rails.admits_region(region))?;
    }
    Ok(request)
}

fn refuse(refusal: &Refusal) -> SweepAnswer {
    tracing::warn!(error = %refusal.ending, cause = %refusal.message, "sweep refused");
    SweepAnswer {
        next: SweepNext::Refuse,
        sweep: None,
        places: Vec::new(),
        error: Some(refusal.ending.name().into()),
        cause: Some(refusal.cause(Value::Null)),
    }
}

/// Whether all that was chosen may be swept; from here on the sweep knows where its buckets are.
pub(crate) fn admit(request: &AdmitRequest, deps: &Deps) -> AdmitAnswer {
    let mut sweep = request.sweep.clone();
    let mut groups = Vec::new();
    for selected in &request.selected {
        if let Some(place) = sweep.places.get_mut(selected.place) {
            place.found.clone_from(&selected.found);
            groups.extend((0..selected.groups).map(|group| GroupRef { place: selected.place, group }));
        }
    }
    let chosen = request.selected.iter().map(|selected| selected.chosen).sum();
    // Entries with and without a bucket's name can mean the same one.
    match refuse_overlap(&sweep.places).and_then(|()| deps.rails.admits_sweep(chosen)) {
        Ok(()) => AdmitAnswer { next: SweepNext::Sweep, sweep, groups, error: None, cause: None },
        Err(refusal) => {
            tracing::warn!(sweep = %sweep.sweep_id, cause = %refusal.message, "sweep refused");
            let cause = refusal.cause(with_selections(&sweep));
            AdmitAnswer {
                next: SweepNext::Refuse,
                sweep,
                groups: Vec::new(),
                error: Some(refusal.ending.name().into()),
                cause: Some(cause),
            }
        }
    }
}

/// What the Cause says of the sweep, with where the selections lie.
fn with_selections(sweep: &Sweep) -> Value {
    let keys = sweep.places.iter().enumerate().filter_map(|(n, place)| {
        let found = place.found.as_ref()?;
        Some(Value::from(format!("s3://{}/{}", found.bucket, sweep.selection_key(n))))
    });
    let mut keys: Vec<Value> = keys.collect();
    let mut told = sweep.told();
    if let Some(more) = keys.len().checked_sub(MOST_SELECTIONS).filter(|more| *more > 0) {
        told["more"] = json!({"selections": more});
        keys.truncate(MOST_SELECTIONS);
    }
    told["selections"] = keys.into();
    told
}
