use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, passes};

const TABLES: &[&str] = &["AWSGlue.GetTables", "\"DatabaseName\":\"db\""];
const DELETE_DATABASE: &[&str] = &["AWSGlue.DeleteDatabase", "\"Name\":\"db\""];
const DELETE_TABLE: &[&str] = &["AWSGlue.DeleteTable"];
const DELETE_CRAWLER: &[&str] = &["AWSGlue.DeleteCrawler", "\"Name\":\"c\""];
const STOP_CRAWLER: &[&str] = &["AWSGlue.StopCrawler", "\"Name\":\"c\""];
const GET_CRAWLER: &[&str] = &["AWSGlue.GetCrawler", "\"Name\":\"c\""];
const DELETE_TRIGGER: &[&str] = &["AWSGlue.DeleteTrigger", "\"Name\":\"t\""];
const STOP_TRIGGER: &[&str] = &["AWSGlue.StopTrigger", "\"Name\":\"t\""];
const GET_TRIGGER: &[&str] = &["AWSGlue.GetTrigger", "\"Name\":\"t\""];
const NOT_FOUND: &str = "EntityNotFoundException";

fn database(properties: Value) -> Bench {
    Bench::new("AWS::Glue::Database", "db", properties)
}

fn table(id: &str, properties: Value) -> Bench {
    Bench::new("AWS::Glue::Table", id, properties)
}

fn crawler() -> Bench {
    Bench::new("AWS::Glue::Crawler", "c", json!({}))
}

fn trigger() -> Bench {
    Bench::new("AWS::Glue::Trigger", "t", json!({}))
}

fn tables(names: &[&str]) -> Value {
    json!({ "TableList": names.iter().map(|name| json!({ "Name": name })).collect::<Vec<_>>() })
}

fn pending(answer: Result<Step, ebb_core::DeleteError>) -> u64 {
    match answer {
        Ok(Step::Pending { look_again, .. }) => look_again.as_secs(),
        other => panic!("{other:?}"),
    }
}

/// The plan's tables went first: what is left is others', and the delete would drop it.
#[tokio::test]
async fn tables_outside_the_plan_need_consent() {
    let script = Script::new().json(TABLES, 200, tables(&["events", "crawled"]));
    let error = database(json!({})).step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::DataGuard.name()));
    assert!(error.message.contains("2 tables") && error.message.contains("deleteData"), "{}", error.message);
    script.assert_done();

    let mut by_cloud_control = database(json!({}));
    by_cloud_control.resource.provisioned_by = ProvisionedBy::CloudControl;
    let script = Script::new().json(TABLES, 200, tables(&["events"]));
    assert_eq!(by_cloud_control.step(&script).await.unwrap_err().code, Code::DataGuard.name());
    let gone = json!({ "ProgressEvent": { "RequestToken": "t", "OperationStatus": "SUCCESS" } });
    let script = Script::new().json(TABLES, 200, tables(&[])).json(&["CloudApiService.DeleteResource "], 200, gone);
    assert_eq!(by_cloud_control.step(&script).await, Ok(Step::DELETED));

    let mut consent = database(json!({}));
    consent.run.options.delete_data = true;
    let script = Script::new().json(DELETE_DATABASE, 200, json!({}));
    assert_eq!(consent.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// An empty page is not the end of the list.
#[tokio::test]
async fn tables_behind_empty_pages_count() {
    let empty = |token: &str| json!({ "TableList": [], "NextToken": token });
    let pages = || Script::new().json(TABLES, 200, empty("a")).json(&["GetTables", "\"NextToken\":\"a\""], 200, empty("b"));
    let last = &["GetTables", "\"NextToken\":\"b\""];
    let error = database(json!({})).next(pages().json(last, 200, tables(&["events"]))).await.unwrap_err();
    assert!(error.code == Code::DataGuard.name() && error.message.contains("1 tables"), "{error}");
    let more = json!({ "TableList": [{ "Name": "events" }], "NextToken": "c" });
    let error = database(json!({})).next(pages().json(last, 200, more)).await.unwrap_err();
    assert!(error.message.contains("1 or more tables"), "{error}");
    let script = pages().json(last, 200, tables(&[])).json(DELETE_DATABASE, 200, json!({}));
    assert_eq!(database(json!({})).next(script).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn an_empty_database_goes() {
    let script = Script::new()
        .json(TABLES, 200, tables(&[]))
        .json(DELETE_DATABASE, 200, json!({}))
        .json_error(TABLES, NOT_FOUND, "no")
        .json_error(DELETE_DATABASE, NOT_FOUND, "no");
    assert_eq!(database(json!({})).step(&script).await, Ok(Step::DELETED));
    assert_eq!(database(json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

/// Without the recorded catalog the account's own is addressed, and not-found hides a live object in another one.
#[tokio::test]
async fn a_recorded_catalog_goes_into_every_call() {
    for recorded in [json!("210987654321"), json!(210_987_654_321_u64)] {
        let id = "\"CatalogId\":\"210987654321\"";
        let properties = json!({ "CatalogId": recorded });
        let script = Script::new().json(&["GetTables", id], 200, tables(&[])).json(&["DeleteDatabase", id], 200, json!({}));
        assert_eq!(database(properties.clone()).step(&script).await, Ok(Step::DELETED));
        let script = Script::new().json(&["DeleteTable", id], 200, json!({})).json(&["DeleteConnection", id], 200, json!({}));
        assert_eq!(table("db|t", properties.clone()).step(&script).await, Ok(Step::DELETED));
        assert_eq!(Bench::new("AWS::Glue::Connection", "c", properties).step(&script).await, Ok(Step::DELETED));
    }
    let own = Script::new().json(DELETE_TABLE, 200, json!({}));
    assert_eq!(table("db|t", json!({ "CatalogId": "123456789012" })).step(&own).await, Ok(Step::DELETED));
    assert!(!own.seen()[0].contains("CatalogId"), "the account's own needs no name");
}

/// An unusable one is not trusted: no call is made.
#[tokio::test]
async fn an_unusable_catalog_makes_no_call() {
    let script = Script::new();
    for (catalog, expected) in [
        (json!("***"), Code::MaskedAddress),
        (json!("{{resolve:ssm:x}}"), Code::MaskedAddress),
        (json!({ "Ref": "x" }), Code::MissingAddress),
        (json!(""), Code::MissingAddress),
    ] {
        let properties = json!({ "CatalogId": catalog });
        for mut bench in [
            database(properties.clone()),
            table("db|t", properties.clone()),
            Bench::new("AWS::Glue::Connection", "c", properties.clone()),
        ] {
            assert!(matches!(bench.step(&script).await, Ok(Step::Skipped { code, .. }) if code == expected), "{catalog}");
        }
    }
    assert!(script.seen().is_empty());
}

/// A table's name may hold bars; the recorded database says where it begins.
#[tokio::test]
async fn a_table_is_addressed_by_database_and_name() {
    let rebuilt = json!({ "DatabaseName": "db", "TableInput": { "Name": "t" } });
    for (id, properties, database, name) in [
        ("db|t", json!({}), "db", "t"),
        ("db|t|x", json!({}), "db", "t|x"),
        ("a|b|t", json!({ "DatabaseName": "a|b" }), "a|b", "t"),
        ("t", rebuilt.clone(), "db", "t"),
        ("|t", rebuilt, "db", "t"),
    ] {
        let wants = [format!("\"DatabaseName\":\"{database}\""), format!("\"Name\":\"{name}\"")];
        let script = Script::new().json(&["AWSGlue.DeleteTable", &wants[0], &wants[1]], 200, json!({}));
        assert_eq!(table(id, properties).step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
    let script = Script::new();
    for (id, properties) in [
        ("t", json!({})),
        ("db|", json!({})),
        ("|t", json!({ "DatabaseName": "db" })),
        ("t", json!({ "DatabaseName": "db", "TableInput": { "Name": "***" } })),
    ] {
        let answer = table(id, properties).step(&script).await;
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{id}: {answer:?}");
    }
    let masked = table("db|t", json!({ "DatabaseName": "***" })).step(&script).await;
    assert!(matches!(masked, Ok(Step::Skipped { code: Code::MaskedAddress, .. })));
    assert!(script.seen().is_empty());
}

/// A bench, the one call of its delete, its passing codes with wait and budget.
type Plain = (Bench, &'static [&'static str], Vec<(&'static str, u64, u64)>);

/// Types that go in one call.
fn plain() -> Vec<Plain> {
    let concurrent = ("ConcurrentModificationException", 2, 60);
    let timeout = ("OperationTimeoutException", 5, 120);
    let internal = ("InternalServiceException", 3, 60);
    vec![
        (Bench::new("AWS::Glue::Connection", "x", json!({})), &["DeleteConnection", "\"ConnectionName\":\"x\""], vec![timeout]),
        (Bench::new("AWS::Glue::Job", "x", json!({})), &["DeleteJob", "\"JobName\":\"x\""], vec![timeout, internal]),
        (
            Bench::new("AWS::Glue::SecurityConfiguration", "x", json!({})),
            &["DeleteSecurityConfiguration", "\"Name\":\"x\""],
            vec![internal],
        ),
        (
            Bench::new("AWS::Glue::Table", "db|x", json!({})),
            &["DeleteTable", "\"Name\":\"x\""],
            vec![concurrent, timeout, internal, ("ResourceNotReadyException", 5, 120)],
        ),
        (
            Bench::new("AWS::Glue::Workflow", "x", json!({})),
            &["DeleteWorkflow", "\"Name\":\"x\""],
            vec![concurrent, timeout, internal],
        ),
    ]
}

#[tokio::test]
async fn what_goes_in_one_call() {
    for (mut bench, delete, passing) in plain() {
        let script = Script::new()
            .json(delete, 200, json!({}))
            .json_error(delete, NOT_FOUND, "no")
            .json_error(delete, "InvalidInputException", "bad")
            .json_error(delete, "AccessDeniedException", "no");
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
        assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::Terminal);
        assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::Denied);
        bench.fence(false);
        assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
        script.assert_done();
        let (name, id) = (bench.resource.resource_type.clone(), bench.resource.physical_id.clone());
        for (code, wait, budget) in passing {
            passes(|| Bench::new(&name, &id, json!({})), delete, code, wait, budget).await;
        }
    }
    for (code, wait, budget) in
        [("ConcurrentModificationException", 2, 60), ("OperationTimeoutException", 5, 120), ("InternalServiceException", 3, 60)]
    {
        passes(|| database(json!({})), TABLES, code, wait, budget).await;
    }
}

fn crawling(state: &str) -> Value {
    json!({ "Crawler": { "Name": "c", "State": state } })
}

#[tokio::test]
async fn a_crawler_that_runs_is_stopped_first() {
    let script = Script::new()
        .json_error(DELETE_CRAWLER, "CrawlerRunningException", "runs")
        .json(STOP_CRAWLER, 200, json!({}))
        .json(GET_CRAWLER, 200, crawling("STOPPING"))
        .json(GET_CRAWLER, 200, crawling("READY"))
        .json(DELETE_CRAWLER, 200, json!({}));
    let mut bench = crawler();
    assert_eq!(pending(bench.step(&script).await), 2);
    assert_eq!(pending(bench.step(&script).await), 2);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let plain = Script::new().json(DELETE_CRAWLER, 200, json!({})).json_error(DELETE_CRAWLER, NOT_FOUND, "no");
    assert_eq!(crawler().step(&plain).await, Ok(Step::DELETED));
    assert_eq!(crawler().step(&plain).await, Ok(Step::ALREADY_GONE));
}

/// A stop that fails does not matter; a crawl that goes on after the looks is asked again for ten minutes.
#[tokio::test]
async fn a_long_crawl_holds_its_crawler_for_a_while() {
    for code in ["CrawlerNotRunningException", "CrawlerStoppingException", NOT_FOUND, "OperationTimeoutException"] {
        let script =
            Script::new().json_error(DELETE_CRAWLER, "CrawlerRunningException", "runs").json_error(STOP_CRAWLER, code, "x");
        assert_eq!(pending(crawler().step(&script).await), 2, "{code}");
    }
    let running = || {
        let script = Script::new().json_error(DELETE_CRAWLER, "CrawlerRunningException", "runs");
        script.json(STOP_CRAWLER, 200, json!({}))
    };
    let mut bench = crawler();
    bench.step(&running()).await.unwrap();
    bench.pass(60);
    assert_eq!(pending(bench.step(&running()).await), 10);
    bench.pass(599);
    assert!(matches!(bench.step(&running()).await, Ok(Step::Pending { .. })));
    bench.pass(1);
    assert_eq!(bench.step(&running()).await.unwrap_err().code, "CrawlerRunningException");
    for (code, wait, budget) in [("SchedulerTransitioningException", 5, 120), ("OperationTimeoutException", 5, 120)] {
        passes(crawler, DELETE_CRAWLER, code, wait, budget).await;
    }
}

fn firing(state: &str) -> Value {
    json!({ "Trigger": { "Name": "t", "State": state } })
}

/// A trigger that fires races its own delete.
#[tokio::test]
async fn an_activated_trigger_is_stopped_then_deleted_then_looked_at() {
    let script = Script::new()
        .json(GET_TRIGGER, 200, firing("ACTIVATED"))
        .json(STOP_TRIGGER, 200, json!({}))
        .json(GET_TRIGGER, 200, firing("ACTIVATED"))
        .json(GET_TRIGGER, 200, firing("DEACTIVATED"))
        .json(DELETE_TRIGGER, 200, json!({}))
        .json(GET_TRIGGER, 200, firing("DELETING"))
        .json_error(GET_TRIGGER, NOT_FOUND, "no");
    let mut bench = trigger();
    for wait in [1, 1, 2, 2] {
        assert_eq!(pending(bench.step(&script).await), wait);
    }
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_trigger_that_does_not_stop_or_stays_is_let_go() {
    let mut bench = trigger();
    let script = Script::new().json(GET_TRIGGER, 200, firing("ACTIVATED")).json_error(STOP_TRIGGER, "InvalidInputException", "x");
    assert_eq!(pending(bench.step(&script).await), 1);
    bench.pass(30);
    let script = Script::new().json(GET_TRIGGER, 200, firing("ACTIVATED")).json(DELETE_TRIGGER, 200, json!({}));
    assert_eq!(pending(bench.step(&script).await), 2);
    bench.pass(120);
    let script = Script::new().json(GET_TRIGGER, 200, firing("DELETING"));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn a_trigger_that_is_gone_going_or_not_to_be_seen() {
    let gone = Script::new().json_error(GET_TRIGGER, NOT_FOUND, "no");
    assert_eq!(trigger().step(&gone).await, Ok(Step::ALREADY_GONE));
    let going = Script::new().json(GET_TRIGGER, 200, firing("DELETING"));
    assert_eq!(pending(trigger().step(&going).await), 2);
    let denied = Script::new().json_error(GET_TRIGGER, "AccessDeniedException", "no").json(DELETE_TRIGGER, 200, json!({}));
    assert_eq!(pending(trigger().step(&denied).await), 2);
    for (code, wait, budget) in
        [("ConcurrentModificationException", 2, 60), ("OperationTimeoutException", 5, 120), ("InternalServiceException", 3, 60)]
    {
        passes(trigger, GET_TRIGGER, code, wait, budget).await;
    }
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_stopped_or_deleted() {
    let activated = Script::new().json(GET_TRIGGER, 200, firing("ACTIVATED"));
    let empty = Script::new().json(TABLES, 200, tables(&[]));
    for (mut bench, script) in [(trigger(), activated), (database(json!({})), empty), (crawler(), Script::new())] {
        bench.fence(false);
        assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
        script.assert_done();
    }
}
