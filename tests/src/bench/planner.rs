//! How long one plan takes, and how that grows with the stack: graph, weights, decision, items and the record as JSON, as
//! the planner does it for every wave. Wall time; the growth exponent is what a machine does not change.

#![allow(clippy::disallowed_methods, reason = "what is measured is real time")]

use std::collections::BTreeMap;
use std::time::Instant;

use ebb_core::plan::{self, Moment, Weights};
use ebb_core::state::Layout;
use ebb_core::{Graph, Node, Refusal, StateDoc};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::makespan;

/// Makes the rows of a stack of so many resources.
type Shape = fn(usize, &mut fastrand::Rng) -> Map<String, Value>;

const SHAPES: [(&str, Shape); 4] = [("chains", chains), ("wide", wide), ("random", random), ("vpc", vpc)];
const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

/// One size of one shape.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub shape: &'static str,
    pub resources: usize,
    /// Milliseconds: state to graph, and everything from there to the answer.
    pub graph_ms: f64,
    pub plan_ms: f64,
    pub record_bytes: usize,
}

/// All sizes of all shapes.
#[derive(Clone, Debug, Serialize)]
pub struct Planner {
    pub rows: Vec<Row>,
    /// The slowest shape's plan of 10,000 resources with its graph, in milliseconds.
    pub plan_ms_10000: f64,
    /// The largest exponent of growth from 1,000 to 10,000 resources.
    pub plan_growth_exponent: f64,
    /// Whether the optimiser was on: without it the milliseconds say nothing.
    pub optimised: bool,
    /// Peak memory of this process while it plans stacks of 100 and of 10,000, in bytes; 0 where it is not known.
    pub peak_bytes_100: u64,
    pub peak_bytes_10000: u64,
}

/// Measures; the least of some tries, for other processes only add.
pub fn measure() -> Result<Planner, Refusal> {
    let mut rows = Vec::new();
    let mut peaks = BTreeMap::new();
    for resources in SIZES {
        forget_peak();
        for (shape, make) in SHAPES {
            rows.push(one(shape, &state(make(resources, &mut fastrand::Rng::with_seed(7))), resources)?);
        }
        peaks.insert(resources, peak_bytes());
    }
    let whole = |row: &Row| row.graph_ms + row.plan_ms;
    let of = |resources: usize| rows.iter().filter(move |row| row.resources == resources);
    let growth = of(1_000).zip(of(10_000)).map(|(small, large)| (whole(large) / whole(small)).log10()).fold(0.0, f64::max);
    let slowest = of(10_000).map(whole).fold(0.0, f64::max);
    let optimised = !cfg!(debug_assertions);
    Ok(Planner {
        plan_ms_10000: slowest,
        plan_growth_exponent: growth,
        optimised,
        peak_bytes_100: peaks[&100],
        peak_bytes_10000: peaks[&10_000],
        rows,
    })
}

fn one(shape: &'static str, doc: &StateDoc, resources: usize) -> Result<Row, Refusal> {
    let (mut graph_ms, mut plan_ms, mut record_bytes) = (f64::MAX, f64::MAX, 0);
    for _ in 0..10 {
        let start = Instant::now();
        let graph = Graph::build(Node::all([("S", doc)]))?;
        graph_ms = graph_ms.min(start.elapsed().as_secs_f64() * 1000.0);
        let record = plan::begin(makespan::run(), &graph, BTreeMap::new(), Vec::new(), 1);
        let start = Instant::now();
        let weights = Weights::of(&graph);
        let record = plan::advance(record, &graph, &weights, &[], Moment { now: 1, drive: 1, paused: false });
        let items = plan::items(&record, &graph, &weights);
        record_bytes = serde_json::to_vec(&record).map_or(0, |body| body.len());
        plan_ms = plan_ms.min(start.elapsed().as_secs_f64() * 1000.0);
        drop(items);
    }
    Ok(Row { shape, resources, graph_ms, plan_ms, record_bytes })
}

fn state(resources: Map<String, Value>) -> StateDoc {
    let body = json!({"resources": resources}).to_string();
    StateDoc::parse(body.as_bytes(), Layout::Regional).unwrap_or_else(|refusal| unreachable!("{refusal}"))
}

fn row(resource_type: &str, id: &str, properties: Value, needs: Vec<String>) -> Value {
    json!({"resourceType": resource_type, "physicalId": id, "properties": properties, "dependencies": needs})
}

fn name(n: usize) -> String {
    format!("Resource{n:05}")
}

/// Chains of ten.
fn chains(size: usize, _: &mut fastrand::Rng) -> Map<String, Value> {
    let needs = |n: usize| if n.is_multiple_of(10) { Vec::new() } else { vec![name(n - 1)] };
    (0..size).map(|n| (name(n), row("AWS::SQS::Queue", &name(n), json!({}), needs(n)))).collect()
}

/// No edges at all.
pub(super) fn wide(size: usize, _: &mut fastrand::Rng) -> Map<String, Value> {
    (0..size).map(|n| (name(n), row("AWS::SNS::Topic", &name(n), json!({}), Vec::new()))).collect()
}

/// Each needs up to three earlier ones.
fn random(size: usize, random: &mut fastrand::Rng) -> Map<String, Value> {
    let mut rows = Map::new();
    for n in 0..size {
        let needs = (0..random.usize(0..4)).filter(|_| n > 0).map(|_| name(random.usize(0..n))).collect();
        rows.insert(name(n), row("AWS::Lambda::Function", &name(n), json!({"Role": "arn:aws:iam::1:role/r"}), needs));
    }
    rows
}

/// Networks of fifty: subnets, route tables, functions, roles and their policies, tied by ids as well.
fn vpc(size: usize, _: &mut fastrand::Rng) -> Map<String, Value> {
    let mut rows = Map::new();
    for n in 0..size {
        let (network, part) = (n / 50, n % 50);
        let of = |part: usize| format!("{}{part}", name(network));
        let (vpc, subnet) = (of(0), of(1 + part % 4));
        let (resource_type, properties, needs) = match part {
            0 => ("AWS::EC2::VPC", json!({}), vec![]),
            1..=4 => ("AWS::EC2::Subnet", json!({"VpcId": vpc}), vec![vpc]),
            5..=8 => ("AWS::EC2::RouteTable", json!({"VpcId": vpc}), vec![vpc]),
            9..=12 => {
                let table = of(part - 4);
                ("AWS::EC2::SubnetRouteTableAssociation", json!({"SubnetId": subnet, "RouteTableId": table}), vec![table, subnet])
            }
            13..=24 => ("AWS::IAM::Role", json!({"RoleName": of(part)}), vec![]),
            25..=36 => ("AWS::IAM::Policy", json!({"Roles": [of(part - 12)]}), vec![of(part - 12)]),
            _ => {
                let role = of(13 + (part - 37) % 12);
                let properties = json!({"Role": format!("arn:aws:iam::1:role/{role}"), "VpcConfig": {"SubnetIds": [subnet]}});
                ("AWS::Lambda::Function", properties, vec![role])
            }
        };
        rows.insert(of(part), row(resource_type, &of(part), properties, needs));
    }
    rows
}

/// Makes Linux measure the peak from here on.
fn forget_peak() {
    // Elsewhere the peak is not known anyway.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// `VmHWM` of Linux.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
