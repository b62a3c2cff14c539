//! What every [`Bucket`] must do, as checks that run on memory, on an emulator and on S3 alike. Each check is named by
//! the sentence that it proves; nothing here depends on the bucket being versioned or not.

use std::collections::BTreeMap;
use std::time::Duration;

use ebb_core::Span;
use futures::future::join_all;

use crate::bucket::{Bucket, BucketError, BucketErrorKind, Put, When};
use crate::versions::purge;

type Checked = Result<(), String>;

/// Runs every check under `prefix` and answers their names, or the first failure. Cleans up after itself.
pub async fn conformance(bucket: &dyn Bucket, prefix: &str) -> Result<Vec<&'static str>, String> {
    let outcomes = checks(bucket, prefix).await?;
    outcomes.into_iter().map(|(name, outcome)| outcome.map(|()| name).map_err(|why| format!("{name}: {why}"))).collect()
}

/// Runs every check under `prefix`, whatever the others came to. An error means that the clean-up failed.
pub async fn checks(bucket: &dyn Bucket, prefix: &str) -> Result<Vec<(&'static str, Checked)>, String> {
    let suite = Suite { bucket, prefix };
    let mut outcomes = Vec::new();
    macro_rules! check {
        ($($name:literal => $method:ident,)*) => {
            $(
                outcomes.push(($name, suite.$method().await));
                suite.clean().await?;
            )*
        };
    }
    check! {
        "a key that is not there reads as none" => absent_reads_as_none,
        "an object reads back as written, with the ETag that its write answered" => reads_back,
        "an ETag keeps its quotes" => etag_is_quoted,
        "an answer says when it was given" => answers_are_dated,
        "a span is read from the object that it belongs to" => span_reads_part,
        "a span of another object, or beyond its end, is none" => span_of_another,
        "a create writes where nothing is" => create_where_nothing_is,
        "a create refuses where something is" => create_refuses,
        "a write on the ETag just read replaces the object" => replace_on_etag,
        "a write on a stale ETag is refused" => stale_write_is_refused,
        "a conditional write of a missing key finds nothing" => conditional_write_of_missing,
        "a delete on the ETag just read removes the object" => delete_on_etag,
        "a delete on a stale ETag is refused" => stale_delete_is_refused,
        "a conditional delete of a missing key finds nothing" => conditional_delete_of_missing,
        "a conditional delete of a deleted key finds nothing" => conditional_delete_of_deleted,
        "an unconditional delete of a missing key succeeds" => delete_of_missing,
        "a delete cannot ask for an absent key" => delete_if_absent_is_refused,
        "a deleted key can be created again" => create_after_delete,
        "a conditional write of a deleted key finds nothing" => conditional_write_of_deleted,
        "of many creates at once one wins" => one_create_wins,
        "of many deletes at once one wins" => one_delete_wins,
        "a listing pages through the keys under its prefix in order" => listing_pages,
        "versions are those of exactly one key" => versions_of_one_key,
        "a purge leaves the current version alone" => purge_keeps_current,
        "a presigned URL names the key and lasts as asked" => presigned,
    }
    Ok(outcomes)
}

/// Names of the objects that the checks touch. Encoded listings spell some of them differently.
const KEYS: [&str; 6] = ["a", "b", "b.bak", "c d+e%25", "d/é", "lock.json"];

struct Suite<'a> {
    bucket: &'a dyn Bucket,
    prefix: &'a str,
}

impl Suite<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// Removes everything the checks may have left: objects, versions and markers.
    async fn clean(&self) -> Checked {
        for name in KEYS {
            let key = self.key(name);
            self.bucket.delete(&key, When::Always).await.map_err(text)?;
            let versions = self.bucket.versions(&key).await.map_err(text)?;
            let left = self.bucket.delete_versions(&versions).await.map_err(text)?;
            ensure(left.is_empty(), || format!("{} versions of {key} cannot be removed", left.len()))?;
        }
        Ok(())
    }

    async fn put(&self, name: &str, body: &'static str, when: When) -> Result<String, BucketError> {
        self.bucket.put(&self.key(name), Put::json(body), when).await
    }

    async fn write(&self, name: &str, body: &'static str) -> Result<String, String> {
        self.put(name, body, When::Always).await.map_err(text)
    }

    async fn body(&self, name: &str) -> Result<Option<String>, String> {
        let object = self.bucket.get(&self.key(name)).await.map_err(text)?;
        Ok(object.map(|object| String::from_utf8_lossy(&object.body).into_owned()))
    }

    async fn absent_reads_as_none(&self) -> Checked {
        same(&self.body("a").await?, &None)
    }

    async fn reads_back(&self) -> Checked {
        let metadata = BTreeMap::from([("ebb-run".to_owned(), "20260815T093012123Z-1a2b3c4d".to_owned())]);
        let put = Put { metadata: metadata.clone(), ..Put::json("{\"a\": 1}\n") };
        let etag = self.bucket.put(&self.key("c d+e%25"), put, When::Always).await.map_err(text)?;
        let object = self.bucket.get(&self.key("c d+e%25")).await.map_err(text)?.ok_or("the object is not there")?;
        same(&object.body.as_ref(), &b"{\"a\": 1}\n".as_slice())?;
        same(&object.etag, &etag)?;
        same(&object.metadata, &metadata)
    }

    async fn etag_is_quoted(&self) -> Checked {
        let etag = self.write("a", "x").await?;
        ensure(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), || format!("got {etag}"))
    }

    async fn answers_are_dated(&self) -> Checked {
        self.write("a", "x").await?;
        let object = self.bucket.get(&self.key("a")).await.map_err(text)?.ok_or("the object is not there")?;
        ensure(object.date.is_some(), || "no Date".to_owned())
    }

    async fn span(&self, name: &str, etag: &str, first: u64, last: u64) -> Result<Option<String>, String> {
        let span = Span { etag: etag.to_owned(), first, last };
        let bytes = self.bucket.get_span(&self.key(name), &span).await.map_err(text)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn span_reads_part(&self) -> Checked {
        let etag = self.write("a", "0123456789").await?;
        same(&self.span("a", &etag, 3, 6).await?.as_deref(), &Some("3456"))?;
        same(&self.span("a", &etag, 0, 0).await?.as_deref(), &Some("0"))?;
        same(&self.span("a", &etag, 9, 9).await?.as_deref(), &Some("9"))
    }

    async fn span_of_another(&self) -> Checked {
        let stale = self.write("a", "0123456789").await?;
        let etag = self.write("a", "abcdefghij").await?;
        same(&self.span("a", &stale, 3, 6).await?, &None)?;
        same(&self.span("a", &etag, 10, 12).await?, &None)?;
        same(&self.span("b", &etag, 3, 6).await?, &None)
    }

    async fn create_where_nothing_is(&self) -> Checked {
        self.put("a", "x", When::Absent).await.map_err(text)?;
        same(&self.body("a").await?.as_deref(), &Some("x"))
    }

    async fn create_refuses(&self) -> Checked {
        self.write("a", "theirs").await?;
        refused(self.put("a", "ours", When::Absent).await, BucketErrorKind::Precondition)?;
        same(&self.body("a").await?.as_deref(), &Some("theirs"))
    }

    async fn replace_on_etag(&self) -> Checked {
        let first = self.write("a", "one").await?;
        let second = self.put("a", "two", When::Unchanged(first.clone())).await.map_err(text)?;
        ensure(first != second, || "the ETag did not change".to_owned())?;
        same(&self.body("a").await?.as_deref(), &Some("two"))
    }

    async fn stale_write_is_refused(&self) -> Checked {
        let stale = self.write("a", "one").await?;
        self.write("a", "theirs").await?;
        refused(self.put("a", "ours", When::Unchanged(stale)).await, BucketErrorKind::Precondition)?;
        same(&self.body("a").await?.as_deref(), &Some("theirs"))
    }

    async fn conditional_write_of_missing(&self) -> Checked {
        let etag = self.write("a", "x").await?;
        refused(self.put("b", "ours", When::Unchanged(etag)).await, BucketErrorKind::NotFound)?;
        same(&self.body("b").await?, &None)
    }

    async fn delete_on_etag(&self) -> Checked {
        let etag = self.write("a", "x").await?;
        self.bucket.delete(&self.key("a"), When::Unchanged(etag)).await.map_err(text)?;
        same(&self.body("a").await?, &None)
    }

    async fn stale_delete_is_refused(&self) -> Checked {
        let stale = self.write("a", "one").await?;
        self.write("a", "theirs").await?;
        refused(self.bucket.delete(&self.key("a"), When::Unchanged(stale)).await, BucketErrorKind::Precondition)?;
        same(&self.body("a").await?.as_deref(), &Some("theirs"))
    }

    async fn conditional_delete_of_missing(&self) -> Checked {
        let etag = self.write("a", "x").await?;
        refused(self.bucket.delete(&self.key("b"), When::Unchanged(etag)).await, BucketErrorKind::NotFound)
    }

    async fn conditional_delete_of_deleted(&self) -> Checked {
        let etag = self.write("a", "x").await?;
        self.bucket.delete(&self.key("a"), When::Always).await.map_err(text)?;
        refused(self.bucket.delete(&self.key("a"), When::Unchanged(etag)).await, BucketErrorKind::NotFound)
    }

    async fn delete_of_missing(&self) -> Checked {
        self.bucket.delete(&self.key("a"), When::Always).await.map_err(text)
    }

    async fn delete_if_absent_is_refused(&self) -> Checked {
        self.write("a", "x").await?;
        refused(self.bucket.delete(&self.key("a"), When::Absent).await, BucketErrorKind::Other)?;
        same(&self.body("a").await?.as_deref(), &Some("x"))
    }

    async fn create_after_delete(&self) -> Checked {
        self.write("a", "one").await?;
        self.bucket.delete(&self.key("a"), When::Always).await.map_err(text)?;
        self.put("a", "two", When::Absent).await.map_err(text)?;
        same(&self.body("a").await?.as_deref(), &Some("two"))
    }

    async fn conditional_write_of_deleted(&self) -> Checked {
        let etag = self.write("a", "one").await?;
        self.bucket.delete(&self.key("a"), When::Always).await.map_err(text)?;
        refused(self.put("a", "ours", When::Unchanged(etag)).await, BucketErrorKind::NotFound)?;
        same(&self.body("a").await?, &None)
    }

    async fn one_create_wins(&self) -> Checked {
        const BODIES: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
        let outcomes = join_all(BODIES.map(|body| self.put("lock.json", body, When::Absent))).await;
        one_won(&outcomes)?;
        let winner = outcomes.iter().position(Result::is_ok).and_then(|i| BODIES.get(i)).copied();
        same(&self.body("lock.json").await?.as_deref(), &winner)
    }

    async fn one_delete_wins(&self) -> Checked {
        let etag = self.write("lock.json", "x").await?;
        let key = self.key("lock.json");
        let outcomes = join_all((0..8).map(|_| self.bucket.delete(&key, When::Unchanged(etag.clone())))).await;
        one_won(&outcomes)
    }

    async fn listing_pages(&self) -> Checked {
        for name in KEYS {
            self.write(name, "x").await?;
        }
        let (mut listed, mut next, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = self.bucket.list(&self.key(""), next.as_deref(), 4).await.map_err(text)?;
            ensure(page.keys.len() <= 4, || format!("a page of 4 has {}", page.keys.len()))?;
            listed.extend(page.keys);
            pages += 1;
            next = page.next;
            if next.is_none() {
                break;
            }
            ensure(pages < 10, || "the listing does not end".to_owned())?;
        }
        same(&listed, &KEYS.map(|name| self.key(name)).to_vec())?;
        ensure(pages > 1, || "six keys came in one page of 4".to_owned())
    }

    async fn versions_of_one_key(&self) -> Checked {
        for body in ["one", "two"] {
            self.write("b", body).await?;
            self.write("b.bak", body).await?;
        }
        let key = self.key("b");
        let versions = self.bucket.versions(&key).await.map_err(text)?;
        ensure(versions.iter().all(|version| version.key == key), || "versions of another key".to_owned())?;
        same(&versions.iter().filter(|version| version.latest).count(), &1)
    }

    async fn purge_keeps_current(&self) -> Checked {
        for body in ["one", "two"] {
            self.write("b", body).await?;
            self.write("b.bak", body).await?;
        }
        let beside = self.bucket.versions(&self.key("b.bak")).await.map_err(text)?;
        same(&purge(self.bucket, &self.key("b")).await, &None)?;
        same(&self.bucket.versions(&self.key("b")).await.map_err(text)?.len(), &1)?;
        same(&self.body("b").await?.as_deref(), &Some("two"))?;
        same(&self.bucket.versions(&self.key("b.bak")).await.map_err(text)?, &beside)
    }

    async fn presigned(&self) -> Checked {
        let url = self.bucket.presign_put(&self.key("a"), Duration::from_secs(3600)).await.map_err(text)?;
        // The URL is a credential: a failure must not show it.
        ensure(url.contains(&self.key("a")), || "it does not name the key".to_owned())?;
        ensure(url.contains("X-Amz-Expires=3600"), || "it does not last an hour".to_owned())
    }
}

fn text(error: BucketError) -> String {
    error.to_string()
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

fn same<T: PartialEq + std::fmt::Debug>(got: &T, expected: &T) -> Checked {
    ensure(got == expected, || format!("got {got:?}, expected {expected:?}"))
}

fn refused<T>(outcome: Result<T, BucketError>, kind: BucketErrorKind) -> Checked {
    match outcome {
        Ok(_) => Err(format!("it succeeded, expected {kind:?}")),
        Err(error) => ensure(error.kind == kind, || format!("expected {kind:?}, got {error}")),
    }
}

/// Exactly one succeeded, and the others were told that they lost, not that something broke.
fn one_won<T>(outcomes: &[Result<T, BucketError>]) -> Checked {
    same(&outcomes.iter().filter(|outcome| outcome.is_ok()).count(), &1)?;
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        let lost = matches!(error.kind, BucketErrorKind::Precondition | BucketErrorKind::Conflict | BucketErrorKind::NotFound);
        ensure(lost, || format!("a loser got {error}"))?;
    }
    Ok(())
}
