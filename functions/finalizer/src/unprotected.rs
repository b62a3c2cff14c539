//! Rows whose deletion protection this run switched off and that are still there without it: a row that timed out, or was
//! under way when the run ended, had no step left to put it back.

use ebb_core::record::{ResourceRecord, RunRecord};
use ebb_core::{Status, text};
use serde_json::Value;

/// What is said of such a row.
pub(crate) const WHAT: &str = "this run switched its deletion protection off and did not switch it on again";

/// What a step remembers before it switches a protection off.
const REMEMBERED: &str = "protectionOnAt";
/// How a step ends the reason of a failure after which it put the protection back.
const PUT_BACK: &str = "deletion protection is on again";

/// Whether the row is one of them.
pub(crate) fn is_unprotected(row: &ResourceRecord) -> bool {
    row.status != Status::Deleted
        && row.memo.as_ref().is_some_and(remembers)
        && !row.reason.as_deref().is_some_and(|reason| reason.contains(PUT_BACK))
}

/// A warning for each of them.
pub(crate) fn warnings(record: &RunRecord) -> Vec<String> {
    let rows = record.resources.iter().filter(|(_, row)| is_unprotected(row));
    rows.map(|(id, _)| format!("{}: {WHAT}", text::display(id))).collect()
}

/// A type's own memo lies within that of what waits for it, so it is looked for at any depth.
fn remembers(memo: &Value) -> bool {
    match memo {
        Value::Object(members) => members.get(REMEMBERED).is_some_and(Value::is_u64) || members.values().any(remembers),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{record, resource};

    /// Memos as the budget wraps those of a native type, of Cloud Control, and of a final snapshot around it.
    fn memos() -> [Value; 4] {
        [
            json!({"step": {"protectionOnAt": 1, "deleting": 2}}),
            json!({"step": {"protectionOnAt": 1}, "error": {"code": "Throttling", "since": 3}}),
            json!({"step": {"generation": 0, "token": "t", "protectionOnAt": 1, "patched": true}}),
            json!({"step": {"delete": {"generation": 1, "protectionOnAt": 1}, "deleting": 2}}),
        ]
    }

    fn row(status: Status, reason: &str, memo: Value) -> ResourceRecord {
        ResourceRecord { reason: Some(reason.into()), memo: Some(memo), ..resource("AWS::DynamoDB::Table", status) }
    }

    #[test]
    fn what_timed_out_or_was_under_way_is_told_whatever_wraps_its_memo() {
        for memo in memos() {
            for (status, reason) in [
                (Status::Failed, "not gone after 30 min; last: ResourceInUseException: in use"),
                (Status::Failed, "in use (for 120 s)"),
                (Status::Failed, "no (deletion protection was switched off and could not be switched on again: AccessDenied)"),
                (Status::Pending, "deletion protection is being switched on again"),
                (Status::InFlight, "deletion protection is on: switching it off"),
            ] {
                assert!(is_unprotected(&row(status, reason, memo.clone())), "{status:?} {memo}");
            }
            let mut record = record();
            record.resources.insert("S/Table".into(), row(Status::Failed, "x", memo));
            assert_eq!(warnings(&record), [format!("S/Table: {WHAT}")]);
        }
    }

    #[test]
    fn what_is_gone_protected_again_or_never_was_is_not_told() {
        for memo in memos() {
            assert!(!is_unprotected(&row(Status::Failed, "no (deletion protection is on again)", memo.clone())), "{memo}");
            assert!(!is_unprotected(&row(Status::Deleted, "", memo.clone())), "{memo}");
        }
        for memo in [json!({"step": {"deleting": 1}}), json!({"step": {"protectionOnAt": null}}), json!("protectionOnAt")] {
            assert!(!is_unprotected(&row(Status::Pending, "x", memo.clone())), "{memo}");
        }
        assert!(!is_unprotected(&resource("AWS::DynamoDB::Table", Status::Pending)));
    }
}
