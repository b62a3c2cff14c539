//! The gate that every state passes before anything is locked, and again under the lock: encoding, size, version, shape.
//! Everything is judged before the first delete, so that no row can crash a run half-way.
//!
//! A name that comes twice at stack level, in `resources` or in a row is refused: whichever of the two were taken, the
//! other could be a resource that nobody remembers any more, or its `Retain`. Deeper down the last one wins, as for cdkd.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::value::RawValue;

use super::defects::{Defects, name, unreadable};
use super::members::{Members, kind, kind_of_text};
use super::{BodyRegion, Import, Layout, StateDoc, row};
use crate::json_indent::measure;
use crate::{Ending, Refusal, text};

/// The newest schema version that is understood.
pub const NEWEST_VERSION: u64 = 11;
/// The largest state, in bytes: read as values it takes fifteen times that, of the planner's and the finalizer's 1,024 MB.
pub const MAX_BYTES: usize = 56 << 20;
/// The largest state, in bytes, as it would be written back: cdkd indents it.
pub const MAX_INDENTED: usize = 2 * MAX_BYTES;
/// The deepest nesting: what every reader of JSON takes, and far more than a template can hold.
pub const MAX_DEPTH: usize = 120;

impl StateDoc {
    /// Reads and judges a state's body.
    pub fn parse(body: &[u8], layout: Layout) -> Result<Self, Refusal> {
        let root = root(body)?;
        let version = version(root.get("version"))?;
        if let Some(twice) = &root.duplicate {
            return Err(unreadable(format!("the state names its field {} twice", name(twice))));
        }
        let mut defects = Defects::default();
        let resources = match root.get("resources") {
            None => {
                defects.add("`resources` is missing");
                None
            }
            Some(raw) if kind(raw) != "an object" => {
                defects.add(format!("`resources` is {}, not an object", kind(raw)));
                None
            }
            Some(raw) => Some(Members::parse(raw.get()).map_err(|_| unreadable("`resources` holds a name that is no text"))?),
        };
        for (id, raw) in resources.iter().flat_map(|rows| &rows.entries) {
            if let Err(what) = row::judge(id, raw) {
                defects.row(id, &what);
            }
        }
        if let Some(twice) = resources.as_ref().and_then(|rows| rows.duplicate.as_ref()) {
            defects.row(twice, "is recorded twice");
        }
        match root.get("outputs") {
            Some(raw) if kind(raw) != "an object" => defects.add(format!("`outputs` is {}, not an object", kind(raw))),
            Some(raw) if Members::parse(raw.get()).is_err() => defects.add("`outputs` holds a name that is no text"),
            _ => {}
        }
        let orphans = orphans(root.get("orphans"), &mut defects);
        defects.refuse()?;

        let spans = match (root.get("resources"), &resources) {
            (Some(raw), Some(rows)) => spans(body, raw, rows),
            _ => Vec::new(),
        };
        let mut top = root.to_owned();
        top.insert("resources".to_owned(), Box::default());
        let resources = resources.map(|rows| rows.to_owned()).unwrap_or_default();
        Ok(StateDoc { layout, version, region: BodyRegion::read(root.get("region")), top, resources, spans, orphans })
    }
}

/// The region that a body names, read before anything else is judged: a legacy record of another region is none of ours,
/// whatever its shape.
pub fn peek_region(body: &[u8]) -> Result<BodyRegion, Refusal> {
    Ok(BodyRegion::read(root(body)?.get("region")))
}

/// Strong reads of a stack that may be broken otherwise: its rows are not judged, so a broken row hides no reference.
pub fn imports_of(body: &[u8]) -> Result<Vec<Import>, Refusal> {
    let root = root(body)?;
    version(root.get("version"))?;
    Ok(reads(root.get("imports"), "exportName"))
}

/// The root object's members.
fn root(body: &[u8]) -> Result<Members<'_>, Refusal> {
    if body.len() > MAX_BYTES {
        return Err(unreadable(format!("the state is {} bytes; at most {MAX_BYTES} are read", body.len())));
    }
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(unreadable("the state starts with a byte order mark: save it as UTF-8 without one"));
    }
    let json = std::str::from_utf8(body)
        .map_err(|e| unreadable(format!("the state is not UTF-8: byte {} is no character", e.valid_up_to())))?;
    let members = Members::parse(json).map_err(|e| match kind_of_text(json) {
        // The parser's own words may quote a value.
        "an object" | "no JSON" => unreadable(format!("the state is not JSON: line {}, column {}", e.line(), e.column())),
        kind => unreadable(format!("the state is {kind}, not an object")),
    })?;
    let shape = measure(json);
    if shape.depth > MAX_DEPTH {
        return Err(unreadable(format!("the state is nested {} deep; at most {MAX_DEPTH} levels are read", shape.depth)));
    }
    if shape.len > MAX_INDENTED {
        return Err(unreadable(format!("the state is {} bytes when indented; at most {MAX_INDENTED} are written", shape.len)));
    }
    Ok(members)
}

/// Versions 1 to 11, or none in the oldest files.
fn version(raw: Option<&RawValue>) -> Result<Option<u64>, Refusal> {
    let Some(raw) = raw else { return Ok(None) };
    // Parsed from the text: 8.0 and 8e0 are no integers here.
    if let Ok(version @ 1..=NEWEST_VERSION) = raw.get().parse::<u64>() {
        return Ok(Some(version));
    }
    let found = match kind(raw) {
        "a number" | "a string" => text::cut(&text::display(raw.get()), 40),
        kind => kind.to_owned(),
    };
    Err(Refusal::new(
        Ending::UnsupportedVersion,
        format!(
            "Unsupported state schema version: {found}. Known are the whole numbers 1 to {NEWEST_VERSION}; \
             upgrade Ebb when a newer cdkd wrote this state"
        ),
    ))
}

/// The logical ids of the orphans.
fn orphans(raw: Option<&RawValue>, defects: &mut Defects) -> Vec<String> {
    let Some(raw) = raw else { return Vec::new() };
    if kind(raw) != "an array" {
        defects.add(format!("`orphans` is {}, not an array", kind(raw)));
        return Vec::new();
    }
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut in_order = Vec::new();
    for (i, entry) in elements(raw).into_iter().enumerate() {
        let entry = Members::parse(entry.get()).ok();
        let Some(id) = entry.as_ref().and_then(|e| e.string("logicalId")) else {
            defects.add(format!("`orphans`, entry {i}: has no `logicalId`"));
            continue;
        };
        let state = entry.as_ref().and_then(|e| e.get("state")).and_then(|s| Members::parse(s.get()).ok());
        if state.and_then(|s| s.string("physicalId")).is_none_or(|p| p.is_empty()) {
            defects.add(format!("`orphans`, {}: has no `state` with a `physicalId`", name(&id)));
        }
        if !ids.insert(id.clone()) {
            defects.add(format!("`orphans`, {}: is listed twice", name(&id)));
        }
        in_order.push(id);
    }
    in_order
}

/// Where each row lies in `body`, from its name to the end of its value. `resources` and its rows are slices of the body, and
/// no name comes twice, so they are in order.
fn spans(body: &[u8], resources: &RawValue, rows: &Members<'_>) -> Vec<Range<usize>> {
    let at = |raw: &RawValue| raw.get().as_ptr().addr() - body.as_ptr().addr();
    let mut free = at(resources);
    let span = |raw: &&RawValue| {
        let value = at(raw);
        // Before the name there is a comma or the opening brace, and white space.
        let name = free + body[free..value].iter().position(|byte| *byte == b'"').unwrap_or_default();
        free = value + raw.get().len();
        name..free
    };
    rows.entries.values().map(span).collect()
}

/// The elements of an array; none of anything else.
pub(super) fn elements(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// Reads of other stacks; what is not one is passed over.
pub(super) fn reads(raw: Option<&RawValue>, name: &str) -> Vec<Import> {
    let entries = raw.map(elements).unwrap_or_default();
    let read = |entry: &RawValue| {
        let entry = Members::parse(entry.get()).ok()?;
        Some(Import {
            source_stack: entry.string("sourceStack")?,
            source_region: entry.string("sourceRegion")?,
            name: entry.string(name).unwrap_or_default(),
        })
    };
    entries.into_iter().filter_map(read).collect()
}
