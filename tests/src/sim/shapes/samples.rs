//! The sample states, and graphs of real CDK stacks.

use std::sync::OnceLock;

use ebb_core::provider::is_custom_resource;
use serde_json::{Map, Value, json};

use super::{File, Shape, row_of, state_of};

/// The sample states.
pub fn samples() -> &'static [Shape] {
    static SAMPLES: OnceLock<Vec<Shape>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("a sample state");
        let file = |stack: &str, text: &str| File { stack: stack.into(), legacy: false, state: read(text) };
        let one = |name: &str, region: &str, stack: &str, text: &str| Shape::new(name, region, stack, vec![file(stack, text)]);
        let (parent, child) = ("Storefront", "Storefront~SearchNested1B");
        let parent_text = include_str!("../../../states/06-v10-nested-parent.json");
        let child_text = include_str!("../../../states/07-v10-nested-child.json");
        let importer_text = include_str!("../../../states/09-v9-importer.json");
        let mut legacy = one("01", "ap-northeast-1", "LegacyMailer", include_str!("../../../states/01-v1-legacy.json"));
        legacy.files[0].legacy = true;
        let mut by_itself = one("07", "us-east-1", child, child_text);
        by_itself.nested_by_itself = true;
        let mut imported = one("08 imported", "us-east-1", "SharedBus", include_str!("../../../states/08-v9-exporter.json"));
        imported.refused = Some("ActiveImports");
        imported.bystanders.push(("cdkd/Billing/us-east-1/state.json".into(), importer_text.into()));
        vec![
            legacy,
            one("02", "us-west-2", "OrdersApi", include_str!("../../../states/02-v2-rest-api.json")),
            one("03", "eu-central-1", "LedgerData", include_str!("../../../states/03-v5-policies.json")),
            one("04", "us-east-1", "EdgeNetwork", include_str!("../../../states/04-v8-vpc-lambda-nat.json")),
            one("05", "eu-west-1", "TenantPortal", include_str!("../../../states/05-v11-latest.json")),
            Shape::new("06", "us-east-1", parent, vec![file(parent, parent_text), file(child, child_text)]),
            by_itself,
            one("08", "us-east-1", "SharedBus", include_str!("../../../states/08-v9-exporter.json")),
            imported,
            one("09", "us-east-1", "Billing", importer_text),
        ]
    })
}

/// Real graphs: every sixth of the list by size.
pub fn constructs() -> &'static [Shape] {
    static CONSTRUCTS: OnceLock<Vec<Shape>> = OnceLock::new();
    CONSTRUCTS.get_or_init(|| {
        let all: Vec<Value> = serde_json::from_str(include_str!("../../../graphs/constructs.json")).expect("the graphs");
        let size = |graph: &Value| graph["resources"].as_object().map_or(0, Map::len);
        let mut all: Vec<&Value> = all.iter().collect();
        all.sort_by_key(|graph| (size(graph), graph["name"].as_str().unwrap_or_default().to_owned()));
        all.into_iter().step_by(6).map(construct).collect()
    })
}

fn construct(graph: &Value) -> Shape {
    let name = graph["name"].as_str().unwrap_or_default();
    let stack: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut resources = Map::new();
    for (id, row) in graph["resources"].as_object().into_iter().flatten() {
        let resource_type = row["t"].as_str().unwrap_or_default();
        // The graphs have no properties; a custom resource without a handler would refuse the whole run.
        let properties = match is_custom_resource(resource_type) {
            true => json!({"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:elsewhere"}),
            false => json!({}),
        };
        let row = row_of(resource_type, &format!("{stack}-{id}"), properties, row["d"].clone());
        resources.insert(id.clone(), row);
    }
    let state = state_of(&stack, "us-east-1", resources);
    Shape::new(name, "us-east-1", &stack, vec![File { stack: stack.clone(), legacy: false, state }])
}
