//! `acquire`: the locks of the whole tree, or none. A lock that someone holds is waited for as long as the request
//! said, and never broken.

use ebb_core::payload::AcquireAnswer;
use ebb_core::{Ending, Millis, Run};
use ebb_store::lambda::Failure;
use ebb_store::lock::acquire_all;

use crate::Deps;

/// Seconds between two tries.
const TRY_AGAIN: u64 = 15;

/// Takes the run's locks.
pub(crate) async fn acquire(run: &Run, deps: &Deps) -> Result<AcquireAnswer, Failure> {
    if run.dry_run {
        return Err(Failure::new(Ending::Error.name(), "a dry run takes no lock"));
    }
    let clock = deps.world.clock.as_ref();
    let bucket = match deps.world.accounts.bucket(run).await {
        Ok(bucket) => bucket,
        Err(refusal) => return Ok(AcquireAnswer::refuse(&refusal, run)),
    };
    match acquire_all(bucket.as_ref(), clock, run).await {
        Ok(held) => {
            tracing::info!(run = %run.run_id, stack = %run.stack, region = %run.region, locks = held.len(), "lock held");
            Ok(AcquireAnswer::drive())
        }
        Err(refusal) => {
            let left = match refusal.ending {
                Ending::LockHeld => patience_left(run, clock.now()),
                _ => 0,
            };
            tracing::info!(run = %run.run_id, stack = %run.stack, region = %run.region, outcome = %refusal, left, "lock not held");
            match left {
                0 => Ok(AcquireAnswer::refuse(&refusal, run)),
                left => Ok(AcquireAnswer::wait(left.min(TRY_AGAIN))),
            }
        }
    }
}

/// Whole seconds until the run has waited as long as its request said, counted from its start.
fn patience_left(run: &Run, now: Millis) -> u64 {
    let until = run.timestamp.saturating_add(run.options.lock_wait.saturating_mul(1000));
    until.saturating_sub(now).div_ceil(1000)
}

#[cfg(test)]
mod tests {
    use ebb_core::lock::TTL;
    use ebb_core::payload::AcquireNext;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Bed, T, foreign, run};

    #[tokio::test(start_paused = true)]
    async fn a_free_lock_is_taken_and_a_repeat_finds_it() {
        let bed = Bed::new();
        assert_eq!(acquire(&run(), &bed.deps).await, Ok(AcquireAnswer::drive()));
        bed.pass(1_000).await;
        assert_eq!(acquire(&run(), &bed.deps).await, Ok(AcquireAnswer::drive()));
        assert!(bed.lock("S").unwrap().contains(&(T + 1_000 + TTL).to_string()));
    }

    /// A destroy acquires once and fails fast when the lock is held; it does not queue.
    #[tokio::test(start_paused = true)]
    async fn a_held_lock_is_refused_and_named() {
        let bed = Bed::new();
        bed.put_lock("S", &foreign(T + TTL));
        let answer = acquire(&run(), &bed.deps).await.unwrap();
        assert_eq!((answer.next, answer.error.as_deref()), (AcquireNext::Refuse, Some("LockHeld")));
        let cause: Value = serde_json::from_str(&answer.cause.unwrap()).unwrap();
        assert!(cause["message"].as_str().unwrap().contains("jo@host:1"), "{cause}");
        assert_eq!(cause["exitClass"], 1);
        let run = run();
        assert_eq!(
            (&cause["stack"], &cause["region"], &cause["account"]),
            (&json!(run.stack), &json!(run.region), &json!(run.account))
        );
    }

    /// `lockWait`: how long to wait for a lock that someone holds; never a break-in.
    #[tokio::test(start_paused = true)]
    async fn a_patient_request_waits_from_its_start_and_then_gives_up() {
        let bed = Bed::new();
        bed.put_lock("S", &foreign(T + TTL));
        let mut patient = run();
        patient.options.lock_wait = 40;
        let mut waits = Vec::new();
        loop {
            let answer = acquire(&patient, &bed.deps).await.unwrap();
            match answer.seconds {
                Some(seconds) => waits.push(seconds),
                None => {
                    assert_eq!((answer.next, answer.error.as_deref()), (AcquireNext::Refuse, Some("LockHeld")));
                    break;
                }
            }
            bed.pass(waits.last().unwrap() * 1000).await;
        }
        assert_eq!(waits, [15, 15, 10]);
        assert_eq!(bed.lock("S"), Some(foreign(T + TTL)));
    }

    /// LockError is not contention: nobody waits for a bucket that refuses.
    #[tokio::test(start_paused = true)]
    async fn a_broken_lock_is_not_waited_for() {
        let bed = Bed::new();
        bed.put_lock("S", "{");
        let mut patient = run();
        patient.options.lock_wait = 40;
        let answer = acquire(&patient, &bed.deps).await.unwrap();
        assert_eq!((answer.next, answer.error.as_deref()), (AcquireNext::Refuse, Some("LockError")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dry_run_takes_no_lock() {
        let bed = Bed::new();
        let mut dry = run();
        dry.dry_run = true;
        assert!(acquire(&dry, &bed.deps).await.is_err());
        assert_eq!(bed.lock("S"), None);
    }
}
