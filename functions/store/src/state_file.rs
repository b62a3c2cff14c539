//! A stack's state in the bucket: read from either layout, written back trimmed, deleted at a clean end together with
//! what lies beside it. Every write and delete is on the condition that the object is the one that was read; when it is
//! not, somebody works here without holding the lock and nothing more is touched.

mod end;

use bytes::Bytes;
use ebb_core::state::{Belonging, Layout, peek_region};
use ebb_core::{Clock, Ending, Refusal, Span, StackKey, StateDoc, text};
use sha2::{Digest, Sha256};

use crate::bucket::{Bucket, BucketError, BucketErrorKind, Object, Put, When};

pub use end::{DeleteError, delete_journal, delete_ledger, delete_state};

/// A state below this size, in bytes, is read whole: a part of it comes no sooner.
const LARGE: usize = 256 << 10;

/// A state as it was read.
#[derive(Clone, Debug)]
pub struct StateFile {
    /// Whose it is.
    pub key: StackKey,
    /// Which of the two keys it was read from.
    pub layout: Layout,
    /// The ETag of that object, quotes included.
    pub etag: String,
    /// The body as read.
    pub body: Body,
    /// The body, judged and ready to be read.
    pub doc: StateDoc,
}

/// A body; `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq)]
pub struct Body(pub Bytes);

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl StateFile {
    /// The key of the object that was read.
    pub fn object_key(&self) -> String {
        match self.layout {
            Layout::Regional => self.key.state(),
            Layout::Legacy => self.key.legacy_state(),
        }
    }

    /// Where a row lies in the object, when that is large. A legacy one is written to the region's key before long.
    pub fn span(&self, logical_id: &str) -> Option<Span> {
        if self.body.0.len() < LARGE || self.layout == Layout::Legacy || self.etag.len() > Span::LONGEST_ETAG {
            return None;
        }
        let range = self.doc.span(logical_id)?;
        Some(Span { etag: self.etag.clone(), first: range.start as u64, last: (range.end - 1) as u64 })
    }
}

/// A trimmed state that is in the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its ETag: the condition of the next write.
    pub etag: String,
    /// What a person should know (the legacy record could not be removed).
    pub warnings: Vec<String>,
}

/// Why a trimmed state is not in the bucket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Somebody wrote or removed the state without holding the lock: stop, write nothing more.
    #[error("{0} was changed by someone who does not hold the lock")]
    Conflict(String),
    /// It could not be written, or it is not known whether it was. What is in the bucket records too much, never too
    /// little: a rerun finds the rest gone.
    #[error(transparent)]
    Failed(#[from] BucketError),
}

/// Reads a stack's state: the region's key, else the legacy key when its record belongs to the region. `None` when there
/// is none. The body passed the gate; whether its region agrees is `StateDoc::check_region`'s to say.
pub async fn read(bucket: &dyn Bucket, key: &StackKey) -> Result<Option<StateFile>, Refusal> {
    if let Some(object) = get(bucket, &key.state()).await? {
        return parsed(key, Layout::Regional, object).map(Some);
    }
    let Some(object) = get(bucket, &key.legacy_state()).await? else {
        return Ok(None);
    };
    // Judged before the rest: another region's record may have any shape.
    match peek_region(&object.body)?.belongs_to(&key.region) {
        Belonging::Elsewhere => Ok(None),
        // Parsed all the same: the region check then says what is wrong with it.
        Belonging::Ours | Belonging::Unclear => {
            let file = parsed(key, Layout::Legacy, object)?;
            file.doc.check_region(&key.region)?;
            Ok(Some(file))
        }
    }
}

/// The bytes of a state that a span names. `None` when the region's key holds another state by now, or none.
pub async fn read_span(bucket: &dyn Bucket, key: &StackKey, span: &Span) -> Result<Option<Bytes>, Refusal> {
    bucket.get_span(&key.state(), span).await.map_err(|error| refusal(bucket.name(), &error))
}

/// Writes `body`, made from `file` by `StateDoc::trim`. The first write of a legacy record goes to the region's key, which
/// must not exist; then the legacy one is removed, at best effort.
pub async fn write_trimmed(
    bucket: &dyn Bucket,
    clock: &dyn Clock,
    file: &StateFile,
    body: impl Into<Bytes>,
) -> Result<Written, WriteError> {
    let (key, body) = (file.key.state(), body.into());
    let expected = match file.layout {
        Layout::Regional => Some(file.etag.as_str()),
        Layout::Legacy => None,
    };
    let when = expected.map_or(When::Absent, |etag| When::Unchanged(etag.to_owned()));
    let mut pause = Pause::new(clock);
    let etag = loop {
        let error = match bucket.put(&key, Put::json(body.clone()), when.clone()).await {
            Ok(etag) => break etag,
            Err(error) => error,
        };
        match error.kind {
            BucketErrorKind::Conflict => {}
            // A retry of our own, a lost reply, or somebody else: only the object can tell.
            BucketErrorKind::Precondition | BucketErrorKind::NotFound | BucketErrorKind::Unknown => {
                match bucket.get(&key).await? {
                    Some(object) if object.body == body => break object.etag,
                    now if now.as_ref().map(|o| o.etag.as_str()) == expected => {}
                    _ => return Err(WriteError::Conflict(text::display(&key))),
                }
            }
            _ => return Err(error.into()),
        }
        if !pause.again().await {
            return Err(error.into());
        }
    };
    let warnings = match file.layout {
        Layout::Regional => Vec::new(),
        Layout::Legacy => end::delete_unchanged(bucket, clock, &file.object_key(), &file.etag)
            .await
            .err()
            .map(|error| text::display(&format!("the legacy record stays beside the new one: {error}")))
            .into_iter()
            .collect(),
    };
    Ok(Written { etag, warnings })
}

/// The sha256 of a body, hexadecimal: what the run record remembers a write by.
pub fn digest(body: &[u8]) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parsed(key: &StackKey, layout: Layout, object: Object) -> Result<StateFile, Refusal> {
    let doc = StateDoc::parse(&object.body, layout)?;
    Ok(StateFile { key: key.clone(), layout, etag: object.etag, body: Body(object.body), doc })
}

async fn get(bucket: &dyn Bucket, key: &str) -> Result<Option<Object>, Refusal> {
    bucket.get(key).await.map_err(|error| refusal(bucket.name(), &error))
}

/// What a failed read means for the run. A denied read is never "no state".
fn refusal(bucket: &str, error: &BucketError) -> Refusal {
    match error.kind {
        BucketErrorKind::Denied => Refusal::new(
            Ending::AccessDenied,
            format!(
                "{} of {} in {bucket} was denied. Grant s3:GetObject and s3:ListBucket: with s3:GetObject alone S3 answers \
                 403 for a key that is not there, too; and a bucket of another account than the run's is denied as well",
                error.operation, error.key
            ),
        ),
        BucketErrorKind::NoSuchBucket => Refusal::new(Ending::BucketNotFound, format!("there is no bucket {bucket}")),
        _ => Refusal::new(Ending::Error, format!("the state in {bucket} could not be read: {error}")),
    }
}

/// Waits between tries, which double; a few, for the functions have a minute in all.
struct Pause<'a> {
    clock: &'a dyn Clock,
    tries_left: u32,
    next: std::time::Duration,
}

impl<'a> Pause<'a> {
    fn new(clock: &'a dyn Clock) -> Self {
        Pause { clock, tries_left: 4, next: std::time::Duration::from_millis(200) }
    }

    /// Waits, unless the tries are used up.
    async fn again(&mut self) -> bool {
        if self.tries_left == 0 {
            return false;
        }
        self.clock.sleep(self.next).await;
        self.tries_left -= 1;
        self.next *= 2;
        true
    }
}

#[cfg(test)]
mod tests;
