//! The row comes from the stack's own state, as it is now.

use std::sync::atomic::Ordering;

use ebb_core::{Code, DeleteError, Ending, Look, Outcome, Refusal, Step};
use ebb_store::BucketErrorKind;
use serde_json::json;

use super::bench::{bench, row};

#[tokio::test(start_paused = true)]
async fn a_step_is_given_the_recorded_row() {
    let mut bench = bench();
    bench.request.item.memo = Some(json!({ "token": "t-1" }));
    let mut recorded = row("AWS::SQS::Queue", "https://q/orders", json!({ "QueueName": "orders" }));
    recorded["attributes"] = json!({ "Arn": "arn" });
    recorded["provisionedBy"] = json!("cc-api");
    recorded["deletionPolicy"] = json!("Snapshot");
    bench.state("Orders", json!({ "Queue": recorded }));
    for skip in [false, true] {
        bench.request.run.options.skip_final_snapshot = skip;
        bench.answers(Ok(Step::DELETED));
        let result = bench.step().await;
        assert_eq!((result.outcome, result.already, result.code), (Outcome::Deleted, false, None));
        let (resource, memo) = bench.provider.seen.lock().unwrap().pop().unwrap();
        assert_eq!((resource.stack.as_str(), resource.region.as_str()), ("Orders", "us-west-2"));
        assert_eq!((resource.logical_id.as_str(), resource.physical_id.as_str()), ("Queue", "https://q/orders"));
        assert_eq!(resource.provisioned_by, ebb_core::provider::ProvisionedBy::CloudControl);
        assert_eq!(resource.snapshot, !skip, "skipFinalSnapshot makes Snapshot a Delete");
        assert_eq!(memo, Some(json!({ "token": "t-1" })));
    }
}

/// A duplicate delivery: the first one's answer was applied and the row trimmed.
#[tokio::test(start_paused = true)]
async fn a_row_that_is_not_recorded_any_more_was_deleted_already() {
    let bench = bench();
    bench.state("Orders", json!({}));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.already, result.code.as_deref()), (Outcome::Deleted, true, Some("RecordGone")));
    assert_eq!(bench.asked(), 0);
}

/// A state that is gone or cannot be judged says nothing about its rows.
#[tokio::test(start_paused = true)]
async fn a_state_that_is_not_there_is_no_reason_to_call_a_row_deleted() {
    let key = bench().request.run.key().state();
    let missing = bench();
    missing.store.memory.raw_delete(&key);
    let broken = bench();
    broken.store.memory.raw_put(&key, "{");
    let elsewhere = bench();
    let state = json!({ "version": 8, "region": "eu-west-1", "resources": { "Queue": row("AWS::SQS::Queue", "q", json!({})) } });
    elsewhere.store.memory.raw_put(&key, state.to_string());
    let denied = bench();
    *denied.store.hook.fails.lock().unwrap() = Some(("/state.json", BucketErrorKind::Denied));
    let no_bucket = bench();
    no_bucket.refuse(Refusal::new(Ending::AccessDenied, "sts:AssumeRole is denied"));
    for (bench, code) in [
        (missing, "StateNotFound"),
        (broken, "MalformedState"),
        (elsewhere, "RegionMismatch"),
        (denied, "AccessDenied"),
        (no_bucket, "AccessDenied"),
    ] {
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Pending, Some(code)));
        assert_eq!(bench.asked(), 0);
    }
}

/// A run refuses to delete what it runs on, whatever the planner sent.
#[tokio::test(start_paused = true)]
async fn what_the_run_stands_on_is_not_deleted() {
    for recorded in [
        row("AWS::Lambda::Function", "ebb-worker", json!({})),
        row("AWS::S3::Bucket", "state", json!({})),
        row("AWS::IAM::Role", "ebb-planner", json!({})),
    ] {
        let bench = bench();
        bench.state("Orders", json!({ "Queue": recorded }));
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code), (Outcome::Failed, Some(Code::OwnResource.name())));
        assert_eq!(bench.asked(), 0);
    }
}

/// A row that became Retain, or whose policy is not known, is not deleted by an item that is still on its way.
#[tokio::test(start_paused = true)]
async fn a_policy_that_keeps_a_row_holds_here_too() {
    for (policy, code) in [("Retain", "Retain"), ("RetainExceptOnCreate", "Retain"), ("Keep", "UnknownDeletionPolicy")] {
        let bench = bench();
        let mut recorded = row("AWS::SQS::Queue", "https://q/orders", json!({}));
        recorded["deletionPolicy"] = json!(policy);
        bench.state("Orders", json!({ "Queue": recorded }));
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Failed, Some(code)));
        assert_eq!(bench.asked(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_without_a_usable_address_is_not_sent() {
    for (id, outcome, code) in [("", Outcome::Failed, Code::MalformedPhysicalId), ("***", Outcome::Skipped, Code::MaskedAddress)]
    {
        let bench = bench();
        bench.state("Orders", json!({ "Queue": row("AWS::SQS::Queue", id, json!({})) }));
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code), (outcome, Some(code.name())));
        assert_eq!(bench.asked(), 0);
    }
}

/// Looks are read-only and need no lock: a dry run has none.
#[tokio::test(start_paused = true)]
async fn a_look_needs_no_lock_and_changes_nothing() {
    let guard = Look::Refuses { code: Code::DataGuard, reason: "the bucket holds objects".into() };
    let denied = DeleteError { code: "AccessDenied".into(), ..DeleteError::refused(Code::NoProvider, "no right to look") };
    for (answer, code) in [(Ok(Look::Clear), None), (Ok(guard), Some("DataGuard")), (Err(denied), Some("AccessDenied"))] {
        let mut bench = bench();
        bench.store.memory.raw_delete(&bench.request.run.key().lock());
        bench.request.item.look = true;
        bench.request.run.dry_run = true;
        *bench.provider.look.lock().unwrap() = Some(answer);
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Pending, code));
        assert_eq!((bench.asked(), bench.store.hook.of_lock.load(Ordering::SeqCst)), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_makes_no_sense_is_a_failure() {
    for id in ["Queue", "Orders/", "/Queue", "Other/Queue", "Orders2/Queue", "OrdersX~Y/Queue"] {
        let mut bench = bench();
        bench.request.item.id = id.into();
        let failure = bench.handle().await.unwrap_err();
        assert_eq!(failure.name, "InvalidRequest", "{id}");
    }
    let mut bench = bench();
    bench.request.run.dry_run = true;
    assert_eq!(bench.handle().await.unwrap_err().name, "InvalidRequest", "a dry run only looks");
    assert_eq!(bench.asked(), 0);
}
