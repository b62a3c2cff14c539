use serde_json::{Value, json};

use super::*;
use crate::graph::testing;

const QUEUE: &str = "AWS::SQS::Queue";
const NAT: &str = "AWS::EC2::NatGateway";

fn near(wait: Millis, want: Millis) -> bool {
    wait.abs_diff(want) <= want / 20 + 1
}

// An error waits as long as it asks for, and the longer it lasts the longer; more pages to empty wait for nothing.
#[test]
fn an_error_is_left_alone_longer_and_longer() {
    let look = |elapsed, asked| look_again("a", 1, elapsed, asked, 1.0, 0.0);
    assert_eq!(look(5_000, Asked::RetryAfter(0)), 0);
    assert_eq!(look(5_000, Asked::After(0)), 0);
    assert!(near(look(5_000, Asked::RetryAfter(3_000)), 3_000));
    assert!(near(look(100_000, Asked::RetryAfter(3_000)), 10_000));
    assert!(near(look(0, Asked::RetryAfter(3_600_000)), 3_600_000));
}

// Nobody looks before a delete can be over; then often around its typical time, and ever less often after it.
#[test]
fn looks_are_where_the_end_is_likely() {
    let nat = catalogue::lookup(NAT, false);
    let look = |elapsed, slack| look_again("a", 1, elapsed, Asked::Nothing, spacing(&nat, seconds(elapsed), 0.3), slack);
    assert!((27_000..60_000).contains(&look(0, 0.0)), "{}", look(0, 0.0));
    assert!(look(90_000, 0.0) < 6_000, "{}", look(90_000, 0.0));
    assert!(look(900_000, 0.0) > look(90_000, 0.0));
    assert!(look(10_000_000, 1_000_000.0) <= 126_000, "a look every two minutes, whatever happens");
}

// What has slack is looked at rarely; a step that knows of an earlier change is believed only without it.
#[test]
fn slack_makes_looks_rare() {
    assert!(near(look_again("a", 1, 90_000, Asked::Nothing, 6.0, 500.0), 50_000));
    assert!(near(look_again("a", 1, 0, Asked::After(5_000), 30.0, 0.0), 5_000));
    assert!(near(look_again("a", 1, 0, Asked::After(5_000), 30.0, 500.0), 50_000));
}

/// What is seen of a run with these rows in flight, begun so many seconds ago.
fn outlook<T>(rows: Value, in_flight: &[(&str, u64)], see: impl Fn(&Outlook<'_>, &[usize]) -> T) -> T {
    let graph = testing::graph(rows);
    let weights = Weights::of(&graph);
    let run = serde_json::from_value(json!({
        "runId": "r", "execution": "e", "owner": "o", "timestamp": 1, "account": "1", "bucket": "b", "bucketRegion": "us-east-1",
        "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false, "options": {},
    }));
    let mut record = super::super::begin(run.unwrap(), &graph, Default::default(), Vec::new(), 10_000_000);
    let mut wave = Vec::new();
    for (id, ago) in in_flight {
        let row = record.resources.get_mut(&format!("S/{id}")).unwrap();
        (row.status, row.started_at) = (Status::InFlight, record.at - ago * 1000);
        wave.push(graph.node(&format!("S/{id}")));
    }
    see(&Outlook::of(&record, &graph.by_node(&record.resources), &weights), &wave)
}

fn patience(rows: Value, in_flight: &[(&str, u64)]) -> Vec<Millis> {
    outlook(rows, in_flight, |outlook, wave| outlook.patience(wave))
}

// A second counts for less in a run of an hour than in one of a minute.
#[test]
fn the_longer_the_run_the_rarer_the_looks() {
    let nat = |rows| outlook(rows, &[("Nat", 60)], |outlook, wave| outlook.spacing(wave[0]));
    let alone = nat(json!([["Nat", NAT]]));
    let beside = nat(json!([["Nat", NAT], ["Search", "AWS::OpenSearchService::Domain"]]));
    assert!((2.5..4.5).contains(&alone), "{alone}");
    assert!((10.0..16.0).contains(&beside), "{beside}");
}

// What would be looked at again and again is watched from inside its step, but not thirty of them at a time.
#[test]
fn a_few_are_watched_and_a_crowd_is_not() {
    let watched = |count: usize, ago| {
        let names: Vec<String> = (0..count).map(|n| format!("N{n}")).collect();
        let rows: Vec<Value> = names.iter().map(|name| json!([name, NAT])).collect();
        let in_flight: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), ago)).collect();
        outlook(rows.into(), &in_flight, |outlook, wave| outlook.is_watched(wave[0]))
    };
    assert!(watched(1, 60) && watched(20, 60));
    assert!(!watched(21, 60));
    assert!(!watched(1, 9_000), "what has lasted for hours does not end in the next minute");
}

// What the run waits for is polled inside its step as long as a Lambda may run; without anything else nobody minds.
#[test]
fn a_delete_about_to_end_is_waited_for_inside_the_step() {
    let rows = || json!([["Broker", "AWS::AmazonMQ::Broker", null, {}, ["Queue"]], ["Queue", QUEUE]]);
    assert_eq!(patience(rows(), &[("Broker", 230)]), [25_000]);
    // Just begun it will not end soon.
    assert_eq!(patience(rows(), &[("Broker", 0)]), [0]);
}

// A wave is over when its slowest step is: nobody waits longer than what holds others up can bear.
#[test]
fn nobody_waits_at_the_cost_of_the_critical_path() {
    let rows = json!([
        ["Nat", NAT, null, {}, ["Vpc"]],
        ["Vpc", "AWS::EC2::VPC"],
        ["Slow", NAT],
        ["Queue", QUEUE, null, {}, ["Db"]],
        ["Db", "AWS::RDS::DBInstance"]
    ]);
    let patience = patience(rows, &[("Nat", 90), ("Queue", 0)]);
    assert!(patience[0] <= 1_000, "the queue goes within a second, and the database behind it is what the run waits for");
    assert_eq!(patience[1], 25_000, "the gateway has six minutes of slack");
}

// A custom resource's step listens to its handler for 45 s, so it must begin soon.
#[test]
fn a_custom_resource_is_not_waited_for_long() {
    assert_eq!(
        patience(
            json!([["C", "Custom::Thing", null, {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:f"}]]),
            &[("C", 5)]
        ),
        [8_000]
    );
}

// Forty steps run at a time: many that wait would hold up the rest of their own wave.
#[test]
fn a_crowd_does_not_wait() {
    let rows: Vec<Value> = (0..30).map(|n| json!([format!("N{n}"), NAT])).collect();
    let names: Vec<String> = (0..30).map(|n| format!("N{n}")).collect();
    let in_flight: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 90)).collect();
    assert!(patience(rows.into(), &in_flight).iter().all(|&ms| ms <= 3_000));
}

// Three REST APIs go one in thirty seconds: the last one's turn comes after a minute.
#[test]
fn a_pace_makes_the_longest_chain_longer() {
    let api = "AWS::ApiGateway::RestApi";
    let one = Weights::of(&testing::graph(json!([["A", api]]))).longest();
    let three = Weights::of(&testing::graph(json!([["A", api], ["B", api], ["C", api]]))).longest();
    assert!((three - one - 60.0).abs() < 1e-9, "{one} {three}");
}
