//! Prints how each type of the catalogue goes away, as the code has it: one JSON object per line. `make types` makes its table of it.

use std::process::ExitCode;

use ebb_core::Resource;
use ebb_core::provider::ProvisionedBy;
use ebb_providers::{Road, road};
use serde::Deserialize;
use serde_json::{Value, json};

/// The types that cdkd deletes itself, each with the road that is meant for it and why.
const ROWS: &str = include_str!("../../catalogue_rows.json");

#[derive(Deserialize)]
struct Row {
    #[serde(rename = "type")]
    resource_type: String,
    road: String,
    why: String,
}

fn main() -> ExitCode {
    let rows: Vec<Row> = match serde_json::from_str(ROWS) {
        Ok(rows) => rows,
        Err(error) => {
            eprintln!("catalogue_rows.json: {error}");
            return ExitCode::FAILURE;
        }
    };
    for row in &rows {
        println!("{}", describe(row));
    }
    ExitCode::SUCCESS
}

/// A row of a state with nothing but its type.
fn resource(resource_type: &str, snapshot: bool) -> Resource {
    Resource {
        stack: String::new(),
        region: String::new(),
        logical_id: String::new(),
        resource_type: resource_type.replace("::*", "::Any"),
        physical_id: String::new(),
        properties: Default::default(),
        attributes: Default::default(),
        provisioned_by: ProvisionedBy::Sdk,
        snapshot,
    }
}

fn describe(row: &Row) -> Value {
    let of = |snapshot| road(&resource(&row.resource_type, snapshot));
    let (name, def) = match of(false) {
        Ok(Road::Native(def)) => ("native", Some(def)),
        Ok(Road::CloudControl) => ("cloudControl", None),
        Ok(Road::CustomResource) => ("handler", None),
        Ok(Road::NoCall) => ("noCall", None),
        // The planner takes nested stacks apart: their row reaches no worker.
        Err(_) if row.resource_type == "AWS::CloudFormation::Stack" => ("planner", None),
        Err(_) => ("none", None),
    };
    json!({
        "type": row.resource_type,
        "road": name,
        "meant": row.road,
        "why": row.why,
        "looks": def.is_some_and(|def| def.look.is_some()),
        "protected": def.is_some_and(|def| !def.rules.protected.is_empty()),
        "snapshot": of(true).is_ok(),
        "actions": def.map(|def| def.actions).unwrap_or_default(),
    })
}
