//! Finish on a bucket in memory: every result, every place where it can be killed, and everybody who can get in between.

mod killed;

use std::collections::BTreeMap;

use ebb_core::provider::response_keys;
use ebb_core::record::{ResourceRecord, StackLedger};
use ebb_core::state::Layout;
use ebb_core::{StackKey, StateDoc, Status};
use ebb_store::in_line::trimmed;
use ebb_store::state_file::digest;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Bed, SECRET, T, foreign_lock, record, resource};

const STACKS: [&str; 2] = ["S", "S~Child"];

fn key(stack: &str) -> StackKey {
    StackKey::new("cdkd", stack, "us-west-2")
}

fn state(stack: &str, rows: &[(&str, &str)]) -> String {
    let rows: serde_json::Map<String, Value> = rows
        .iter()
        .map(|(id, kind)| {
            let row = json!({"physicalId": id, "resourceType": kind, "properties": {"Password": SECRET}, "dependencies": []});
            ((*id).to_owned(), row)
        })
        .collect();
    let state = json!({
        "version": 9, "stackName": stack, "region": "us-west-2", "resources": rows, "outputs": {"Url": SECRET},
        "exportNames": ["Url"], "imports": [], "outputReads": [], "lastModified": 1,
    });
    serde_json::to_string_pretty(&state).unwrap()
}

/// A stack with a nested one, everything that lies beside them, and a run that holds their locks. `change` gives the rows
/// their statuses; the plan that claimed them was killed before it wrote the states.
fn worked(change: impl FnOnce(&mut RunRecord)) -> Bed {
    let bed = Bed::new();
    let root = [("Queue", "AWS::SQS::Queue"), ("Hook", "Custom::Seed"), ("Child", "AWS::CloudFormation::Stack")];
    let child = [("Topic", "AWS::SNS::Topic")];
    let mut record = record();
    record.stacks.clear();
    let mut bodies = BTreeMap::new();
    for (stack, rows) in [("S", &root[..]), ("S~Child", &child[..])] {
        for (id, kind) in rows {
            record.resources.insert(format!("{stack}/{id}"), resource(kind, Status::Deleted));
        }
        bodies.insert(stack, state(stack, rows));
    }
    change(&mut record);
    for (stack, body) in &bodies {
        let doc = StateDoc::parse(body.as_bytes(), Layout::Regional).unwrap();
        let removed = *stack == "S~Child" && record.resources["S/Child"].status == Status::Deleted;
        let after = match record.deleted_in(stack).count() {
            0 => digest(body.as_bytes()),
            _ => digest(&trimmed(&doc, &record, &key(stack))),
        };
        record.stacks.insert((*stack).to_owned(), StackLedger { before: digest(body.as_bytes()), after, removed });
        bed.put(&key(stack).state(), body);
        bed.put(&key(stack).create_tokens(), r#"{"ledgerVersion":1}"#);
        bed.put(&key(stack).rollback_journal(), r#"{"journalVersion":1}"#);
    }
    let export = |stack: &str| json!({"value": "v", "producerStack": stack, "producerRegion": "us-west-2"});
    let exports = json!({
        "indexVersion": 1, "region": "us-west-2", "lastModified": 1,
        "exports": {"Url": export("S"), "Topic": export("S~Child"), "Other": export("Other")},
    });
    bed.put(&key("S").exports_index(), &exports.to_string());
    bed.put(&response_keys(&record.run, "S", "Hook", 1)[0], &json!({"Status": "SUCCESS", "Data": {"p": SECRET}}).to_string());
    bed.put("cdkd/Other/us-west-2/state.json", "{}");
    bed.take_locks(&STACKS);
    bed.store(&record);
    bed
}

fn set(record: &mut RunRecord, id: &str, status: Status, code: &str) {
    let kind = record.resources[id].resource_type.clone();
    record.resources.insert(id.into(), ResourceRecord { code: Some(code.into()), ..resource(&kind, status) });
}

fn has(bed: &Bed, key: &str) -> bool {
    bed.keys().iter().any(|there| there == key)
}

fn exported(bed: &Bed) -> Vec<String> {
    let index: Value = serde_json::from_str(&bed.body(&key("S").exports_index()).unwrap()).unwrap();
    index["exports"].as_object().unwrap().keys().cloned().collect()
}

fn ended(bed: &Bed) -> Ending {
    bed.stored().unwrap().ended.unwrap().result
}

/// What a clean end leaves: nothing of the stacks, nothing that could hold a secret, and the run's own objects.
fn assert_gone(bed: &Bed, what: &str) {
    let run = &bed.run;
    let left = [
        "cdkd/Other/us-west-2/state.json".to_owned(),
        key("S").events_index(),
        key("S").events(&run.run_id),
        key("S").exports_index(),
        key("S").run_record(&run.run_id),
        key("S").report_html(&run.run_id),
        key("S").report_json(&run.run_id),
    ];
    let mut left = left.to_vec();
    left.sort_unstable();
    assert_eq!(bed.keys(), left, "{what}");
    assert_eq!(exported(bed), ["Other"], "{what}");
    assert_eq!(ended(bed), Ending::Deleted, "{what}");
    let index: Value = serde_json::from_str(&bed.body(&key("S").events_index()).unwrap()).unwrap();
    assert_eq!(index["runs"].as_array().unwrap().len(), 1, "{what}");
    for (key, body) in bed.bodies() {
        assert!(!body.contains(SECRET), "{what}: {key}");
    }
}

/// Flush, ledger, state, journal, exports, release, report, events: at a clean end nothing of the stack is left.
#[tokio::test(start_paused = true)]
async fn a_clean_end_removes_the_stack() {
    let bed = worked(|_| {});
    let answer = bed.finish().await.unwrap();
    assert_eq!((&answer["next"], &answer["output"]["result"]), (&json!("succeed"), &json!("Deleted")));
    let counts = json!({"deleted": 4, "retained": 0, "skipped": 0, "failed": 0, "blocked": 0});
    assert_eq!(answer["output"]["counts"], counts);
    let json = format!("s3://state/{}", key("S").report_json(&bed.run.run_id));
    assert_eq!(answer["output"]["report"]["json"], json);
    assert!(!answer.to_string().contains(SECRET));
    assert_gone(&bed, "at once");
    assert!(bed.stored().unwrap().stacks.values().all(|ledger| ledger.removed));
}

/// Delete the legacy record if it belongs to the region; another region's stays.
#[tokio::test(start_paused = true)]
async fn a_legacy_record_of_the_region_goes_too() {
    for (region, stays) in [("us-west-2", false), ("eu-west-1", true)] {
        let bed = worked(|_| {});
        let legacy = state("S", &[("Old", "AWS::SQS::Queue")]).replace("us-west-2", region);
        bed.put(&key("S").legacy_state(), &legacy);
        assert_eq!(bed.finish().await.unwrap()["output"]["result"], "Deleted");
        assert_eq!(has(&bed, &key("S").legacy_state()), stays, "{region}");
    }
}

/// The versions of the state are the user's way back; those of the journal and the responses go.
#[tokio::test(start_paused = true)]
async fn the_states_versions_stay() {
    let bed = worked(|_| {});
    bed.finish().await.unwrap();
    assert!(bed.bucket.versions(&key("S").state()).await.unwrap().len() > 1);
    assert_eq!(bed.bucket.versions(&key("S").rollback_journal()).await.unwrap().len(), 1);
}

/// A stopped run: rows in flight are kept, answers of handlers go, the result is Interrupted.
#[tokio::test(start_paused = true)]
async fn a_stopped_run_is_settled_by_the_keeper() {
    let bed = worked(|record| {
        set(record, "S/Queue", Status::InFlight, "x");
        set(record, "S/Hook", Status::Pending, "x");
        set(record, "S/Child", Status::Waiting, "x");
    });
    bed.close().await.unwrap();
    bed.pass(75_000).await;
    let answer = bed.finish().await.unwrap();
    assert_eq!((&answer["error"], &answer["output"]["exitClass"]), (&json!("Interrupted"), &json!(130)));
    let root = bed.body(&key("S").state()).unwrap();
    assert!(root.contains("Queue") && root.contains("Hook") && root.contains("Child"));
    assert!(!bed.body(&key("S~Child").state()).unwrap().contains("Topic"));
    assert!(!bed.keys().iter().any(|key| key.starts_with("custom-resource-responses/")));
    assert_eq!((bed.lock("S"), bed.lock("S~Child")), (None, None));
    let record = bed.stored().unwrap();
    assert_eq!((record.resources["S/Queue"].status, record.resources["S/Hook"].status), (Status::InFlight, Status::Pending));
}

/// Write NO state, index, journal or ledger; do not touch the lock; still write the events. Any of the run's locks counts.
#[tokio::test(start_paused = true)]
async fn a_lost_lock_keeps_everything() {
    for stack in STACKS {
        for lock in [None, Some(foreign_lock())] {
            let bed = worked(|_| {});
            match &lock {
                None => bed.remove(&key(stack).lock()),
                Some(body) => bed.put(&key(stack).lock(), body),
            }
            let before = bed.bodies();
            let answer = bed.finish().await.unwrap();
            assert_eq!((&answer["error"], &answer["output"]["exitClass"]), (&json!("LockLost"), &json!(2)));
            let after = bed.bodies();
            for (key, body) in &before {
                let ours = key.starts_with("ebb/") || key.starts_with("custom-resource-responses/") || key.ends_with("lock.json");
                assert!(ours || after.get(key) == Some(body), "{key} was touched");
            }
            assert_eq!(bed.lock(stack), lock);
            let other = if stack == "S" { "S~Child" } else { "S" };
            assert_eq!(bed.lock(other), None, "the one that is ours is released");
            assert!(has(&bed, &key("S").events(&bed.run.run_id)));
            assert_eq!(ended(&bed), Ending::LockLost);
        }
    }
}

/// Allowed under our closed, unexpired lock: an expired one is lost, and released all the same.
#[tokio::test(start_paused = true)]
async fn an_expired_lock_settles_nothing() {
    let bed = worked(|_| {});
    bed.close().await.unwrap();
    bed.pass(6 * 60_000).await;
    let answer = bed.finish().await.unwrap();
    assert_eq!(answer["error"], "LockLost");
    assert!(has(&bed, &key("S").state()) && has(&bed, &key("S~Child").state()));
    assert_eq!((bed.lock("S"), bed.lock("S~Child")), (None, None));
}

/// The state was changed under us: nothing more is touched, the lock is released normally.
#[tokio::test(start_paused = true)]
async fn a_changed_state_is_a_conflict() {
    let bed = worked(|_| {});
    let theirs = state("S", &[("New", "AWS::SQS::Queue")]);
    bed.put(&key("S").state(), &theirs);
    let answer = bed.finish().await.unwrap();
    assert_eq!((&answer["error"], &answer["output"]["exitClass"]), (&json!("StateConflict"), &json!(2)));
    assert_eq!(bed.body(&key("S").state()), Some(theirs));
    assert!(has(&bed, &key("S").create_tokens()) && has(&bed, &key("S").rollback_journal()));
    assert!(exported(&bed).contains(&"Url".to_owned()));
    assert_eq!((bed.lock("S"), bed.lock("S~Child")), (None, None));
    assert!(!bed.stored().unwrap().stacks["S"].removed);
}

/// Failure to delete the ledger means that the state is kept and the run fails; the journal goes even then.
#[tokio::test(start_paused = true)]
async fn a_ledger_that_stays_keeps_the_state() {
    let bed = worked(|_| {});
    bed.bucket.hook.deny("DeleteObject", &key("S").create_tokens());
    let answer = bed.finish().await.unwrap();
    assert_eq!((&answer["error"], &answer["output"]["exitClass"]), (&json!("LedgerNotDeletable"), &json!(2)));
    assert!(has(&bed, &key("S").state()) && has(&bed, &key("S").create_tokens()));
    assert!(!has(&bed, &key("S").rollback_journal()));
    assert!(exported(&bed).contains(&"Url".to_owned()));
    assert_eq!((bed.lock("S"), bed.lock("S~Child")), (None, None));
    assert!(!bed.stored().unwrap().stacks["S"].removed);
}

/// A release failure never changes the result; the lock lapses by itself, and that is said.
#[tokio::test(start_paused = true)]
async fn a_lock_that_cannot_be_released_changes_nothing() {
    let bed = worked(|_| {});
    bed.bucket.hook.deny("DeleteObject", &key("S").lock());
    let answer = bed.finish().await.unwrap();
    assert_eq!(answer["output"]["result"], "Deleted");
    assert!(bed.lock("S").is_some() && !has(&bed, &key("S").state()));
    let report = bed.body(&key("S").report_json(&bed.run.run_id)).unwrap();
    assert!(report.contains("release of the lock of S"), "{report}");
}

/// The keeper's finish is the last: a lock that stays would hold others up for the rest of its lease, so it is tried again.
#[tokio::test(start_paused = true)]
async fn the_last_finish_fails_while_a_lock_of_the_run_stays() {
    let bed = worked(|_| {});
    bed.bucket.hook.deny("DeleteObject", &key("S").lock());
    assert_eq!(bed.finish_last().await.unwrap_err().name, "LockNotReleased");

    let bed = worked(|_| {});
    assert_eq!(bed.finish_last().await.unwrap()["output"]["result"], "Deleted");
    assert_eq!(bed.finish_last().await.unwrap()["output"]["result"], "Deleted");
}

/// A handler that answers after the finish leaves its answer, secrets and all; the keeper's finish clears it away.
#[tokio::test(start_paused = true)]
async fn the_last_finish_removes_what_handlers_answered_late() {
    let bed = worked(|record| {
        let row = ResourceRecord { attempt: 1, ..resource("Custom::Seed", Status::Skipped) };
        record.resources.insert("S/Hook".into(), row);
    });
    bed.finish().await.unwrap();
    let late = &response_keys(&bed.run, "S", "Hook", 1)[0];
    bed.put(late, r#"{"Status":"SUCCESS"}"#);
    bed.finish().await.unwrap();
    assert!(has(&bed, late), "a finish that is repeated reads the record's result and nothing else");
    bed.finish_last().await.unwrap();
    assert!(!has(&bed, late));
}

/// A state that cannot be written records too much: the run is partial with a warning; one that cannot be deleted at a
/// clean end fails the run. Either way the lock goes.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_written_is_said() {
    let bed = worked(|record| set(record, "S/Queue", Status::Failed, "AccessDenied"));
    bed.bucket.hook.deny("PutObject", &key("S").state());
    assert_eq!(bed.finish().await.unwrap()["error"], "Partial");
    assert!(bed.stored().unwrap().warnings.iter().any(|w| w.contains("still records what is gone")));
    assert_eq!(bed.lock("S"), None);

    let bed = worked(|_| {});
    bed.bucket.hook.deny("DeleteObject", &key("S").state());
    assert_eq!(bed.finish().await.unwrap()["error"], "AccessDenied");
    assert!(has(&bed, &key("S").state()) && !bed.stored().unwrap().stacks["S"].removed);
    assert_eq!(bed.lock("S"), None);
}

/// Retained rows and orphans do not stop a clean end; the report names them, for nothing else does afterwards.
#[tokio::test(start_paused = true)]
async fn what_is_kept_on_purpose_is_named() {
    let bed = worked(|record| {
        set(record, "S/Queue", Status::Retained, "x");
        record.orphans.push("S/Old".into());
    });
    assert_eq!(bed.finish().await.unwrap()["output"]["result"], "Deleted");
    assert!(!has(&bed, &key("S").state()));
    let report: Value = serde_json::from_str(&bed.body(&key("S").report_json(&bed.run.run_id)).unwrap()).unwrap();
    let left: Vec<(&Value, &Value)> =
        report["leftovers"].as_array().unwrap().iter().map(|left| (&left["kind"], &left["id"])).collect();
    assert_eq!(left, [(&json!("retained"), &json!("S/Queue")), (&json!("orphan"), &json!("S/Old"))]);
}

/// A protection that was switched off and not on again is told, for the row's own reason does not: of a row that timed out,
/// and of one that was under way when the run was stopped.
#[tokio::test(start_paused = true)]
async fn a_protection_that_stayed_off_is_told() {
    for (status, stopped) in [(Status::Failed, false), (Status::Pending, true), (Status::InFlight, true)] {
        let bed = worked(|record| {
            set(record, "S/Queue", status, "ResourceTimeout");
            let row = record.resources.get_mut("S/Queue").unwrap();
            row.memo = Some(json!({"step": {"protectionOnAt": T}}));
        });
        if stopped {
            bed.close().await.unwrap();
            bed.pass(75_000).await;
        }
        bed.finish().await.unwrap();
        let what = "this run switched its deletion protection off and did not switch it on again";
        assert_eq!(bed.stored().unwrap().warnings, [format!("S/Queue: {what}")], "{status:?}");
        let report: Value = serde_json::from_str(&bed.body(&key("S").report_json(&bed.run.run_id)).unwrap()).unwrap();
        let told = |left: &&Value| left["kind"] == "unprotected" && left["id"] == "S/Queue" && left["what"] == what;
        assert_eq!(report["leftovers"].as_array().unwrap().iter().filter(told).count(), 1, "{status:?}");
    }
}

/// An empty record goes with everything beside it; one that was gone under the lock is left alone.
#[tokio::test(start_paused = true)]
async fn empty_and_absent_stacks() {
    for (absent, result) in [(false, "Empty"), (true, "NothingToDo")] {
        let bed = Bed::new();
        let mut record = record();
        let body = state("S", &[]);
        let digest = digest(body.as_bytes());
        record.stacks = BTreeMap::from([("S".into(), StackLedger { before: digest.clone(), after: digest, removed: false })]);
        match absent {
            true => {
                record.absent = true;
                record.stacks.clear();
            }
            false => bed.put(&key("S").state(), &body),
        }
        bed.put(&key("S").create_tokens(), "{}");
        bed.take_locks(&["S"]);
        bed.store(&record);
        let answer = bed.finish().await.unwrap();
        assert_eq!((&answer["next"], &answer["output"]["result"]), (&json!("succeed"), &json!(result)));
        assert_eq!(has(&bed, &key("S").create_tokens()), absent);
        assert!(!has(&bed, &key("S").state()));
        assert_eq!(bed.lock("S"), None);
    }
}

/// Why the drive ended stands above everything that was found; state and record are settled all the same.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_drive_is_the_result() {
    let bed = worked(|record| set(record, "S/Queue", Status::Waiting, "x"));
    let answer = bed.finish_with(Some("ActiveImports"), Some(r#"{"message":"imported by Shop"}"#)).await.unwrap();
    assert_eq!((&answer["error"], &answer["output"]["exitClass"]), (&json!("ActiveImports"), &json!(2)));
    let cause: Value = serde_json::from_str(answer["cause"].as_str().unwrap()).unwrap();
    assert_eq!((&cause["message"], &cause["todo"]), (&json!("imported by Shop"), &json!(Ending::ActiveImports.todo())));
    assert!(has(&bed, &key("S").state()));
    assert_eq!(bed.lock("S"), None);
}

/// No record: an error that was passed is answered as it came; with a lock the record is lost; without one the run never
/// began. No state is written either way, and what is ours is released.
#[tokio::test(start_paused = true)]
async fn a_run_without_a_record() {
    let cause = r#"{"result":"MalformedState","message":"row X"}"#;
    for (said, locked, error) in
        [(Some(("MalformedState", cause)), true, "MalformedState"), (None, true, "RunRecordLost"), (None, false, "Error")]
    {
        let bed = worked(|_| {});
        bed.remove(&key("S").run_record(&bed.run.run_id));
        if !locked {
            STACKS.iter().for_each(|stack| bed.remove(&key(stack).lock()));
        }
        let mut before = bed.bodies();
        let answer = bed.finish_with(said.map(|s| s.0), said.map(|s| s.1)).await.unwrap();
        assert_eq!((&answer["next"], &answer["error"]), (&json!("fail"), &json!(error)));
        if said.is_some() {
            assert_eq!(answer["cause"], cause);
        }
        before.retain(|key, _| !key.ends_with("lock.json"));
        assert_eq!(bed.bodies(), before, "only our own locks are touched");
    }
}

/// A record that belongs to another execution: touch nothing but our own locks.
#[tokio::test(start_paused = true)]
async fn anothers_record_is_left_alone() {
    let bed = worked(|record| record.run.execution.push('x'));
    let mut before = bed.bodies();
    assert_eq!(bed.finish().await.unwrap()["error"], "RunRecordLost");
    before.retain(|key, _| !key.ends_with("lock.json"));
    assert_eq!(bed.bodies(), before);
}

/// A repeated finish that finds the result only releases what is ours and answers it, whatever it is told.
#[tokio::test(start_paused = true)]
async fn a_result_never_changes() {
    let bed = worked(|record| set(record, "S/Queue", Status::Failed, "AccessDenied"));
    let first = bed.finish().await.unwrap();
    let record = bed.stored();
    bed.take_locks(&["S"]);
    let theirs = state("S", &[("New", "AWS::SQS::Queue")]);
    bed.put(&key("S").state(), &theirs);
    assert_eq!(bed.finish_with(Some("LockLost"), None).await.unwrap(), first);
    assert_eq!(bed.stored(), record);
    assert_eq!((bed.body(&key("S").state()), bed.lock("S")), (Some(theirs), None));
}

/// A dry run has no lock and changes nothing but its own objects; its plan is in the answer and, whole, in the report.
#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_its_plan() {
    let mut bed = worked(|record| {
        record.run.dry_run = true;
        for id in ["S/Queue", "S/Hook", "S/Child", "S~Child/Topic"] {
            set(record, id, Status::Waiting, "x");
        }
    });
    bed.run.dry_run = true;
    for stack in STACKS {
        bed.put(&key(stack).lock(), &foreign_lock());
    }
    let before = bed.bodies();
    let answer = bed.finish().await.unwrap();
    assert_eq!((&answer["next"], &answer["output"]["result"]), (&json!("succeed"), &json!("DryRun")));
    let plan = &answer["output"]["plan"];
    assert_eq!((&plan["resources"], &plan["waves"]), (&json!(4), &json!(2)), "{plan}");
    assert!(plan["longestPathSeconds"].as_u64().unwrap() >= 1);
    for (key, body) in bed.bodies() {
        assert!(key.starts_with("ebb/") || before.get(&key) == Some(&body), "{key} was touched");
    }
    let report: Value = serde_json::from_str(&bed.body(&key("S").report_json(&bed.run.run_id)).unwrap()).unwrap();
    assert_eq!(report["plan"]["levels"][1], json!(["S/Child"]));
    assert!(!bed.keys().iter().any(|key| key.contains("/deployments/")), "a dry run is no event");
}

/// What is not known is not guessed: an error of the lock's or the record's read is thrown, for the machine to try again.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_thrown() {
    for path in [key("S").lock(), key("S").run_record(&record().run.run_id)] {
        let bed = worked(|_| {});
        bed.bucket.hook.deny("GetObject", &path);
        let before = bed.bodies();
        assert!(bed.finish().await.is_err(), "{path}");
        assert_eq!(bed.bodies(), before, "{path}");
    }
}

/// `purgeEvents`: after a clean end all of the stack's events go.
#[tokio::test(start_paused = true)]
async fn events_are_purged_when_asked() {
    let bed = worked(|record| record.run.options.purge_events = true);
    bed.put(&key("S").events("20250101T000000000Z-00000000"), "{}");
    bed.finish().await.unwrap();
    assert!(!bed.keys().iter().any(|key| key.contains("/deployments/")));
    assert!(T < bed.stored().unwrap().ended.unwrap().at);
}
