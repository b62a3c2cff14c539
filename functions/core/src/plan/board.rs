//! What a plan works on: the record with its resources at hand by node, so that none is looked for by its id again and again.

use std::collections::BTreeMap;

use super::schedule::Weights;
use crate::ending::{Ending, Refusal};
use crate::graph::Graph;
use crate::record::{ResourceRecord, RunRecord};
use crate::status::{Status, transition};
use crate::text;

pub(super) struct Board<'a> {
    /// Without its resources.
    pub(super) record: &'a mut RunRecord,
    pub(super) graph: &'a Graph,
    pub(super) weights: &'a Weights,
    rows: Vec<Option<&'a mut ResourceRecord>>,
}

impl<'a> Board<'a> {
    /// `resources` have been taken out of `record`.
    pub(super) fn of(
        record: &'a mut RunRecord,
        resources: &'a mut BTreeMap<String, ResourceRecord>,
        graph: &'a Graph,
        weights: &'a Weights,
    ) -> Self {
        Board { record, graph, weights, rows: graph.by_node(resources) }
    }

    /// `stack/LogicalId` of a node.
    pub(super) fn id(&self, node: usize) -> &'a str {
        &self.graph.nodes()[node].id
    }

    /// What the record knows of a node; one that it does not know was never this run's to delete.
    pub(super) fn row(&self, node: usize) -> Option<&ResourceRecord> {
        self.rows[node].as_deref()
    }

    /// As [`Self::row`], to be changed.
    pub(super) fn row_mut(&mut self, node: usize) -> Option<&mut ResourceRecord> {
        self.rows[node].as_deref_mut()
    }

    /// What the record knows of each node.
    pub(super) fn rows(&self) -> Vec<Option<&ResourceRecord>> {
        self.rows.iter().map(Option::as_deref).collect()
    }

    /// Where a node stands.
    pub(super) fn status(&self, node: usize) -> Option<Status> {
        self.row(node).map(|row| row.status)
    }

    /// The nodes that stand there.
    pub(super) fn with_status(&self, status: Status) -> impl Iterator<Item = (usize, &ResourceRecord)> {
        let rows = self.rows.iter().enumerate().filter_map(|(node, row)| Some((node, row.as_deref()?)));
        rows.filter(move |(_, row)| row.status == status)
    }

    /// Gives a resource a new status. An illegal change is a fault of ours: the run stops rather than goes on from nonsense.
    pub(super) fn set(&mut self, node: usize, to: Status) {
        let (at, id) = (self.record.at, self.id(node));
        let Some(row) = self.row_mut(node) else { return };
        match transition(row.status, to) {
            Ok(status) => {
                row.status = status;
                if status.is_settled() {
                    row.ended_at = at;
                    // The next attempt of another run starts afresh; a custom resource's deliveries are found by its attempt.
                    row.memo = row.memo.take().filter(|_| status != Status::Deleted);
                }
            }
            Err(illegal) => {
                let message = format!("{}: {illegal}", text::display(id));
                self.record.refusal.get_or_insert(Refusal::new(Ending::Error, message));
            }
        }
    }

    /// Says of a resource why it is where it is.
    pub(super) fn explain(&mut self, node: usize, code: impl Into<String>, reason: impl AsRef<str>) {
        if let Some(row) = self.row_mut(node) {
            row.code = Some(code.into());
            row.reason = Some(text::display(reason.as_ref())).filter(|r| !r.is_empty());
        }
    }
}
