use ebb_core::lock::{Identity, LockBody};
use ebb_core::payload::{PlanAnswer, PlanNext};
use ebb_core::{Ending, Outcome, Refusal, Run, Status};
use ebb_store::BucketErrorKind;
use serde_json::{Value, json};

use crate::testing::*;

const FAST: fn() -> Value = || json!({"deleteData": true, "removeProtection": true});

/// A bed with the network's state and our lock on it.
fn network() -> (Bed, Run) {
    let bed = Bed::new();
    let run = run("EdgeNetwork", "us-east-1", FAST());
    bed.put(&run.key().state(), NETWORK);
    bed.put_lock(&run.key(), &run, None);
    (bed, run)
}

#[track_caller]
fn stopped(answer: &PlanAnswer, ending: Ending) -> String {
    assert_eq!((answer.next, answer.error.as_deref()), (PlanNext::Stop, Some(ending.name())), "{answer:?}");
    let cause: Value = serde_json::from_str(answer.cause.as_deref().unwrap()).unwrap();
    assert_eq!(cause["result"], json!(ending.name()));
    cause["message"].as_str().unwrap().to_owned()
}

// The record is written first, as the claim; then the state; `lastModified` is the claim's instant.
#[tokio::test(start_paused = true)]
async fn a_step_is_claimed_before_the_state_is_written() {
    let (bed, run) = network();
    let mut drive = Drive::of(&bed, run.clone());
    let first = drive.plan().await;
    assert_eq!((first.next, first.step, first.wave, first.items.len()), (PlanNext::Wave, 1, Some(1), 3));
    let (record, state) = (run.key().run_record(&run.run_id), run.key().state());
    assert!(bed.calls().contains(&format!("PUT {record}")));
    assert_eq!(bed.object(&state).as_deref(), Some(NETWORK), "nothing is gone, nothing is written");

    bed.pass(1500).await;
    drive.all(Outcome::Deleted, &[("PagingAlarm26", Outcome::Failed)]);
    drive.plan().await;
    let calls = bed.calls();
    let at = |call: &str| calls.iter().position(|c| c == call).unwrap_or_else(|| panic!("{call} in {calls:?}"));
    assert!(at(&format!("PUT {record}")) < at(&format!("PUT {state}")));
    let written: Value = serde_json::from_str(&bed.object(&state).unwrap()).unwrap();
    let rows = written["resources"].as_object().unwrap();
    assert!(!rows.contains_key("CacheFromWorker18") && !rows.contains_key("TickPermission24"));
    assert!(rows.contains_key("PagingAlarm26"), "what failed stays recorded");
    assert_eq!(written["lastModified"], json!(bed.record(&run).at));
}

// A retried planner answers identically and changes nothing, warm or cold.
#[tokio::test(start_paused = true)]
async fn a_second_delivery_answers_the_same_bytes() {
    let (mut bed, run) = network();
    let mut requests = Vec::new();
    {
        let mut drive = Drive::of(&bed, run.clone());
        for _ in 0..4 {
            requests.push(drive.request.clone());
            drive.plan().await;
            drive.all(Outcome::Deleted, &[]);
        }
    }
    // The last plan's request once more: the record is one step ahead of it.
    let last = requests.pop().unwrap();
    let before = bed.everything();
    let first = bed.plan_value(&last).await;
    bed.pass(60_000).await;
    assert_eq!(serde_json::to_string(&bed.plan_value(&last).await).unwrap(), serde_json::to_string(&first).unwrap());
    bed.cold();
    assert_eq!(serde_json::to_string(&bed.plan_value(&last).await).unwrap(), serde_json::to_string(&first).unwrap());
    assert_eq!(bed.everything(), before);
    assert_eq!(first["next"], json!("wave"));
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_is_the_same_as_its_repetition() {
    for sample in [(NETWORK, "EdgeNetwork"), (REST_API, "OrdersApi")] {
        let mut bed = Bed::new();
        let run = run(sample.1, serde_json::from_str::<Value>(sample.0).unwrap()["region"].as_str().unwrap(), FAST());
        bed.put(&run.key().state(), sample.0);
        bed.put_lock(&run.key(), &run, None);
        let mut request = ebb_core::payload::PlanRequest { run, drive: 1, step: 0, results: Vec::new() };
        loop {
            let first = bed.plan_value(&request).await;
            bed.cold();
            let again = bed.plan_value(&request).await;
            assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&first).unwrap());
            let answer: PlanAnswer = serde_json::from_value(first).unwrap();
            if answer.next == PlanNext::Finish {
                break;
            }
            request.step = answer.step;
            request.results =
                answer.items.iter().map(|item| ebb_core::StepResult::new(&item.id, item.step, Outcome::Deleted)).collect();
        }
    }
}

// Closed, foreign, gone, or under 60 s of lease: the drive ends with LockLost and nothing is written.
#[tokio::test(start_paused = true)]
async fn a_lock_that_is_not_ours_and_open_ends_the_drive() {
    for first in [true, false] {
        for case in ["closed", "foreign", "gone", "short", "unreadable"] {
            let (bed, run) = network();
            let mut drive = Drive::of(&bed, run.clone());
            if !first {
                drive.plan().await;
                drive.all(Outcome::Deleted, &[]);
            }
            let me = Identity::of(&run);
            let now = T;
            match case {
                "closed" => bed.put_lock(&run.key(), &run, Some(LockBody::closed(&me, None, now))),
                "foreign" => {
                    bed.put_lock(&run.key(), &run, Some(LockBody { owner: "jo@host:1".into(), ..LockBody::open(&me, now) }))
                }
                "short" => {
                    bed.put_lock(&run.key(), &run, Some(LockBody { expires_at: now + 59_000, ..LockBody::open(&me, now) }))
                }
                "unreadable" => drop(bed.put(&run.key().lock(), "{")),
                _ => bed.bucket.memory.raw_delete(&run.key().lock()),
            }
            let before = bed.everything();
            let answer = drive.plan().await;
            stopped(&answer, Ending::LockLost);
            assert!(answer.items.is_empty());
            assert_eq!(bed.everything(), before, "{case}");
        }
    }
}

// Every lock of the run counts, a child's too.
#[tokio::test(start_paused = true)]
async fn a_lost_child_lock_is_lost_for_the_run() {
    let bed = Bed::new();
    let run = run("Storefront", "us-east-1", FAST());
    let child = run.key().sibling("Storefront~SearchNested1B");
    bed.put(&run.key().state(), PARENT);
    bed.put(&child.state(), CHILD);
    bed.put_lock(&run.key(), &run, None);
    let message = stopped(&Drive::of(&bed, run.clone()).plan().await, Ending::LockLost);
    assert!(message.contains("SearchNested1B"), "{message}");
    bed.put_lock(&child, &run, None);
    let mut drive = Drive::of(&bed, run.clone());
    assert_eq!(drive.plan().await.next, PlanNext::Wave);
    bed.bucket.memory.raw_delete(&child.lock());
    drive.all(Outcome::Deleted, &[]);
    stopped(&drive.plan().await, Ending::LockLost);
}

// A record that is missing after step 0, or that belongs to another execution: never start over.
#[tokio::test(start_paused = true)]
async fn a_lost_record_ends_the_run() {
    let (bed, run) = network();
    let mut drive = Drive::of(&bed, run.clone());
    drive.plan().await;
    let key = run.key().run_record(&run.run_id);
    let record = bed.object(&key).unwrap();
    for body in
        [record.replace("nightly-7", "nightly-8"), "{".into(), record.replacen("\"recordVersion\":1", "\"recordVersion\":2", 1)]
    {
        bed.put(&key, &body);
        stopped(&bed.plan(&drive.request).await, Ending::RunRecordLost);
    }
    let before = bed.object(&run.key().state());
    bed.bucket.memory.raw_delete(&key);
    drive.all(Outcome::Deleted, &[]);
    stopped(&bed.plan(&drive.request).await, Ending::RunRecordLost);
    // A new drive does not start over either.
    let next = ebb_core::payload::PlanRequest { drive: 2, step: 0, results: Vec::new(), run: run.clone() };
    stopped(&bed.plan(&next).await, Ending::RunRecordLost);
    // An older record than what the drive has seen was put back by somebody.
    bed.put(&key, &record);
    let ahead = ebb_core::payload::PlanRequest { drive: 1, step: 7, results: Vec::new(), run: run.clone() };
    stopped(&bed.plan(&ahead).await, Ending::RunRecordLost);
    assert_eq!(bed.object(&run.key().state()), before);
}

// Somebody wrote the state without holding the lock: stop, no more writes.
#[tokio::test(start_paused = true)]
async fn a_foreign_write_of_the_state_stops_the_run() {
    for cold in [false, true] {
        for gone in [false, true] {
            let (mut bed, run) = network();
            let mut request = {
                let mut drive = Drive::of(&bed, run.clone());
                drive.plan().await;
                drive.all(Outcome::Deleted, &[]);
                drive.request
            };
            match gone {
                true => bed.bucket.memory.raw_delete(&run.key().state()),
                false => drop(bed.put(&run.key().state(), &edit(NETWORK, |state| state["lastModified"] = json!(1)))),
            }
            if cold {
                bed.cold();
            }
            let foreign = bed.object(&run.key().state());
            stopped(&bed.plan(&request).await, Ending::StateConflict);
            // Asked again, by whatever container: the same.
            request.step = bed.record(&run).step;
            bed.cold();
            stopped(&bed.plan(&request).await, Ending::StateConflict);
            assert_eq!(bed.object(&run.key().state()), foreign, "cold {cold}, gone {gone}");
        }
    }
}

// Under the lock everything that the check refused is refused again, and the refusal is the run's record.
#[tokio::test(start_paused = true)]
async fn the_first_plan_refuses_again_under_the_lock() {
    for (state, ending) in [
        (edit(NETWORK, |state| state["version"] = json!(12)), Ending::UnsupportedVersion),
        (edit(NETWORK, |state| state["resources"] = json!([])), Ending::MalformedState),
        (edit(NETWORK, |state| state["region"] = json!("us-east-2")), Ending::RegionMismatch),
        (
            edit(NETWORK, |state| state["resources"]["WorkerGroup16"]["dependencies"] = json!(["Worker19"])),
            Ending::CircularDependency,
        ),
    ] {
        let (bed, run) = network();
        bed.put(&run.key().state(), &state);
        let answer = Drive::of(&bed, run.clone()).plan().await;
        assert_eq!((answer.next, answer.error.as_deref()), (PlanNext::Finish, Some(ending.name())));
        assert_eq!(bed.record(&run).refusal.unwrap().ending, ending);
        assert_eq!(bed.object(&run.key().state()), Some(state));
    }
}

// While the run waited for the lock its holder deployed: nothing is deleted, and the refusal is the run's record.
#[tokio::test(start_paused = true)]
async fn a_stack_that_was_deployed_while_its_lock_was_waited_for_is_refused() {
    let written: Value = serde_json::from_str(NETWORK).unwrap();
    let written = written["lastModified"].as_u64();
    for (fresh, dry_run) in [(true, false), (true, true), (false, false)] {
        let (bed, mut run) = network();
        run.dry_run = dry_run;
        run.expected_last_modified = written;
        let state = if fresh { edit(NETWORK, |state| state["lastModified"] = T.into()) } else { NETWORK.to_owned() };
        bed.put(&run.key().state(), &state);
        let mut drive = Drive::of(&bed, run.clone());
        let answer = drive.plan().await;
        if fresh {
            assert_eq!((answer.next, answer.error.as_deref()), (PlanNext::Finish, Some("Refused")));
            assert_eq!(bed.record(&run).refusal, Some(ebb_core::run::deployed_again(Some(T))));
            assert!(bed.record(&run).resources.is_empty());
            assert_eq!(bed.object(&run.key().state()), Some(state));
            continue;
        }
        // What this run writes itself is no deployment.
        bed.pass(1500).await;
        drive.all(Outcome::Deleted, &[]);
        assert_eq!(drive.plan().await.next, PlanNext::Wave);
        let trimmed: Value = serde_json::from_str(&bed.object(&run.key().state()).unwrap()).unwrap();
        assert_ne!(trimmed["lastModified"].as_u64(), written);
        drive.all(Outcome::Deleted, &[]);
        assert_eq!(drive.plan().await.next, PlanNext::Wave);
    }
}

// An importer's state that the bucket stopped giving out after the check: asked again while it is busy, refused when denied.
#[tokio::test(start_paused = true)]
async fn an_importer_that_is_not_given_out_under_the_lock_refuses() {
    let billing = "cdkd/Billing/us-east-1/state.json";
    let bed = Bed::new();
    let run = run("SharedBus", "us-east-1", FAST());
    bed.put(&run.key().state(), EXPORTER);
    bed.put(billing, "{}");
    bed.put_lock(&run.key(), &run, None);
    let mut drive = Drive::of(&bed, run.clone());
    bed.fail(format!("GET {billing}"), 1, BucketErrorKind::Unavailable);
    let answer = drive.plan().await;
    assert_eq!((answer.next, answer.step, answer.seconds), (PlanNext::Wait, 0, Some(15)));
    bed.fail(format!("GET {billing}"), 1, BucketErrorKind::Denied);
    let answer = drive.plan().await;
    assert_eq!((answer.next, answer.error.as_deref()), (PlanNext::Finish, Some("AccessDenied")));
    assert!(bed.record(&run).refusal.unwrap().message.contains(billing));
    assert_eq!(bed.object(&run.key().state()).as_deref(), Some(EXPORTER));
}

// A state that says nothing of its imports is passed over as cdkd does it, and people are told before anything else.
#[tokio::test(start_paused = true)]
async fn an_importer_that_cannot_be_understood_is_a_warning_of_the_run() {
    let bed = Bed::new();
    let run = run("SharedBus", "us-east-1", FAST());
    let state = edit(EXPORTER, |state| {
        let rows = state["resources"].as_object_mut().unwrap();
        rows.values_mut().next().unwrap()["dependencies"] = json!(["NotThere"]);
    });
    bed.put(&run.key().state(), &state);
    bed.put("cdkd/Billing/us-east-1/state.json", "{");
    bed.put_lock(&run.key(), &run, None);
    assert_eq!(Drive::of(&bed, run.clone()).plan().await.next, PlanNext::Wave);
    let warnings = bed.record(&run).warnings;
    let said = "cdkd/Billing/us-east-1/state.json could not be read, so whether it imports is not known: it is no JSON object";
    assert_eq!((warnings.len(), warnings[0].as_str()), (2, said), "{warnings:?}");
}

// Gone between the check and the lock.
#[tokio::test(start_paused = true)]
async fn a_state_that_went_away_leaves_nothing_to_do() {
    let (bed, run) = network();
    bed.bucket.memory.raw_delete(&run.key().state());
    let answer = Drive::of(&bed, run.clone()).plan().await;
    assert_eq!((answer.next, answer.error), (PlanNext::Finish, None));
    assert!(bed.record(&run).absent);
}

// What passes is asked again with the same step; what a person has to mend stops the run.
#[tokio::test(start_paused = true)]
async fn a_bucket_that_does_not_answer_is_asked_again() {
    let (bed, run) = network();
    let key = run.key();
    let record = key.run_record(&run.run_id);
    let mut drive = Drive::of(&bed, run.clone());
    for call in [
        format!("GET {record}"),
        format!("GET {}", key.lock()),
        format!("GET {}", key.state()),
        "LIST cdkd/EdgeNetwork~".into(),
        format!("PUT {record}"),
    ] {
        bed.fail(call.clone(), 1, BucketErrorKind::Unavailable);
        let answer = drive.plan().await;
        assert_eq!((answer.next, answer.step, answer.seconds), (PlanNext::Wait, 0, Some(15)), "{call}");
        assert!(bed.object(&record).is_none());
    }
    bed.refuses(Some(Refusal::new(Ending::Error, "the role could not be assumed")));
    assert_eq!(drive.plan().await.next, PlanNext::Wait);
    bed.refuses(None);
    assert_eq!(drive.plan().await.next, PlanNext::Wave);
    drive.all(Outcome::Deleted, &[]);
    bed.fail(format!("GET {}", key.lock()), 1, BucketErrorKind::Unknown);
    let answer = drive.plan().await;
    assert_eq!((answer.next, answer.step), (PlanNext::Wait, 1));
    let answer = drive.plan().await;
    assert_eq!((answer.next, answer.step), (PlanNext::Wave, 2), "the results were not lost");

    for call in [format!("PUT {record}"), format!("GET {record}"), format!("PUT {}", key.state())] {
        drive.all(Outcome::Deleted, &[]);
        bed.fail(call.clone(), 1, BucketErrorKind::Denied);
        stopped(&bed.plan(&drive.request).await, Ending::AccessDenied);
    }
}

// Paused: a running run emits no wave and waits, its lock kept.
#[tokio::test(start_paused = true)]
async fn a_paused_app_lets_a_run_wait() {
    let (mut bed, run) = network();
    bed.restart(&[("EBB_PAUSED", "true")]);
    let answer = Drive::of(&bed, run.clone()).plan().await;
    assert_eq!((answer.next, answer.seconds, answer.step), (PlanNext::Wait, Some(60), 1));
    bed.restart(&[("EBB_PAUSED", "false")]);
    let mut drive = Drive::of(&bed, run.clone());
    drive.request.step = 1;
    assert_eq!(drive.plan().await.next, PlanNext::Wave);
}

// A finished run is not taken up again.
#[tokio::test(start_paused = true)]
async fn a_finished_run_is_over() {
    let (bed, run) = network();
    let mut drive = Drive::of(&bed, run.clone());
    drive.plan().await;
    let mut record = bed.record(&run);
    record.ended = Some(ebb_core::record::Ended { result: Ending::Interrupted, at: T, message: None });
    bed.put(&run.key().run_record(&run.run_id), &serde_json::to_string(&record).unwrap());
    stopped(&drive.plan().await, Ending::LockLost);
}

// A dry run has no lock, looks, and changes nothing but its own record.
#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_no_state() {
    let bed = Bed::new();
    let run = run("Storefront", "us-east-1", json!({"dryRun": true}));
    bed.put(&run.key().state(), PARENT);
    bed.put("cdkd/Storefront~SearchNested1B/us-east-1/state.json", &edit(CHILD, |state| state["resources"] = json!({})));
    let states = bed.everything();
    let mut drive = Drive::of(&bed, run.clone());
    let answer = drive.plan().await;
    assert!(answer.next == PlanNext::Wave && answer.items.iter().all(|item| item.look));
    drive.all(Outcome::Pending, &[]);
    assert_eq!(drive.plan().await.next, PlanNext::Finish);
    let mut after = bed.everything();
    after.retain(|(key, _)| !key.starts_with("ebb/"));
    assert_eq!(after, states);
    assert!(bed.record(&run).resources.values().all(|row| row.status == Status::Waiting));
}
