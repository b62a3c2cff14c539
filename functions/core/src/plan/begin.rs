//! The first record of a run: every resource, and what is decided about it before any step.

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::payload::PlanNext;
use crate::provider::{holds_mask, is_custom_resource};
use crate::record::{Answer, Looked, RECORD_VERSION, ResourceRecord, RunRecord, StackLedger};
use crate::run::Run;
use crate::state::Policy;
use crate::status::Status;
use crate::{Code, Millis, Resource, final_snapshot, service_token, text};

/// The handler of a custom resource would take a mask for data.
const MASKED: &str = "a property is masked or dynamic, so its handler is not asked";

/// What a row itself says against its delete.
fn foreseen(row: &Resource) -> Option<Looked> {
    let against = |code: Code, reason: String| Looked { code: Some(code.name()), reason: Some(text::display(&reason)) };
    if let Some(reason) = final_snapshot::unsupported(row) {
        return Some(against(Code::FinalSnapshotUnsupported, reason));
    }
    let no_token = is_custom_resource(&row.resource_type).then(|| service_token::of(&row.properties).err())??;
    Some(against(no_token.code(), no_token.reason().into_owned()))
}

/// A record at step 0, before its first plan. `digests` are those of the state files as read under the lock.
pub fn begin(run: Run, graph: &Graph, digests: BTreeMap<String, String>, orphans: Vec<String>, now: Millis) -> RunRecord {
    let in_order = graph.by_id().iter().map(|&n| &graph.nodes()[n]);
    let resources = in_order
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
                    // Most rows say nothing more than their address, and properties are long.
                    let speaks = row.policy() == Policy::Snapshot || is_custom_resource(&row.resource_type);
                    let read = match speaks {
                        true => row.to_resource(&run.key().sibling(&node.stack), run.options.skip_final_snapshot).map(Some),
                        false => row.address().map(|_| None),
                    };
                    match read {
                        Err(no_address) => {
                            decide(no_address.outcome().into(), no_address.code(), no_address.reason().into());
                        }
                        Ok(Some(row)) if is_custom_resource(&row.resource_type) && holds_mask(&row.properties) => {
                            decide(Status::Skipped, Code::MaskedAddress, MASKED.into());
                        }
                        // As if it had been looked at: it refuses the run, or is left by skipGuarded.
                        Ok(row) => resource.looked = row.as_ref().and_then(foreseen),
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
