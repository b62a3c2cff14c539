//! The lock on a bucket in memory, with replies that get lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ebb_core::lock::{CLOSE_LEASE, LockBody, Shut, TTL};
use ebb_core::{Options, Run};

use super::*;
use crate::bucket::{BucketErrorKind, When};
use crate::hooked::{Call, Hook, Hooked};
use crate::memory::MemoryBucket;
use crate::virtual_clock::VirtualClock;

const T: Millis = 1_765_000_000_000;

fn run(execution: &str) -> Run {
    Run {
        run_id: "r".into(),
        execution: format!("arn:aws:states:us-east-1:1:execution:m:{execution}"),
        owner: format!("ebb@1:us-east-1/m/{execution}"),
        timestamp: T,
        account: "1".into(),
        bucket: "state".into(),
        bucket_region: "us-east-1".into(),
        prefix: "cdkd".into(),
        stack: "S".into(),
        region: "us-west-2".into(),
        target: None,
        dry_run: false,
        expected_last_modified: None,
        options: Options::default(),
    }
}

/// What becomes of the next conditional request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Fine,
    /// It happens, and the answer is lost.
    ReplyLost,
    /// It does not happen, and there is no answer.
    RequestLost,
    Refused(BucketErrorKind),
}

/// Writes and deletes meet the fates they were given, then succeed.
#[derive(Default)]
struct Fates(Mutex<VecDeque<Fate>>);

impl Hook for Fates {
    async fn meet<T: Send>(
        &self,
        _: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        assert_ne!(call.when, Some(&When::Always), "unconditional: {call}");
        let fate = if call.changes() { self.0.lock().unwrap().pop_front() } else { None };
        match fate.unwrap_or(Fate::Fine) {
            Fate::Fine => request.await,
            Fate::ReplyLost => request.await.and_then(|_| Err(call.fails(BucketErrorKind::Unknown))),
            Fate::RequestLost => Err(call.fails(BucketErrorKind::Unknown)),
            Fate::Refused(kind) => Err(call.fails(kind)),
        }
    }
}

struct Bed {
    bucket: Hooked<Fates>,
    clock: VirtualClock,
}

impl Bed {
    fn new() -> Self {
        let clock = VirtualClock::starting_at(T);
        let memory = MemoryBucket::versioned("state", Arc::new(clock)).in_pages_of(2);
        Bed { bucket: Hooked { memory, hook: Fates::default() }, clock }
    }
    fn fates(&self, fates: &[Fate]) {
        *self.bucket.hook.0.lock().unwrap() = fates.iter().copied().collect();
    }
    fn put(&self, key: &str, body: &str) {
        self.bucket.memory.raw_put(key, body.to_owned());
    }
    fn body(&self, stack: &str) -> Option<String> {
        let body = self.bucket.memory.snapshot().get(&at(stack).lock()).cloned();
        body.map(|body| String::from_utf8(body.to_vec()).unwrap())
    }
    async fn pass(&self, duration: Millis) {
        self.clock.sleep(Duration::from_millis(duration)).await;
    }
    async fn acquire(&self, run: &Run) -> Result<Held, Refusal> {
        acquire(&self.bucket, &self.clock, &at("S"), run).await
    }
    async fn acquire_all(&self, run: &Run) -> Result<Vec<Held>, Refusal> {
        acquire_all(&self.bucket, &self.clock, run).await
    }
}

fn at(stack: &str) -> StackKey {
    StackKey::new("cdkd", stack, "us-west-2")
}

fn foreign(end: Millis) -> String {
    format!(r#"{{"owner":"jo@host:1","timestamp":5,"expiresAt":{end},"operation":"deploy"}}"#)
}

fn open(run: &Run, end: Millis) -> String {
    LockBody { expires_at: end, ..LockBody::open(&Identity::of(run), T) }.to_json()
}

#[tokio::test(start_paused = true)]
async fn takes_renews_closes_and_releases() {
    let (bed, run) = (Bed::new(), run("a"));
    let held = bed.acquire(&run).await.unwrap();
    assert_eq!((held.expires_at, held.how), (T + TTL, How::Created));
    assert_eq!(bed.body("S"), Some(open(&run, T + TTL)));

    bed.pass(120_000).await;
    let renewed = renew_all(&bed.bucket, &bed.clock, &run).await.unwrap();
    assert_eq!(renewed, [(at("S"), Renewed::Held { expires_at: T + 120_000 + TTL })]);

    assert_eq!(close_all(&bed.bucket, &bed.clock, &run).await.unwrap(), [at("S")]);
    let closed = bed.body("S").unwrap();
    assert!(closed.contains("destroy-stopping") && closed.contains(&(T + 120_000 + CLOSE_LEASE).to_string()), "{closed}");
    assert_eq!(renew_all(&bed.bucket, &bed.clock, &run).await.unwrap(), [(at("S"), Renewed::Closed)]);
    assert_eq!(bed.body("S").unwrap(), closed, "nobody renews a closed lock");
    assert_eq!(bed.acquire(&run).await.unwrap_err().ending, Ending::LockLost);

    assert_eq!(release_all(&bed.bucket, &bed.clock, &run).await, [""; 0]);
    assert_eq!(bed.body("S"), None);
    // Only the marker of the delete is left of a versioned lock.
    let versions = bed.bucket.versions(&at("S").lock()).await.unwrap();
    assert!(versions.iter().all(|version| version.latest), "{versions:?}");
    assert_eq!(release(&bed.bucket, &bed.clock, &at("S"), &run).await, None, "a second release does nothing");
}

/// cdkd holds, we start: contended. We never wait, never break.
#[tokio::test(start_paused = true)]
async fn a_held_lock_is_left_alone_and_its_holder_named() {
    let bed = Bed::new();
    bed.put(&at("S").lock(), &foreign(T + 1));
    let refusal = bed.acquire(&run("a")).await.unwrap_err();
    assert_eq!(refusal.ending, Ending::LockHeld);
    assert!(refusal.message.contains("jo@host:1") && refusal.message.contains("force-unlock"), "{}", refusal.message);
    assert_eq!(bed.body("S"), Some(foreign(T + 1)));
    assert!(release(&bed.bucket, &bed.clock, &at("S"), &run("a")).await.is_some());
    assert_eq!(close(&bed.bucket, &bed.clock, &at("S"), &run("a")).await, Ok(Closed::NotOurs));
    assert_eq!(bed.body("S"), Some(foreign(T + 1)), "neither released nor closed for someone else");
}

/// Both take over the same expired lock: exactly one wins.
#[tokio::test(start_paused = true)]
async fn one_of_two_takes_an_expired_lock_over() {
    let bed = Bed::new();
    bed.put(&at("S").lock(), &foreign(T));
    let (a, b) = (run("a"), run("b"));
    let (first, second) = futures::future::join(bed.acquire(&a), bed.acquire(&b)).await;
    let won = [&first, &second].iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(won, 1, "{first:?} {second:?}");
    let lost = first.err().or(second.err()).unwrap();
    assert_eq!(lost.ending, Ending::LockHeld);
}

/// A PUT or DELETE whose reply was lost is recognised: the lock's body says whose it is.
#[tokio::test(start_paused = true)]
async fn lost_replies_change_nothing() {
    use Fate::{Fine, ReplyLost, RequestLost};
    for fates in [vec![ReplyLost], vec![RequestLost], vec![RequestLost, ReplyLost]] {
        let (bed, run) = (Bed::new(), run("a"));
        bed.fates(&fates);
        let held = bed.acquire(&run).await.unwrap_or_else(|refusal| panic!("{fates:?}: {refusal}"));
        assert_eq!(bed.body("S"), Some(open(&run, held.expires_at)), "{fates:?}");

        bed.pass(120_000).await;
        bed.fates(&fates);
        assert!(renew_all(&bed.bucket, &bed.clock, &run).await.is_ok(), "{fates:?}");
        assert_eq!(bed.body("S"), Some(open(&run, T + 120_000 + TTL)), "{fates:?}");

        bed.fates(&fates);
        assert_eq!(close_all(&bed.bucket, &bed.clock, &run).await.unwrap(), [at("S")], "{fates:?}");
        assert!(bed.body("S").unwrap().contains("stopping"), "{fates:?}");

        bed.fates(&fates[..1]);
        assert_eq!(release(&bed.bucket, &bed.clock, &at("S"), &run).await, None, "{fates:?}");
        assert_eq!(bed.body("S"), None, "{fates:?}");
    }
    // The create of a take-over.
    let (bed, run) = (Bed::new(), run("a"));
    bed.put(&at("S").lock(), &foreign(T));
    bed.fates(&[Fine, Fine, ReplyLost]);
    assert!(matches!(bed.acquire(&run).await.unwrap().how, How::TookOver { .. }));
}

/// LockError, not contention: do not tell the user that someone holds the lock.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_bucket_is_no_contention() {
    for (kind, needle) in [
        (BucketErrorKind::Denied, "s3:PutObject"),
        (BucketErrorKind::NotImplemented, "conditional"),
        (BucketErrorKind::NoSuchBucket, "does not exist"),
        (BucketErrorKind::Unavailable, "refused for now"),
    ] {
        let bed = Bed::new();
        bed.fates(&[Fate::Refused(kind)]);
        let refusal = bed.acquire(&run("a")).await.unwrap_err();
        assert_eq!(refusal.ending, Ending::LockError);
        assert!(refusal.message.contains(needle) && !refusal.message.contains("held"), "{}", refusal.message);
    }
    let bed = Bed::new();
    bed.put(&at("S").lock(), "{");
    assert_eq!(bed.acquire(&run("a")).await.unwrap_err().ending, Ending::LockError);
    assert_eq!(bed.body("S").as_deref(), Some("{"), "never overwritten");
}

/// A concurrent writer: one retry after a pause.
#[tokio::test(start_paused = true)]
async fn a_concurrent_writer_is_given_a_moment() {
    let bed = Bed::new();
    bed.fates(&[Fate::Refused(BucketErrorKind::Conflict)]);
    assert_eq!(bed.acquire(&run("a")).await.unwrap().how, How::Created);
    assert!((200..=500).contains(&(bed.clock.now() - T)));
}

fn with_children(bed: &Bed) {
    for key in ["S/us-west-2", "S~A/us-west-2", "S~A~B/us-west-2", "S~C/eu-west-1", "Sx/us-west-2", "S~A/us-west-2/deployments"] {
        bed.put(&format!("cdkd/{key}/state.json"), "{}");
    }
    bed.put("cdkd/S~Old/state.json", "{}");
}

/// A run takes parent and children in sorted key order.
#[tokio::test(start_paused = true)]
async fn the_tree_is_the_stack_and_what_is_nested_in_it_in_its_region() {
    let bed = Bed::new();
    with_children(&bed);
    let run = run("a");
    assert_eq!(tree(&bed.bucket, &run).await.unwrap(), [at("S"), at("S~A"), at("S~A~B")]);
    let held = bed.acquire_all(&run).await.unwrap();
    assert_eq!(held.iter().map(|lock| lock.key.stack.as_str()).collect::<Vec<_>>(), ["S", "S~A", "S~A~B"]);
    // A child whose state is gone still has its lock renewed, closed and released.
    bed.bucket.memory.raw_delete(&at("S~A").state());
    assert_eq!(tree(&bed.bucket, &run).await.unwrap(), [at("S"), at("S~A~B")]);
    assert_eq!(renew_all(&bed.bucket, &bed.clock, &run).await.unwrap().len(), 3);
    assert_eq!(close_all(&bed.bucket, &bed.clock, &run).await.unwrap().len(), 3);
    assert_eq!(release_all(&bed.bucket, &bed.clock, &run).await, [""; 0]);
    assert_eq!(locks(&bed.bucket, &run).await.unwrap(), [at("S"), at("S~A~B")]);
}

/// Or none: LockHeld names the child; on any contention those already taken are released.
#[tokio::test(start_paused = true)]
async fn all_locks_or_none() {
    let bed = Bed::new();
    with_children(&bed);
    bed.put(&at("S~A~B").lock(), &foreign(T + TTL));
    let refusal = bed.acquire_all(&run("a")).await.unwrap_err();
    assert_eq!(refusal.ending, Ending::LockHeld);
    assert!(refusal.message.contains("S~A~B") && refusal.message.contains("jo@host:1"), "{}", refusal.message);
    assert_eq!((bed.body("S"), bed.body("S~A")), (None, None));
    assert_eq!(bed.body("S~A~B"), Some(foreign(T + TTL)));
}

#[tokio::test(start_paused = true)]
async fn the_fence_follows_the_lock() {
    let (bed, run) = (Bed::new(), run("a"));
    let read = async || read_fence(&bed.bucket, &bed.clock, &at("S"), &run).await.unwrap();
    assert_eq!(read().await, FenceView::Shut(Shut::Missing));
    bed.acquire(&run).await.unwrap();
    assert_eq!(read().await, FenceView::Open { until: T + 10_000 });
    bed.pass(TTL - 60_000).await;
    assert_eq!(read().await, FenceView::Shut(Shut::ShortLease { left: 60_000 }));
    assert_eq!(close(&bed.bucket, &bed.clock, &at("S"), &run).await, Ok(Closed::Closed));
    assert_eq!(read().await, FenceView::Shut(Shut::Closed { left: 60_000 }));
    bed.put(&at("S").lock(), &foreign(T + 2 * TTL));
    assert_eq!(read().await, FenceView::Shut(Shut::Foreign { owner: "jo@host:1".into() }));
}
