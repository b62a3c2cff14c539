//! Random graphs and random outcomes: what must hold at every step of every run.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{MAX_ITEMS, QUIET};
use super::{Bench, QUEUE, TABLE, TOKEN, run};
use crate::graph::testing::rows_in;
use crate::payload::PlanNext;
use crate::status::transition;
use crate::{Code, Graph, Outcome, Status, StepResult};

const TYPES: [&str; 6] = [QUEUE, TABLE, "Custom::Seed", "AWS::EC2::NatGateway", "AWS::S3::Bucket", "AWS::CloudFormation::Stack"];

/// A row: which stack (an index into those that there are by then), which type, and which earlier siblings need it.
type Plan = Vec<(usize, usize, Vec<bool>)>;

fn plans() -> impl Strategy<Value = Plan> {
    let row = (any::<usize>(), 0..TYPES.len(), prop::collection::vec(prop::bool::weighted(0.25), 20));
    prop::collection::vec(row, 1..20)
}

/// Stacks of a plan as nodes: nested rows open stacks of their own, up to two levels down.
fn graph(plan: &Plan) -> Graph {
    let mut stacks: Vec<(String, Vec<Value>)> = vec![("S".into(), Vec::new())];
    for (n, (stack, of_type, needs)) in plan.iter().enumerate() {
        let at = stack % stacks.len();
        let deepest = stacks[at].0.matches('~').count() == 2;
        let resource_type = if deepest && TYPES[*of_type] == "AWS::CloudFormation::Stack" { QUEUE } else { TYPES[*of_type] };
        let id = format!("R{n:02}");
        // It is needed by earlier rows, so that no cycle is recorded.
        for (earlier, row) in stacks[at].1.iter_mut().enumerate() {
            if needs.get(earlier) == Some(&true) {
                row[4].as_array_mut().unwrap().push(json!(id));
            }
        }
        let policy = format!("{}~{id}", stacks[at].0);
        stacks[at].1.push(json!([id, resource_type, null, {"ServiceToken": TOKEN}, []]));
        if resource_type == "AWS::CloudFormation::Stack" {
            stacks.push((policy, Vec::new()));
        }
    }
    Graph::build(stacks.into_iter().flat_map(|(stack, rows)| rows_in(&stack, rows.into())).collect()).unwrap()
}

/// What becomes of an item, by a number.
fn result(item: &crate::Item, luck: u8) -> Option<StepResult> {
    let new = |outcome| StepResult::new(&item.id, item.step, outcome);
    if item.look {
        return match luck % 8 {
            0 => Some(new(Outcome::Pending).because(&Code::DataGuard.name(), "holds data")),
            1 => Some(new(Outcome::Pending).because(&Code::WorkerCrashed.name(), "crash")),
            2 => Some(new(Outcome::Failed).because("AccessDenied", "no")),
            3 => Some(new(Outcome::Pending).because(&Code::FenceShut.name(), "shut")),
            4 => None,
            _ => Some(new(Outcome::Pending)),
        };
    }
    match luck % 16 {
        0 => Some(new(Outcome::Failed).because("AccessDenied", "no")),
        1 => Some(new(Outcome::Skipped).because("MaskedAddress", "masked")),
        2 | 3 => Some(new(Outcome::Pending).because(&Code::WorkerCrashed.name(), "crash")),
        4 => None,
        5 => Some(StepResult { look_again_ms: Some(u64::from(luck) * 977), ..new(Outcome::Pending) }),
        6 => Some(StepResult { look_again_ms: Some(0), memo: Some(json!(luck)), ..new(Outcome::Pending) }),
        7 => Some(StepResult { retry: 1, ..new(Outcome::Deleted) }),
        8 => Some(new(Outcome::Pending).because(&Code::FenceShut.name(), "shut")),
        _ => Some(StepResult { already: luck > 200, ..new(Outcome::Deleted) }),
    }
}

/// Whether a change between two plans is made of legal ones.
fn is_legal(from: Status, to: Status) -> bool {
    const ALL: [Status; 8] = [
        Status::Waiting,
        Status::InFlight,
        Status::Pending,
        Status::Deleted,
        Status::Retained,
        Status::Skipped,
        Status::Failed,
        Status::Blocked,
    ];
    let mut reached = HashSet::from([from]);
    // Back from a wave, settled or not, and into the next one.
    for _ in 0..2 {
        let next: Vec<Status> =
            reached.iter().flat_map(|&at| ALL.into_iter().filter(move |&to| transition(at, to).is_ok())).collect();
        reached.extend(next);
    }
    reached.contains(&to)
}

/// Whether a settled row leaves what it needs free, by the words of the design; written apart from the planner's own.
fn frees(bench: &Bench, n: usize) -> bool {
    let node = &bench.graph.nodes()[n];
    let row = &bench.record.resources[&node.id];
    match row.status {
        Status::Deleted | Status::Retained => true,
        Status::Skipped if node.row.resource_type.starts_with("Custom::") => false,
        Status::Skipped if node.row.is_nested_stack() => bench.graph.needed_by(n).iter().all(|&by| frees(bench, by)),
        Status::Skipped => row.code.as_deref() != Some("Guarded"),
        _ => false,
    }
}

fn drive(plan: &Plan, luck: &[u8], options: Value) -> Result<(), TestCaseError> {
    let mut bench = Bench::of(graph(plan), run(options));
    let mut luck = luck.iter().copied();
    let (mut sent, mut last_doubt, mut plans) = (Vec::<StepResult>::new(), None, 0);
    let mut results: Vec<StepResult> = Vec::new();
    loop {
        plans += 1;
        prop_assert!(plans < 3_000, "it ends");
        let before = bench.record.clone();
        bench.plan(&results);

        // The same again: a plan is a function of what it is given. Late results and repeated ones change nothing.
        let planned = bench.record.clone();
        bench.record = before.clone();
        let mut noisy: Vec<StepResult> = sent.iter().filter(|old| old.step != before.step).cloned().collect();
        noisy.extend(results.iter().cloned());
        noisy.extend(results.iter().cloned());
        bench.plan(&noisy);
        prop_assert_eq!(&bench.record, &planned);
        prop_assert_eq!(bench.items(), bench.items());
        prop_assert_eq!(bench.record.step, before.step + 1);
        if let Some(refusal) = &bench.record.refusal {
            prop_assert_eq!(refusal.ending, crate::Ending::Refused, "{}", refusal);
        }

        for (id, row) in &bench.record.resources {
            let old = &before.resources[id];
            prop_assert!(
                row.status == old.status || is_legal(old.status, row.status),
                "{id}: {:?} → {:?}",
                old.status,
                row.status
            );
            prop_assert!(!old.status.is_settled() || row == old, "{id} was settled");
            prop_assert!(row.status != Status::Deleted || row.ended_at > 0);
        }
        let items = bench.items();
        prop_assert!(items.len() <= MAX_ITEMS);
        prop_assert_eq!(items.is_empty(), bench.record.answer.next != PlanNext::Wave);
        for item in &items {
            let n = bench.graph.node(&item.id);
            prop_assert!(!bench.graph.nodes()[n].row.is_nested_stack(), "a nested row reaches no worker");
            prop_assert!(item.attempt == 1 && item.step == bench.record.step && item.started_at > 0);
            // Never before all that need it are settled without blocking it.
            prop_assert!(item.look || bench.graph.needed_by(n).iter().all(|&by| frees(&bench, by)), "{}", item.id);
        }
        if items.iter().any(|item| item.look) {
            prop_assert!(items.iter().all(|item| item.look));
            prop_assert!(bench.record.resources.values().all(|row| row.status != Status::Deleted), "looks come before deletes");
        }

        results.clear();
        match bench.record.answer.next {
            PlanNext::Wave => {
                for item in &items {
                    let result = result(item, luck.next().unwrap_or(255));
                    let doubt = result.as_ref().is_none_or(|r| r.retry > 0 || r.code.as_deref() == Some("WorkerCrashed"));
                    if doubt && !item.look {
                        last_doubt = Some(bench.now + 900);
                    }
                    results.extend(result);
                }
                sent.extend(results.iter().cloned());
                bench.now += 900;
            }
            PlanNext::Wait => bench.now += bench.record.answer.seconds * 1000,
            PlanNext::Again => bench.drive += 1,
            PlanNext::Stop => prop_assert!(false, "the pure planner never stops"),
            PlanNext::Finish => break,
        }
    }

    // The end: nothing may still be running, and everything is settled, exactly as far as failures allow.
    if let Some(doubt) = last_doubt {
        prop_assert!(bench.now >= doubt + QUIET.as_millis() as u64, "{} {doubt}", bench.now);
    }
    if bench.record.refusal.is_some() {
        prop_assert!(bench.record.resources.values().all(|row| row.status != Status::Deleted));
        return Ok(());
    }
    for (n, node) in bench.graph.nodes().iter().enumerate() {
        let row = &bench.record.resources[&node.id];
        prop_assert!(row.status.is_settled(), "{}: {:?}", node.id, row.status);
        let free = bench.graph.needed_by(n).iter().all(|&by| frees(&bench, by));
        if node.row.is_nested_stack() {
            let child = format!("{}~{}", node.stack, node.row.logical_id);
            let under = |stack: &str| stack == child || stack.starts_with(&format!("{child}~"));
            let children = || bench.graph.nodes().iter().filter(|node| under(&node.stack));
            let any = |status| children().any(|child| bench.record.resources[&child.id].status == status);
            let want = match () {
                () if any(Status::Failed) => Status::Failed,
                () if any(Status::Skipped) => Status::Skipped,
                () if !free => Status::Blocked,
                () => Status::Deleted,
            };
            prop_assert_eq!(row.status, want, "{}", node.id);
            if let Some(ledger) = bench.record.stacks.get(&child) {
                prop_assert_eq!(ledger.removed, want == Status::Deleted);
            }
        } else if row.code.as_deref() != Some("Guarded") {
            // Looks wait for nothing, so one can fail a row that would have been blocked.
            let failed_by_looks = row.code.as_deref() == Some("WorkerCrashed") && row.wave == 0;
            prop_assert!(
                (row.status == Status::Blocked) != free || failed_by_looks,
                "{}: {:?}, free {free}",
                node.id,
                row.status
            );
        }
    }
    Ok(())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn every_run_ends_with_everything_settled(plan in plans(), luck in prop::collection::vec(any::<u8>(), 0..120)) {
        drive(&plan, &luck, json!({"skipGuarded": true}))?;
    }

    #[test]
    fn a_run_without_looks(plan in plans(), luck in prop::collection::vec(any::<u8>(), 0..120)) {
        drive(&plan, &luck, json!({"deleteData": true, "removeProtection": true}))?;
    }

    #[test]
    fn a_guarded_run_deletes_everything_or_nothing_begins(plan in plans(), luck in prop::collection::vec(any::<u8>(), 0..120)) {
        drive(&plan, &luck, json!({}))?;
    }
}
