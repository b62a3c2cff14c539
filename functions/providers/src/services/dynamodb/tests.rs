use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

const TYPE: &str = "AWS::DynamoDB::Table";
const BUSY: &str = "Attempt to change a resource which is still in use: Cannot delete table while indexes are being created, updated, or deleted";
const PROTECTED: &str =
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.";
const DENIED: &str = "AccessDeniedException";

fn table() -> Bench {
    Bench::new(TYPE, "orders", json!({}))
}

fn unprotecting() -> Bench {
    let mut bench = table();
    bench.run.options.remove_protection = true;
    bench
}

fn described(status: &str, protected: bool) -> Value {
    json!({ "Table": { "TableName": "orders", "TableStatus": status, "DeletionProtectionEnabled": protected } })
}

const DESCRIBE: &[&str] = &["DescribeTable", "\"TableName\":\"orders\""];
const DELETE: &[&str] = &["DeleteTable", "\"TableName\":\"orders\""];
const OFF: &[&str] = &["UpdateTable", "\"TableName\":\"orders\"", "\"DeletionProtectionEnabled\":false"];
const ON: &[&str] = &["UpdateTable", "\"TableName\":\"orders\"", "\"DeletionProtectionEnabled\":true"];

fn is_pending(step: &Result<Step, ebb_core::DeleteError>) -> bool {
    matches!(step, Ok(Step::Pending { .. }))
}

#[tokio::test]
async fn an_accepted_delete_is_gone() {
    for id in ["orders", "arn:aws:dynamodb:us-east-1:123456789012:table/orders"] {
        let script = Script::new().json(DELETE, 200, json!({}));
        assert_eq!(Bench::new(TYPE, id, json!({})).step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    let script = Script::new().json_error(DELETE, "ResourceNotFoundException", "no").json_error(
        DESCRIBE,
        "ResourceNotFoundException",
        "no",
    );
    assert_eq!(table().step(&script).await, Ok(Step::ALREADY_GONE));
    assert_eq!(unprotecting().step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

#[tokio::test]
async fn an_arn_of_another_region_or_kind_makes_no_call() {
    let script = Script::new();
    let step = Bench::new(TYPE, "arn:aws:dynamodb:eu-west-1:1:table/orders", json!({})).step(&script).await;
    assert_eq!(step.map_err(|e| e.code), Err(Code::WrongRegion.name()));
    let step = Bench::new(TYPE, "arn:aws:dynamodb:us-east-1:1:global-table/orders", json!({})).step(&script).await;
    assert!(matches!(step, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
    assert_eq!(script.seen(), Vec::<String>::new());
}

// Only this text makes the code passing by itself; the budget counts from the first time.
#[tokio::test]
async fn a_busy_index_is_waited_for_within_its_budget() {
    let script = Script::new()
        .json_error(DELETE, "ResourceInUseException", BUSY)
        .json_error(DELETE, "ResourceInUseException", BUSY)
        .json_error(DELETE, "ResourceInUseException", BUSY);
    let mut bench = table();
    assert!(is_pending(&bench.step(&script).await));
    bench.pass(1000);
    assert!(is_pending(&bench.step(&script).await));
    bench.pass(101);
    assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err("ResourceInUseException".into()));
    script.assert_done();
}

// Without that text the table itself tells whether it passes.
#[tokio::test]
async fn a_table_in_use_is_judged_by_its_status() {
    let in_use = |body: Value| Script::new().json_error(DELETE, "ResourceInUseException", "in use").json(DESCRIBE, 200, body);
    assert_eq!(table().step(&in_use(described("DELETING", false))).await, Ok(Step::DELETED));
    for status in ["CREATING", "UPDATING"] {
        assert!(is_pending(&table().step(&in_use(described(status, false))).await), "{status}");
    }
    let mut indexed = described("ACTIVE", false);
    indexed["Table"]["GlobalSecondaryIndexes"] = json!([{ "IndexName": "by-day", "IndexStatus": "DELETING" }]);
    assert!(is_pending(&table().step(&in_use(indexed)).await));
    let error = table().step(&in_use(described("ACTIVE", false))).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("ResourceInUseException", ErrorClass::Terminal));
}

#[tokio::test]
async fn passing_errors_pass_within_their_budgets() {
    for (code, budget) in [("LimitExceededException", 300), ("InternalServerError", 60)] {
        let script = Script::new().json_error(DELETE, code, "").json_error(DELETE, code, "");
        let mut bench = table();
        assert!(is_pending(&bench.step(&script).await), "{code}");
        bench.pass(budget);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(code.to_owned()));
    }
}

#[tokio::test]
async fn a_protected_table_stays_unless_asked() {
    let script = Script::new().json_error(DELETE, "ValidationException", PROTECTED);
    let error = table().step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
    assert!(error.message.contains("removeProtection") && error.message.contains(PROTECTED), "{}", error.message);
    script.assert_done();
}

#[tokio::test]
async fn a_look_names_the_protection() {
    let script = Script::new().json(DESCRIBE, 200, described("ACTIVE", true)).json(DESCRIBE, 200, described("ACTIVE", false));
    assert!(
        matches!(table().look(&script).await, Ok(Look::Refuses { code: Code::Protected, reason }) if reason.contains("removeProtection"))
    );
    assert_eq!(table().look(&script).await, Ok(Look::Clear));
    assert_eq!(unprotecting().look(&script).await, Ok(Look::Clear));
    script.assert_done();
    let script = Script::new().json_error(DESCRIBE, "ResourceNotFoundException", "no");
    assert_eq!(table().look(&script).await, Ok(Look::Clear));
}

// That it was on is remembered before it is switched off: a step killed in between must not forget it.
#[tokio::test]
async fn protection_is_remembered_switched_off_and_the_table_deleted_when_active() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(OFF, 200, json!({}))
        .json(DESCRIBE, 200, described("UPDATING", false))
        .json(DESCRIBE, 200, described("ACTIVE", false))
        .json(DELETE, 200, json!({}));
    let mut bench = unprotecting();
    for _ in 0..3 {
        assert!(is_pending(&bench.step(&script).await));
        assert!(bench.memo.is_some());
        bench.pass(1);
    }
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_table_without_protection_is_not_flipped() {
    let script = Script::new().json(DESCRIBE, 200, described("ACTIVE", false)).json(DELETE, 200, json!({})).json(
        DESCRIBE,
        200,
        described("DELETING", false),
    );
    assert_eq!(unprotecting().step(&script).await, Ok(Step::DELETED));
    assert_eq!(unprotecting().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

async fn flipped(script: &Script) -> Bench {
    let mut bench = unprotecting();
    for _ in 0..2 {
        assert!(is_pending(&bench.step(script).await));
    }
    bench
}

fn flips() -> Script {
    Script::new()
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(OFF, 200, json!({}))
        .json(DESCRIBE, 200, described("ACTIVE", false))
}

#[tokio::test]
async fn a_delete_that_fails_for_good_puts_the_protection_back() {
    let script = flips().json_error(DELETE, DENIED, "no").json(ON, 200, json!({}));
    let mut bench = flipped(&script).await;
    let error = bench.step(&script).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), (DENIED, "no (deletion protection is on again)"));
    script.assert_done();

    let script = flips().json_error(DELETE, DENIED, "no").json_error(ON, "LimitExceededException", "");
    let mut bench = flipped(&script).await;
    let message = bench.step(&script).await.unwrap_err().message;
    assert_eq!(message, "no (deletion protection was switched off and could not be switched on again: LimitExceededException)");
    script.assert_done();
}

// Not for what passes, not after a budget, never when it was off before.
#[tokio::test]
async fn protection_stays_off_while_the_delete_may_still_work() {
    let script = flips()
        .json_error(DELETE, "LimitExceededException", "")
        .json(DESCRIBE, 200, described("ACTIVE", false))
        .json_error(DELETE, "LimitExceededException", "");
    let mut bench = flipped(&script).await;
    assert!(is_pending(&bench.step(&script).await));
    bench.pass(300);
    assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err("LimitExceededException".into()));
    script.assert_done();

    let script = Script::new().json(DESCRIBE, 200, described("ACTIVE", false)).json_error(DELETE, DENIED, "no");
    assert_eq!(unprotecting().step(&script).await.map_err(|e| e.message), Err("no".into()));
    script.assert_done();
}

// The memo survives an error that passes in between.
#[tokio::test]
async fn protection_is_put_back_after_a_passing_error_too() {
    let script = flips()
        .json_error(DELETE, "InternalServerError", "")
        .json(DESCRIBE, 200, described("ACTIVE", false))
        .json_error(DELETE, DENIED, "no")
        .json(ON, 200, json!({}));
    let mut bench = flipped(&script).await;
    assert!(is_pending(&bench.step(&script).await));
    assert!(bench.step(&script).await.is_err());
    script.assert_done();
}

#[tokio::test]
async fn a_flip_that_is_denied_is_left_to_the_delete() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json_error(OFF, DENIED, "no")
        .json_error(DELETE, "ValidationException", PROTECTED)
        .json(ON, 200, json!({}));
    let mut bench = unprotecting();
    assert!(is_pending(&bench.step(&script).await));
    let error = bench.step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Protected, "ValidationException"));
    script.assert_done();
}

#[tokio::test]
async fn a_protection_that_cannot_be_read_is_switched_off_unseen() {
    let script = Script::new().json_error(DESCRIBE, DENIED, "no").json(OFF, 200, json!({})).json(DELETE, 200, json!({}));
    assert_eq!(unprotecting().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_flip_that_never_shows_ends_after_a_minute() {
    let script = Script::new()
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json_error(OFF, "ResourceInUseException", "being updated")
        .json(DESCRIBE, 200, described("ACTIVE", true))
        .json(DELETE, 200, json!({}));
    let mut bench = flipped(&script).await;
    bench.pass(60);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_shut_fence_stops_flip_and_delete() {
    let script = Script::new().json(DESCRIBE, 200, described("ACTIVE", true)).json(DESCRIBE, 200, described("ACTIVE", true));
    let mut bench = unprotecting();
    bench.fence(false);
    assert!(is_pending(&bench.step(&script).await));
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    script.assert_done();
    let mut bench = table();
    bench.fence(false);
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
