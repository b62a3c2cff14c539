use serde_json::json;

use super::super::{EVENT_BUDGET, MAX_ITEMS, QUIET};
use super::{Bench, QUEUE, TABLE, TOKEN, crashed};
use crate::payload::PlanNext;
use crate::{Code, Outcome, Status};

const NAT: &str = "AWS::EC2::NatGateway";

// When only pending resources are left the planner answers `wait`, until the first of them is worth a look.
#[test]
fn the_planner_waits_for_what_is_pending() {
    let mut bench = Bench::new(json!([["Nat", NAT], ["Queue", QUEUE]]));
    bench.plan(&[]);
    let mut results = bench.all(Outcome::Pending);
    results[0].look_again_ms = Some(30_000);
    results[1].look_again_ms = Some(9_000);
    results = results.into_iter().map(|result| result.because("Busy", "not yet")).collect();
    assert_eq!((results[0].id.as_str(), results[1].id.as_str()), ("S/Nat", "S/Queue"), "longest remaining path first");
    assert_eq!(bench.plan(&results), PlanNext::Wait);
    assert!((9..=10).contains(&bench.seconds()), "{}", bench.seconds());
    bench.now += 10_000;
    assert_eq!(bench.plan(&results), PlanNext::Wave, "the old results count once");
    assert_eq!(bench.wave(), ["Queue"]);
    let result = bench.result("Queue", Outcome::Deleted);
    assert_eq!(bench.plan(&[result]), PlanNext::Wait);
    assert!((18..=22).contains(&bench.seconds()), "{}", bench.seconds());
}

// A slow delete never holds back an unrelated resource.
#[test]
fn a_slow_delete_holds_back_only_what_it_needs() {
    let mut bench =
        Bench::new(json!([["Nat", NAT, null, {}, ["Base"]], ["Base", QUEUE], ["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]));
    bench.plan(&[]);
    let results = [bench.result("Nat", Outcome::Pending), bench.result("A", Outcome::Deleted)];
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!(bench.wave(), ["B"]);
    let results = bench.all(Outcome::Deleted);
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!(bench.wave(), ["Nat"], "there is nothing else to do, so it is watched");
    assert_eq!(bench.status("Base"), Status::Waiting);
}

// What has to be left alone for a while is not watched, however little else there is to do.
#[test]
fn a_back_off_is_not_watched() {
    let mut bench = Bench::new(json!([["Nat", NAT]]));
    bench.plan(&[]);
    let mut result = bench.result("Nat", Outcome::Pending).because("ServiceInternalError", "trying again");
    result.look_again_ms = Some(20_000);
    assert_eq!(bench.plan(&[result]), PlanNext::Wait);
    assert!((18..=22).contains(&bench.seconds()), "{}", bench.seconds());
}

// Who is next at a quota of one in thirty seconds begins when it may, not when a step that watches something else is over.
#[test]
fn nothing_is_watched_past_the_turn_of_what_waits_for_it() {
    let mut bench = Bench::new(json!([["A", API], ["B", API], ["Nat", NAT]]));
    bench.plan(&[]);
    let results = [bench.result("A", Outcome::Deleted), bench.result("Nat", Outcome::Pending)];
    bench.now += 10_000;
    assert_eq!(bench.plan(&results), PlanNext::Wait);
    assert_eq!(bench.seconds(), 20);
    bench.now += 20_000;
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    assert!(bench.wave().contains(&"B".to_owned()));
}

// The longest single wait is two minutes: the planner looks at the lock in between.
#[test]
fn a_long_wait_is_cut() {
    let mut bench = Bench::new(json!([["Nat", NAT]]));
    bench.plan(&[]);
    let mut result = bench.result("Nat", Outcome::Pending).because("Busy", "not yet");
    result.look_again_ms = Some(3_600_000);
    bench.plan(&[result]);
    assert_eq!(bench.seconds(), 120);
    bench.now += 120_000;
    assert_eq!(bench.plan(&[]), PlanNext::Wait, "not yet its time");
    assert_eq!(bench.status("Nat"), Status::Pending);
}

// A step that asks for no wait (more pages to empty) is repeated at once.
#[test]
fn a_step_that_wants_to_go_on_goes_on() {
    let mut bench = Bench::with(json!([["B", "AWS::S3::Bucket"]]), json!({"deleteData": true, "removeProtection": true}));
    bench.plan(&[]);
    let mut result = bench.result("B", Outcome::Pending);
    result.look_again_ms = Some(0);
    result.memo = Some(json!({"page": 2}));
    assert_eq!(bench.plan(&[result]), PlanNext::Wave);
    let item = &bench.items()[0];
    assert_eq!((item.attempt, item.memo.clone()), (1, Some(json!({"page": 2}))));
    // No memo in the answer keeps the one before.
    let mut result = bench.result("B", Outcome::Pending);
    result.look_again_ms = Some(0);
    bench.plan(&[result]);
    assert_eq!(bench.items()[0].memo, Some(json!({"page": 2})));
}

// `WorkerCrashed` is planned again, three times, then failed.
#[test]
fn a_worker_that_crashes_four_times_fails_the_row() {
    let mut bench = Bench::new(json!([["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]));
    bench.plan(&[]);
    for crash in 1..=3 {
        let result = crashed(&bench, "A");
        assert_eq!(bench.plan(&[result]), PlanNext::Wait, "crash {crash}");
        assert!(bench.seconds() <= 3, "a step that may not have begun is repeated soon: {}", bench.seconds());
        bench.now += 3_000;
        assert_eq!(bench.plan(&[]), PlanNext::Wave, "crash {crash}");
        assert_eq!(bench.items()[0].attempt, 1, "a repeat is no new attempt");
    }
    let result = crashed(&bench, "A");
    bench.plan(&[result]);
    assert_eq!((bench.status("A"), bench.code("A")), (Status::Failed, Some("WorkerCrashed")));
    assert_eq!(bench.status("B"), Status::Blocked);
}

// A wave that ended without a result for an item: its worker may have done anything.
#[test]
fn a_missing_result_is_a_crash() {
    let mut bench = Bench::new(json!([["A", QUEUE], ["B", QUEUE]]));
    bench.plan(&[]);
    let only = [bench.result("A", Outcome::Deleted)];
    assert_eq!(bench.plan(&only), PlanNext::Wait);
    assert_eq!((bench.status("B"), bench.row("B").crashes), (Status::Pending, 1));
    assert_eq!(bench.code("B"), Some("WorkerCrashed"));
}

// The run ends no earlier than 75 s after the last step that crashed or was retried.
#[test]
fn the_end_waits_until_no_crashed_step_can_be_running() {
    for retry in [false, true] {
        let mut bench = Bench::new(json!([["A", QUEUE]]));
        bench.plan(&[]);
        let at = bench.now;
        if retry {
            let mut result = bench.result("A", Outcome::Deleted);
            result.retry = 1;
            assert_eq!(bench.plan(&[result]), PlanNext::Wait);
        } else {
            let result = crashed(&bench, "A");
            assert_eq!(bench.plan(&[result]), PlanNext::Wait);
            bench.now += 2_000;
            assert_eq!(bench.plan(&[]), PlanNext::Wave);
            let result = bench.result("A", Outcome::Deleted);
            assert_eq!(bench.plan(&[result]), PlanNext::Wait);
        }
        assert_eq!(bench.status("A"), Status::Deleted);
        assert_eq!(bench.seconds() * 1000, at + QUIET.as_millis() as u64 - bench.now);
        bench.now = at + QUIET.as_millis() as u64 - 1;
        assert_eq!(bench.plan(&[]), PlanNext::Wait);
        assert_eq!(bench.seconds(), 1, "a wait has whole seconds and at least one");
        bench.now += 1;
        assert_eq!(bench.plan(&[]), PlanNext::Finish);
    }
}

// Also a run that stops on a fault of ours waits for its crashed steps.
#[test]
fn a_refused_run_waits_too() {
    let mut bench = Bench::new(json!([["A", QUEUE], ["B", QUEUE]]));
    bench.plan(&[]);
    let results = [crashed(&bench, "A"), bench.result("B", Outcome::Deleted)];
    bench.plan(&results);
    bench.record.refusal = Some(crate::Refusal::new(crate::Ending::Error, "an illegal change"));
    assert_eq!(bench.plan(&[]), PlanNext::Wait);
    bench.now += QUIET.as_millis() as u64;
    assert_eq!(bench.plan(&[]), PlanNext::Finish);
}

// A retryable error that outlives its deadline is failed with ResourceTimeout; the last thing heard is told.
#[test]
fn a_delete_past_its_deadline_fails_with_the_last_code() {
    let mut bench = Bench::new(json!([["A", QUEUE, null, {}, ["B"]], ["B", QUEUE]]));
    bench.plan(&[]);
    let started = bench.now;
    let mut plans = 0;
    while bench.status("A") != Status::Failed {
        plans += 1;
        assert!(plans < 200, "it ends");
        let mut results = Vec::new();
        if bench.record.answer.next == PlanNext::Wave {
            let refused = bench.result("A", Outcome::Pending).because("DependencyViolation", "in use");
            results.push(crate::StepResult { look_again_ms: Some(10_000), ..refused });
        } else {
            bench.now += bench.seconds() * 1000;
        }
        assert!(bench.now < started + 31 * 60_000);
        bench.plan(&results);
    }
    assert!(bench.now >= started + 30 * 60_000);
    assert_eq!(bench.code("A"), Some("ResourceTimeout"));
    assert_eq!(bench.reason("A"), "not gone after 30 min; last: DependencyViolation: in use");
    assert_eq!(bench.status("B"), Status::Blocked);
}

// What a retained row needs is in use in every run: that is said, not that AWS may still be deleting it.
#[test]
fn what_a_retained_row_needs_is_told_as_such_at_its_deadline() {
    for (status, code, end) in
        [(Status::Retained, "HoldsRetained", "; S/Subnet is retained and needs it"), (Status::Deleted, "ResourceTimeout", "")]
    {
        let mut bench = Bench::new(json!([["Subnet", "AWS::EC2::Subnet", null, {}, ["Vpc"]], ["Vpc", "AWS::EC2::VPC"]]));
        bench.record.resources.get_mut("S/Subnet").unwrap().status = status;
        assert_eq!((bench.plan(&[]), bench.wave()), (PlanNext::Wave, vec!["Vpc".to_owned()]));
        bench.now += 31 * 60_000;
        let refused = bench.result("Vpc", Outcome::Pending).because("DependencyViolation", "in use");
        assert_eq!(bench.plan(&[refused]), PlanNext::Finish);
        assert_eq!((bench.status("Vpc"), bench.code("Vpc")), (Status::Failed, Some(code)));
        assert_eq!(bench.reason("Vpc"), format!("not gone after 30 min; last: DependencyViolation: in use{end}"));
    }
}

// Only what is in use has nothing to hope for: a throttle or a bucket that did not answer is no reason to delete kept data.
#[test]
fn what_a_retained_row_needs_times_out_unless_it_was_said_to_be_in_use() {
    for (last, reason, code) in [
        ("ThrottlingException", "ThrottlingException: Rate exceeded", "ResourceTimeout"),
        ("NoAnswer", "NoAnswer: timed out", "ResourceTimeout"),
        ("InternalError", "InternalError: try again", "ResourceTimeout"),
        ("FenceShut", "the lock is held by jo", "ResourceTimeout"),
        ("AccessDenied", "sts:AssumeRole", "ResourceTimeout"),
        ("Error", "the state could not be read", "ResourceTimeout"),
        ("ResourceInUseException", "associated", "HoldsRetained"),
        ("BucketNotEmpty", "BucketNotEmpty: being emptied", "ResourceTimeout"),
        ("InvalidDBSubnetGroupStateFault", "InvalidDBSubnetGroupStateFault: held by orders (database)", "HoldsRetained"),
    ] {
        let mut bench = Bench::new(json!([["Kept", QUEUE, null, {}, ["Vpc"]], ["Vpc", "AWS::EC2::VPC"]]));
        bench.record.resources.get_mut("S/Kept").unwrap().status = Status::Retained;
        assert_eq!((bench.plan(&[]), bench.wave()), (PlanNext::Wave, vec!["Vpc".to_owned()]));
        bench.now += 31 * 60_000;
        let pending = bench.result("Vpc", Outcome::Pending).because(last, reason);
        bench.plan(&[pending]);
        assert_eq!((bench.status("Vpc"), bench.code("Vpc")), (Status::Failed, Some(code)), "{last}");
        assert_eq!(bench.reason("Vpc").contains("is retained"), code == "HoldsRetained", "{}", bench.reason("Vpc"));
    }
}

// A slow type has its own deadline.
#[test]
fn a_custom_resource_has_hours() {
    let mut bench = Bench::new(json!([["C", "Custom::Thing", null, {"ServiceToken": TOKEN}]]));
    bench.plan(&[]);
    let result = bench.result("C", Outcome::Pending);
    bench.now += 239 * 60_000;
    bench.plan(&[result]);
    assert_eq!(bench.status("C"), Status::Pending);
    bench.now += 60_000;
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    let result = bench.result("C", Outcome::Pending);
    bench.plan(&[result]);
    assert_eq!(bench.code("C"), Some("ResourceTimeout"));
}

// A pause beyond the deadline, and a worker that crashes after it: the row is looked at before it can fail, for AWS may
// have finished long ago.
#[test]
fn a_row_that_nobody_looked_at_since_does_not_time_out() {
    for (crashes, outcome, status) in
        [(0, Outcome::Deleted, Status::Deleted), (1, Outcome::Deleted, Status::Deleted), (1, Outcome::Pending, Status::Failed)]
    {
        let mut bench = Bench::new(json!([["A", "AWS::OpenSearchService::Domain"]]));
        bench.plan(&[]);
        let result = bench.result("A", Outcome::Pending);
        assert_eq!(bench.plan(&[result]), PlanNext::Wait);
        (bench.paused, bench.now) = (true, bench.now + 3_600_000);
        assert_eq!((bench.plan(&[]), bench.status("A")), (PlanNext::Wait, Status::Pending));
        bench.paused = false;
        assert_eq!(bench.plan(&[]), PlanNext::Wave);
        for _ in 0..crashes {
            let result = crashed(&bench, "A");
            assert_eq!((bench.plan(&[result]), bench.status("A")), (PlanNext::Wait, Status::Pending));
            bench.now += 400_000;
            assert_eq!(bench.plan(&[]), PlanNext::Wave);
        }
        let result = bench.result("A", outcome);
        bench.plan(&[result]);
        assert_eq!(bench.status("A"), status, "{crashes} {outcome:?}");
    }
}

// A shut fence is pending and repeated; it is no crash, and it asks for no quiet time.
#[test]
fn a_shut_fence_is_repeated() {
    let mut bench = Bench::new(json!([["A", "AWS::OpenSearchService::Domain"]]));
    bench.plan(&[]);
    for _ in 0..6 {
        let shut = bench.result("A", Outcome::Pending).because(&Code::FenceShut.name(), "the lock is closed");
        assert_eq!(bench.plan(&[shut]), PlanNext::Wait);
        assert!(bench.seconds() <= 3, "nothing was begun: {}", bench.seconds());
        bench.now += 3_000;
        assert_eq!(bench.plan(&[]), PlanNext::Wave);
    }
    assert_eq!((bench.row("A").crashes, bench.record.quiet_at), (0, 0));
}

// A wave has at most 100 items; the rest comes in the next, longest remaining path first.
#[test]
fn a_wave_is_at_most_a_hundred_items() {
    let mut rows: Vec<_> = (0..250).map(|n| json!([format!("Q{n:03}"), QUEUE])).collect();
    rows.push(json!(["Nat", NAT]));
    let mut bench = Bench::new(rows.into());
    let mut seen = Vec::new();
    bench.plan(&[]);
    assert_eq!(bench.wave()[0], "Nat");
    while bench.record.answer.next == PlanNext::Wave {
        assert!(bench.wave().len() <= MAX_ITEMS);
        seen.extend(bench.wave());
        let results = bench.all(Outcome::Deleted);
        bench.plan(&results);
    }
    assert_eq!((seen.len(), bench.record.wave), (251, 3));
}

// A drive ends with `again` before its history is full, and the next one starts anew.
#[test]
fn a_full_history_is_handed_over() {
    let rows: Vec<_> = (0..3_000).map(|n| json!([format!("Q{n:04}"), QUEUE])).collect();
    let mut bench = Bench::new(rows.into());
    let (mut plans, mut drives) = (0, 1);
    bench.plan(&[]);
    while bench.record.answer.next != PlanNext::Finish {
        plans += 1;
        assert!(plans < 100);
        assert!(bench.record.events <= EVENT_BUDGET);
        let results = bench.all(Outcome::Deleted);
        if bench.record.answer.next == PlanNext::Again {
            assert!(results.is_empty(), "nothing is in flight when a drive ends");
            assert!(bench.record.events > EVENT_BUDGET - 1_000);
            drives += 1;
            bench.drive = drives;
        }
        bench.plan(&results);
    }
    assert_eq!((drives, bench.record.counts().deleted), (2, 3_000));
    assert_eq!(bench.record.drive, 2);
}

// Waiting fills the history, too.
#[test]
fn a_drive_that_only_waits_is_handed_over() {
    let mut bench = Bench::new(json!([["Broker", "AWS::AmazonMQ::Broker"]]));
    bench.plan(&[]);
    bench.record.events = EVENT_BUDGET - 5;
    let result = bench.result("Broker", Outcome::Pending);
    assert_eq!(bench.plan(&[result]), PlanNext::Again);
    bench.drive = 2;
    assert_eq!(bench.plan(&[]), PlanNext::Wait);
    assert!(bench.record.events < 20);
}

// Paused: a running run emits no wave and waits, its lock kept; it goes on when the pause is over.
#[test]
fn a_paused_run_emits_no_wave() {
    let mut bench = Bench::new(json!([["Table", TABLE], ["A", QUEUE]]));
    bench.paused = true;
    for _ in 0..3 {
        assert_eq!(bench.plan(&[]), PlanNext::Wait);
        assert_eq!(bench.seconds(), 60);
        assert!(bench.wave().is_empty());
    }
    bench.paused = false;
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    // What was out when the pause came is taken in.
    bench.paused = true;
    let results = bench.all(Outcome::Pending);
    assert_eq!(bench.plan(&results), PlanNext::Wait);
    assert!(bench.row("Table").looked.is_some());
    bench.paused = false;
    bench.plan(&[]);
    bench.paused = true;
    let results = bench.all(Outcome::Deleted);
    assert_eq!(bench.plan(&results), PlanNext::Finish, "with nothing left to delete the run may end");
}

// The claim's instant never goes back, whatever the clock says.
#[test]
fn the_instant_of_a_step_never_goes_back() {
    let mut bench = Bench::new(json!([["A", QUEUE]]));
    bench.now += 5_000;
    bench.plan(&[]);
    let at = bench.record.at;
    bench.now -= 60_000;
    let result = bench.result("A", Outcome::Deleted);
    bench.plan(&[result]);
    assert_eq!((bench.record.at, bench.row("A").ended_at), (at, at));
}

// A short wait is spent inside the steps: a wave costs less than a wait and a wave. An error is not hastened by it.
#[test]
fn a_short_wait_is_a_wave() {
    let mut bench = Bench::new(json!([["A", QUEUE], ["B", QUEUE]]));
    bench.plan(&[]);
    let mut results = bench.all(Outcome::Pending);
    results[1] = results[1].clone().because("Throttling", "too fast");
    results[1].look_again_ms = Some(4_000);
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!(bench.wave(), ["A"]);
    assert!(bench.items()[0].patience_ms >= 1_000, "the step waits: waves do not chase each other");
}

const API: &str = "AWS::ApiGateway::RestApi";

// One REST API in 30 seconds per account: the others wait for their turn, the one with most behind it goes first.
#[test]
fn deletes_begin_at_the_pace_of_their_quota() {
    let mut bench = Bench::new(json!([["A", API], ["B", API], ["C", API, null, {}, ["Nat"]], ["Nat", NAT], ["Q", QUEUE]]));
    let began = bench.now;
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    assert_eq!(bench.wave(), ["C", "Q"]);
    let results = [bench.result("C", Outcome::Deleted), bench.result("Q", Outcome::Deleted)];
    bench.now += 1_000;
    assert_eq!(bench.plan(&results), PlanNext::Wave);
    assert_eq!(bench.wave(), ["Nat"], "the pace of one type holds back no other");
    let results = bench.all(Outcome::Deleted);
    assert_eq!(bench.plan(&results), PlanNext::Wait, "held back is not done");
    assert_eq!(bench.seconds(), 29);
    bench.now = began + 29_999;
    assert_eq!(bench.plan(&[]), PlanNext::Wait);
    bench.now = began + 30_000;
    assert_eq!(bench.plan(&[]), PlanNext::Wave);
    assert_eq!(bench.wave(), ["A"]);
    let results = bench.all(Outcome::Pending);
    bench.now += 30_000;
    bench.plan(&results);
    assert!(bench.wave().contains(&"B".to_owned()), "a delete that goes on has begun long ago: {:?}", bench.wave());
}

// Five resources of an API a second.
#[test]
fn a_pace_lets_several_begin_together() {
    let rows: Vec<_> = (0..12).map(|n| json!([format!("R{n:02}"), "AWS::ApiGateway::Resource"])).collect();
    let mut bench = Bench::new(rows.into());
    let mut waves = Vec::new();
    bench.plan(&[]);
    while bench.record.answer.next != PlanNext::Finish {
        waves.push((bench.wave().len(), bench.seconds()));
        let results = bench.all(Outcome::Deleted);
        bench.now += bench.seconds() * 1000;
        bench.plan(&results);
    }
    assert_eq!(waves, [(5, 0), (0, 1), (5, 0), (0, 1), (2, 0)]);
}
