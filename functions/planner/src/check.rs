//! May this execution tear its stack down? Reads, refuses, and changes nothing.

use ebb_core::payload::CheckAnswer;
use ebb_core::{Ending, Refusal, Request, Run, text};
use ebb_store::lambda::Failure;
use ebb_store::runs::{Learnt, NOT_LEARNT, NoRun, learn};

use crate::Deps;
use crate::patiently::patiently;
use crate::survey::survey;

/// The run, or a refusal as the error and cause that the machine fails with.
pub(crate) async fn check(execution: &str, deps: &Deps) -> Result<CheckAnswer, Failure> {
    let admit = |request: &Request, home: &str| deps.rails.admits_request(request, home);
    let learnt = match learn(&deps.world, &deps.rails, execution, admit).await {
        Ok(learnt) => learnt,
        Err(NoRun::NotLearnt) => return Err(Failure::new(NOT_LEARNT, "DescribeExecution does not know the execution yet")),
        Err(NoRun::Failed(why)) => return Err(Failure::new(Ending::Error.name(), &why)),
        Err(NoRun::Refused(refusal)) => return Ok(refuse(&refusal, None)),
    };
    match judge(&learnt, deps).await {
        Ok(()) => {
            let run = &learnt.run;
            tracing::info!(stack = %run.stack, region = %run.region, run = %run.run_id, dry_run = run.dry_run, "check passed");
            Ok(CheckAnswer::go(learnt.run))
        }
        Err(refusal) => Ok(refuse(&refusal, Some(&learnt.run))),
    }
}

fn refuse(refusal: &Refusal, run: Option<&Run>) -> CheckAnswer {
    tracing::warn!(run = run.map(|run| run.run_id.as_str()), error = %refusal.ending, cause = %refusal.message, "check refused");
    CheckAnswer::refuse(refusal, run)
}

async fn judge(learnt: &Learnt, deps: &Deps) -> Result<(), Refusal> {
    if learnt.redriven {
        let message =
            "a teardown is never redriven: its lock is long gone; start a new execution, which goes on where this one stopped";
        return Err(Refusal::new(Ending::InvalidRequest, message));
    }
    let run = &learnt.run;
    // What the role's ARN said, STS has confirmed.
    deps.rails.admits_requester(learnt.request.requested_by.as_deref(), &run.account)?;
    let bucket = deps.world.accounts.bucket(run).await?;
    let survey = || survey(&*bucket, run, &deps.rails, learnt.request.region.is_some());
    match patiently(&*deps.world.clock, survey).await? {
        Some(_) => Ok(()),
        None => {
            let message = format!(
                "no state of {} in {} under {}/ in bucket {}",
                text::display(&run.stack),
                text::display(&run.region),
                text::display(&run.prefix),
                text::display(&run.bucket)
            );
            Err(Refusal::new(Ending::StackNotFound, message))
        }
    }
}
