//! One step: read lock and row, ask the provider, and look again at once where that is likely to be worth it. Never
//! starts a provider's step while the fence is shut.

use std::sync::Arc;
use std::time::Duration;

use ebb_core::payload::StepRequest;
use ebb_core::{Context, Fence, Millis, Outcome, StackKey, Step, StepResult};
use ebb_providers::fenced;
use serde_json::Value;

use crate::fence::{LockFence, LooksOnly};
use crate::outcome::{after, of_look, of_step, refused};
use crate::{Deps, row};

/// After this long a step answers rather than goes on.
const SOFT_BUDGET: Millis = 10_000;
/// A wait this short is cheaper inside the step than another wave.
const SHORT_WAIT: Duration = Duration::from_secs(3);

pub(crate) async fn step(request: &StepRequest, key: &StackKey, logical_id: &str, deps: &Deps, started: Millis) -> StepResult {
    let (run, item, clock) = (&request.run, &request.item, &deps.world.clock);
    let blank = StepResult::new(&item.id, item.step, Outcome::Pending);
    let bucket = match deps.world.accounts.bucket(run).await {
        Ok(bucket) => bucket,
        Err(refusal) => return refused(blank, &refusal),
    };
    let fence: Arc<dyn Fence> = match item.look {
        true => Arc::new(LooksOnly),
        false => Arc::new(LockFence::new(bucket.clone(), clock.clone(), key.clone(), run.clone())),
    };
    // Side by side: most steps are two short reads and one call.
    let (open, row) = tokio::join!(
        async { if item.look { Ok(()) } else { fence.check().await } },
        row::read(&blank, &*bucket, key, logical_id)
    );
    if let Err(shut) = open {
        return after(blank, 5_000).because(&shut.code, &shut.message);
    }
    let resource = match row.and_then(|row| row::admit(&blank, &row, key, request, deps)) {
        Ok(resource) => resource,
        Err(result) => return *result,
    };
    let provider = match deps.providers.provider(run, &key.region, bucket).await {
        Ok(provider) => provider,
        Err(refusal) => return refused(blank, &refusal),
    };

    let mut memo: Option<Value> = item.memo.clone();
    let mut waited = Duration::ZERO;
    loop {
        let context = Context {
            run,
            attempt: item.attempt,
            started_at: item.started_at,
            memo: memo.as_ref(),
            fence: &*fence,
            clock: &**clock,
            soft_deadline: started + SOFT_BUDGET,
        };
        if item.look {
            return of_look(blank, &resource, fenced(fence.clone(), provider.look(&resource, &context)).await);
        }
        // Reading the state may have taken long.
        if let Err(shut) = fence.check().await {
            return of_step(blank, &resource, Err(shut), memo);
        }
        let answer = fenced(fence.clone(), provider.step(&resource, &context)).await;
        let Ok(Step::Pending { look_again, memo: told, .. }) = &answer else {
            return of_step(blank, &resource, answer, memo);
        };
        let has_time = context.has_time();
        let look_again = *look_again;
        // A step that remembers something and would go on at once wants it written down first: were this invocation
        // killed, nobody would know that a protection was switched off.
        let write_down = look_again.is_zero() && told.is_some() && *told != memo;
        memo = told.clone().or(memo);
        if write_down || !has_time || look_again + waited > SHORT_WAIT {
            return of_step(blank, &resource, answer, memo);
        }
        clock.sleep(look_again).await;
        waited += look_again;
    }
}
