//! The first record of a run: every resource, and what is decided about it before any step.

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::payload::PlanNext;
use crate::record::{Answer, RECORD_VERSION, ResourceRecord, RunRecord, StackLedger};
use crate::run::Run;
use crate::state::Policy;
use crate::status::Status;
use crate::{Code, Millis, text};

/// A record at step 0, before its first plan. `digests` are those of the state files as read under the lock.
pub fn begin(run: Run, graph: &Graph, digests: BTreeMap<String, String>, orphans: Vec<String>, now: Millis) -> RunRecord {
    let skip_snapshots = run.options.skip_final_snapshot;
    let resources = graph
        .nodes()
        .iter()
        .map(|node| {
            let row = &node.row;
            let mut resource = ResourceRecord {
                resource_type: row.shown_type(),
                physical_id: row.physical_id.as_deref().map(text::display).unwrap_or_default(),
                ..ResourceRecord::default()
            };
            let mut decide = |status: Status, code: Code, reason: String| {
                resource.status = status;
                resource.code = Some(code.name());
                resource.reason = Some(reason);
                resource.ended_at = now;
            };
            match row.policy() {
                Policy::Retain => {
                    resource.status = Status::Retained;
                    resource.reason = Some("kept by its DeletionPolicy".into());
                    resource.ended_at = now;
                }
                Policy::Unknown(policy) => {
                    decide(Status::Failed, Code::UnknownDeletionPolicy, format!("the DeletionPolicy {policy} is not known"));
                }
                // A nested stack is found by name and logical id; its physical id is made up and never sent anywhere.
                Policy::Delete | Policy::Snapshot if row.is_nested_stack() => {}
                Policy::Delete | Policy::Snapshot => {
                    let key = run.key().sibling(&node.stack);
                    if let Err(no_address) = row.to_resource(&key, skip_snapshots) {
                        decide(no_address.outcome().into(), no_address.code(), no_address.reason().into());
                    }
                }
            }
            (node.id.clone(), resource)
        })
        .collect();
    RunRecord {
        record_version: RECORD_VERSION,
        run,
        step: 0,
        at: now,
        started_at: now,
        drive: 0,
        events: 0,
        wave: 0,
        answer: Answer { next: PlanNext::Wait, seconds: 0 },
        quiet_at: 0,
        stacks: digests
            .into_iter()
            .map(|(stack, digest)| (stack, StackLedger { before: digest.clone(), after: digest, removed: false }))
            .collect(),
        resources,
        orphans,
        warnings: graph.warnings.clone(),
        absent: false,
        refusal: None,
        ended: None,
    }
}
