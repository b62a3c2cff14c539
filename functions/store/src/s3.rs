//! The state bucket on S3. Every call names the account that must own the bucket, except the presigned one, which
//! somebody else's code sends. A write whose answer was lost is an error of its own, never a success or a failure.

mod calls;
mod errors;
#[cfg(test)]
mod names;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, EncodingType, ObjectIdentifier};
use aws_types::SdkConfig;
use bytes::Bytes;
use ebb_core::Span;

use crate::bucket::{Bucket, BucketError, BucketErrorKind, Listing, Object, Put, Version, When};
use calls::{DateOfAnswer, decode_key};
pub(crate) use errors::{error_of, text_of};

/// DeleteObjects takes this many keys; a page of a listing holds as many.
const MOST_KEYS: usize = 1000;
/// How long a body may take after its headers came; the headers have the SDK's own time-out.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// A bucket in S3.
#[derive(Clone)]
pub struct S3Bucket {
    client: Client,
    name: String,
    owner: String,
    presigner: Option<SharedCredentialsProvider>,
}

impl S3Bucket {
    /// The bucket `name`, which the account `owner` must own, reached with `config` (in the bucket's own region).
    pub fn new(config: &SdkConfig, name: &str, owner: &str) -> Self {
        S3Bucket::of(client(config), name, owner)
    }

    /// The same, reached with a client that is there already.
    pub(crate) fn of(client: Client, name: &str, owner: &str) -> Self {
        S3Bucket { client, name: name.to_owned(), owner: owner.to_owned(), presigner: None }
    }

    /// Signs presigned URLs with credentials of their own, asked for each time: a URL dies with the session that signed
    /// it, so one that must last needs a session made for it.
    pub fn presigning_with(mut self, credentials: SharedCredentialsProvider) -> Self {
        self.presigner = Some(credentials);
        self
    }

    fn error(&self, kind: BucketErrorKind, operation: &'static str, key: &str, code: &str, message: &str) -> BucketError {
        BucketError { kind, operation, key: key.to_owned(), code: code.to_owned(), message: message.to_owned() }
    }

    fn broken(&self, operation: &'static str, key: &str, message: &str) -> BucketError {
        self.error(BucketErrorKind::Other, operation, key, "BrokenAnswer", message)
    }

    fn etag(&self, operation: &'static str, key: &str, etag: Option<String>) -> Result<String, BucketError> {
        etag.filter(|tag| !tag.is_empty()).ok_or_else(|| self.broken(operation, key, "the answer has no ETag"))
    }

    async fn body(&self, operation: &'static str, key: &str, body: ByteStream) -> Result<Bytes, BucketError> {
        let unread = |code: &str, why: &str| self.error(BucketErrorKind::Unknown, operation, key, code, why);
        match tokio::time::timeout(BODY_TIMEOUT, body.collect()).await {
            Ok(Ok(body)) => Ok(body.into_bytes()),
            Ok(Err(error)) => Err(unread("BrokenBody", &error.to_string())),
            Err(_) => Err(unread("BodyTimeout", "the body did not arrive in time")),
        }
    }

    async fn delete_batch(&self, batch: &[Version]) -> Result<Vec<Version>, BucketError> {
        const OPERATION: &str = "DeleteObjects";
        let first = batch.first().map_or(self.name.as_str(), |version| version.key.as_str());
        let mut delete = Delete::builder().quiet(true);
        for version in batch {
            let object = ObjectIdentifier::builder().key(&version.key).version_id(&version.id).build();
            delete = delete.objects(object.map_err(|error| self.broken(OPERATION, first, &error.to_string()))?);
        }
        let delete = delete.build().map_err(|error| self.broken(OPERATION, first, &error.to_string()))?;
        let call = self.client.delete_objects().bucket(&self.name).expected_bucket_owner(&self.owner).delete(delete);
        let answer = call.send().await.map_err(|error| error_of(OPERATION, first, &error))?;
        // The call answers 200 even when every key was refused.
        let refused = answer.errors();
        let is_refused = |version: &&Version| {
            refused.iter().any(|e| e.key() == Some(&version.key) && e.version_id().is_none_or(|id| id == version.id))
        };
        let left: Vec<Version> = batch.iter().filter(is_refused).cloned().collect();
        if left.is_empty() && !refused.is_empty() {
            return Err(self.broken(OPERATION, first, "the answer names errors of keys that were not asked for"));
        }
        Ok(left)
    }
}

/// A client of `config`; an endpoint of one's own (an emulator's) has no host name per bucket.
pub(crate) fn client(config: &SdkConfig) -> Client {
    let builder = aws_sdk_s3::config::Builder::from(config);
    Client::from_conf(builder.force_path_style(config.endpoint_url().is_some()).build())
}

#[async_trait]
impl Bucket for S3Bucket {
    fn name(&self) -> &str {
        &self.name
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        const OPERATION: &str = "GetObject";
        let date = Arc::new(Mutex::new(None));
        let call = self.client.get_object().bucket(&self.name).key(key).expected_bucket_owner(&self.owner);
        let answer = match call.customize().interceptor(DateOfAnswer(date.clone())).send().await {
            Ok(answer) => answer,
            Err(error) => {
                let error = error_of(OPERATION, key, &error);
                return if error.kind == BucketErrorKind::NotFound { Ok(None) } else { Err(error) };
            }
        };
        let etag = self.etag(OPERATION, key, answer.e_tag)?;
        let body = self.body(OPERATION, key, answer.body).await?;
        let date = *date.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(Object { body, etag, date, metadata: answer.metadata.unwrap_or_default().into_iter().collect() }))
    }

    async fn get_span(&self, key: &str, span: &Span) -> Result<Option<Bytes>, BucketError> {
        const OPERATION: &str = "GetObject";
        let range = format!("bytes={}-{}", span.first, span.last);
        let call = self.client.get_object().bucket(&self.name).key(key).expected_bucket_owner(&self.owner);
        match call.range(range).if_match(&span.etag).send().await {
            Ok(answer) => self.body(OPERATION, key, answer.body).await.map(Some),
            Err(error) => match error_of(OPERATION, key, &error) {
                error if matches!(error.kind, BucketErrorKind::NotFound | BucketErrorKind::Precondition) => Ok(None),
                error if error.code == "InvalidRange" => Ok(None),
                error => Err(error),
            },
        }
    }

    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        const OPERATION: &str = "PutObject";
        let mut call = self
            .client
            .put_object()
            .bucket(&self.name)
            .key(key)
            .expected_bucket_owner(&self.owner)
            .content_type(put.content_type)
            .body(ByteStream::from(put.body));
        for (name, value) in put.metadata {
            call = call.metadata(name, value);
        }
        call = match when {
            When::Absent => call.if_none_match("*"),
            When::Unchanged(etag) => call.if_match(etag),
            When::Always => call,
        };
        let answer = call.send().await.map_err(|error| error_of(OPERATION, key, &error))?;
        self.etag(OPERATION, key, answer.e_tag)
    }

    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        const OPERATION: &str = "DeleteObject";
        let call = self.client.delete_object().bucket(&self.name).key(key).expected_bucket_owner(&self.owner);
        let call = match when {
            When::Always => call,
            When::Unchanged(etag) => call.if_match(etag),
            When::Absent => {
                let why = "a delete cannot ask for an absent key";
                return Err(self.error(BucketErrorKind::Other, OPERATION, key, "InvalidRequest", why));
            }
        };
        call.send().await.map(drop).map_err(|error| error_of(OPERATION, key, &error))
    }

    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        const OPERATION: &str = "ListObjectsV2";
        let answer = self
            .client
            .list_objects_v2()
            .bucket(&self.name)
            .expected_bucket_owner(&self.owner)
            .prefix(prefix)
            .set_continuation_token(next.map(str::to_owned))
            .max_keys(i32::try_from(limit.clamp(1, MOST_KEYS)).unwrap_or(1))
            .encoding_type(EncodingType::Url)
            .send()
            .await
            .map_err(|error| error_of(OPERATION, prefix, &error))?;
        let encoded = answer.encoding_type() == Some(&EncodingType::Url);
        let mut keys = Vec::with_capacity(answer.contents().len());
        for object in answer.contents() {
            let key = object.key().ok_or_else(|| self.broken(OPERATION, prefix, "a row has no key"))?;
            keys.push(decode_key(key, encoded).ok_or_else(|| self.broken(OPERATION, prefix, "a key cannot be decoded"))?);
        }
        let next = match (answer.is_truncated(), answer.next_continuation_token) {
            (Some(true), None) => return Err(self.broken(OPERATION, prefix, "a truncated page has no continuation token")),
            (Some(true), token) => token,
            _ => None,
        };
        Ok(Listing { keys, next })
    }

    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        const OPERATION: &str = "ListObjectVersions";
        let mut found = Vec::new();
        let mut marker: Option<(String, Option<String>)> = None;
        loop {
            let (key_marker, version_marker) = marker.take().map_or((None, None), |(key, version)| (Some(key), version));
            let answer = self
                .client
                .list_object_versions()
                .bucket(&self.name)
                .expected_bucket_owner(&self.owner)
                .prefix(key)
                .set_key_marker(key_marker.clone())
                .set_version_id_marker(version_marker.clone())
                .encoding_type(EncodingType::Url)
                .send()
                .await
                .map_err(|error| error_of(OPERATION, key, &error))?;
            let encoded = answer.encoding_type() == Some(&EncodingType::Url);
            let versions = answer.versions().iter().map(|v| (v.key(), v.version_id(), v.is_latest()));
            let markers = answer.delete_markers().iter().map(|m| (m.key(), m.version_id(), m.is_latest()));
            for (row_key, id, latest) in versions.chain(markers) {
                let row_key = row_key.and_then(|row_key| decode_key(row_key, encoded));
                let row_key =
                    row_key.ok_or_else(|| self.broken(OPERATION, key, "a row's key is missing or cannot be decoded"))?;
                // The prefix also matches longer keys.
                if row_key != key {
                    continue;
                }
                let id = id.ok_or_else(|| self.broken(OPERATION, key, "a version has no id"))?.to_owned();
                // Without the field, the row is taken for the current one, which is never purged.
                found.push(Version { key: row_key, id, latest: latest.unwrap_or(true) });
            }
            if answer.is_truncated() != Some(true) {
                return Ok(found);
            }
            let next = answer.next_key_marker().and_then(|next| decode_key(next, encoded));
            let next = next.ok_or_else(|| self.broken(OPERATION, key, "a truncated page has no next marker"))?;
            let next_version = answer.next_version_id_marker().map(str::to_owned);
            if Some(&next) == key_marker.as_ref() && next_version == version_marker {
                return Err(self.broken(OPERATION, key, "the listing does not move on"));
            }
            marker = Some((next, next_version));
        }
    }

    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        let mut left = Vec::new();
        for batch in versions.chunks(MOST_KEYS) {
            left.extend(self.delete_batch(batch).await?);
        }
        Ok(left)
    }

    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        const OPERATION: &str = "PutObject (presigned)";
        let failed = |code: &str, why: String| self.error(BucketErrorKind::Other, OPERATION, key, code, &why);
        let presigning = PresigningConfig::expires_in(expires).map_err(|error| failed("InvalidExpiry", error.to_string()))?;
        // Whoever sends it signs no checksum, no content type and no expected owner.
        let mut overrides =
            aws_sdk_s3::config::Config::builder().request_checksum_calculation(RequestChecksumCalculation::WhenRequired);
        if let Some(presigner) = &self.presigner {
            let credentials = presigner.provide_credentials().await;
            let credentials = credentials.map_err(|error| failed("NoCredentials", text_of(&error)))?;
            overrides = overrides.credentials_provider(credentials);
        }
        let call = self.client.put_object().bucket(&self.name).key(key).customize().config_override(overrides);
        let signed = call.presigned(presigning).await.map_err(|error| error_of(OPERATION, key, &error))?;
        Ok(signed.uri().to_owned())
    }
}
