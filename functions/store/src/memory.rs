//! A bucket in memory with S3's semantics, plain or versioned: the twin that unit tests and the simulation run on.
//! Clones share their content.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ebb_core::Clock;
use sha2::{Digest, Sha256};

use crate::bucket::{Bucket, BucketError, BucketErrorKind, Listing, Object, Put, Version, When};

/// A page of a listing holds at most this many keys, unless a test wants smaller ones.
const MOST_KEYS: usize = 1000;

/// A bucket in memory.
#[derive(Clone)]
pub struct MemoryBucket {
    name: String,
    versioned: bool,
    page: usize,
    clock: Arc<dyn Clock>,
    content: Arc<Mutex<Content>>,
}

#[derive(Default)]
struct Content {
    /// Oldest first; the last one is current. Never empty.
    keys: BTreeMap<String, Vec<Stored>>,
    made: u64,
}

/// A version, or a delete marker when it has no object.
struct Stored {
    id: String,
    object: Option<(Bytes, String, BTreeMap<String, String>)>,
}

impl Content {
    fn current(&self, key: &str) -> Option<&(Bytes, String, BTreeMap<String, String>)> {
        self.keys.get(key).and_then(|versions| versions.last()).and_then(|stored| stored.object.as_ref())
    }

    /// A conditional request is judged on the current version; a delete marker on top means that the key is missing.
    fn judge(&self, key: &str, when: &When) -> Result<(), (BucketErrorKind, &'static str)> {
        match (when, self.current(key)) {
            (When::Absent, Some(_)) => Err((BucketErrorKind::Precondition, "PreconditionFailed")),
            (When::Unchanged(_), None) => Err((BucketErrorKind::NotFound, "NoSuchKey")),
            (When::Unchanged(asked), Some((_, etag, _))) if asked != etag => {
                Err((BucketErrorKind::Precondition, "PreconditionFailed"))
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, key: &str, versioned: bool, object: Option<(Bytes, String, BTreeMap<String, String>)>) {
        self.made += 1;
        let id = if versioned { format!("v{:08}", self.made) } else { "null".to_owned() };
        let versions = self.keys.entry(key.to_owned()).or_default();
        if !versioned {
            versions.clear();
        }
        versions.push(Stored { id, object });
    }

    fn put(&mut self, key: &str, versioned: bool, put: Put) -> String {
        let etag = etag_of(&put.body);
        self.push(key, versioned, Some((put.body, etag.clone(), put.metadata)));
        etag
    }
}

/// Equal bodies have equal ETags, as in S3.
fn etag_of(body: &[u8]) -> String {
    let hex: String = Sha256::digest(body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

impl MemoryBucket {
    /// A bucket without versioning. `clock` dates the answers.
    pub fn plain(name: &str, clock: Arc<dyn Clock>) -> Self {
        MemoryBucket { name: name.to_owned(), versioned: false, page: MOST_KEYS, clock, content: Arc::default() }
    }

    /// A bucket with versioning, as `cdkd bootstrap` makes it.
    pub fn versioned(name: &str, clock: Arc<dyn Clock>) -> Self {
        MemoryBucket { versioned: true, ..MemoryBucket::plain(name, clock) }
    }

    /// Lists in pages of at most `keys` keys.
    pub fn in_pages_of(self, keys: usize) -> Self {
        MemoryBucket { page: keys, ..self }
    }

    /// The current bodies by key.
    pub fn snapshot(&self) -> BTreeMap<String, Bytes> {
        let content = self.content();
        let current = |key: &String| content.current(key).map(|(body, ..)| (key.clone(), body.clone()));
        content.keys.keys().filter_map(current).collect()
    }

    /// Writes an object as somebody else would, and answers its ETag.
    pub fn raw_put(&self, key: &str, body: impl Into<Bytes>) -> String {
        self.content().put(key, self.versioned, Put::json(body))
    }

    /// Deletes an object as somebody else would.
    pub fn raw_delete(&self, key: &str) {
        let mut content = self.content();
        if self.versioned {
            content.push(key, true, None);
        } else {
            content.keys.remove(key);
        }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, operation: &'static str, key: &str, (kind, code): (BucketErrorKind, &str)) -> BucketError {
        BucketError { kind, operation, key: key.to_owned(), code: code.to_owned(), message: String::new() }
    }
}

#[async_trait]
impl Bucket for MemoryBucket {
    fn name(&self) -> &str {
        &self.name
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        // `Date` has whole seconds.
        let date = Some(self.clock.now() / 1000 * 1000);
        let content = self.content();
        let object = content.current(key).cloned();
        Ok(object.map(|(body, etag, metadata)| Object { body, etag, date, metadata }))
    }

    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        let mut content = self.content();
        content.judge(key, &when).map_err(|refusal| self.error("PutObject", key, refusal))?;
        Ok(content.put(key, self.versioned, put))
    }

    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        if when == When::Absent {
            return Err(self.error("DeleteObject", key, (BucketErrorKind::Other, "InvalidRequest")));
        }
        self.content().judge(key, &when).map_err(|refusal| self.error("DeleteObject", key, refusal))?;
        self.raw_delete(key);
        Ok(())
    }

    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        let content = self.content();
        let limit = limit.clamp(1, self.page);
        let after = next.unwrap_or_default();
        let mut keys: Vec<String> = content
            .keys
            .range(prefix.to_owned()..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .filter(|key| key.as_str() > after && content.current(key).is_some())
            .take(limit + 1)
            .cloned()
            .collect();
        let more = keys.len() > limit;
        keys.truncate(limit);
        let next = if more { keys.last().cloned() } else { None };
        Ok(Listing { keys, next })
    }

    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        let content = self.content();
        let versions = content.keys.get(key).map(Vec::as_slice).unwrap_or_default();
        let row = |(age, stored): (usize, &Stored)| Version { key: key.to_owned(), id: stored.id.clone(), latest: age == 0 };
        Ok(versions.iter().rev().enumerate().map(row).collect())
    }

    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        let gone: HashSet<(&str, &str)> = versions.iter().map(|v| (v.key.as_str(), v.id.as_str())).collect();
        let mut content = self.content();
        for (key, stored) in content.keys.iter_mut() {
            stored.retain(|version| !gone.contains(&(key.as_str(), version.id.as_str())));
        }
        content.keys.retain(|_, stored| !stored.is_empty());
        Ok(Vec::new())
    }

    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        Ok(format!("https://{}.memory.invalid/{key}?X-Amz-Expires={}", self.name, expires.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VirtualClock;
    use crate::conformance::conformance;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(VirtualClock::starting_at(1_786_786_212_123))
    }

    #[tokio::test(start_paused = true)]
    async fn both_kinds_conform() {
        for bucket in [MemoryBucket::plain("b", clock()), MemoryBucket::versioned("b", clock())] {
            let passed = conformance(&bucket, "suite").await.unwrap();
            assert!(passed.len() >= 18, "{passed:?}");
            assert_eq!(bucket.content().keys.len(), 0, "the suite cleans up, versions and markers too");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_dated_in_whole_seconds() {
        let bucket = MemoryBucket::plain("b", clock());
        bucket.raw_put("k", "x");
        assert_eq!(bucket.get("k").await.unwrap().unwrap().date, Some(1_786_786_212_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_delete_in_a_versioned_bucket_hides_and_keeps() {
        let bucket = MemoryBucket::versioned("b", clock());
        let etag = bucket.raw_put("k", "old");
        bucket.delete("k", When::Unchanged(etag)).await.unwrap();
        assert_eq!(bucket.get("k").await.unwrap(), None);
        assert!(bucket.snapshot().is_empty());
        let versions = bucket.versions("k").await.unwrap();
        assert_eq!(versions.iter().map(|v| v.latest).collect::<Vec<_>>(), [true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_plain_bucket_keeps_nothing() {
        let bucket = MemoryBucket::plain("b", clock());
        bucket.raw_put("k", "one");
        bucket.raw_put("k", "two");
        assert_eq!(bucket.snapshot()["k"], "two");
        assert_eq!(bucket.versions("k").await.unwrap(), [Version { key: "k".into(), id: "null".into(), latest: true }]);
        bucket.delete("k", When::Always).await.unwrap();
        assert_eq!(bucket.versions("k").await.unwrap(), []);
    }
}
