//! One step: read lock and row, ask the provider, and look again at once where that is likely to be worth it. Never
//! starts a provider's step while the fence is shut.

use std::sync::Arc;
use std::time::Duration;

use ebb_core::payload::StepRequest;
use ebb_core::{Context, Fence, Millis, Outcome, StackKey, Step, StepResult};
use ebb_providers::with_fence;
use serde_json::Value;

use crate::fence::{LockFence, LooksOnly};
use crate::outcome::{after, of_look, of_step, refused};
use crate::{Deps, row};

/// After this long a step answers rather than goes on, unless the planner lets it wait longer for a delete under way.
const SOFT_BUDGET: Millis = 10_000;
/// The longest wait that a planner may ask for: a Lambda's minute holds it, the last call and that call's retries.
const LONGEST_WAIT: Millis = 30_000;
/// Looks inside a step are this far apart, and a sixtieth of what the delete has taken, up to five seconds.
const CLOSEST: Duration = Duration::from_secs(1);
const FURTHEST: Duration = Duration::from_secs(5);
/// A wait that is shorter than this is not worth a look.
const SHORTEST: Duration = Duration::from_millis(200);

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
        row::read(&blank, &*bucket, key, logical_id, item)
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
    let patience = item.patience_ms.min(LONGEST_WAIT);
    loop {
        let context = Context {
            run,
            attempt: item.attempt,
            started_at: item.started_at,
            memo: memo.as_ref(),
            fence: &*fence,
            clock: &**clock,
            soft_deadline: started + SOFT_BUDGET.max(patience),
        };
        if item.look {
            return of_look(blank, &resource, with_fence(fence.clone(), provider.look(&resource, &context)).await);
        }
        // Reading the state may have taken long.
        if let Err(shut) = fence.check().await {
            return of_step(blank, &resource, Err(shut), memo);
        }
        let answer = with_fence(fence.clone(), provider.step(&resource, &context)).await;
        let Ok(Step::Pending { look_again, memo: told, error, .. }) = &answer else {
            return of_step(blank, &resource, answer, memo);
        };
        let (look_again, has_time) = (*look_again, context.has_time());
        // A step that remembers something and would go on at once wants it written down first: were this invocation
        // killed, nobody would know that a protection was switched off.
        let write_down = look_again.is_zero() && told.is_some() && *told != memo;
        // A delete under way may be over sooner than the step thinks; an error is left alone as long as it asks for.
        let often = (context.elapsed() / 60).clamp(CLOSEST, FURTHEST);
        let is_error = error.is_some();
        memo = told.clone().or(memo);
        // What is not written down yet is not kept from it for long.
        let until = started + if memo == item.memo { patience } else { patience.min(SOFT_BUDGET) };
        let left = Duration::from_millis(until.saturating_sub(clock.now()));
        let wait = match is_error {
            true => look_again,
            // The last look comes when the patience ends, not a look's distance before.
            false if left >= SHORTEST => look_again.min(often).min(left),
            false => look_again.min(often),
        };
        let fits = look_again.is_zero() || (!wait.is_zero() && clock.now() + millis(wait) <= until);
        if write_down || !has_time || !fits {
            return of_step(blank, &resource, answer, memo);
        }
        clock.sleep(wait).await;
    }
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}
