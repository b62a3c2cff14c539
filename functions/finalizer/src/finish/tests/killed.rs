//! Finish, killed between any two of its calls, and beside another one.

use std::time::Duration;

use super::*;

/// Killed between any two calls and run again, by the machine's retry or by the keeper after close and drain, it comes to
/// the same end and the same one result.
#[tokio::test(start_paused = true)]
async fn wherever_it_is_killed_the_next_one_ends_it() {
    let whole = worked(|_| {});
    whole.bucket.hook.live_for(None);
    whole.finish().await.unwrap();
    let calls = whole.bucket.hook.calls();
    assert!(calls > 30, "{calls}");
    for lives in 0..calls {
        for by_keeper in [false, true] {
            let bed = worked(|_| {});
            bed.bucket.hook.live_for(Some(lives));
            assert!(tokio::time::timeout(Duration::from_secs(60), bed.finish()).await.is_err(), "killed after {lives}");
            bed.bucket.hook.live_for(None);
            let first = bed.stored().unwrap().ended;
            if by_keeper {
                bed.close().await.unwrap();
                bed.pass(75_000).await;
            }
            let answer = bed.finish().await.unwrap();
            let what = format!("killed after {lives} of {calls} calls, keeper {by_keeper}");
            assert_eq!(answer["output"]["result"], "Deleted", "{what}");
            assert_gone(&bed, &what);
            if let Some(first) = first {
                assert_eq!(bed.stored().unwrap().ended, Some(first), "{what}: a result never changes");
            }
        }
    }
}

/// The same for a run that leaves something: the rows that are left stay in the state, once, and nothing else changes.
#[tokio::test(start_paused = true)]
async fn wherever_a_partial_end_is_killed_the_state_is_kept() {
    let change = |record: &mut RunRecord| set(record, "S/Queue", Status::Failed, "AccessDenied");
    let whole = worked(change);
    whole.finish().await.unwrap();
    let calls = whole.bucket.hook.calls();
    let kept = whole.body(&key("S").state()).unwrap();
    assert!(kept.contains("Queue") && !kept.contains("Hook"));
    for lives in 0..calls {
        let bed = worked(change);
        bed.bucket.hook.live_for(Some(lives));
        assert!(tokio::time::timeout(Duration::from_secs(60), bed.finish()).await.is_err());
        bed.bucket.hook.live_for(None);
        bed.close().await.unwrap();
        bed.pass(75_000).await;
        let answer = bed.finish().await.unwrap();
        assert_eq!((&answer["next"], &answer["error"]), (&json!("fail"), &json!("Partial")), "killed after {lives}");
        assert_eq!(bed.body(&key("S").state()), Some(kept.clone()), "killed after {lives}");
        assert!(has(&bed, &key("S").create_tokens()) && has(&bed, &key("S").rollback_journal()));
        assert_eq!((bed.lock("S"), bed.lock("S~Child")), (None, None), "killed after {lives}");
        assert_eq!(exported(&bed), ["Url", "Other"], "killed after {lives}");
    }
}

/// Of two finishes at the same time one result stands, and both answer it.
#[tokio::test(start_paused = true)]
async fn two_finishes_at_once_come_to_one_result() {
    let bed = worked(|_| {});
    let (a, b) = tokio::join!(bed.finish(), bed.finish());
    assert_eq!(a.unwrap()["output"]["result"], "Deleted");
    assert_eq!(b.unwrap()["output"]["result"], "Deleted");
    assert_gone(&bed, "two at once");
}
