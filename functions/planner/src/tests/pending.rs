use ebb_core::Outcome;
use ebb_core::payload::PlanNext;
use serde_json::{Value, json};

use crate::testing::*;

// A row leaves the state when its resource is gone, not when its delete was issued: a run that dies in between leaves a
// record of what may still be there.
#[tokio::test(start_paused = true)]
async fn what_is_on_its_way_stays_recorded() {
    let bed = Bed::new();
    let run = run("EdgeNetwork", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
    bed.put(&run.key().state(), NETWORK);
    bed.put_lock(&run.key(), &run, None);
    let rows = |bed: &Bed| -> Vec<String> {
        let state: Value = serde_json::from_str(&bed.object(&run.key().state()).unwrap()).unwrap();
        state["resources"].as_object().unwrap().keys().cloned().collect()
    };
    let mut drive = Drive::of(&bed, run.clone());
    assert_eq!(drive.plan().await.next, PlanNext::Wave);
    let all = rows(&bed);
    drive.all(Outcome::Deleted, &[("PagingAlarm26", Outcome::Pending)]);
    drive.plan().await;
    let left = rows(&bed);
    assert!(left.contains(&"PagingAlarm26".to_owned()), "{left:?}");
    assert!(!left.contains(&"TickPermission24".to_owned()) && left.len() == all.len() - 2, "{left:?}");
    // Only once it is gone.
    for outcome in [Outcome::Pending, Outcome::Deleted] {
        loop {
            bed.pass(drive.answer.as_ref().and_then(|answer| answer.seconds).unwrap_or(1) * 1000).await;
            let out = drive.answer.iter().flat_map(|answer| &answer.items).any(|item| item.id.ends_with("/PagingAlarm26"));
            drive.all(Outcome::Failed, &[("PagingAlarm26", outcome)]);
            drive.plan().await;
            if out {
                break;
            }
        }
        assert_eq!(rows(&bed).contains(&"PagingAlarm26".to_owned()), outcome == Outcome::Pending);
    }
}
