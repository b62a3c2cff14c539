//! The lock of a stack and of the stacks nested in it, on a bucket. What to ask next and what a reply means is decided
//! by `ebb_core::lock`; here the requests are sent. Nothing is remembered: every call reads the object afresh.

mod drive;
mod tree;

pub use tree::{locks, tree};

use ebb_core::lock::{
    Acquire, Acquired, Close, Closed, FenceView, ForceUnlockInput, How, Identity, ReadAt, Reading, Release, Released, Renew,
    Renewed, Trouble, fence,
};
use ebb_core::{Clock, Ending, Millis, Refusal, Run, StackKey, text};

use crate::bucket::{Bucket, BucketError};
use crate::versions::purge;
use drive::drive;

/// A lock that is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Of which stack.
    pub key: StackKey,
    /// When its lease ends.
    pub expires_at: Millis,
    /// How it came to be ours.
    pub how: How,
}

/// Takes the lock of `key` for `run`. Never waits and never breaks in: `LockHeld`, `LockError` or `LockLost`.
pub async fn acquire(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, run: &Run) -> Result<Held, Refusal> {
    let path = key.lock();
    let (acquired, error) = drive(bucket, clock, &path, Acquire::new(Identity::of(run), clock.now())).await;
    match acquired {
        Acquired::Held { expires_at, how } => {
            if let How::TookOver { from } = &how {
                tracing::warn!(stack = %key.stack, region = %key.region, previous = %from.owner, "took over an expired lock");
                if let Some(warning) = purge(bucket, &path).await {
                    tracing::warn!(stack = %key.stack, region = %key.region, %warning, "lock versions not purged");
                }
            }
            Ok(Held { key: key.clone(), expires_at, how })
        }
        Acquired::Contended(contention) => {
            Err(Refusal::new(Ending::LockHeld, contention.message(&ForceUnlockInput::new(run, key), clock.now())))
        }
        Acquired::Failed(trouble) => Err(lock_error("acquire", key, trouble, error.as_ref())),
        Acquired::Lost => Err(Refusal::new(
            Ending::LockLost,
            format!("the lock of {} was this run's and is closed or gone: the run was stopped or its lock removed", name(key)),
        )),
    }
}

/// Takes the root's lock, then those of the stacks nested in it in key order, or none. The root comes first, because
/// under it nobody deploys the tree, so its listing holds.
pub async fn acquire_all(bucket: &dyn Bucket, clock: &dyn Clock, run: &Run) -> Result<Vec<Held>, Refusal> {
    let mut held = vec![acquire(bucket, clock, &run.key(), run).await?];
    let refusal = match tree(bucket, run).await {
        Err(error) => unlisted(run, &error),
        Ok(keys) => {
            let mut refused = None;
            for key in keys.iter().filter(|key| **key != run.key()) {
                match acquire(bucket, clock, key, run).await {
                    Ok(lock) => held.push(lock),
                    Err(refusal) => {
                        refused = Some(refusal);
                        break;
                    }
                }
            }
            match refused {
                None => return Ok(held),
                Some(refusal) => refusal,
            }
        }
    };
    for lock in held.iter().rev() {
        if let Some(warning) = release(bucket, clock, &lock.key, run).await {
            tracing::warn!(stack = %lock.key.stack, region = %lock.key.region, %warning, "lock not released");
        }
    }
    Err(refusal)
}

/// Renews the lock of `key` when it is ours and open.
pub async fn renew(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, run: &Run) -> (Renewed, Option<BucketError>) {
    drive(bucket, clock, &key.lock(), Renew::new(Identity::of(run))).await
}

/// Renews every open lock of the run, the root's first. An error says that some may not have been renewed this time;
/// the others were.
pub async fn renew_all(bucket: &dyn Bucket, clock: &dyn Clock, run: &Run) -> Result<Vec<(StackKey, Renewed)>, Refusal> {
    let mut renewed = Vec::new();
    let mut problem = None;
    let mut keys = vec![run.key()];
    match locks(bucket, run).await {
        Ok(all) => keys = all,
        Err(error) => problem = Some(unlisted(run, &error)),
    }
    for key in keys {
        let (verdict, error) = renew(bucket, clock, &key, run).await;
        if let Renewed::NotNow(trouble) = verdict {
            problem.get_or_insert(lock_error("renewal", &key, trouble, error.as_ref()));
        }
        renewed.push((key, verdict));
    }
    problem.map_or(Ok(renewed), Err)
}

/// Closes the lock of `key` when it is ours.
pub async fn close(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, run: &Run) -> Result<Closed, Refusal> {
    match drive(bucket, clock, &key.lock(), Close::new(Identity::of(run))).await {
        (Closed::Failed(trouble), error) => Err(lock_error("close", key, trouble, error.as_ref())),
        (closed, _) => Ok(closed),
    }
}

/// Closes every lock of the run and answers whose were ours. An error says that one may still be open, after all the
/// others were tried.
pub async fn close_all(bucket: &dyn Bucket, clock: &dyn Clock, run: &Run) -> Result<Vec<StackKey>, Refusal> {
    let mut closed = Vec::new();
    let mut problem = None;
    let mut keys = vec![run.key()];
    match locks(bucket, run).await {
        Ok(all) => keys = all,
        Err(error) => problem = Some(unlisted(run, &error)),
    }
    for key in keys {
        match close(bucket, clock, &key, run).await {
            Ok(Closed::Closed) => closed.push(key),
            Ok(_) => {}
            Err(refusal) => {
                problem.get_or_insert(refusal);
            }
        }
    }
    problem.map_or(Ok(closed), Err)
}

/// Releases the lock of `key` when it is ours, open or closed. Answers a warning when it stays; it lapses by itself,
/// and a run's result never changes for it.
pub async fn release(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, run: &Run) -> Option<String> {
    let path = key.lock();
    let (released, error) = drive(bucket, clock, &path, Release::new(Identity::of(run))).await;
    match released {
        Released::Released | Released::Missing => {
            if let Some(warning) = purge(bucket, &path).await {
                tracing::debug!(stack = %key.stack, region = %key.region, %warning, "lock versions not purged");
            }
            None
        }
        Released::NotOurs => Some(format!("the lock of {} is not this run's any more and is left alone", name(key))),
        Released::Left(trouble) => Some(lock_error("release", key, trouble, error.as_ref()).message),
    }
}

/// Releases every lock of the run, the root's last, so that whoever takes the root next meets no lock of ours below
/// it. Answers warnings.
pub async fn release_all(bucket: &dyn Bucket, clock: &dyn Clock, run: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut keys = vec![run.key()];
    match locks(bucket, run).await {
        Ok(all) => keys = all,
        Err(error) => warnings.push(unlisted(run, &error).message),
    }
    for key in keys.iter().rev() {
        warnings.extend(release(bucket, clock, key, run).await);
    }
    warnings
}

/// Reads the lock of `key`: may a mutating call start, and until when? An error says nothing about the lock; start
/// nothing then, and ask again.
pub async fn read_fence(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey, run: &Run) -> Result<FenceView, BucketError> {
    let asked = clock.now();
    let object = bucket.get(&key.lock()).await?;
    let at = ReadAt { asked, now: clock.now(), date: object.as_ref().and_then(|object| object.date) };
    let reading = object.map(|object| Reading::of(&object.body));
    Ok(fence(reading.as_ref(), &Identity::of(run), at))
}

fn name(key: &StackKey) -> String {
    format!("{} in {}", text::ascii(&key.stack), text::ascii(&key.region))
}

fn unlisted(run: &Run, error: &BucketError) -> Refusal {
    Refusal::new(Ending::LockError, format!("the stacks nested in {} could not be listed: {error}", name(&run.key())))
}

fn lock_error(what: &str, key: &StackKey, trouble: Trouble, error: Option<&BucketError>) -> Refusal {
    let detail = error.map(|error| format!(" ({error})")).unwrap_or_default();
    Refusal::new(Ending::LockError, format!("{what} of the lock of {}: {}{detail}", name(key), trouble.advice()))
}

#[cfg(test)]
mod tests;
