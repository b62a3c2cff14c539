//! `close`: from here on every fence of the run is shut and nobody renews or reopens its locks. An error is thrown after
//! all of them were tried, so that the machine tries again.

use ebb_core::Run;
use ebb_core::payload::CloseAnswer;
use ebb_store::lambda::Failure;
use ebb_store::lock::close_all;

use crate::Deps;

/// Closes the lock of the stack and of every nested one that is this run's.
pub(crate) async fn close(run: &Run, deps: &Deps) -> Result<CloseAnswer, Failure> {
    let bucket = deps.world.accounts.bucket(run).await?;
    let closed = close_all(bucket.as_ref(), deps.world.clock.as_ref(), run).await?;
    let closed: Vec<String> = closed.into_iter().map(|key| key.stack).collect();
    tracing::info!(run = %run.run_id, stack = %run.stack, region = %run.region, closed = closed.len(), "closed");
    Ok(CloseAnswer { closed })
}

#[cfg(test)]
mod tests {
    use ebb_core::lock::{CLOSE_LEASE, Identity, LockBody};

    use super::*;
    use crate::testing::{Bed, T, foreign_lock};

    /// Close rewrites every lock of the run with `destroy-stopping` and a lease of five minutes at most; again changes nothing.
    #[tokio::test(start_paused = true)]
    async fn every_lock_of_the_run_is_closed_once() {
        let bed = Bed::new();
        bed.take_locks(&["S", "S~Child"]);
        for _ in 0..2 {
            assert_eq!(close(&bed.run, &bed.deps).await.unwrap(), CloseAnswer { closed: vec!["S".into(), "S~Child".into()] });
            let closed = LockBody::closed(&Identity::of(&bed.run), Some(T + CLOSE_LEASE), T).to_json();
            assert_eq!((bed.lock("S"), bed.lock("S~Child")), (Some(closed.clone()), Some(closed)));
        }
    }

    /// A foreign or missing lock is left alone: nothing of ours, empty list.
    #[tokio::test(start_paused = true)]
    async fn what_is_not_ours_is_left_alone() {
        let bed = Bed::new();
        assert_eq!(close(&bed.run, &bed.deps).await.unwrap(), CloseAnswer::default());
        bed.put(&bed.run.key().lock(), &foreign_lock());
        assert_eq!(close(&bed.run, &bed.deps).await.unwrap(), CloseAnswer::default());
        assert_eq!(bed.lock("S"), Some(foreign_lock()));
    }

    /// A lock that may still be open is an error, after the others were closed.
    #[tokio::test(start_paused = true)]
    async fn a_lock_that_may_be_open_is_thrown() {
        let bed = Bed::new();
        bed.take_locks(&["S", "S~Child"]);
        bed.bucket.hook.deny("PutObject", &bed.run.key().lock());
        assert_eq!(close(&bed.run, &bed.deps).await.unwrap_err().name, "LockError");
        assert!(bed.lock("S~Child").unwrap().contains("destroy-stopping"));
    }
}
