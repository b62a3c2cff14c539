//! The effects of an end under the lock: the state made what the record says, and at a clean end removed with everything
//! that lies beside it. Each write is conditional and belongs to the record's claim, so a repeated settle finishes what an
//! earlier one began.

use std::collections::BTreeSet;
use std::time::Duration;

use ebb_core::lock::{FenceView, Shut};
use ebb_core::record::RunRecord;
use ebb_core::{Clock, Ending, Refusal, StackKey};
use ebb_store::in_line::{Files, bring_in_line};
use ebb_store::lambda::Failure;
use ebb_store::lock::read_fence;
use ebb_store::{Bucket, state_file};

/// How often what passes is tried again.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// Whether every lock of the run's stacks is ours, open or closed, with lease left. `Err` of the inner result says why not;
/// the outer error means that it is not known.
pub(crate) async fn may_settle(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    record: &RunRecord,
) -> Result<Result<(), Refusal>, Failure> {
    let root = record.run.key();
    let mut keys = BTreeSet::from([root.clone()]);
    keys.extend(record.stacks.keys().map(|stack| root.sibling(stack)));
    for key in &keys {
        if let Err(shut) = holds(bucket, clock, key, record).await? {
            let why = match shut {
                Shut::Closed { .. } | Shut::ShortLease { .. } => "the lock's lease is over".to_owned(),
                other => other.to_string(),
            };
            return Ok(Err(Refusal::new(Ending::LockLost, format!("{} in {}: {why}", key.stack, key.region))));
        }
    }
    Ok(Ok(()))
}

async fn holds(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, record: &RunRecord) -> Result<Result<(), Shut>, Failure> {
    for _ in 0..TRIES {
        let view = read_fence(bucket, clock, key, &record.run).await.map_err(|error| {
            Failure::new(
                Ending::LockError.name(),
                &format!("whether the lock of {} is still ours is not known: {error}", key.stack),
            )
        })?;
        match view {
            view if view.may_settle() => return Ok(Ok(())),
            // Only this reading was too slow.
            FenceView::Shut(Shut::StaleReading) => {}
            FenceView::Shut(shut) => return Ok(Err(shut)),
            FenceView::Open { .. } => return Ok(Ok(())),
        }
    }
    Err(Failure::new(Ending::LockError.name(), &format!("reading the lock of {} takes too long", key.stack)))
}

/// Brings the states in line with the claimed record and removes what it says is removed. What passes is tried again.
pub(crate) async fn settle(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    record: &RunRecord,
) -> Result<Result<Vec<String>, Refusal>, Failure> {
    let mut tried = 1;
    loop {
        // Fresh each time: what was read before an error may be old.
        match bring_in_line(bucket, clock, record, &mut Files::default()).await {
            Err(refusal) if refusal.ending == Ending::Error && tried < TRIES => tried += 1,
            settled => return Ok(settled),
        }
        clock.sleep(PAUSE).await;
        if let Err(lost) = may_settle(bucket, clock, record).await? {
            return Ok(Err(lost));
        }
    }
}

/// What goes although the state has to stay: the journal, which a later rollback would replay against a new stack. After
/// a conflict even that stays, for somebody else is at work.
pub(crate) async fn leave(bucket: &dyn Bucket, clock: &dyn Clock, record: &RunRecord, refusal: &Refusal) -> Vec<String> {
    match refusal.ending {
        Ending::LedgerNotDeletable => state_file::delete_journal(bucket, clock, &record.run.key()).await,
        _ => Vec::new(),
    }
}
