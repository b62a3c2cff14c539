//! The graphs of real CDK stacks in `tests/graphs`, as stacks that can be planned.

use std::collections::BTreeMap;

use ebb_core::provider::is_custom_resource;
use ebb_core::state::Row;
use ebb_core::{Graph, Node, Refusal};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One template's graph.
#[derive(Debug, Deserialize)]
pub struct Template {
    /// Where it comes from.
    pub name: String,
    /// Resources by logical id.
    pub resources: BTreeMap<String, Resource>,
}

/// A resource's type and what it depends on.
#[derive(Debug, Deserialize)]
pub struct Resource {
    /// Its type.
    #[serde(rename = "t")]
    pub resource_type: String,
    /// Logical ids.
    #[serde(rename = "d")]
    pub depends_on: Vec<String>,
}

/// All of them.
pub fn constructs() -> Result<Vec<Template>, serde_json::Error> {
    serde_json::from_str(include_str!("../../graphs/constructs.json"))
}

impl Template {
    /// The stack's graph as Ebb sees it. There are no resolved ids, so type rules tie all pairs of a stack.
    pub fn graph(&self) -> Result<Graph, Refusal> {
        Graph::build(
            self.resources
                .iter()
                .map(|(logical_id, resource)| {
                    let row = Row {
                        logical_id: logical_id.clone(),
                        resource_type: resource.resource_type.clone(),
                        physical_id: Some(logical_id.clone()),
                        properties: properties(&resource.resource_type),
                        attributes: Default::default(),
                        dependencies: resource.depends_on.clone(),
                        deletion_policy: None,
                        provisioned_by: Default::default(),
                    };
                    Node::new(&self.name, row)
                })
                .collect(),
        )
    }
}

/// The graphs have none; a custom resource without a handler would refuse the run.
fn properties(resource_type: &str) -> Map<String, Value> {
    let token = ("ServiceToken".to_owned(), "arn:aws:lambda:us-east-1:123456789012:function:handler".into());
    is_custom_resource(resource_type).then_some(token).into_iter().collect()
}
