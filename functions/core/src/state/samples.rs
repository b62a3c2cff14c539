//! The sample states of `tests/states`, for this crate's tests.

use serde_json::Value;

use super::{Layout, StateDoc};

pub(crate) const LEGACY: &str = include_str!("../../../../tests/states/01-v1-legacy.json");
pub(crate) const REST_API: &str = include_str!("../../../../tests/states/02-v2-rest-api.json");
pub(crate) const POLICIES: &str = include_str!("../../../../tests/states/03-v5-policies.json");
pub(crate) const NETWORK: &str = include_str!("../../../../tests/states/04-v8-vpc-lambda-nat.json");
pub(crate) const LATEST: &str = include_str!("../../../../tests/states/05-v11-latest.json");
pub(crate) const NESTED_PARENT: &str = include_str!("../../../../tests/states/06-v10-nested-parent.json");
pub(crate) const NESTED_CHILD: &str = include_str!("../../../../tests/states/07-v10-nested-child.json");
pub(crate) const EXPORTER: &str = include_str!("../../../../tests/states/08-v9-exporter.json");
pub(crate) const IMPORTER: &str = include_str!("../../../../tests/states/09-v9-importer.json");

/// All of them, with their layout.
pub(crate) const ALL: [(&str, Layout); 9] = [
    (LEGACY, Layout::Legacy),
    (REST_API, Layout::Regional),
    (POLICIES, Layout::Regional),
    (NETWORK, Layout::Regional),
    (LATEST, Layout::Regional),
    (NESTED_PARENT, Layout::Regional),
    (NESTED_CHILD, Layout::Regional),
    (EXPORTER, Layout::Regional),
    (IMPORTER, Layout::Regional),
];

pub(crate) fn doc(sample: &str, layout: Layout) -> StateDoc {
    StateDoc::parse(sample.as_bytes(), layout).expect("a sample passes the gate")
}

/// The text of a sample after a change.
pub(crate) fn edit(sample: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut state: Value = serde_json::from_str(sample).expect("a sample is JSON");
    change(&mut state);
    state.to_string()
}

/// A region-keyed sample after a change, through the gate.
pub(crate) fn changed(sample: &str, change: impl FnOnce(&mut Value)) -> StateDoc {
    doc(&edit(sample, change), Layout::Regional)
}
