//! One row of `resources` as a teardown reads it. What is written back is the row's text, never this.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::members::{Members, Pairs, kind};
use crate::provider::{Code, ProvisionedBy, Resource, is_custom_resource, is_masked, names_cluster};
use crate::{Outcome, StackKey, text};

/// A row, read. `Debug` never shows properties.
#[derive(Clone, PartialEq)]
pub struct Row {
    /// Its key in `resources`.
    pub logical_id: String,
    /// Its type.
    pub resource_type: String,
    /// The primary address; `None` when it is missing, empty or not a string, which fails this row only.
    pub physical_id: Option<String>,
    /// Resolved create-time properties: secrets may be in here.
    pub properties: Map<String, Value>,
    /// The GetAtt cache; empty when it is missing or not an object.
    pub attributes: Map<String, Value>,
    /// Logical ids of what it needs; ids that are not in the stack may be among them.
    pub dependencies: Vec<String>,
    /// `deletionPolicy` as recorded.
    pub deletion_policy: Option<Value>,
    /// Which road created it; everything but `cc-api` is the service's own API.
    pub provisioned_by: ProvisionedBy,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.logical_id, self.resource_type)
    }
}

/// The effective deletion policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Delete it.
    Delete,
    /// Make no call at all; the row goes with the record at a clean end.
    Retain,
    /// Take a final snapshot, then delete it.
    Snapshot,
    /// A policy that is not known (display-safe): the row fails, for deleting would be a guess.
    Unknown(String),
}

/// Why a row cannot be handed to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAddress {
    /// No physical id, or one that is no text.
    Missing,
    /// The physical id is a mask.
    Masked,
}

impl NoAddress {
    /// What becomes of the row: its record stays either way.
    pub fn outcome(self) -> Outcome {
        match self {
            NoAddress::Missing => Outcome::Failed,
            NoAddress::Masked => Outcome::Skipped,
        }
    }

    /// The row code.
    pub fn code(self) -> Code {
        match self {
            NoAddress::Missing => Code::MalformedPhysicalId,
            NoAddress::Masked => Code::MaskedAddress,
        }
    }

    /// For people.
    pub fn reason(self) -> &'static str {
        match self {
            NoAddress::Missing => "the state records no physical id for it",
            NoAddress::Masked => "the recorded physical id is masked",
        }
    }
}

/// Says what is wrong with a row that does not pass the gate, naming fields only. Properties that hold what JavaScript
/// cannot have written (a number beyond a float's range, half a surrogate pair as text) count as unreadable.
pub(super) fn judge(logical_id: &str, raw: &RawValue) -> Result<(), String> {
    if kind(raw) != "an object" {
        return Err(format!("is {}, not an object", kind(raw)));
    }
    let row = Members::parse(raw.get()).map_err(|_| NO_TEXT)?;
    if let Some(twice) = &row.duplicate {
        return Err(format!("has its field {} twice", super::defects::name(twice)));
    }
    of_fields(logical_id, |field| row.get(field)).map(drop)
}

/// Reads a row that has passed the gate.
pub(super) fn read(logical_id: &str, raw: &RawValue) -> Result<Row, String> {
    let row: Pairs<'_> = serde_json::from_str(raw.get()).map_err(|_| NO_TEXT)?;
    of_fields(logical_id, |field| row.get(field))
}

const NO_TEXT: &str = "holds a name that is no text";

fn of_fields<'a>(logical_id: &str, get: impl Fn(&str) -> Option<&'a RawValue>) -> Result<Row, String> {
    let must = |field: &str, what: &str| match get(field) {
        None => format!("`{field}` is missing"),
        Some(_) => format!("`{field}` is not {what}"),
    };
    let string = |field: &str| get(field).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let object = |field: &str| get(field).and_then(|raw| serde_json::from_str::<Map<String, Value>>(raw.get()).ok());
    Ok(Row {
        logical_id: logical_id.to_owned(),
        resource_type: string("resourceType").ok_or_else(|| must("resourceType", "a string"))?,
        physical_id: string("physicalId").filter(|id| !id.is_empty()),
        properties: object("properties").ok_or_else(|| must("properties", "an object that can be read"))?,
        attributes: object("attributes").unwrap_or_default(),
        dependencies: match get("dependencies") {
            None => Vec::new(),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| must("dependencies", "an array of logical ids"))?,
        },
        // A policy that cannot be read must not be taken for none.
        deletion_policy: get("deletionPolicy").map(|raw| serde_json::from_str(raw.get()).unwrap_or_default()),
        provisioned_by: match string("provisionedBy").as_deref() {
            Some("cc-api") => ProvisionedBy::CloudControl,
            _ => ProvisionedBy::Sdk,
        },
    })
}

impl Row {
    /// A row that was read without the rest of its state, as [`super::StateDoc::span`] names it. `None` for anything else, and
    /// for a row of another name.
    pub fn alone(bytes: &[u8], logical_id: &str) -> Option<Row> {
        let object = format!("{{{}}}", std::str::from_utf8(bytes).ok()?);
        let members = Members::parse(&object).ok()?;
        match members.entries.first() {
            Some((name, raw)) if name == logical_id && members.entries.len() == 1 && members.duplicate.is_none() => {
                read(name, raw).ok()
            }
            _ => None,
        }
    }

    /// Its type as records and items tell it: display-safe, at most 256 bytes.
    pub fn shown_type(&self) -> String {
        text::cut(&text::display(&self.resource_type), 256)
    }

    /// The effective policy. Databases without one take a snapshot by default, as CloudFormation and newer cdkd do.
    pub fn policy(&self) -> Policy {
        match self.deletion_policy.as_ref() {
            None if self.snapshots_by_default() => Policy::Snapshot,
            None => Policy::Delete,
            Some(Value::String(policy)) => match policy.as_str() {
                "Delete" => Policy::Delete,
                "Retain" | "RetainExceptOnCreate" => Policy::Retain,
                "Snapshot" => Policy::Snapshot,
                other => Policy::Unknown(text::cut(&text::display(other), 64)),
            },
            Some(other) => Policy::Unknown(text::kind(other).to_owned()),
        }
    }

    fn snapshots_by_default(&self) -> bool {
        match self.resource_type.as_str() {
            "AWS::RDS::DBCluster" => true,
            // A member's data is the cluster's.
            "AWS::RDS::DBInstance" => !names_cluster(&self.properties),
            _ => false,
        }
    }

    /// The physical id, when a provider can be given it.
    pub fn address(&self) -> Result<&str, NoAddress> {
        match self.physical_id.as_deref() {
            None => Err(NoAddress::Missing),
            // A handler chooses its id, and may choose one that only looks masked.
            Some(id) if id == "***" || is_masked(id) && !is_custom_resource(&self.resource_type) => Err(NoAddress::Masked),
            Some(id) => Ok(id),
        }
    }

    /// The row as a provider needs it. `skip_final_snapshot` is the request's word that Snapshot means Delete.
    pub fn to_resource(&self, key: &StackKey, skip_final_snapshot: bool) -> Result<Resource, NoAddress> {
        let physical_id = self.address()?.to_owned();
        Ok(Resource {
            stack: key.stack.clone(),
            region: key.region.clone(),
            logical_id: self.logical_id.clone(),
            resource_type: self.resource_type.clone(),
            physical_id,
            properties: self.properties.clone(),
            attributes: self.attributes.clone(),
            provisioned_by: self.provisioned_by,
            snapshot: !skip_final_snapshot && self.policy() == Policy::Snapshot,
        })
    }

    /// Whether this row is a nested stack.
    pub fn is_nested_stack(&self) -> bool {
        self.resource_type == "AWS::CloudFormation::Stack"
    }

    /// Whether its tags carry `tag` with any value but `false` (also a masked one: protecting too much is mended by hand).
    pub fn protected_by(&self, tag: &str) -> bool {
        self.tagged(tag).any(|value| match value {
            Some(Value::Bool(value)) => *value,
            Some(Value::String(value)) => !value.trim().eq_ignore_ascii_case("false"),
            _ => true,
        })
    }

    /// The values of `tag`; `None` for one that is no text.
    pub fn tag_values(&self, tag: &str) -> Vec<Option<String>> {
        self.tagged(tag).map(|value| value.and_then(Value::as_str).map(str::to_owned)).collect()
    }

    /// Values of a tag, which is looked for in every property whose name ends in `Tags`, as lists of pairs and as maps.
    fn tagged<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = Option<&'a Value>> {
        let pair = move |entry: &'a Value, names: [&str; 2]| {
            (entry.get(names[0]).and_then(Value::as_str) == Some(tag)).then(|| entry.get(names[1]))
        };
        let of = self.properties.iter().filter(|(name, _)| name.to_ascii_lowercase().ends_with("tags"));
        of.flat_map(move |(_, tags)| match tags {
            Value::Array(tags) => {
                tags.iter().filter_map(|t| pair(t, ["Key", "Value"]).or_else(|| pair(t, ["key", "value"]))).collect::<Vec<_>>()
            }
            Value::Object(tags) => tags.get(tag).map(Some).into_iter().collect(),
            _ => Vec::new(),
        })
    }
}
