use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::graph::testing;
use crate::plan;

/// A record with everything in it that a record can hold.
fn full() -> RunRecord {
    let run = serde_json::from_value(json!({
        "runId": "20261130T154512123Z-1a2b3c4d", "execution": "arn:aws:states:us-east-1:123456789012:execution:m:n",
        "owner": "ebb@123456789012:us-east-1/m/n", "timestamp": 1, "account": "123456789012", "bucket": "b",
        "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false,
        "target": {"roleArn": "arn:aws:iam::210987654321:role/t", "externalId": "x"}, "options": {"lockWait": 7},
    }));
    let graph = testing::graph(json!([["Queue|a/b \"%2F\"", "AWS::SQS::Queue"], ["Ünïcode", "Custom::Thing"]]));
    let mut record = plan::begin(run.unwrap(), &graph, BTreeMap::from([("S".into(), "d".into())]), vec!["S/Old".into()], 5);
    for (n, resource) in record.resources.values_mut().enumerate() {
        let n = n as u64 + 1;
        *resource = ResourceRecord {
            status: Status::Pending,
            attempt: 2,
            crashes: 1,
            look: true,
            looked: Some(Looked { code: Some("DataGuard".into()), reason: Some("why".into()) }),
            started_at: n,
            ended_at: n,
            look_at: n,
            memo: Some(json!({"token": ["t", 98_765_432_109_876_543_210_f64]})),
            code: Some("X".into()),
            reason: Some("because".into()),
            already: true,
            wave: n,
            ms: n,
            ..resource.clone()
        };
    }
    record.quiet_at = 9;
    record.warnings = vec!["w".into()];
    record.absent = true;
    record.refusal = Some(Refusal::new(Ending::Refused, "guards"));
    record.ended = Some(Ended { result: Ending::Partial, at: 11, message: Some("m".into()) });
    record
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What is read is what was written: a second delivery compares bytes.
#[test]
fn a_record_reads_back_as_written() {
    let body = serde_json::to_vec(&full()).unwrap();
    let again = RunRecord::parse(&body).unwrap();
    assert_eq!(again, full());
    assert_eq!(serde_json::to_vec(&again).unwrap(), body);
}

/// It carries `recordVersion` (newer → refuse), whatever else a newer one holds.
#[test]
fn a_newer_record_is_refused_by_its_version() {
    let newer = json!({"recordVersion": RECORD_VERSION + 1, "run": "of another shape"}).to_string();
    assert_eq!(RunRecord::parse(newer.as_bytes()), Err(RecordError::Newer(RECORD_VERSION + 1)));
    for junk in ["", "{", "null", "[]", "{}", r#"{"recordVersion": "1"}"#, r#"{"recordVersion": 1}"#, "\u{feff}{}"] {
        assert_eq!(RunRecord::parse(junk.as_bytes()), Err(RecordError::Unreadable), "{junk}");
    }
}

/// A stack's rows are its own, not those of a stack nested in it or of one with a longer name.
#[test]
fn rows_of_stacks_with_like_names_are_told_apart() {
    let mut record = full();
    record.resources.clear();
    for id in ["S/A", "S-2/B", "S~C/D", "S~C~E/F", "S/a/b|c", "S0/G"] {
        record.resources.insert(id.into(), ResourceRecord { status: Status::Deleted, ..ResourceRecord::default() });
    }
    let of = |stack: &str| record.deleted_in(stack).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of("S"), ["A", "a/b|c"]);
    assert_eq!((of("S~C"), of("S~C~E"), of("S-2")), (vec!["D".to_owned()], vec!["F".to_owned()], vec!["B".to_owned()]));
}

/// Trim at done, not at issued: a row whose delete is under way stays in the state.
#[test]
fn only_what_is_gone_leaves_the_state() {
    let mut record = full();
    record.resources.clear();
    use Status::{Blocked, Deleted, Failed, InFlight, Pending, Retained, Skipped, Waiting};
    for status in [Waiting, InFlight, Pending, Deleted, Retained, Skipped, Failed, Blocked] {
        record.resources.insert(format!("S/{status:?}"), ResourceRecord { status, ..ResourceRecord::default() });
    }
    assert_eq!(record.deleted_in("S").collect::<Vec<_>>(), ["Deleted"]);
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn any_bytes_are_a_record_or_none(body in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(RunRecord::parse(&body).is_err());
    }

    /// A record that somebody has changed is read or refused; what is read holds together.
    #[test]
    fn a_mutated_record_is_read_or_refused(at in any::<prop::sample::Index>(), cut in 0usize..30, put in "[\\[\\]{}\",:a0-9 \\\\]{0,3}") {
        let mut body = serde_json::to_vec(&full()).unwrap();
        let at = at.index(body.len());
        body.splice(at..(at + cut).min(body.len()), put.bytes());
        if let Ok(record) = RunRecord::parse(&body) {
            let written = serde_json::to_vec(&record).unwrap();
            prop_assert_eq!(RunRecord::parse(&written), Ok(record.clone()));
            let _ = (record.counts(), record.deleted_in("S").count());
        }
    }

    /// As [`a_mutated_record_is_read_or_refused`], a whole member at a time.
    #[test]
    fn a_record_with_any_member_replaced_is_read_or_refused(at in any::<prop::sample::Index>(), with in 0usize..6) {
        let mut body = serde_json::to_value(full()).unwrap();
        let names: Vec<String> = body.as_object().unwrap().keys().cloned().collect();
        let values = [json!(null), json!(-1), json!(u64::MAX), json!("x"), json!([{}]), json!({"S/A": {"status": "gone"}})];
        body[&names[at.index(names.len())]] = values[with].clone();
        if let Ok(record) = RunRecord::parse(body.to_string().as_bytes()) {
            let again: Value = serde_json::to_value(&record).unwrap();
            prop_assert_eq!(RunRecord::parse(again.to_string().as_bytes()), Ok(record));
        }
    }
}
