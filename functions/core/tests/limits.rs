//! The limits of a teardown, in a process of their own, so that its memory can be read: a state of 50 MB, ten thousand
//! resources planned to their end, and the largest wave that a state's payload has to hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use ebb_core::payload::{PlanAnswer, PlanNext, PlanRequest, StepRequest};
use ebb_core::plan::{self, EVENT_BUDGET, MAX_ITEMS, Moment, Weights};
use ebb_core::state::{Layout, MAX_BYTES};
use ebb_core::{Graph, Node, Outcome, Run, RunRecord, Span, StackKey, StateDoc, StepResult};
use serde_json::{Value, json};

const T: u64 = 1_765_000_000_000;
/// The data that passes between two states.
const MAX_PAYLOAD: usize = 256 * 1024;

/// The most memory that this process ever had, in bytes; `None` where `/proc` is not.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? * 1024)
}

/// A state of 50 MB is read, judged, trimmed and planned, in memory that is a small multiple of it.
#[test]
fn a_state_of_fifty_megabytes() {
    const SIZE: usize = 50_000_000;
    let before = peak_memory();
    // Names and values as short as they are in real properties: read as values they take several times their text.
    let members: Vec<String> = (0..60)
        .map(|n| format!(r#""Member{n}": ["arn:aws:sqs:us-east-1:123456789012:q\u00e9", 2.50, {{"Key": "k{n}"}}]"#))
        .collect();
    let properties = members.join(", ");
    let mut body = String::with_capacity(SIZE + 8192);
    body.push_str(r#"{"version": 11, "stackName": "Big", "region": "us-east-1", "fromTomorrow": [1, 2.50], "resources": {"#);
    let mut rows = 0;
    while body.len() < SIZE {
        let separator = if rows == 0 { "" } else { "," };
        body.push_str(&format!(
            r#"{separator}"Row{rows}": {{"physicalId": "q-{rows}", "resourceType": "AWS::SQS::Queue", "properties": {{{properties}}}}}"#
        ));
        rows += 1;
    }
    body.push_str("}}");

    let doc = StateDoc::parse(body.as_bytes(), Layout::Regional).unwrap();
    assert_eq!(doc.resource_count(), rows);
    let gone: Vec<String> = (0..rows).step_by(100).map(|n| format!("Row{n}")).collect();
    let gone: BTreeSet<&str> = gone.iter().map(String::as_str).collect();
    let trimmed = doc.trim(&gone, T, &StackKey::new("cdkd", "Big", "us-east-1"));
    assert!(trimmed.len() > SIZE * 98 / 100 && trimmed.ends_with(b"}"));
    // Body, document, trimmed body: what a plan holds while it writes.
    let written = peak_memory();
    drop(trimmed);
    let graph = Graph::build(Node::all([("Big", &doc)])).unwrap();
    assert_eq!(graph.nodes().len(), rows);
    if let (Some(before), Some(written), Some(planned)) = (before, written, peak_memory()) {
        let used = |peak: usize| peak.saturating_sub(before);
        println!(
            "state of {} MB: {} MB to write it, {} MB to plan it",
            body.len() / 1_000_000,
            used(written) / 1_000_000,
            used(planned) / 1_000_000
        );
        assert!(used(written) < 6 * SIZE, "{} bytes to write a state of {SIZE}", used(written));
        // Rows read as values: what the planner's memory is chosen for.
        assert!(used(planned) < 18 * SIZE, "{} bytes to plan a state of {SIZE}", used(planned));
    }
}

fn run(stack: &str) -> Run {
    serde_json::from_value(json!({
        "runId": "20261130T154512123Z-1a2b3c4d",
        "execution": format!("arn:aws:states:ap-southeast-1:123456789012:execution:{}:{}", "m".repeat(80), "n".repeat(80)),
        "owner": "o".repeat(256), "timestamp": T, "account": "123456789012", "bucket": "b".repeat(63),
        "bucketRegion": "ap-southeast-1", "prefix": "p".repeat(256), "stack": stack, "region": "ap-southeast-1", "dryRun": false,
        "target": {"roleArn": format!("arn:aws:iam::210987654321:role/{}", "r".repeat(512)), "externalId": "x".repeat(1224)},
        "options": {"removeProtection": true, "deleteData": true, "lockWait": 86_400},
    }))
    .unwrap()
}

/// Ten thousand queues of a stack, in chains of ten.
fn ten_thousand(stack: &str, id: impl Fn(usize) -> String, resource_type: &str) -> Graph {
    // What a custom resource's delete asks.
    let properties = json!({"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:handler"});
    let rows: serde_json::Map<String, Value> = (0..10_000)
        .map(|n| {
            let needs = if n % 10 == 9 { json!([]) } else { json!([id(n + 1)]) };
            (id(n), json!({"resourceType": resource_type, "physicalId": id(n), "properties": properties, "dependencies": needs}))
        })
        .collect();
    let doc = StateDoc::parse(json!({"resources": rows}).to_string().as_bytes(), Layout::Regional).unwrap();
    Graph::build(Node::all([(stack, &doc)])).unwrap()
}

/// Results for the wave that is out: every seventh is not done yet, the others are.
fn results(record: &RunRecord, graph: &Graph, weights: &Weights) -> Vec<StepResult> {
    let items = plan::items(record, graph, weights);
    let result = |(n, item): (usize, &ebb_core::Item)| {
        let pending = n % 7 == 3 && item.memo.is_none();
        let outcome = if pending { Outcome::Pending } else { Outcome::Deleted };
        StepResult {
            look_again_ms: pending.then_some(0),
            memo: pending.then(|| json!(n)),
            ms: 800,
            ..StepResult::new(&item.id, item.step, outcome)
        }
        .fit()
    };
    items.iter().enumerate().map(result).collect()
}

/// Ten thousand resources in one stack, in as many drives as their history needs, each wave and its results within a payload.
#[test]
fn ten_thousand_resources_to_the_end() {
    let graph = ten_thousand("Large", |n| format!("Queue{n:05}"), "AWS::SQS::Queue");
    let weights = Weights::of(&graph);
    let mut record = plan::begin(run("Large"), &graph, BTreeMap::from([("Large".into(), "d".into())]), Vec::new(), T);
    let (mut now, mut drive, mut plans) = (T, 1, 0);
    let mut taken: Vec<StepResult> = Vec::new();
    loop {
        record = plan::advance(record, &graph, &weights, &taken, Moment { now, drive, paused: false });
        plans += 1;
        assert!(plans < 400, "it ends");
        assert!(record.events <= EVENT_BUDGET);
        taken = results(&record, &graph, &weights);
        assert!(taken.len() <= MAX_ITEMS);
        match record.answer.next {
            PlanNext::Wave => now += 1_000,
            PlanNext::Wait => now += record.answer.seconds * 1_000,
            PlanNext::Again => drive += 1,
            PlanNext::Finish => break,
            PlanNext::Stop => panic!("{:?}", record.refusal),
        }
    }
    assert_eq!(record.counts().deleted, 10_000);
    assert!(drive > 5, "{drive} drives");
    assert_eq!(record.drive, drive);
    // The record is read and written whole with every wave.
    let size = serde_json::to_vec(&record).unwrap().len();
    assert!(size < 5_000_000, "{size}");
}

/// The largest wave: a hundred items with the longest names and memos, its results as large as a result can be, and all of
/// it at once where the machine asks for the next plan.
#[test]
fn the_largest_wave_fits_a_payload() {
    // A nested stack's longest name, and CloudFormation's longest logical id and type.
    let stack = format!("S~{}", "c".repeat(510));
    let graph = ten_thousand(&stack, |n| format!("{n:0>255}"), &format!("Custom::{}", "T".repeat(52)));
    let weights = Weights::of(&graph);
    let mut record = plan::begin(run(&stack), &graph, BTreeMap::new(), Vec::new(), T);
    let memo = json!({"token": "m".repeat(StepResult::MAX_MEMO_BYTES - 12)});
    let moment = Moment { now: T, drive: 1, paused: false };
    record = plan::advance(record, &graph, &weights, &[], moment);
    let large = |item: &ebb_core::Item| {
        let result = StepResult {
            memo: Some(memo.clone()),
            look_again_ms: Some(0),
            ms: 60_000,
            retry: 3,
            ..StepResult::new(&item.id, item.step, Outcome::Pending)
        };
        let result = result.because(&"C".repeat(100), &"why ".repeat(25_000)).fit();
        let size = serde_json::to_vec(&result).unwrap().len();
        // A name of this length and a memo leave no room for a reason.
        assert!(result.memo.is_some() && size <= 1_600, "{size}");
        result
    };
    let small = |item: &ebb_core::Item| {
        let result =
            StepResult::new(&item.id, item.step, Outcome::Failed).because(&"C".repeat(100), &"why ".repeat(25_000)).fit();
        assert!(serde_json::to_vec(&result).unwrap().len() <= StepResult::MAX_BYTES);
        result
    };
    let items = plan::items(&record, &graph, &weights);
    let results: Vec<StepResult> = items.iter().map(large).collect();
    record = plan::advance(record, &graph, &weights, &results, moment);

    let mut items = plan::items(&record, &graph, &weights);
    for item in &mut items {
        let etag = format!("\"{}\"", "e".repeat(Span::LONGEST_ETAG - 2));
        item.span = Some(Span { etag, first: MAX_BYTES as u64, last: MAX_BYTES as u64 });
    }
    assert_eq!(items.len(), MAX_ITEMS);
    assert!(items.iter().all(|item| item.memo.is_some()));
    let results: Vec<StepResult> = items.iter().map(small).collect();
    let one = StepRequest { run: record.run.clone(), item: items[0].clone(), retry: 0 };
    assert!(serde_json::to_vec(&one).unwrap().len() < MAX_PAYLOAD / 10);
    let answer = PlanAnswer {
        next: PlanNext::Wave,
        step: record.step,
        wave: Some(record.wave),
        items,
        seconds: None,
        error: None,
        cause: None,
    };
    let request = PlanRequest { run: record.run.clone(), drive: 1, step: record.step, results };
    // What lies between the Map and the Plan state: run, drive, plan with its items, results.
    let between = json!({"run": record.run, "drive": 1, "plan": answer, "results": request.results}).to_string().len();
    println!("{between} bytes between two states");
    assert!(between < MAX_PAYLOAD, "{between}");
}
