//! A sweep: many stacks torn down by one execution. What it is asked ([`request`]), which stacks it takes and why it leaves
//! the others ([`select`]), who goes before whom ([`order`]), what is started now and what is held ([`group`]), and what
//! came of it ([`summary`]). Pure, as everything in this crate: the planner reads and writes, the state machine starts
//! the teardowns.

pub mod group;
pub mod order;
pub mod payload;
pub mod request;
pub mod select;
pub mod summary;

#[cfg(test)]
mod testing;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::request::account_of_role;
use crate::run::ExecutionArn;
use crate::{Millis, Options, Target};

/// The format of a sweep's objects in the bucket. A newer one is refused.
pub const RECORD_VERSION: u64 = 1;

/// One sweep, as it is derived from its execution and handed on by the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sweep {
    /// The start instant, `-`, eight hex digits of the execution's hash.
    pub sweep_id: String,
    /// ARN of the sweep's execution.
    pub execution: String,
    /// The sweep's own name.
    pub name: String,
    /// The execution's start: the instant that ages and due dates are measured from.
    pub timestamp: Millis,
    /// Look, answer selection, order and plans, change nothing.
    pub dry_run: bool,
    /// What is allowed beyond plain teardowns.
    #[serde(default)]
    pub options: Options,
    /// Where stacks are looked for.
    pub places: Vec<Place>,
}

/// A bucket and prefix in which stacks are looked for, and which of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The role to work through; none for the app's own account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The state bucket that the request names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// The state prefix.
    pub prefix: String,
    /// Which stacks.
    pub select: Select,
    /// Where the bucket was found, once it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

/// A state bucket that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// The account that owns the stacks and the bucket.
    pub account: String,
    /// The bucket.
    pub bucket: String,
    /// Its region.
    pub bucket_region: String,
}

/// Which stacks of a place. Every criterion that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Select {
    /// Exactly these names (or those that match `names`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// Names that match one of these globs (or that `stacks` lists).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Only in these regions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// Only those whose state was last written longer ago than this, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<u64>,
    /// Only those that carry this tag with a date in the past.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_tag: Option<String>,
    /// None whose name matches one of these globs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// At most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Place {
    /// Whether both look for stacks of one region in one account's bucket and prefix, as far as that is known: a stack could
    /// be chosen by both.
    pub fn overlaps(&self, other: &Place) -> bool {
        let account = |place: &Place| place.target.as_ref().map(|target| account_of_role(&target.role_arn).to_owned());
        let bucket = match (&self.found, &other.found) {
            (Some(one), Some(two)) => one == two,
            _ => account(self) == account(other) && self.bucket == other.bucket,
        };
        let (one, two) = (&self.select.regions, &other.select.regions);
        let region = one.is_empty() || two.is_empty() || one.iter().any(|region| two.contains(region));
        bucket && region && self.prefix == other.prefix
    }
}

impl Sweep {
    /// What outputs and Causes say of a sweep: its id and name.
    pub fn told(&self) -> Value {
        json!({"sweepId": self.sweep_id, "name": self.name})
    }

    /// The account of a place: the one whose bucket was found, else the role's, else the app's own.
    pub fn account(&self, place: usize) -> String {
        let of = self.places.get(place);
        let found = of.and_then(|place| place.found.as_ref()).map(|found| found.account.as_str());
        let role = of.and_then(|place| place.target.as_ref()).map(|target| account_of_role(&target.role_arn));
        let home = ExecutionArn::parse(&self.execution).map(|arn| arn.account);
        found.or(role).or(home).unwrap_or_default().to_owned()
    }

    /// Where a place's objects lie: selection, groups, report. Outside the state prefix, as run records are.
    pub fn folder(&self, place: usize) -> String {
        let prefix = self.places.get(place).map_or("", |place| place.prefix.as_str());
        format!("ebb/sweeps/{prefix}/{}.{place}/", self.sweep_id)
    }

    /// Who was chosen in a place, in which order, and why the others were not.
    pub fn selection_key(&self, place: usize) -> String {
        format!("{}selection.json", self.folder(place))
    }

    /// How far a group of connected stacks has come.
    pub fn group_key(&self, place: usize, group: usize) -> String {
        format!("{}group-{group}.json", self.folder(place))
    }

    /// What came of a place.
    pub fn report_key(&self, place: usize) -> String {
        format!("{}report.json", self.folder(place))
    }
}
