//! The bucket in memory with a test's hand in every request: to count, deny, delay, lose a reply, come first.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ebb_core::Span;

use crate::MemoryBucket;
use crate::bucket::{Bucket, BucketError, BucketErrorKind, Listing, Object, Put, Version, When};

/// A request that is about to be sent.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// `GetObject`, `PutObject`, …
    pub operation: &'static str,
    /// Its key, or the prefix of a listing.
    pub key: &'a str,
    /// The condition of a write or delete.
    pub when: Option<&'a When>,
    /// The content type of a write.
    pub content_type: Option<&'static str>,
}

impl Call<'_> {
    /// This call's error.
    pub fn fails(&self, kind: BucketErrorKind) -> BucketError {
        let (code, message) = (format!("{kind:?}"), "made by the test".to_owned());
        BucketError { kind, operation: self.operation, key: self.key.to_owned(), code, message }
    }

    /// Whether it is a write or delete of one object.
    pub fn changes(&self) -> bool {
        self.when.is_some()
    }
}

impl fmt::Display for Call<'_> {
    /// `GET key`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.operation {
            "GetObject" => "GET",
            "PutObject" => "PUT",
            "DeleteObject" => "DELETE",
            "ListObjectsV2" => "LIST",
            "ListObjectVersions" => "VERSIONS",
            other => other,
        };
        write!(f, "{verb} {}", self.key)
    }
}

/// What a test does with requests.
pub trait Hook: Send + Sync {
    /// Answers `call`: with what `request` comes to in `memory`, or without sending it.
    fn meet<T: Send>(
        &self,
        memory: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> impl Future<Output = Result<T, BucketError>> + Send;

    /// Hears how many bytes a read gives out.
    fn gives(&self, _key: &str, _bytes: usize) {}

    /// What a read sees of what is there.
    fn seen(&self, _key: &str, object: Option<Object>) -> Option<Object> {
        object
    }
}

/// A bucket in memory behind a hook.
pub struct Hooked<H> {
    /// What is in it.
    pub memory: MemoryBucket,
    /// Meets every request but presigning, which sends none.
    pub hook: H,
}

impl<H: Hook> Hooked<H> {
    async fn send<T: Send>(
        &self,
        operation: &'static str,
        key: &str,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        self.hook.meet(&self.memory, Call { operation, key, when: None, content_type: None }, request).await
    }
}

#[async_trait]
impl<H: Hook> Bucket for Hooked<H> {
    fn name(&self) -> &str {
        self.memory.name()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        let object = self.send("GetObject", key, self.memory.get(key)).await?;
        let object = self.hook.seen(key, object);
        self.hook.gives(key, object.as_ref().map_or(0, |object| object.body.len()));
        Ok(object)
    }

    async fn get_span(&self, key: &str, span: &Span) -> Result<Option<Bytes>, BucketError> {
        let bytes = self.send("GetObject", key, self.memory.get_span(key, span)).await?;
        self.hook.gives(key, bytes.as_ref().map_or(0, Bytes::len));
        Ok(bytes)
    }

    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        let condition = when.clone();
        let call = Call { operation: "PutObject", key, when: Some(&condition), content_type: Some(put.content_type) };
        self.hook.meet(&self.memory, call, self.memory.put(key, put, when)).await
    }

    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        let condition = when.clone();
        let call = Call { operation: "DeleteObject", key, when: Some(&condition), content_type: None };
        self.hook.meet(&self.memory, call, self.memory.delete(key, when)).await
    }

    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        self.send("ListObjectsV2", prefix, self.memory.list(prefix, next, limit)).await
    }

    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        self.send("ListObjectVersions", key, self.memory.versions(key)).await
    }

    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        let key = versions.first().map(|version| version.key.as_str()).unwrap_or_default();
        self.send("DeleteObjects", key, self.memory.delete_versions(versions)).await
    }

    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        self.memory.presign_put(key, expires).await
    }
}
