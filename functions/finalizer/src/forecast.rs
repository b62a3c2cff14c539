//! What a dry run foretells: cdkd's levels and the typical time of the longest chain, from the states as they are now.
//! Read-only and at best effort: a state that cannot be read leaves the plan without them.

use ebb_core::plan::Weights;
use ebb_core::record::RunRecord;
use ebb_core::{Graph, Node, Status};
use ebb_store::{Bucket, state_file};

/// The order of a teardown and how long it may take.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Ids by level, the first to go first. A teardown does not wait for levels: what is free goes at once.
    pub(crate) levels: Vec<Vec<String>>,
    /// Typical seconds of the longest chain.
    pub(crate) longest_path_seconds: u64,
}

/// The forecast of a dry run.
pub(crate) async fn forecast(bucket: &dyn Bucket, record: &RunRecord) -> Option<Forecast> {
    let mut nodes = Vec::new();
    for stack in record.stacks.keys() {
        let file = state_file::read(bucket, &record.run.key().sibling(stack)).await.ok()??;
        nodes.extend(file.doc.rows().map(|row| Node { id: format!("{stack}/{}", row.logical_id), stack: stack.clone(), row }));
    }
    let graph = Graph::build(nodes).ok()?;
    let goes = |id: &str| record.resources.get(id).is_none_or(|r| r.status != Status::Retained);
    let ids = |level: Vec<usize>| -> Vec<String> {
        let mut ids: Vec<String> = level.into_iter().map(|n| graph.nodes()[n].id.clone()).filter(|id| goes(id)).collect();
        ids.sort_unstable();
        ids
    };
    let levels = graph.levels().into_iter().map(ids).filter(|level| !level.is_empty()).collect();
    Some(Forecast { levels, longest_path_seconds: Weights::of(&graph).longest().ceil() as u64 })
}
