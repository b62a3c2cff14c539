//! A bucket as a small trait: intents instead of headers, errors by meaning. Implemented by S3 and by an in-memory twin;
//! one conformance suite holds both to the same behaviour.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ebb_core::{Ending, Millis, Refusal, Span};

/// On what condition a write or delete may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// The key must not exist (`If-None-Match: *`).
    Absent,
    /// The object must be the one read (`If-Match`, the ETag as it came, quotes included).
    Unchanged(String),
    /// Whatever is there.
    Always,
}

/// An object as read.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    /// The body.
    pub body: Bytes,
    /// Opaque, quotes included; the store refuses answers without one.
    pub etag: String,
    /// The response's `Date`, when it had one.
    pub date: Option<Millis>,
    /// User metadata (`x-amz-meta-…`, lower case, without the prefix).
    pub metadata: BTreeMap<String, String>,
}

impl fmt::Debug for Object {
    /// Bodies may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} bytes, {})", self.body.len(), self.etag)
    }
}

/// An object to write.
#[derive(Clone)]
pub struct Put {
    /// The body.
    pub body: Bytes,
    /// `application/json`, `application/x-ndjson`, `text/html; charset=utf-8`.
    pub content_type: &'static str,
    /// User metadata.
    pub metadata: BTreeMap<String, String>,
}

impl Put {
    /// A JSON document.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Put { body: body.into(), content_type: "application/json", metadata: BTreeMap::new() }
    }
}

/// One page of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Keys in order.
    pub keys: Vec<String>,
    /// Pass it back for the next page.
    pub next: Option<String>,
}

/// One row of a version listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The full key.
    pub key: String,
    /// The version's id.
    pub id: String,
    /// Whether it is the current version or marker.
    pub latest: bool,
}

/// What went wrong, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BucketErrorKind {
    /// A conditional write or delete of a key that is not there (404 NoSuchKey).
    NotFound,
    /// The bucket is not there (404 NoSuchBucket).
    NoSuchBucket,
    /// The condition does not hold (412).
    Precondition,
    /// A concurrent write is under way (409 ConditionalRequestConflict).
    Conflict,
    /// 403.
    Denied,
    /// The store knows no conditional requests (501).
    NotImplemented,
    /// Refused for now (429, 500, 503 after the SDK's retries): it did not happen.
    Unavailable,
    /// No answer: it may have happened.
    Unknown,
    /// Anything else.
    Other,
}

/// An error of a bucket call, with the call and the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation} of {key}: {kind:?} ({code}) {message}")]
pub struct BucketError {
    /// The meaning.
    pub kind: BucketErrorKind,
    /// `GetObject`, `PutObject`, …
    pub operation: &'static str,
    /// The key, or the bucket for calls without one.
    pub key: String,
    /// The service's code.
    pub code: String,
    /// The service's message.
    pub message: String,
}

impl BucketError {
    /// What it means for a run that cannot go on without the call: a person's to mend, or to be tried again (`Error`).
    pub fn refusal(&self) -> Refusal {
        let ending = match self.kind {
            BucketErrorKind::Denied => Ending::AccessDenied,
            BucketErrorKind::NoSuchBucket => Ending::BucketNotFound,
            _ => Ending::Error,
        };
        Refusal::new(ending, self.to_string())
    }
}

/// The state bucket.
#[async_trait]
pub trait Bucket: Send + Sync {
    /// The bucket's name.
    fn name(&self) -> &str;

    /// The object, or `None` when the key is not there. A denied read is an error, never `None`.
    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError>;

    /// The bytes that a span names; `None` when another object is there by now, or none, or it has no such bytes.
    async fn get_span(&self, key: &str, span: &Span) -> Result<Option<Bytes>, BucketError> {
        let object = self.get(key).await?.filter(|object| object.etag == span.etag);
        let bounds = (usize::try_from(span.first).ok(), usize::try_from(span.last).ok());
        Ok(match (object, bounds) {
            (Some(object), (Some(first), Some(last))) if first <= last && last < object.body.len() => {
                Some(object.body.slice(first..=last))
            }
            _ => None,
        })
    }

    /// Writes, and answers the new ETag.
    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError>;

    /// Deletes. `When::Absent` makes no sense here and is refused. A key that is not there is fine under
    /// [`When::Always`] and [`BucketErrorKind::NotFound`] under a condition.
    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError>;

    /// One page of keys under `prefix`, at most `limit`.
    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError>;

    /// All versions and delete markers of exactly `key` (the listing's prefix also matches longer keys).
    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError>;

    /// Removes versions for good; answers those that could not be removed.
    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError>;

    /// A presigned PUT for `key`, for somebody else's code: no signed content type, no expected owner.
    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError>;
}
