//! The state bucket as a part of Ebb or a neighbour sees it: S3's semantics with everything that may go wrong between
//! sender and store. A 412 without a reason is not among it; a 412 for one's own write whose reply was lost is.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ebb_store::{Bucket, BucketError, BucketErrorKind, Listing, Object, Put, Version, When};

use super::scenario::Denial;
use super::world::{ACTOR, Actor, Sim, actor};

/// The bucket through one client.
pub struct SimBucket {
    sim: Arc<Sim>,
    /// Whether faults are injected: not into what the world itself does.
    faulty: bool,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is answered.
    Fine,
    /// Refused, nothing happened.
    Unavailable,
    /// It happened, the reply was lost.
    Lost,
    /// It never arrived.
    NeverArrived,
    /// It was given up and happens later.
    Late(Duration),
    /// 409.
    Conflict,
    /// It happened, the reply was lost, and the client's own retry met what it had done.
    Retried,
    /// 403.
    Denied,
}

impl SimBucket {
    /// The bucket as a function or a neighbour reaches it.
    pub fn new(sim: Arc<Sim>) -> Self {
        SimBucket { sim, faulty: true }
    }

    /// The bucket without faults, for those whose troubles are not Ebb's.
    pub fn reliable(sim: Arc<Sim>) -> Self {
        SimBucket { sim, faulty: false }
    }

    fn error(&self, kind: BucketErrorKind, operation: &'static str, key: &str) -> BucketError {
        let code = format!("Simulated{kind:?}");
        BucketError { kind, operation, key: key.to_owned(), code, message: "in the simulation".to_owned() }
    }

    /// The way there, and what happens on it.
    async fn sent(&self, operation: &'static str, key: &str, mutates: bool, conditional: bool) -> Fate {
        let (sim, rates, rng) = (&self.sim, &self.sim.scenario.rates, &self.sim.rng.bucket);
        sim.count("bucket requests");
        sim.sleep(rng.millis(3, 40)).await;
        if !self.faulty {
            return Fate::Fine;
        }
        if let Some(denial) = sim.scenario.denials.iter().find(|denial| denial.holds(sim.elapsed(), operation, key)) {
            if denial.until.is_some() {
                sim.fault("access denied for a while");
            } else {
                sim.fault("access denied for good");
            }
            return Fate::Denied;
        }
        if rng.chance(sim.odds(rates.bucket_slow)) {
            sim.fault("bucket slow");
            sim.sleep(rng.millis(200, 18_000)).await;
        }
        if rng.chance(sim.odds(rates.bucket_unavailable)) {
            sim.fault("bucket unavailable");
            sim.sleep(rng.millis(100, 15_000)).await;
            return Fate::Unavailable;
        }
        if rng.chance(sim.odds(rates.bucket_lost)) {
            let fate = match rng.below(if mutates { if conditional { 4 } else { 3 } } else { 1 }) {
                0 => Fate::NeverArrived,
                1 => Fate::Lost,
                2 => Fate::Late(rng.millis(0, 10_000)),
                _ => Fate::Retried,
            };
            sim.fault(match fate {
                Fate::NeverArrived => "bucket: request lost",
                Fate::Lost => "bucket: reply lost",
                Fate::Late(_) => "bucket: request late",
                _ => "bucket: own write met by the retry",
            });
            return fate;
        }
        if conditional && rng.chance(sim.odds(rates.bucket_conflict)) {
            sim.fault("bucket conflict (409)");
            return Fate::Conflict;
        }
        Fate::Fine
    }

    /// The way back.
    async fn answered(&self) {
        self.sim.sleep(self.sim.rng.bucket.millis(2, 30)).await;
    }

    /// What the client sees of a request that is not simply answered.
    async fn failed(&self, fate: Fate, operation: &'static str, key: &str) -> BucketError {
        let kind = match fate {
            Fate::Unavailable => BucketErrorKind::Unavailable,
            Fate::Conflict => BucketErrorKind::Conflict,
            Fate::Denied => BucketErrorKind::Denied,
            _ => {
                // The SDK waits and tries again; one operation ends within 20 s.
                self.sim.sleep(self.sim.rng.bucket.millis(500, 18_000)).await;
                BucketErrorKind::Unknown
            }
        };
        self.answered().await;
        self.error(kind, operation, key)
    }
}

/// A write or delete as it takes effect, seen by the invariants.
async fn effect(sim: &Arc<Sim>, actor: &Actor, key: &str, change: Change) -> Result<Option<String>, BucketError> {
    let before = sim.bucket.get(key).await?.map(|object| object.body);
    let result = match change {
        Change::Put(put, when) => sim.bucket.put(key, put, when).await.map(Some),
        Change::Delete(when) => sim.bucket.delete(key, when).await.map(|()| None),
    };
    if result.is_ok() {
        let after = sim.bucket.get(key).await?.map(|object| object.body);
        sim.truth.bucket_changed(sim, actor, key, before.as_deref(), after.as_deref());
    }
    result
}

enum Change {
    Put(Put, When),
    Delete(When),
}

impl SimBucket {
    async fn change(&self, operation: &'static str, key: &str, change: Change) -> Result<Option<String>, BucketError> {
        let (sim, actor) = (&self.sim, actor());
        let conditional = matches!(&change, Change::Put(_, when) | Change::Delete(when) if *when != When::Always);
        let fate = self.sent(operation, key, true, conditional).await;
        match fate {
            Fate::Fine => {
                let result = effect(sim, &actor, key, change).await;
                self.answered().await;
                result
            }
            Fate::Lost => {
                let _ = effect(sim, &actor, key, change).await;
                Err(self.failed(fate, operation, key).await)
            }
            Fate::Retried => {
                let first = match change {
                    Change::Put(put, when) => {
                        let first = effect(sim, &actor, key, Change::Put(put.clone(), when.clone())).await;
                        self.sim.sleep(self.sim.rng.bucket.millis(500, 8_000)).await;
                        first.and(effect(sim, &actor, key, Change::Put(put, when)).await)
                    }
                    Change::Delete(when) => {
                        let first = effect(sim, &actor, key, Change::Delete(when.clone())).await;
                        self.sim.sleep(self.sim.rng.bucket.millis(500, 8_000)).await;
                        first.and(effect(sim, &actor, key, Change::Delete(when)).await)
                    }
                };
                self.answered().await;
                first
            }
            Fate::Late(after) => {
                let (sim, key, acts) = (self.sim.clone(), key.to_owned(), actor.clone());
                // Given up after at most 18 s, and there at most 10 s later.
                let error = self.failed(fate, operation, &key).await;
                tokio::spawn(ACTOR.scope(acts.clone(), async move {
                    sim.sleep(after).await;
                    let landed = effect(&sim, &acts, &key, change).await.is_ok();
                    sim.event(|| format!("a request on {key} that was given up arrives, landed {landed}"));
                }));
                Err(error)
            }
            Fate::NeverArrived | Fate::Unavailable | Fate::Conflict | Fate::Denied => {
                Err(self.failed(fate, operation, key).await)
            }
        }
    }
}

#[async_trait]
impl Bucket for SimBucket {
    fn name(&self) -> &str {
        self.sim.bucket.name()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        match self.sent("GetObject", key, false, false).await {
            Fate::Fine => {
                let object = self.sim.bucket.get(key).await;
                let served = self.sim.now();
                self.answered().await;
                if let Ok(object) = &object {
                    self.sim.truth.bucket_read(&self.sim, &actor(), key, object.as_ref().map(|o| &*o.body), served);
                }
                object
            }
            fate => Err(self.failed(fate, "GetObject", key).await),
        }
    }

    async fn put(&self, key: &str, put: Put, when: When) -> Result<String, BucketError> {
        Ok(self.change("PutObject", key, Change::Put(put, when)).await?.unwrap_or_default())
    }

    async fn delete(&self, key: &str, when: When) -> Result<(), BucketError> {
        self.change("DeleteObject", key, Change::Delete(when)).await.map(drop)
    }

    async fn list(&self, prefix: &str, next: Option<&str>, limit: usize) -> Result<Listing, BucketError> {
        match self.sent("ListObjectsV2", prefix, false, false).await {
            Fate::Fine => {
                let page = self.sim.bucket.list(prefix, next, limit).await;
                self.answered().await;
                page
            }
            fate => Err(self.failed(fate, "ListObjectsV2", prefix).await),
        }
    }

    async fn versions(&self, key: &str) -> Result<Vec<Version>, BucketError> {
        match self.sent("ListObjectVersions", key, false, false).await {
            Fate::Fine => self.sim.bucket.versions(key).await,
            fate => Err(self.failed(fate, "ListObjectVersions", key).await),
        }
    }

    async fn delete_versions(&self, versions: &[Version]) -> Result<Vec<Version>, BucketError> {
        let key = versions.first().map(|version| version.key.clone()).unwrap_or_default();
        match self.sent("DeleteObjects", &key, true, false).await {
            Fate::Fine => self.sim.bucket.delete_versions(versions).await,
            fate => Err(self.failed(fate, "DeleteObjects", &key).await),
        }
    }

    async fn presign_put(&self, key: &str, expires: Duration) -> Result<String, BucketError> {
        self.sim.bucket.presign_put(key, expires).await
    }
}

impl Denial {
    /// Whether it denies `operation` on `key` now.
    fn holds(&self, elapsed: u64, operation: &str, key: &str) -> bool {
        elapsed >= self.from
            && self.until.is_none_or(|until| elapsed < until)
            && self.operation == operation
            && key.ends_with(self.suffix)
    }
}
