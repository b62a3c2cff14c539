//! Whether a state belongs to the region it is about to be deleted in. In the wrong one every not-found would read as
//! "already gone" and silently empty the state, so anything but agreement is refused as soon as a resource is recorded.

use serde_json::value::RawValue;

use super::members::kind;
use super::{Layout, StateDoc};
use crate::{Ending, Refusal, text};

/// The `region` of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyRegion {
    /// Not there.
    Absent,
    /// A string, possibly empty.
    Text(String),
    /// Something else, of that kind.
    Other {
        /// `null`, `a number` …
        kind: &'static str,
        /// Whether JavaScript takes it for nothing.
        falsy: bool,
    },
}

/// A region that may be used, and what a person should know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionNote {
    /// The body agrees with the key.
    Same,
    /// The body names none; the key's is taken.
    Adopted,
    /// The body says something else, of that kind, and no resource is recorded; the key's is taken.
    Diverges(&'static str),
    /// A legacy record that names none: the request must name the region.
    Regionless,
}

/// Whose the record at a legacy key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belonging {
    /// The asked region's (or it names none).
    Ours,
    /// Another region's: leave it alone.
    Elsewhere,
    /// Its region is no text: do not use it.
    Unclear,
}

impl BodyRegion {
    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        let Some(raw) = raw else { return BodyRegion::Absent };
        match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => BodyRegion::Text(text),
            Err(_) => {
                let zero = raw.get().parse::<f64>().is_ok_and(|n| n == 0.0);
                BodyRegion::Other { kind: kind(raw), falsy: zero || matches!(raw.get(), "null" | "false") }
            }
        }
    }

    /// The region when it is a text that is not empty.
    pub fn text(&self) -> Option<&str> {
        match self {
            BodyRegion::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The belonging test of a legacy record when `region` is torn down.
    pub fn belongs_to(&self, region: &str) -> Belonging {
        match self {
            BodyRegion::Absent | BodyRegion::Other { falsy: true, .. } => Belonging::Ours,
            BodyRegion::Text(text) if text.is_empty() || text == region => Belonging::Ours,
            BodyRegion::Text(_) => Belonging::Elsewhere,
            BodyRegion::Other { falsy: false, .. } => Belonging::Unclear,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            BodyRegion::Absent => "nothing",
            BodyRegion::Text(text) if text.is_empty() => "an empty string",
            BodyRegion::Text(_) => "another string",
            BodyRegion::Other { kind, .. } => kind,
        }
    }
}

impl StateDoc {
    /// Whether this state may be torn down in `key_region`, the region of its key (of the request for a legacy key).
    pub fn check_region(&self, key_region: &str) -> Result<RegionNote, Refusal> {
        let refuse = |what: String| Err(Refusal::new(Ending::RegionMismatch, what));
        let shown = text::display(key_region);
        match (self.layout, &self.region) {
            (_, BodyRegion::Text(text)) if text == key_region => Ok(RegionNote::Same),
            (Layout::Regional, BodyRegion::Absent) => Ok(RegionNote::Adopted),
            (Layout::Regional, other) if self.resources.is_empty() => Ok(RegionNote::Diverges(other.kind())),
            (Layout::Regional, other) => {
                let kind = other.kind();
                refuse(format!("the state lies under region {shown}, but its own `region` is {kind}; it records resources"))
            }
            (Layout::Legacy, other) => match other.belongs_to(key_region) {
                Belonging::Ours => Ok(RegionNote::Regionless),
                Belonging::Elsewhere => refuse(format!("the record at the legacy key belongs to another region than {shown}")),
                Belonging::Unclear => {
                    refuse(format!("the record at the legacy key has {} as its `region`, not a region's name", other.kind()))
                }
            },
        }
    }
}
