//! What a dry run foretells: the order of the deletes and the typical time of the longest chain, from the states as they are now.
//! Read-only and at best effort: a state that cannot be read leaves the plan without them.

use ebb_core::plan::Weights;
use ebb_core::record::RunRecord;
use ebb_core::{Graph, Node};
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
        nodes.extend(Node::all([(stack.as_str(), &file.doc)]));
    }
    let graph = Graph::build(nodes).ok()?;
    Some(Forecast { levels: levels(&graph, record), longest_path_seconds: Weights::of(&graph).longest().ceil() as u64 })
}

/// Each row as early as it can be: in the level after the last row that needs it. What is kept holds nothing up.
fn levels(graph: &Graph, record: &RunRecord) -> Vec<Vec<String>> {
    let id = |node: usize| graph.nodes()[node].id.as_str();
    let goes = |node: usize| record.resources.get(id(node)).is_none_or(|r| !r.status.is_settled());
    let mut level = vec![0; graph.nodes().len()];
    let mut levels: Vec<Vec<String>> = Vec::new();
    for &node in graph.in_order() {
        level[node] = graph.needed_by(node).iter().map(|&by| level[by] + usize::from(goes(by))).max().unwrap_or(0);
        if goes(node) {
            levels.resize(levels.len().max(level[node] + 1), Vec::new());
            levels[level[node]].push(id(node).to_owned());
        }
    }
    levels.iter_mut().for_each(|ids| ids.sort_unstable());
    levels
}

#[cfg(test)]
mod tests {
    use ebb_core::state::Layout;
    use ebb_core::{StateDoc, Status};
    use serde_json::json;

    use super::*;
    use crate::testing::{record, resource};

    /// What is free goes at once; what is kept holds nothing up.
    #[test]
    fn a_row_is_in_the_level_after_what_needs_it() {
        let row =
            |needs: &[&str]| json!({"physicalId": "x", "resourceType": "AWS::X::Y", "properties": {}, "dependencies": needs});
        let rows = json!({
            "Last": row(&[]), "Mid": row(&["Last"]), "First": row(&["Mid"]), "Free": row(&[]), "Kept": row(&["Under"]),
            "Under": row(&[]),
        });
        let body = json!({"version": 9, "stackName": "S", "region": "us-west-2", "resources": rows}).to_string();
        let doc = StateDoc::parse(body.as_bytes(), Layout::Regional).unwrap();
        let graph = Graph::build(Node::all([("S", &doc)])).unwrap();
        let mut record = record();
        record.resources.insert("S/Kept".into(), resource("AWS::X::Y", Status::Retained));
        assert_eq!(levels(&graph, &record), [vec!["S/First", "S/Free", "S/Under"], vec!["S/Mid"], vec!["S/Last"]]);
    }
}
