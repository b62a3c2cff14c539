//! The row that an item names, from the stack's own state as it is now: from where the planner saw it, while the state is
//! the very one that the planner judged, else from the whole of it.

use ebb_core::state::{Policy, Row};
use ebb_core::{Code, Item, Outcome, Refusal, Resource, StackKey, StepResult};
use ebb_store::{Bucket, state_file};

use crate::Deps;
use crate::outcome::{after, refused};

/// The resource to work on, or the result when there is none to be worked on.
pub(crate) async fn read(
    blank: &StepResult,
    bucket: &dyn Bucket,
    key: &StackKey,
    logical_id: &str,
    item: &Item,
) -> Result<Row, Box<StepResult>> {
    match in_place(bucket, key, logical_id, item).await {
        Ok(Some(row)) => return Ok(row),
        Ok(None) => {}
        Err(refusal) => return Err(Box::new(refused(blank.clone(), &refusal))),
    }
    let file = match state_file::read(bucket, key).await {
        Ok(Some(file)) => file,
        Ok(None) => {
            // Not "gone": whoever removed the state under our lock, the planner finds it out and stops the run.
            let result = after(blank.clone(), 5_000);
            return Err(Box::new(result.because("StateNotFound", "the stack's state is not there: nothing is deleted by guess")));
        }
        Err(refusal) => return Err(Box::new(refused(blank.clone(), &refusal))),
    };
    if let Err(refusal) = file.doc.check_region(&key.region) {
        return Err(Box::new(refused(blank.clone(), &refusal)));
    }
    file.doc.row(logical_id).ok_or_else(|| {
        // A step that was delivered twice: the first one's answer was applied and the row trimmed.
        let result = StepResult { outcome: Outcome::Deleted, already: true, ..blank.clone() };
        Box::new(result.because(&Code::RecordGone.name(), "the state records it no more"))
    })
}

/// The row from the item's span. The ETag says that the planner has judged this state, with its region and all other rows;
/// `None` when it is another one by now, or when what lies there is not the item's row.
async fn in_place(bucket: &dyn Bucket, key: &StackKey, logical_id: &str, item: &Item) -> Result<Option<Row>, Refusal> {
    let Some(span) = &item.span else { return Ok(None) };
    let bytes = state_file::read_span(bucket, key, span).await?;
    let row = bytes.and_then(|bytes| Row::alone(&bytes, logical_id));
    Ok(row.filter(|row| row.shown_type() == item.resource_type))
}

/// The row as a provider needs it, unless this run must not delete it. The planner asks all this before the first wave;
/// here it is asked again of the state as it is now.
pub(crate) fn admit(
    blank: &StepResult,
    row: &Row,
    key: &StackKey,
    request: &ebb_core::payload::StepRequest,
    deps: &Deps,
) -> Result<Resource, Box<StepResult>> {
    let run = &request.run;
    let failed =
        |code: &str, reason: &str| Box::new(StepResult { outcome: Outcome::Failed, ..blank.clone() }.because(code, reason));
    let role = run.target.as_ref().map(|target| target.role_arn.as_str());
    if let Some(reason) = deps.rails.own(&run.bucket, role).reason(row) {
        return Err(failed(&Code::OwnResource.name(), reason));
    }
    match row.policy() {
        Policy::Delete | Policy::Snapshot => {}
        Policy::Retain => return Err(failed("Retain", "its DeletionPolicy keeps it: nothing may delete it")),
        Policy::Unknown(policy) => {
            return Err(failed(&Code::UnknownDeletionPolicy.name(), &format!("the DeletionPolicy {policy} is not known")));
        }
    }
    row.to_resource(key, run.options.skip_final_snapshot).map_err(|none| {
        let result = StepResult { outcome: none.outcome(), ..blank.clone() };
        Box::new(result.because(&none.code().name(), none.reason()))
    })
}
