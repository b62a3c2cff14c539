//! Rows as nodes, for this crate's tests.

use serde_json::{Value, json};

use super::{Graph, Node};
use crate::state::{Layout, StateDoc};

/// The rows of a state.
pub(crate) fn nodes(stack: &str, doc: &StateDoc) -> Vec<Node> {
    Node::all([(stack, doc)])
}

/// The rows of a stack `S`, each `[logical id, type, physical id, properties, dependencies]`; what is left out at the end is
/// empty, and the physical id then is the logical one.
pub(crate) fn rows(rows: Value) -> Vec<Node> {
    rows_in("S", rows)
}

/// As [`rows`], of another stack.
pub(crate) fn rows_in(stack: &str, rows: Value) -> Vec<Node> {
    let mut resources = serde_json::Map::new();
    for row in rows.as_array().expect("a list of rows") {
        let id = row[0].as_str().expect("a logical id");
        let physical_id = if row[2].is_null() { &row[0] } else { &row[2] };
        let properties = row[3].as_object().cloned().unwrap_or_default();
        let dependencies = row[4].as_array().cloned().unwrap_or_default();
        resources.insert(
            id.to_owned(),
            json!({"resourceType": row[1], "physicalId": physical_id, "properties": properties, "dependencies": dependencies}),
        );
    }
    let body = json!({"resources": resources}).to_string();
    nodes(stack, &StateDoc::parse(body.as_bytes(), Layout::Regional).expect("rows pass the gate"))
}

/// The graph of a stack's rows.
pub(crate) fn graph(rows: Value) -> Graph {
    Graph::build(self::rows(rows)).expect("no cycle")
}

impl Graph {
    /// The edges without the stack's name, `a>b`, when it is `S`.
    pub(crate) fn arrows(&self) -> Vec<String> {
        let name = |id: &str| id.strip_prefix("S/").unwrap_or(id).to_owned();
        self.edges().into_iter().map(|(a, b)| format!("{}>{}", name(a), name(b))).collect()
    }

    /// The node of that id.
    pub(crate) fn node(&self, id: &str) -> usize {
        self.nodes().iter().position(|node| node.id == id).expect(id)
    }
}
