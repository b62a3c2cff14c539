//! The deletes of a clean end: the ledger before the state, the state, the journal after it.

use ebb_core::state::{Belonging, Layout, peek_region};
use ebb_core::{Clock, Ending, Refusal, StackKey, text};

use super::{Pause, StateFile};
use crate::bucket::{Bucket, BucketError, BucketErrorKind, When};
use crate::versions::purge;

/// Why an object is still there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    /// It is not the one that was read: somebody works here without holding the lock.
    #[error("{0} was changed by someone who does not hold the lock")]
    Conflict(String),
    /// It could not be deleted, or it is not known whether it was.
    #[error(transparent)]
    Failed(#[from] BucketError),
}

impl DeleteError {
    /// What it means for a run that was about to end.
    pub fn refusal(&self) -> Refusal {
        let ending = match self {
            DeleteError::Conflict(_) => Ending::StateConflict,
            DeleteError::Failed(error) if error.kind == BucketErrorKind::Denied => Ending::AccessDenied,
            DeleteError::Failed(_) => Ending::Error,
        };
        Refusal::new(ending, format!("the state's record is kept: {self}"))
    }
}

/// Deletes the ledger of create tokens, before the state. A ledger that outlives its stack could make a later deploy reuse
/// a token and adopt a dead resource, so when it stays the state has to stay. Answers whether there was one.
pub async fn delete_ledger(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey) -> Result<bool, Refusal> {
    let ledger = key.create_tokens();
    let refuse = |why: String| Refusal::new(Ending::LedgerNotDeletable, format!("{ledger} stays, so the state stays: {why}"));
    match bucket.get(&ledger).await {
        Ok(None) => Ok(false),
        Ok(Some(object)) => match delete_unchanged(bucket, clock, &ledger, &object.etag).await {
            Ok(()) => Ok(true),
            // Somebody works here without holding the lock: nothing more is touched.
            Err(error @ DeleteError::Conflict(_)) => Err(error.refusal()),
            Err(error) => Err(refuse(error.to_string())),
        },
        Err(error) if error.kind == BucketErrorKind::Denied => {
            Err(refuse("s3:GetObject was denied; without s3:ListBucket S3 denies it for a ledger that is not there, too".into()))
        }
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// Deletes the state that was read, and a legacy record beside it when it belongs to the region. The versions stay: they
/// are the user's way back. Answers warnings.
pub async fn delete_state(bucket: &dyn Bucket, clock: &dyn Clock, file: &StateFile) -> Result<Vec<String>, DeleteError> {
    delete_unchanged(bucket, clock, &file.object_key(), &file.etag).await?;
    if file.layout == Layout::Legacy {
        return Ok(Vec::new());
    }
    let legacy = file.key.legacy_state();
    let object = match bucket.get(&legacy).await {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(object)) => object,
        Err(error) => return Ok(vec![text::display(&format!("whether a legacy record lies at {legacy} is not known: {error}"))]),
    };
    match peek_region(&object.body).map(|region| region.belongs_to(&file.key.region)) {
        // Left, it would stand for a stack that is gone.
        Ok(Belonging::Ours) => delete_unchanged(bucket, clock, &legacy, &object.etag).await.map(|()| Vec::new()),
        Ok(Belonging::Elsewhere) => Ok(Vec::new()),
        Ok(Belonging::Unclear) | Err(_) => {
            Ok(vec![text::display(&format!("the legacy record {legacy} is left: its region cannot be read"))])
        }
    }
}

/// Deletes the journal of a failed deploy and its old versions, whatever became of the state: a later rollback would
/// replay it against a new stack. Answers warnings.
pub async fn delete_journal(bucket: &dyn Bucket, clock: &dyn Clock, key: &StackKey) -> Vec<String> {
    let journal = key.rollback_journal();
    let warn = |why: String| vec![text::display(&format!("{journal} stays: {why}"))];
    match bucket.get(&journal).await {
        Ok(Some(object)) => {
            if let Err(error) = delete_unchanged(bucket, clock, &journal, &object.etag).await {
                return warn(error.to_string());
            }
        }
        // Its old versions may be there all the same.
        Ok(None) => {}
        Err(error) => return warn(error.to_string()),
    }
    purge(bucket, &journal).await.into_iter().collect()
}

/// Deletes `key` if it still is the object with that ETag; gone is as good as deleted.
pub(super) async fn delete_unchanged(bucket: &dyn Bucket, clock: &dyn Clock, key: &str, etag: &str) -> Result<(), DeleteError> {
    let mut pause = Pause::new(clock);
    loop {
        let error = match bucket.delete(key, When::Unchanged(etag.to_owned())).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error.kind {
            BucketErrorKind::NotFound => return Ok(()),
            BucketErrorKind::Conflict => {}
            BucketErrorKind::Precondition | BucketErrorKind::Unknown => match bucket.get(key).await? {
                None => return Ok(()),
                Some(object) if object.etag == etag => {}
                Some(_) => return Err(DeleteError::Conflict(text::display(key))),
            },
            _ => return Err(error.into()),
        }
        if !pause.again().await {
            return Err(error.into());
        }
    }
}
