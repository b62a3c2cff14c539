//! `renew`: while the execution runs, its open locks get a full lease again; when it is over, the keeper is told to
//! settle it. An error is thrown, caught by the machine and tried again at the next tick: a lease survives many.

use ebb_core::payload::{RenewAnswer, RenewNext};
use ebb_store::Resolution;
use ebb_store::lambda::Failure;
use ebb_store::lock::renew_all;

use crate::Deps;

/// Renews the locks of the run that `execution` is.
pub(crate) async fn renew(execution: &str, deps: &Deps) -> Result<RenewAnswer, Failure> {
    let answer = |next, run| Ok(RenewAnswer { next, run });
    let (run, running) = match deps.resolve.resolve(execution).await? {
        Resolution::NotLearnt => return answer(RenewNext::Held, None),
        Resolution::NotARun => return answer(RenewNext::End, None),
        // A dry run holds no lock, so there is nothing to renew and nothing to settle.
        Resolution::Run { run, .. } if run.dry_run => return answer(RenewNext::End, None),
        Resolution::Run { run, running } => (run, running),
    };
    if !running {
        tracing::info!(run = %run.run_id, stack = %run.stack, region = %run.region, "run is over");
        return answer(RenewNext::Over, Some(*run));
    }
    let bucket = deps.world.accounts.bucket(&run).await?;
    let renewed = renew_all(bucket.as_ref(), deps.world.clock.as_ref(), &run).await?;
    for (key, verdict) in renewed {
        tracing::info!(run = %run.run_id, stack = %key.stack, region = %key.region, outcome = ?verdict, "renewed");
    }
    answer(RenewNext::Held, None)
}

#[cfg(test)]
mod tests {
    use ebb_core::lock::{CLOSE_LEASE, TTL};

    use super::*;
    use crate::testing::{Bed, T, foreign, run};

    const ARN: &str = "arn:aws:states:us-east-1:1:execution:m:a";

    fn held() -> Result<RenewAnswer, Failure> {
        Ok(RenewAnswer { next: RenewNext::Held, run: None })
    }

    /// Running → it renews the run's open locks, children included.
    #[tokio::test(start_paused = true)]
    async fn a_running_run_keeps_its_locks() {
        let bed = Bed::new();
        bed.put_state("S~A");
        crate::acquire::acquire(&run(), &bed.deps).await.unwrap();
        bed.pass(120_000).await;
        bed.resolves(Ok(Resolution::Run { run: Box::new(run()), running: true }));
        assert_eq!(renew(ARN, &bed.deps).await, held());
        for stack in ["S", "S~A"] {
            assert!(bed.lock(stack).unwrap().contains(&(T + 120_000 + TTL).to_string()), "{stack}");
        }
    }

    /// Closed, foreign or missing ones are left alone.
    #[tokio::test(start_paused = true)]
    async fn what_is_not_our_open_lock_is_left_alone() {
        let bed = Bed::new();
        bed.resolves(Ok(Resolution::Run { run: Box::new(run()), running: true }));
        assert_eq!(renew(ARN, &bed.deps).await, held());
        assert_eq!(bed.lock("S"), None);
        bed.put_lock("S", &foreign(T));
        assert_eq!(renew(ARN, &bed.deps).await, held());
        assert_eq!(bed.lock("S"), Some(foreign(T)));
        let closed = ebb_core::lock::LockBody::closed(&ebb_core::lock::Identity::of(&run()), None, T);
        assert_eq!(closed.expires_at, T + CLOSE_LEASE);
        bed.put_lock("S", &closed.to_json());
        assert_eq!(renew(ARN, &bed.deps).await, held());
        assert_eq!(bed.lock("S"), Some(closed.to_json()));
    }

    /// Not running → `over`; not learnt → no renewal, `held`; no valid request → `end`.
    #[tokio::test(start_paused = true)]
    async fn the_keeper_is_told_how_the_execution_stands() {
        let bed = Bed::new();
        crate::acquire::acquire(&run(), &bed.deps).await.unwrap();
        let before = bed.lock("S");
        bed.pass(1000).await;
        let mut dry = run();
        dry.dry_run = true;
        for (resolution, next, with_run) in [
            (Resolution::Run { run: Box::new(run()), running: false }, RenewNext::Over, true),
            (Resolution::NotLearnt, RenewNext::Held, false),
            (Resolution::NotARun, RenewNext::End, false),
            (Resolution::Run { run: Box::new(dry), running: false }, RenewNext::End, false),
        ] {
            bed.resolves(Ok(resolution));
            let expected = RenewAnswer { next, run: with_run.then(run) };
            assert_eq!(renew(ARN, &bed.deps).await, Ok(expected));
            assert_eq!(bed.lock("S"), before, "nothing was renewed");
        }
    }

    /// Any error of Renew is caught and goes to Wait: it must be thrown, or a dead run would be kept alive unseen.
    #[tokio::test(start_paused = true)]
    async fn an_error_is_thrown() {
        let bed = Bed::new();
        bed.resolves(Err(Failure::new("Error", "DescribeExecution: throttled")));
        assert!(renew(ARN, &bed.deps).await.is_err());
        bed.resolves(Ok(Resolution::Run { run: Box::new(run()), running: true }));
        bed.lose_bucket();
        assert!(renew(ARN, &bed.deps).await.is_err());
    }
}
