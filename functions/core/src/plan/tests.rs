//! What the planner does with the outcomes of steps, against the sentences of the contract and the design.

mod crashed_looks;
mod drain;
mod first_record;
mod golden;
mod looks;
mod nested;
mod pace;
mod props;
mod settling;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Moment, Weights, advance, begin, items};
use crate::graph::testing;
use crate::payload::PlanNext;
use crate::record::{ResourceRecord, RunRecord};
use crate::wave::Item;
use crate::{Code, Graph, Millis, Outcome, Run, Status, StepResult};

const T: Millis = 1_765_000_000_000;
const QUEUE: &str = "AWS::SQS::Queue";
const TABLE: &str = "AWS::DynamoDB::Table";
const TOKEN: &str = "arn:aws:lambda:us-east-1:123456789012:function:handler";

fn run(options: Value) -> Run {
    let mut run = json!({
        "runId": "20261130T154512123Z-1a2b3c4d", "execution": "arn:aws:states:us-east-1:123456789012:execution:m:n",
        "owner": "ebb@123456789012:us-east-1/m/n", "timestamp": T, "account": "123456789012", "bucket": "b",
        "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false, "options": {},
    });
    run["dryRun"] = json!(options["dryRun"] == json!(true));
    run["options"] = options;
    serde_json::from_value(run).unwrap()
}

/// A run whose clock a test moves.
struct Bench {
    graph: Graph,
    weights: Weights,
    record: RunRecord,
    now: Millis,
    drive: u32,
    paused: bool,
}

impl Bench {
    /// Before the first plan.
    fn of(graph: Graph, run: Run) -> Self {
        let stacks: BTreeMap<String, String> = graph.nodes().iter().map(|n| (n.stack.clone(), "digest".to_owned())).collect();
        let record = begin(run, &graph, stacks, Vec::new(), T);
        let weights = Weights::of(&graph);
        Bench { graph, weights, record, now: T, drive: 1, paused: false }
    }

    /// Rows as in [`testing::rows`], with no option set.
    fn new(rows: Value) -> Self {
        Self::of(testing::graph(rows), run(json!({})))
    }

    fn with(rows: Value, options: Value) -> Self {
        Self::of(testing::graph(rows), run(options))
    }

    /// The next plan.
    fn plan(&mut self, results: &[StepResult]) -> PlanNext {
        let moment = Moment { now: self.now, drive: self.drive, paused: self.paused };
        self.record = advance(self.record.clone(), &self.graph, &self.weights, results, moment);
        self.record.answer.next
    }

    fn items(&self) -> Vec<Item> {
        items(&self.record, &self.graph, &self.weights)
    }

    /// Ids of the wave, without the stack's name when it is `S`.
    fn wave(&self) -> Vec<String> {
        self.items().into_iter().map(|item| item.id.strip_prefix("S/").unwrap_or(&item.id).to_owned()).collect()
    }

    /// A result for a row in the wave that is out.
    fn result(&self, id: &str, outcome: Outcome) -> StepResult {
        StepResult::new(&full(id), self.record.step, outcome)
    }

    /// The same outcome for the whole wave.
    fn all(&self, outcome: Outcome) -> Vec<StepResult> {
        self.items().iter().map(|item| StepResult::new(&item.id, item.step, outcome)).collect()
    }

    /// Plans on, everything being deleted at once, until the answer is no wave.
    fn delete_all(&mut self) -> PlanNext {
        loop {
            let results = self.all(Outcome::Deleted);
            let next = self.plan(&results);
            if next != PlanNext::Wave {
                return next;
            }
        }
    }

    fn row(&self, id: &str) -> &ResourceRecord {
        &self.record.resources[&full(id)]
    }

    fn status(&self, id: &str) -> Status {
        self.row(id).status
    }

    fn code(&self, id: &str) -> Option<&str> {
        self.row(id).code.as_deref()
    }

    fn reason(&self, id: &str) -> &str {
        self.row(id).reason.as_deref().unwrap_or_default()
    }

    fn seconds(&self) -> u64 {
        self.record.answer.seconds
    }
}

fn full(id: &str) -> String {
    if id.contains('/') { id.to_owned() } else { format!("S/{id}") }
}

fn crashed(bench: &Bench, id: &str) -> StepResult {
    bench.result(id, Outcome::Pending).because(&Code::WorkerCrashed.name(), "Lambda.Unknown")
}
