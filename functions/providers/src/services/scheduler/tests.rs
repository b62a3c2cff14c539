use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const DELETE: &[&str] = &["DELETE", "/schedules/nightly"];
const IN_GROUP: &[&str] = &["DELETE", "/schedules/nightly", "groupName=jobs"];
const LIST: &[&str] = &["GET", "/schedules?", "NamePrefix=nightly"];

fn schedule(id: &str, properties: Value) -> Bench {
    Bench::new("AWS::Scheduler::Schedule", id, properties)
}

/// A schedule as a stack records it, in the default group.
fn plain() -> Bench {
    schedule("nightly", json!({ "ScheduleExpression": "rate(1 day)" }))
}

fn grouped() -> Bench {
    schedule("nightly", json!({ "GroupName": "jobs" }))
}

#[tokio::test]
async fn a_schedule_goes_in_one_call_with_its_group() {
    let arn = "arn:aws:scheduler:us-east-1:123456789012:schedule/jobs/nightly";
    for mut bench in
        [grouped(), schedule(arn, json!({})), schedule(arn, json!({ "GroupName": "***" })), schedule("jobs/nightly", json!({}))]
    {
        let script = Script::new().json(IN_GROUP, 200, json!({})).json_error(IN_GROUP, "ResourceNotFoundException", "no");
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
    let script = Script::new().json(DELETE, 200, json!({}));
    assert_eq!(plain().step(&script).await, Ok(Step::DELETED));
    assert!(!script.seen()[0].contains("groupName"), "{:?}", script.seen());
}

fn listed(schedules: &[(&str, &str)]) -> Value {
    let items: Vec<Value> = schedules.iter().map(|(name, group)| json!({ "Name": name, "GroupName": group })).collect();
    json!({ "Schedules": items })
}

// Without its group the default one is searched, and its not-found would hide a live schedule.
#[tokio::test]
async fn a_schedule_recorded_without_properties_is_looked_for_in_every_group() {
    let script = Script::new()
        .json(LIST, 200, json!({ "Schedules": [{ "Name": "nightly-report", "GroupName": "other" }], "NextToken": "more" }))
        .json(&["GET", "NextToken=more"], 200, listed(&[("nightly", "jobs")]))
        .json(IN_GROUP, 200, json!({}));
    assert_eq!(schedule("nightly", json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().json(LIST, 200, listed(&[("nightly-report", "jobs")]));
    assert_eq!(schedule("nightly", json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

#[tokio::test]
async fn a_name_in_two_groups_is_not_guessed_at() {
    let script = Script::new().json(LIST, 200, listed(&[("nightly", "jobs"), ("nightly", "other")]));
    let step = schedule("nightly", json!({})).step(&script).await;
    assert!(matches!(step, Ok(Step::Skipped { code: Code::MissingAddress, .. })));
    script.assert_done();
}

// Cloud Control resolves the name in the default group and reports success without deleting anything.
#[tokio::test]
async fn a_row_of_cloud_control_comes_here_too() {
    let mut bench = grouped();
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    let script = Script::new().json(IN_GROUP, 200, json!({}));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_is_not_addressed_makes_no_call() {
    assert_not_addressed(
        schedule("arn:aws:scheduler:eu-west-1:123456789012:schedule/jobs/nightly", json!({})),
        Code::WrongRegion,
    )
    .await;
    let arn = "arn:aws:scheduler:us-east-1:123456789012";
    for id in [
        String::new(),
        "jobs/".into(),
        "/nightly".into(),
        "a/b/c".into(),
        "jobs/..".into(),
        format!("{arn}:schedule/nightly"),
        format!("{arn}:schedule-group/jobs"),
    ] {
        assert_not_addressed(schedule(&id, json!({})), Code::MalformedPhysicalId).await;
    }
    assert_not_addressed(schedule("***", json!({})), Code::MaskedAddress).await;
    assert_not_addressed(schedule("nightly", json!({ "GroupName": "***" })), Code::MaskedAddress).await;
    // None of these means the default group.
    for odd in [json!({ "Ref": "Group" }), json!(""), json!(7), json!(["jobs"])] {
        assert_not_addressed(schedule("nightly", json!({ "GroupName": odd })), Code::MissingAddress).await;
    }
}

#[tokio::test]
async fn other_errors_are_what_they_are() {
    for (code, wait) in [("ConflictException", 2), ("InternalServerException", 3), ("ThrottlingException", 2)] {
        assert_passes(plain(), || Script::new().json_error(DELETE, code, ""), wait, 60).await;
    }
    for (code, class) in [("ValidationException", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
        let script = Script::new().json_error(DELETE, code, "no");
        assert_eq!(plain().step(&script).await.map_err(|e| e.class), Err(class), "{code}");
    }
    assert_fenced(plain(), Script::new()).await;
}
