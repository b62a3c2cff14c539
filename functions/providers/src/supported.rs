//! The types that are looked after one by one, as the code routes them, and the page about them: `docs/supported-types.md` is made
//! here by `make types`.

use std::fmt::Write;

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Options, Resource};
use serde::{Deserialize, Serialize};

use crate::road::{Road, road};
use crate::services::cloud_control::permissions;

/// The types that cdkd deletes by itself, each with the road that is meant for it and why.
const ROWS: &str = include_str!("../catalogue_rows.json");

/// The planner takes nested stacks apart: their row reaches no worker.
const NESTED: &str = "AWS::CloudFormation::Stack";

#[derive(Deserialize)]
struct Row {
    #[serde(rename = "type")]
    resource_type: String,
    road: String,
    why: String,
    #[serde(default)]
    refuses: Option<Guard>,
}

/// What a type's look refuses for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Guard {
    /// It is protected against deletion, and the request does not lift that.
    Protection,
    /// It holds data, and neither the request nor the stack says that it may go.
    Data,
}

/// One type.
#[derive(Clone, Debug, Serialize)]
pub struct Supported {
    /// The CloudFormation type name; `Custom::*` stands for all of them.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// `native`, `cloudControl`, `handler`, `noCall`, `planner`, or `none` when the code knows no way.
    pub road: &'static str,
    /// The road that is meant for it.
    pub meant: String,
    /// Why this road.
    pub why: String,
    /// Whether it is looked at before the first delete.
    pub looks: bool,
    /// What the look is meant to refuse for.
    pub refuses: Option<Guard>,
    /// Whether a `Snapshot` policy is honoured.
    pub snapshot: bool,
    /// IAM actions of the step and the look, or of Cloud Control's handler, sorted.
    pub actions: Vec<&'static str>,
}

/// Every row of the catalogue; an error when the list cannot be read.
pub fn supported() -> Result<Vec<Supported>, serde_json::Error> {
    let rows: Vec<Row> = serde_json::from_str(ROWS)?;
    Ok(rows.into_iter().map(describe).collect())
}

fn describe(row: Row) -> Supported {
    let of = |snapshot| road(&resource(&row.resource_type, snapshot), &Options::default(), false);
    let snapshot = of(true).is_ok();
    let (road, def) = match of(false) {
        Ok(Road::Native(def)) => ("native", Some(def)),
        Ok(Road::CloudControl) => ("cloudControl", None),
        Ok(Road::CustomResource) => ("handler", None),
        Ok(Road::NoCall) => ("noCall", None),
        Err(_) if row.resource_type == NESTED => ("planner", None),
        Err(_) => ("none", None),
    };
    let handler = || permissions::of(&row.resource_type).filter(|_| road == "cloudControl");
    let actions = def.map(|def| def.actions).or_else(handler).unwrap_or_default().to_vec();
    Supported {
        resource_type: row.resource_type,
        road,
        meant: row.road,
        why: row.why,
        looks: def.is_some_and(|def| def.look.is_some()),
        refuses: row.refuses,
        snapshot,
        actions,
    }
}

/// A row of a state with nothing but its type.
fn resource(resource_type: &str, snapshot: bool) -> Resource {
    Resource {
        stack: String::new(),
        region: String::new(),
        logical_id: String::new(),
        resource_type: resource_type.replace('*', "Any"),
        physical_id: String::new(),
        properties: Default::default(),
        attributes: Default::default(),
        provisioned_by: ProvisionedBy::Sdk,
        snapshot,
    }
}

const HEAD: &str = "\
# Supported types

Made from the code by `make types`; do not edit. These are the types that cdkd deletes by itself. Every other type goes through Cloud
Control, as does a row that cdkd made through it. What a type's handler there calls is in the app's policies for those that
`cloud_control/permissions.rs` lists; the parameter `ExtraDeletePolicyArn` brings the rights for more.

| road | what it means |
| --- | --- |
| native | a step of its own, in `functions/providers/src/services/` |
| Cloud Control | DeleteResource, and its request is followed to the end |
| handler | the function or topic that made it is asked to delete it |
| no call | nothing in AWS to delete: the record goes |
| planner | a nested stack: its rows are part of the plan |

*Refuses*: what is looked at before anything is deleted, and refuses the run unless the request or the stack allows it
(`removeProtection`, `deleteData`) or leaves it (`skipGuarded`). *Snapshot*: the policy `Snapshot` is honoured; any other type refuses it.

| type | road | why | refuses | snapshot | IAM actions |
| --- | --- | --- | --- | --- | --- |
";

/// The page, as Markdown.
pub fn page(rows: &[Supported]) -> String {
    let mut page = HEAD.to_owned();
    for row in rows {
        let refuses = match row.refuses {
            Some(Guard::Protection) => "protection",
            Some(Guard::Data) => "data guard",
            None => "",
        };
        let snapshot = if row.snapshot { "yes" } else { "" };
        let actions = row.actions.iter().map(|action| format!("`{action}`")).collect::<Vec<_>>().join(" ");
        let line = format!("| `{}` | {} | {} | {refuses} | {snapshot} | {actions} |", row.resource_type, said(row.road), row.why);
        let _ = writeln!(page, "{}", line.replace("  ", " "));
    }
    page
}

fn said(road: &str) -> &str {
    match road {
        "cloudControl" => "Cloud Control",
        "noCall" => "no call",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_once_and_takes_the_road_that_is_meant() {
        let rows = supported().unwrap();
        assert_eq!(rows.len(), 141, "what cdkd deletes by itself");
        assert!(rows.windows(2).all(|w| w[0].resource_type < w[1].resource_type), "sorted, none twice");
        let astray: Vec<_> = rows.iter().filter(|row| row.road != row.meant).map(|row| (&row.resource_type, row.road)).collect();
        assert!(astray.is_empty(), "not the road of catalogue_rows.json: {astray:?}");
        assert!(rows.iter().all(|row| !row.why.is_empty()), "each row says why");
        let unlike: Vec<_> = rows.iter().filter(|row| row.looks != row.refuses.is_some()).map(|row| &row.resource_type).collect();
        assert!(
            unlike.is_empty(),
            "looked at, but catalogue_rows.json does not say what for, or the other way round: {unlike:?}"
        );
    }

    #[test]
    fn the_committed_page_is_this() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/supported-types.md");
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(committed == page(&supported().unwrap()), "docs/supported-types.md is old: run `make types`");
    }
}
