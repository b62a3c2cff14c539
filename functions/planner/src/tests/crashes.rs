use ebb_core::payload::PlanNext;
use ebb_core::{Ending, Outcome, Run, Status};
use ebb_store::BucketErrorKind;
use serde_json::{Value, json};

use crate::testing::*;

fn lock(bed: &Bed, run: &Run, stacks: &[&str]) {
    for stack in stacks {
        bed.put_lock(&run.key().sibling(stack), run, None);
    }
}

// A crash between record and state loses nothing: the next plan brings the state in line.
#[tokio::test(start_paused = true)]
async fn a_state_that_was_not_written_is_written_by_the_next_plan() {
    for cold in [false, true] {
        let mut bed = Bed::new();
        let run = run("EdgeNetwork", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
        bed.put(&run.key().state(), NETWORK);
        lock(&bed, &run, &["EdgeNetwork"]);
        let request = {
            let mut drive = Drive::of(&bed, run.clone());
            drive.plan().await;
            drive.all(Outcome::Deleted, &[]);
            drive.request
        };
        bed.fail(format!("PUT {}", run.key().state()), 1, BucketErrorKind::Unavailable);
        let answer = bed.plan(&request).await;
        assert_eq!((answer.next, answer.step), (PlanNext::Wait, 1));
        let claimed = bed.record(&run);
        assert_eq!(claimed.step, 2, "the step is claimed");
        assert_eq!(bed.object(&run.key().state()).as_deref(), Some(NETWORK), "and the state is as it was");
        if cold {
            bed.cold();
        }
        bed.pass(20_000).await;
        let answer = bed.plan(&request).await;
        assert_eq!((answer.next, answer.step), (PlanNext::Wave, 2));
        assert_eq!(bed.record(&run), claimed);
        let state = bed.object(&run.key().state()).unwrap();
        assert_eq!(ebb_store::state_file::digest(state.as_bytes()), claimed.stacks["EdgeNetwork"].after);
        let state: Value = serde_json::from_str(&state).unwrap();
        assert_eq!((state["resources"].as_object().unwrap().len(), &state["lastModified"]), (23, &json!(claimed.at)));
    }
}

// A lost reply of the state's write is not somebody else's write.
#[tokio::test(start_paused = true)]
async fn a_write_whose_reply_was_lost_is_our_own() {
    let mut bed = Bed::new();
    let run = run("EdgeNetwork", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
    bed.put(&run.key().state(), NETWORK);
    lock(&bed, &run, &["EdgeNetwork"]);
    let (first, second) = {
        let mut drive = Drive::of(&bed, run.clone());
        drive.plan().await;
        drive.all(Outcome::Deleted, &[]);
        let first = drive.request.clone();
        drive.plan().await;
        drive.all(Outcome::Deleted, &[]);
        (first, drive.request)
    };
    // A slow first delivery comes after everything is done, in a container that knows nothing.
    bed.cold();
    let answer = bed.plan(&first).await;
    assert_eq!((answer.next, answer.step), (PlanNext::Wave, 2));
    let answer = bed.plan(&second).await;
    assert_eq!((answer.next, answer.step), (PlanNext::Wave, 3));
    // And one that is two steps behind answers what holds now, never a conflict.
    assert_eq!(bed.plan(&first).await.step, 3);
}

// Two deliveries of one plan at the same time: one claims the step, the other answers what was claimed, however far the first
// got meanwhile.
#[tokio::test(start_paused = true)]
async fn of_two_deliveries_the_slower_answers_what_the_other_claimed() {
    for first_plan in [true, false] {
        for cold in [true, false] {
            let mut bed = Bed::new();
            let run = run("EdgeNetwork", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
            let record = run.key().run_record(&run.run_id);
            bed.put(&run.key().state(), NETWORK);
            lock(&bed, &run, &["EdgeNetwork"]);
            let request = {
                let mut drive = Drive::of(&bed, run.clone());
                if !first_plan {
                    drive.plan().await;
                    drive.all(Outcome::Deleted, &[]);
                }
                drive.request
            };
            let early = bed.read(&record).await;
            let fast = bed.plan_value(&request).await;
            // The slow one read the record before.
            bed.answer_once(&record, early);
            let after = bed.everything();
            if cold {
                bed.cold();
            }
            bed.pass(5_000).await;
            assert_eq!(bed.plan_value(&request).await, fast, "first plan {first_plan}, cold {cold}");
            assert_eq!(bed.everything(), after);
        }
    }
}

// First write of a legacy record: to the region's key, as version 2; then the legacy key is removed.
#[tokio::test(start_paused = true)]
async fn a_legacy_record_moves_with_its_first_write() {
    for cold in [false, true] {
        let mut bed = Bed::new();
        let run = run("LegacyMailer", "ap-northeast-1", json!({"deleteData": true, "removeProtection": true}));
        bed.put(&run.key().legacy_state(), LEGACY);
        lock(&bed, &run, &["LegacyMailer"]);
        let mut request = {
            let mut drive = Drive::of(&bed, run.clone());
            assert_eq!(drive.plan().await.items.len(), 4);
            assert!(bed.object(&run.key().legacy_state()).is_some() && bed.object(&run.key().state()).is_none());
            drive.all(Outcome::Deleted, &[]);
            drive.request
        };
        if cold {
            bed.cold();
        }
        let answer = bed.plan(&request).await;
        assert_eq!((answer.next, answer.items.len()), (PlanNext::Wave, 2));
        assert!(bed.object(&run.key().legacy_state()).is_none());
        let state: Value = serde_json::from_str(&bed.object(&run.key().state()).unwrap()).unwrap();
        assert_eq!((&state["version"], &state["region"]), (&json!(2), &json!("ap-northeast-1")));
        assert_eq!(state["resources"].as_object().unwrap().len(), 2);
        request.step = answer.step;
        request.results = answer.items.iter().map(|i| ebb_core::StepResult::new(&i.id, i.step, Outcome::Deleted)).collect();
        if cold {
            bed.cold();
        }
        assert_eq!(bed.plan(&request).await.next, PlanNext::Finish);
    }
}

// The child's record, its journal and its exports go before the parent's row does.
#[tokio::test(start_paused = true)]
async fn a_nested_stacks_record_goes_before_its_row() {
    let bed = Bed::new();
    let run = run("Storefront", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
    let (parent, child) = (run.key(), run.key().sibling("Storefront~SearchNested1B"));
    bed.put(&parent.state(), PARENT);
    bed.put(&child.state(), CHILD);
    bed.put(&child.create_tokens(), "{}");
    bed.put(&child.rollback_journal(), "{}");
    lock(&bed, &run, &["Storefront", "Storefront~SearchNested1B"]);
    let mut drive = Drive::of(&bed, run.clone());
    drive.plan().await;
    while bed.record(&run).resources["Storefront/SearchNested1B"].status != Status::Deleted {
        let row = format!("{:?}", bed.object(&parent.state()));
        assert!(row.contains("SearchNested1B") && bed.object(&child.state()).is_some());
        drive.all(Outcome::Deleted, &[]);
        bed.calls();
        // The removal is cut short once: nothing is forgotten.
        bed.fail(format!("DELETE {}", child.state()), 1, BucketErrorKind::Unavailable);
        if drive.plan().await.next == PlanNext::Wait {
            let row = format!("{:?}", bed.object(&parent.state()));
            assert!(row.contains("SearchNested1B"), "the row stays while the record does");
            drive.plan().await;
        }
    }
    let calls = bed.calls();
    let at = |call: String| calls.iter().rposition(|c| *c == call).unwrap_or_else(|| panic!("{call} in {calls:?}"));
    assert!(at(format!("DELETE {}", child.create_tokens())) < at(format!("DELETE {}", child.state())));
    assert!(at(format!("DELETE {}", child.state())) < at(format!("PUT {}", parent.state())));
    for key in [child.state(), child.create_tokens(), child.rollback_journal()] {
        assert!(bed.object(&key).is_none(), "{key}");
    }
    assert!(bed.object(&child.lock()).is_some(), "the lock is released at the end, with the parent's");
    drive.all(Outcome::Deleted, &[]);
    assert_eq!(drive.plan().await.next, PlanNext::Finish);
}

// A broken child: parent row FAILED, child untouched.
#[tokio::test(start_paused = true)]
async fn a_broken_child_fails_its_row_and_is_not_touched() {
    let bed = Bed::new();
    let run = run("Storefront", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
    let child = run.key().sibling("Storefront~SearchNested1B");
    bed.put(&run.key().state(), PARENT);
    bed.put(&child.state(), &edit(CHILD, |state| state["version"] = json!(99)));
    lock(&bed, &run, &["Storefront", "Storefront~SearchNested1B"]);
    let before = bed.object(&child.state());
    let mut drive = Drive::of(&bed, run.clone());
    while drive.plan().await.next == PlanNext::Wave {
        drive.all(Outcome::Deleted, &[]);
    }
    let record = bed.record(&run);
    let row = &record.resources["Storefront/SearchNested1B"];
    assert_eq!((row.status, row.code.as_deref()), (Status::Failed, Some(Ending::UnsupportedVersion.name())));
    assert_eq!(record.resources["Storefront/CatalogTable0A"].status, Status::Blocked);
    assert_eq!(bed.object(&child.state()), before);
}

// An unknown policy on the nested row keeps the children too: deleting them would be a guess.
#[tokio::test(start_paused = true)]
async fn children_of_a_row_with_an_unknown_policy_stay() {
    for (policy, status) in [("Keep", Status::Failed), ("Retain", Status::Retained)] {
        let bed = Bed::new();
        let run = run("Storefront", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
        let child = run.key().sibling("Storefront~SearchNested1B");
        bed.put(&run.key().state(), &edit(PARENT, |s| s["resources"]["SearchNested1B"]["deletionPolicy"] = json!(policy)));
        bed.put(&child.state(), CHILD);
        lock(&bed, &run, &["Storefront", "Storefront~SearchNested1B"]);
        let mut drive = Drive::of(&bed, run.clone());
        while drive.plan().await.next == PlanNext::Wave {
            assert!(drive.answer.iter().flat_map(|a| &a.items).all(|item| item.id.starts_with("Storefront/")));
            drive.all(Outcome::Deleted, &[]);
        }
        assert_eq!(bed.record(&run).resources["Storefront/SearchNested1B"].status, status);
        assert_eq!(bed.object(&child.state()).as_deref(), Some(CHILD));
    }
}
