//! The response object: our mark that the handler was asked, then the handler's answer. Who puts the mark may ask;
//! whoever finds it there polls.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use ebb_core::{DeleteError, ErrorClass, Millis};
use ebb_store::{Bucket, BucketError, BucketErrorKind, Object, Put, When};

use super::answer::Answer;
use crate::call::StepError;

const INVOCATION: &str = "ebb-invocation";
const AT: &str = "ebb-delivered";
const VERDICT: &str = "ebb-verdict";

/// Who put the object, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// This step of this invocation and no other.
    invocation: String,
    /// The instant of the delivery.
    pub(super) at: Millis,
}

impl Mark {
    pub(super) fn new(at: Millis) -> Self {
        // Seeded by the system once per process and different for each state: no two invocations share one.
        let nonce = RandomState::new().build_hasher().finish();
        Mark { invocation: format!("{nonce:016x}-{at}"), at }
    }

    fn read(metadata: &BTreeMap<String, String>) -> Option<Self> {
        Some(Mark { invocation: metadata.get(INVOCATION)?.clone(), at: metadata.get(AT)?.parse().ok()? })
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(INVOCATION.to_owned(), self.invocation.clone()), (AT.to_owned(), self.at.to_string())])
    }
}

/// What is at the key.
pub(super) struct Found {
    /// Our mark, while the handler has not written over it.
    pub(super) mark: Option<Mark>,
    /// The last word, the handler's or what its payload was.
    pub(super) answer: Option<Answer>,
}

impl From<Object> for Found {
    fn from(object: Object) -> Self {
        let answer = Answer::of_response(&object.body).or_else(|| match object.metadata.get(VERDICT)?.as_str() {
            "success" => Some(Answer::Success),
            "failed" => Some(Answer::Failed { reason: String::new(), transient: false }),
            "transient" => Some(Answer::Failed { reason: String::new(), transient: true }),
            "incomplete" => Some(Answer::Incomplete),
            _ => None,
        });
        Found { mark: Mark::read(&object.metadata), answer }
    }
}

pub(super) async fn find(bucket: &dyn Bucket, key: &str) -> Result<Option<Found>, BucketError> {
    Ok(bucket.get(key).await?.map(Found::from))
}

/// Whose mark stands at the key.
pub(super) enum Marked {
    /// Ours, with this ETag: the handler may be asked.
    Ours(String),
    /// Another step's: the handler has been asked.
    Foreign(Option<Mark>),
    /// None yet, or it could not be read.
    Unclear,
}

/// Puts the empty object whose presence means that the handler was asked.
pub(super) async fn put_mark(bucket: &dyn Bucket, key: &str, mark: &Mark) -> Result<Marked, BucketError> {
    let put = Put { metadata: mark.metadata(), ..Put::json("") };
    match bucket.put(key, put, When::Absent).await {
        Ok(etag) => return Ok(Marked::Ours(etag)),
        Err(error)
            if matches!(error.kind, BucketErrorKind::Precondition | BucketErrorKind::Unknown | BucketErrorKind::Conflict) => {}
        Err(error) => return Err(error),
    }
    // Its reply may have been lost, ours or another step's.
    match bucket.get(key).await {
        Ok(Some(object)) => match Mark::read(&object.metadata) {
            Some(found) if found == *mark => Ok(Marked::Ours(object.etag)),
            found => Ok(Marked::Foreign(found)),
        },
        Ok(None) | Err(_) => Ok(Marked::Unclear),
    }
}

/// Removes our mark again: the handler was not reached. If that fails, the row is polled in vain and then skipped.
pub(super) async fn take_back(bucket: &dyn Bucket, key: &str, etag: &str) {
    if let Err(error) = bucket.delete(key, When::Unchanged(etag.to_owned())).await {
        tracing::warn!(%error, "the mark of a delivery that did not happen stays");
    }
}

/// Keeps what a payload said beside the mark, so that a step that runs twice says the same. The body stays the handler's.
pub(super) async fn put_answer(bucket: &dyn Bucket, key: &str, etag: &str, mark: &Mark, answer: &Answer) {
    let verdict = match answer {
        Answer::Success => "success",
        Answer::Failed { transient: false, .. } => "failed",
        Answer::Failed { transient: true, .. } => "transient",
        Answer::Incomplete => "incomplete",
    };
    let mut metadata = mark.metadata();
    metadata.insert(VERDICT.to_owned(), verdict.to_owned());
    match bucket.put(key, Put { metadata, ..Put::json("") }, When::Unchanged(etag.to_owned())).await {
        Ok(_) => {}
        // The handler has written its answer there itself.
        Err(error) if error.kind == BucketErrorKind::Precondition => {}
        Err(error) => tracing::warn!(%error, "the handler's answer could not be kept"),
    }
}

/// A bucket that does not answer before the delivery: nothing happened yet.
pub(super) fn error(error: BucketError) -> StepError {
    let class = match error.kind {
        BucketErrorKind::Denied => ErrorClass::Denied,
        BucketErrorKind::NoSuchBucket | BucketErrorKind::NotImplemented | BucketErrorKind::Other => ErrorClass::Terminal,
        _ => ErrorClass::Retry { after: std::time::Duration::from_secs(3), give_up: None },
    };
    let code = if error.code.is_empty() { format!("{:?}", error.kind) } else { error.code.clone() };
    StepError::Ours(DeleteError { class, code, message: error.to_string(), request_id: None })
}
