use serde_json::{Value, json};

use super::super::begin;
use super::{QUEUE, T, run};
use crate::graph::testing::nodes;
use crate::record::{RECORD_VERSION, RecordError, RunRecord};
use crate::state::samples::{LATEST, NESTED_PARENT, POLICIES, changed, doc};
use crate::state::{Layout, StateDoc};
use crate::{Graph, Status};

fn record(doc: &StateDoc) -> RunRecord {
    let graph = Graph::build(nodes("S", doc)).unwrap();
    begin(run(json!({})), &graph, [("S".into(), "d".into())].into(), vec!["S/Old".into()], T)
}

/// A record of one row with these fields.
fn of_row(fields: Value) -> RunRecord {
    let mut row = json!({"resourceType": QUEUE, "physicalId": "p", "properties": {}});
    row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let body = json!({"resources": {"A": row}}).to_string();
    record(&StateDoc::parse(body.as_bytes(), Layout::Regional).unwrap())
}

// Retain, RetainExceptOnCreate: no call at all; the row is retained from the start.
#[test]
fn what_is_retained_is_settled_before_any_step() {
    let record = record(&doc(POLICIES, Layout::Regional));
    for id in ["S/ArchiveBucket0A", "S/DataKey1B"] {
        assert_eq!(record.resources[id].status, Status::Retained, "{id}");
        assert_eq!(record.resources[id].ended_at, T);
    }
    assert_eq!(record.resources.values().filter(|r| r.status == Status::Waiting).count(), 9);
    assert_eq!(of_row(json!({"deletionPolicy": "RetainExceptOnCreate"})).resources["S/A"].status, Status::Retained);
}

// Unknown policy: FAILED for that row. Missing physical id: only that row fails. A physical id of `***` is SKIPPED.
#[test]
fn rows_that_cannot_be_addressed_are_decided_before_any_step() {
    for (fields, status, code) in [
        (json!({"deletionPolicy": "Keep"}), Status::Failed, "UnknownDeletionPolicy"),
        (json!({"deletionPolicy": null}), Status::Failed, "UnknownDeletionPolicy"),
        (json!({"physicalId": ""}), Status::Failed, "MalformedPhysicalId"),
        (json!({"physicalId": 7}), Status::Failed, "MalformedPhysicalId"),
        (json!({"physicalId": "***"}), Status::Skipped, "MaskedAddress"),
    ] {
        let record = of_row(fields.clone());
        let row = &record.resources["S/A"];
        assert_eq!((row.status, row.code.as_deref()), (status, Some(code)), "{fields}");
        assert!(row.reason.is_some() && row.ended_at == T, "{fields}");
    }
    // A policy decides first: what is kept needs no address.
    assert_eq!(of_row(json!({"deletionPolicy": "Retain", "physicalId": "***"})).resources["S/A"].status, Status::Retained);
}

// What a row says against its delete counts as looked at: the run refuses, or leaves it.
#[test]
fn what_a_row_says_against_its_delete_is_known_before_any_step() {
    let seed = |properties: Value| json!({"resourceType": "Custom::Seed", "properties": properties});
    let cluster = |fields: Value| {
        let mut row = json!({"resourceType": "AWS::RDS::DBCluster"});
        row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        row
    };
    for (fields, code) in [
        (json!({"deletionPolicy": "Snapshot"}), Some("FinalSnapshotUnsupported")),
        (cluster(json!({"provisionedBy": "cc-api"})), Some("FinalSnapshotUnsupported")),
        (cluster(json!({})), None),
        (cluster(json!({"provisionedBy": "cc-api", "deletionPolicy": "Delete"})), None),
        (seed(json!({})), Some("NoProperties")),
        (seed(json!({"ServiceToken": null})), Some("NoServiceToken")),
        (seed(json!({"ServiceToken": ""})), Some("NoServiceToken")),
        (seed(json!({"ServiceToken": 7})), Some("BadServiceToken")),
        (seed(json!({"ServiceToken": "arn:aws:lambda:evil.example/x:1:function:f"})), Some("BadServiceToken")),
        (seed(json!({"ServiceToken": "arn:aws:sns:us-east-1:1:topic"})), None),
        (seed(json!({"ServiceToken": "handler"})), None),
    ] {
        let record = of_row(fields.clone());
        let row = &record.resources["S/A"];
        let looked = row.looked.as_ref().and_then(|looked| looked.code.as_deref());
        assert_eq!((row.status, looked), (Status::Waiting, code), "{fields}");
    }
    // A handler would take a mask for data, wherever it stands.
    for masked in [json!({"ServiceToken": "***"}), json!({"ServiceToken": "h", "Deep": [{"Password": "{{resolve:ssm:x}}"}]})] {
        let record = of_row(seed(masked));
        let row = &record.resources["S/A"];
        assert_eq!((row.status, row.code.as_deref()), (Status::Skipped, Some("MaskedAddress")));
    }
}

// The physical id of a nested row is made up and never sent to AWS: nothing is addressed by it.
#[test]
fn a_nested_row_needs_no_physical_id() {
    let doc = changed(NESTED_PARENT, |state| {
        state["resources"]["SearchNested1B"].as_object_mut().unwrap().remove("physicalId");
        state["resources"]["EmptyNested3D"]["physicalId"] = json!("***");
    });
    assert!(record(&doc).resources.values().all(|row| row.status == Status::Waiting));
}

// Names, types, ids and errors only: no property values, ever.
#[test]
fn a_record_holds_no_property_values() {
    let record = record(&doc(LATEST, Layout::Regional));
    let text = serde_json::to_string(&record).unwrap();
    for secret in ["ServiceToken", "{{resolve", "\"***\"", "Retries", "fieldFromTheFuture"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert_eq!(record.orphans, ["S/Old"]);
    let ledger = &record.stacks["S"];
    assert_eq!((ledger.before.as_str(), ledger.after.as_str(), ledger.removed), ("d", "d", false));
}

// A newer record is refused; each release reads the one before.
#[test]
fn a_record_is_read_back_as_it_was_written() {
    let written = record(&doc(POLICIES, Layout::Regional));
    let body = serde_json::to_vec(&written).unwrap();
    assert_eq!(RunRecord::parse(&body).unwrap(), written);
    let mut value: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(value["recordVersion"], json!(RECORD_VERSION));
    value["fromTomorrow"] = json!(1);
    assert_eq!(RunRecord::parse(value.to_string().as_bytes()).unwrap(), written, "unknown fields of the same version are fine");
    value["recordVersion"] = json!(RECORD_VERSION + 1);
    value["resources"] = json!("another shape");
    assert_eq!(RunRecord::parse(value.to_string().as_bytes()), Err(RecordError::Newer(RECORD_VERSION + 1)));
    for body in ["", "[]", "{}", r#"{"recordVersion": 1}"#] {
        assert_eq!(RunRecord::parse(body.as_bytes()), Err(RecordError::Unreadable), "{body}");
    }
}

// Counts are those of the run's output; what was not settled counts as not attempted.
#[test]
fn counts_of_a_record() {
    let mut record = record(&doc(POLICIES, Layout::Regional));
    let counts = record.counts();
    assert_eq!((counts.retained, counts.blocked, counts.deleted), (2, 9, 0));
    assert!(!counts.is_clean());
    for row in record.resources.values_mut().filter(|row| row.status == Status::Waiting) {
        row.status = Status::Deleted;
    }
    assert!(record.counts().is_clean());
    assert_eq!(record.deleted_in("S").count(), 9);
    assert_eq!(record.in_stack("S").count(), 11);
    assert_eq!(record.in_stack("").count() + record.in_stack("S~A").count(), 0);
}

// A stack whose name begins with another's is another stack.
#[test]
fn rows_of_a_stack_are_not_those_of_its_neighbours() {
    let mut record = of_row(json!({}));
    let row = record.resources["S/A"].clone();
    for id in ["S~A/X", "S-2/X", "SS/X", "S0/X", "R/X"] {
        record.resources.insert(id.into(), row.clone());
    }
    assert_eq!(record.in_stack("S").map(|(id, _)| id).collect::<Vec<_>>(), ["A"]);
    assert_eq!(record.in_stack("S~A").map(|(id, _)| id).collect::<Vec<_>>(), ["X"]);
}
