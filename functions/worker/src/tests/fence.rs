//! No step starts while the fence is shut.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ebb_core::lock::{FENCE_MARGIN, LockBody};
use ebb_core::{Clock, Fence, Outcome, Step};
use ebb_store::BucketErrorKind;

use super::bench::{Bench, T, bench};
use crate::LockFence;

#[track_caller]
fn is_shut(bench: &Bench, result: &ebb_core::StepResult) {
    assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Pending, Some("FenceShut")), "{result:?}");
    assert!(result.look_again_ms.is_some() && result.reason.is_some());
    assert_eq!(bench.asked(), 0, "no provider was asked");
}

/// It is ours, its `operation` is `destroy`, and more than 60 s of lease are left; otherwise: pending, FenceShut.
#[tokio::test(start_paused = true)]
async fn no_provider_is_asked_behind_a_shut_fence() {
    let lease = |bench: &Bench, end| LockBody { expires_at: end, ..LockBody::open(&bench.identity(), T) }.to_json();
    let closed = |bench: &Bench| LockBody::closed(&bench.identity(), None, T).to_json();
    let foreign = |bench: &Bench| LockBody::open(&bench.identity(), T).to_json().replace("teardown/t", "teardown/other");
    let deploy = |bench: &Bench| LockBody::open(&bench.identity(), T).to_json().replace("\"destroy\"", "\"deploy\"");
    let earlier = |bench: &Bench| {
        let mut other = bench.identity();
        other.timestamp -= 1;
        LockBody::open(&other, T).to_json()
    };
    let bodies: [&dyn Fn(&Bench) -> String; 6] =
        [&|b| lease(b, T + FENCE_MARGIN), &closed, &foreign, &deploy, &earlier, &|_| "not json".to_owned()];
    for body in bodies {
        let bench = bench();
        bench.lock("Orders", &body(&bench));
        is_shut(&bench, &bench.step().await);
    }
    let bench = bench();
    bench.store.memory.raw_delete(&bench.request.run.key().lock());
    is_shut(&bench, &bench.step().await);
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_cannot_be_read_shuts_the_fence() {
    let bench = bench();
    *bench.store.hook.fails.lock().unwrap() = Some(("/lock.json", BucketErrorKind::Denied));
    is_shut(&bench, &bench.step().await);
}

/// The lock of the resource's own stack.
#[tokio::test(start_paused = true)]
async fn a_nested_stacks_resource_needs_the_nested_stacks_lock() {
    let mut bench = bench();
    bench.request.item.id = "Orders~Search/Queue".into();
    bench.state(
        "Orders~Search",
        serde_json::json!({ "Queue": super::bench::row("AWS::SQS::Queue", "https://q/s", serde_json::json!({})) }),
    );
    is_shut(&bench, &bench.step().await);
    bench.lock("Orders~Search", &LockBody::open(&bench.identity(), T).to_json());
    bench.answers(Ok(Step::DELETED));
    assert_eq!(bench.step().await.outcome, Outcome::Deleted);
    assert_eq!(bench.provider.seen.lock().unwrap()[0].0.stack, "Orders~Search");
}

/// A lease that runs out while the state is read starts nothing: the lock is read again right before the step.
#[tokio::test(start_paused = true)]
async fn a_slow_read_of_the_state_asks_the_lock_again() {
    let bench = bench();
    bench.store.hook.state_takes_ms.store(8_000, Ordering::SeqCst);
    bench.lock("Orders", &LockBody { expires_at: T + FENCE_MARGIN + 6_000, ..LockBody::open(&bench.identity(), T) }.to_json());
    is_shut(&bench, &bench.step().await);

    let bench = self::bench();
    bench.store.hook.state_takes_ms.store(8_000, Ordering::SeqCst);
    bench.answers(Ok(Step::DELETED));
    assert_eq!(bench.step().await.outcome, Outcome::Deleted);
    assert_eq!(bench.store.hook.of_lock.load(Ordering::SeqCst), 2);
}

/// In force for the whole step: closed meanwhile, the next check of a loop says so.
#[tokio::test(start_paused = true)]
async fn a_close_is_seen_within_a_step() {
    let mut bench = bench();
    bench.request.item.patience_ms = 10_000;
    let (store, body) = (bench.store.clone(), LockBody::closed(&bench.identity(), None, T).to_json());
    let key = bench.request.run.key().lock();
    bench.acts(move |_, ctx| {
        assert!(ctx.fence.is_open());
        store.memory.raw_put(&key, body.clone());
        Ok(Step::pending(Duration::from_millis(2_900), "a page"))
    });
    bench.provider.takes_ms.store(5_500, Ordering::SeqCst);
    let result = bench.step().await;
    assert_eq!((result.code.as_deref(), bench.asked()), (Some("FenceShut"), 1), "{result:?}");
}

/// A reading opens for ten seconds; a check reads again once it is older than five.
#[tokio::test(start_paused = true)]
async fn readings_age() {
    let bench = bench();
    let fence =
        LockFence::new(bench.store.clone(), std::sync::Arc::new(bench.clock), bench.request.run.key(), bench.request.run.clone());
    let reads = || bench.store.hook.of_lock.load(Ordering::SeqCst);
    assert!(!fence.is_open(), "never read");
    assert!(fence.check().await.is_ok() && fence.is_open());
    bench.clock.sleep(Duration::from_millis(5_000)).await;
    assert!(fence.check().await.is_ok());
    assert_eq!(reads(), 1, "five seconds old is fresh");
    bench.clock.sleep(Duration::from_millis(4_999)).await;
    assert!(fence.is_open());
    bench.clock.sleep(Duration::from_millis(1)).await;
    assert!(!fence.is_open(), "ten seconds old is too old");
    assert!(fence.check().await.is_ok() && fence.is_open());
    assert_eq!(reads(), 2);

    bench.store.memory.raw_delete(&bench.request.run.key().lock());
    bench.clock.sleep(Duration::from_millis(5_001)).await;
    assert!(fence.is_open(), "by the last reading");
    assert_eq!(fence.check().await.unwrap_err().code, "FenceShut");
    assert!(!fence.is_open());

    *bench.store.hook.fails.lock().unwrap() = Some(("/lock.json", BucketErrorKind::Unavailable));
    assert!(fence.check().await.is_err());
}
