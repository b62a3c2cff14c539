use ebb_core::payload::{PlanNext, PlanRequest};
use ebb_core::state::{Layout, Row};
use ebb_core::{Outcome, StateDoc};
use serde_json::{Value, json};

use crate::testing::*;

// A warm wave: record, lock, record, state. A cold one reads the state as well.
#[tokio::test(start_paused = true)]
async fn a_wave_takes_four_requests() {
    let mut bed = Bed::new();
    let run = run("EdgeNetwork", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
    bed.put(&run.key().state(), NETWORK);
    bed.put_lock(&run.key(), &run, None);
    let mut request = {
        let mut drive = Drive::of(&bed, run.clone());
        drive.plan().await;
        for _ in 0..3 {
            drive.all(Outcome::Deleted, &[]);
            bed.calls();
            assert_eq!(drive.plan().await.next, PlanNext::Wave);
            let calls = bed.calls();
            assert_eq!(calls.len(), 4, "{calls:?}");
        }
        drive.all(Outcome::Deleted, &[]);
        drive.request
    };
    bed.cold();
    let answer = bed.plan(&request).await;
    assert_eq!(answer.next, PlanNext::Wave);
    let calls = bed.calls();
    assert_eq!(calls.len(), 5, "{calls:?}");
    // Nothing deleted, nothing written but the record.
    request.step = answer.step;
    request.results = answer.items.iter().map(|i| ebb_core::StepResult::new(&i.id, i.step, Outcome::Failed)).collect();
    bed.plan(&request).await;
    assert_eq!(bed.calls().len(), 3);
}

// Each item of a large state says where its row lies in the object that is in the bucket once the plan is made.
#[tokio::test(start_paused = true)]
async fn items_of_a_large_state_say_where_their_rows_lie() {
    let large = |sample: &str| {
        edit(sample, |state| {
            let rows = state["resources"].as_object_mut().unwrap();
            rows.values_mut().for_each(|row| row["properties"]["Note"] = json!("ü".repeat(20_000)));
        })
    };
    for (sample, legacy) in [(large(NETWORK), false), (large(NETWORK), true), (NETWORK.to_owned(), false)] {
        let mut bed = Bed::new();
        let run = run("EdgeNetwork", "us-east-1", json!({"deleteData": true, "removeProtection": true}));
        let (regional, old) = (run.key().state(), run.key().legacy_state());
        bed.put(if legacy { &old } else { &regional }, &sample);
        bed.put_lock(&run.key(), &run, None);
        let (mut request, mut checked) = (PlanRequest { run, drive: 1, step: 0, results: Vec::new() }, 0);
        loop {
            let answer = bed.plan(&request).await;
            bed.cold();
            assert_eq!(bed.plan(&request).await, answer);
            if answer.next != PlanNext::Wave {
                break;
            }
            let object = bed.read(&regional).await;
            for item in &answer.items {
                let id = item.id.strip_prefix("EdgeNetwork/").unwrap();
                let large = object.as_ref().filter(|object| object.body.len() >= 256 * 1024);
                let Some(object) = large else {
                    assert_eq!(item.span, None, "{id}");
                    continue;
                };
                let span = item.span.as_ref().unwrap();
                assert_eq!(span.etag, object.etag);
                let doc = StateDoc::parse(&object.body, Layout::Regional).unwrap();
                let row = Row::alone(&object.body[span.first as usize..=span.last as usize], id).unwrap();
                assert_eq!(Some(row), doc.row(id));
                checked += 1;
            }
            request.step = answer.step;
            request.results = answer.items.iter().map(|i| ebb_core::StepResult::new(&i.id, i.step, Outcome::Deleted)).collect();
        }
        // The first wave of a legacy record and the rows that are left in the end, when the state is small, have none.
        assert_eq!(checked > 5, sample.len() > NETWORK.len(), "{checked}");
    }
}

// The trimmed snapshot: deleted rows, outputs and imports are gone, exportNames is empty, everything else is unchanged.
#[tokio::test(start_paused = true)]
async fn the_state_of_the_latest_schema_is_trimmed_and_nothing_else_changes() {
    let bed = Bed::new();
    let run = run("TenantPortal", "eu-west-1", json!({"deleteData": true, "removeProtection": true}));
    bed.put(&run.key().state(), LATEST);
    bed.put_lock(&run.key(), &run, None);
    let mut drive = Drive::of(&bed, run.clone());
    while drive.plan().await.next == PlanNext::Wave {
        drive.all(Outcome::Deleted, &[("OrdersResolver93", Outcome::Skipped), ("SeedTenant60", Outcome::Skipped)]);
    }
    let text = bed.object(&run.key().state()).unwrap();
    let (before, after): (Value, Value) = (serde_json::from_str(LATEST).unwrap(), serde_json::from_str(&text).unwrap());
    let mut left: Vec<&str> = after["resources"].as_object().unwrap().keys().map(String::as_str).collect();
    left.sort_unstable();
    // The custom resource that was skipped keeps its handler and what that needs.
    assert_eq!(left, ["CleanerFn4E", "CleanerPolicy3D", "CleanerRole2C", "OrdersResolver93", "SeedTenant60"]);
    assert_eq!((&after["outputs"], &after["exportNames"], &after["version"]), (&json!({}), &json!([]), &json!(11)));
    assert!(after.get("imports").is_none() && after.get("outputReads").is_none());
    for field in ["unknownStackField", "conditionVerdicts", "skippedOutputs", "orphans", "stackName", "region"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    for id in left {
        assert_eq!(after["resources"][id], before["resources"][id], "{id}");
    }
    for number in ["2.50", "98765432109876543210"] {
        assert!(text.contains(number), "{number}");
    }
    let record = bed.record(&run);
    assert_eq!(after["lastModified"].as_u64().map(|at| at <= record.at), Some(true));
    assert_eq!(record.orphans, ["TenantPortal/OldBucketF9"]);
}

// An emptied record with orphans is not empty: the normal path, orphans listed.
#[tokio::test(start_paused = true)]
async fn a_record_with_orphans_only_lists_them() {
    let bed = Bed::new();
    let run = run("TenantPortal", "eu-west-1", json!({}));
    bed.put(&run.key().state(), &edit(LATEST, |state| state["resources"] = json!({})));
    bed.put_lock(&run.key(), &run, None);
    assert_eq!(Drive::of(&bed, run.clone()).plan().await.next, PlanNext::Finish);
    let record = bed.record(&run);
    assert_eq!((record.orphans, record.absent), (vec!["TenantPortal/OldBucketF9".to_owned()], false));
}

// Ten thousand rows are planned like ten.
#[tokio::test(start_paused = true)]
async fn ten_thousand_rows() {
    let rows: serde_json::Map<String, Value> = (0..10_000)
        .map(|n| {
            let needs = if n % 10 == 9 { json!([]) } else { json!([format!("Queue{:05}", n + 1)]) };
            let row = json!({"resourceType": "AWS::SQS::Queue", "physicalId": format!("q-{n}"), "properties": {}, "dependencies": needs});
            (format!("Queue{n:05}"), row)
        })
        .collect();
    let bed = Bed::with(&[("EBB_MAX_RESOURCES", "20000")]);
    let run = run("Large", "us-east-1", json!({}));
    bed.put(&run.key().state(), &json!({"version": 8, "resources": rows}).to_string());
    bed.put_lock(&run.key(), &run, None);
    let mut drive = Drive::of(&bed, run.clone());
    for _ in 0..2 {
        let answer = drive.plan().await;
        assert_eq!((answer.next, answer.items.len()), (PlanNext::Wave, 100));
        let size = serde_json::to_vec(&answer).unwrap().len();
        assert!(size < 256 * 1024, "an answer fits a state's payload: {size}");
        drive.all(Outcome::Deleted, &[]);
    }
    let state: Value = serde_json::from_str(&bed.object(&run.key().state()).unwrap()).unwrap();
    assert_eq!(state["resources"].as_object().unwrap().len(), 9_900);
}
