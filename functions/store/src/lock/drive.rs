//! Sends what a lock's machine asks for and tells it what came back.

use ebb_core::Clock;
use ebb_core::lock::{Ask, Machine, Progress, Reply};

use crate::bucket::{Bucket, BucketError, BucketErrorKind, Put, When};

/// Drives `machine` on the lock at `path` to its verdict; answers the last error of a request too, for messages.
pub(super) async fn drive<M: Machine>(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    path: &str,
    mut machine: M,
) -> (M::Verdict, Option<BucketError>) {
    loop {
        let (reply, error) = match send(bucket, clock, path, machine.ask()).await {
            Ok(reply) => (reply, None),
            Err(error) => (meaning(&error), Some(error)),
        };
        match machine.told(reply, clock.now()) {
            Progress::Next(next) => machine = next,
            Progress::Done(verdict) => return (verdict, error),
        }
    }
}

async fn send(bucket: &dyn Bucket, clock: &dyn Clock, path: &str, ask: Ask) -> Result<Reply, BucketError> {
    match ask {
        Ask::Get => Ok(bucket.get(path).await?.map_or(Reply::Missing, |object| Reply::Found {
            body: object.body.to_vec(),
            etag: Some(object.etag).filter(|etag| !etag.is_empty()),
            date: object.date,
        })),
        Ask::PutIfAbsent(body) => bucket.put(path, Put::json(body.to_json()), When::Absent).await.map(|_| Reply::Written),
        Ask::PutIfMatch { etag, body } => {
            bucket.put(path, Put::json(body.to_json()), When::Unchanged(etag)).await.map(|_| Reply::Written)
        }
        Ask::DeleteIfMatch { etag } => bucket.delete(path, When::Unchanged(etag)).await.map(|()| Reply::Deleted),
        Ask::Pause(duration) => {
            clock.sleep(duration).await;
            Ok(Reply::Paused)
        }
    }
}

fn meaning(error: &BucketError) -> Reply {
    match error.kind {
        BucketErrorKind::NotFound => Reply::Missing,
        BucketErrorKind::NoSuchBucket => Reply::NoSuchBucket,
        BucketErrorKind::Precondition => Reply::Precondition,
        BucketErrorKind::Conflict => Reply::Conflict,
        BucketErrorKind::Denied => Reply::Denied,
        BucketErrorKind::NotImplemented => Reply::NotImplemented,
        BucketErrorKind::Unavailable => Reply::Unavailable,
        BucketErrorKind::Unknown => Reply::Unknown,
        // A write that was answered without an ETag may well have happened: it is read back.
        BucketErrorKind::Other if error.code == "BrokenAnswer" => Reply::Unknown,
        BucketErrorKind::Other => Reply::Other,
    }
}
