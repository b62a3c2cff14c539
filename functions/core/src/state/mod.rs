//! A stack's state as cdkd writes it. What is written back is the text that was read: only the members that a teardown
//! changes are made anew, everything else (unknown fields, key order, number text) is carried along unparsed.

mod defects;
mod members;
mod parse;
mod region;
mod row;
mod trim;

#[cfg(test)]
pub(crate) mod props;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;

pub use members::Members;
pub use parse::{MAX_BYTES, MAX_DEPTH, MAX_INDENTED, NEWEST_VERSION, imports_of, peek_region};
pub use region::{Belonging, BodyRegion, RegionNote};
pub use row::{NoAddress, Policy, Row};

use crate::{Ending, Refusal, text};

/// The two layouts of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `{prefix}/{stack}/{region}/state.json`.
    Regional,
    /// `{prefix}/{stack}/state.json`, before regions were part of the key.
    Legacy,
}

/// A state that passed the gate: its version is known and every row can be read.
#[derive(Clone)]
pub struct StateDoc {
    layout: Layout,
    version: Option<u64>,
    region: BodyRegion,
    /// Members of the root in order; `resources` keeps its place with `null`, its rows are below.
    top: IndexMap<String, Box<RawValue>>,
    resources: IndexMap<String, Box<RawValue>>,
    /// Where each of them lies in the body that was read, its name included.
    spans: Vec<Range<usize>>,
    orphans: Vec<String>,
}

impl fmt::Debug for StateDoc {
    /// Never contents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateDoc({:?}, version {:?}, {} resources)", self.layout, self.version, self.resources.len())
    }
}

/// A read of another stack's value: a strong one (`imports`) or a weak one (`outputReads`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The stack that is read.
    pub source_stack: String,
    /// Its region, as recorded.
    pub source_region: String,
    /// The export's or output's name; may be a mask, never to be resolved.
    pub name: String,
}

impl Import {
    /// Whether it reads `stack` in `region`. Regions are compared trimmed and in lower case, names exactly.
    pub fn reads(&self, stack: &str, region: &str) -> bool {
        let normal = |r: &str| r.trim().to_lowercase();
        self.source_stack == stack && normal(&self.source_region) == normal(region)
    }
}

/// What a nested stack's record says of its parent; display-safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The parent's name.
    pub stack: String,
    /// The row in the parent.
    pub logical_id: String,
    /// The parent's region; empty when not recorded.
    pub region: String,
}

impl StateDoc {
    /// Which layout of key it was read from.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The schema version; absent in the oldest files.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The body's own region.
    pub fn region(&self) -> &BodyRegion {
        &self.region
    }

    /// When it was last written, in milliseconds; `None` when it does not say so.
    pub fn last_modified(&self) -> Option<crate::Millis> {
        self.top.get("lastModified").and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// How many resources it records.
    pub fn resource_count(&self) -> usize {
        self.resources.len()
    }

    /// Neither resources nor orphans: nothing that anybody has to be told of.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.orphans.is_empty()
    }

    /// The logical ids, in the file's order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.resources.keys().map(String::as_str)
    }

    /// Whether there is such a row.
    pub fn contains(&self, logical_id: &str) -> bool {
        self.resources.contains_key(logical_id)
    }

    /// One row, read from its text.
    pub fn row(&self, logical_id: &str) -> Option<Row> {
        let (id, text) = self.resources.get_key_value(logical_id)?;
        // The gate has read every row once, so none is left out here.
        row::read(id, text).ok()
    }

    /// The bytes of a row in the body that was read, its name included: what [`Row::alone`] reads.
    pub fn span(&self, logical_id: &str) -> Option<Range<usize>> {
        self.spans.get(self.resources.get_index_of(logical_id)?).cloned()
    }

    /// All rows in the file's order, each read from its text when it is its turn.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.resources.iter().filter_map(|(id, text)| row::read(id, text).ok())
    }

    /// Logical ids of what an earlier rollback left in AWS; a teardown lists them and does not delete them.
    pub fn orphans(&self) -> &[String] {
        &self.orphans
    }

    /// Names of the outputs; any means that other stacks may import from this one.
    pub fn output_names(&self) -> Vec<String> {
        self.top.get("outputs").and_then(|o| Members::parse(o.get()).ok()).map(|m| m.names()).unwrap_or_default()
    }

    /// The outputs that are exported: `None` is unknown, so that every output may be; not an array counts as none.
    pub fn export_names(&self) -> Option<Vec<String>> {
        let names = self.top.get("exportNames")?;
        Some(parse::elements(names).into_iter().filter_map(|e| serde_json::from_str(e.get()).ok()).collect())
    }

    /// Strong reads of other stacks' exports.
    pub fn imports(&self) -> Vec<Import> {
        parse::reads(self.top.get("imports").map(Box::as_ref), "exportName")
    }

    /// Weak reads of other stacks' outputs: they order teardowns and never refuse one.
    pub fn output_reads(&self) -> Vec<Import> {
        parse::reads(self.top.get("outputReads").map(Box::as_ref), "outputName")
    }

    /// The parent, when this is a nested stack's record.
    pub fn parent(&self) -> Option<Parent> {
        let field = |name: &str| self.top.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let stack = field("parentStack").filter(|v| !v.is_null() && v.as_str() != Some(""))?;
        Some(Parent {
            stack: text::display_value(Some(&stack)),
            logical_id: text::display_value(field("parentLogicalId").as_ref()),
            region: text::display_value(field("parentRegion").as_ref()),
        })
    }

    /// Refuses to tear a nested stack down by itself, unless the request allows it.
    pub fn refuse_nested(&self, allowed: bool) -> Result<(), Refusal> {
        match self.parent() {
            Some(parent) if !allowed => Err(Refusal::new(
                Ending::NestedChild,
                format!(
                    "NESTED_STACK_CHILD_DIRECT_DESTROY: this is the nested stack {} of {}; tear {} down, or set allowNestedChild",
                    text::cut(&parent.logical_id, 255),
                    text::cut(&parent.stack, 255),
                    text::cut(&parent.stack, 255),
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The first row whose tags carry `tag`, the owner's word that the stack is not to be torn down.
    pub fn protected_by(&self, tag: &str) -> Option<String> {
        self.rows().find(|row| row.protected_by(tag)).map(|row| row.logical_id)
    }
}
