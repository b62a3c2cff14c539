//! The state as it is written back while a stack goes away: what is deleted is left out, and nothing that a half-gone
//! stack must not serve any more. The same rows and the same instant give the same bytes.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::{Layout, StateDoc};
use crate::json_indent::{indent_into, new_line};
use crate::{Millis, StackKey};

/// Written for a record that was read from the legacy key.
const REGIONAL_VERSION: u64 = 2;

/// A member as it is written.
enum Written<'a> {
    /// As it was read.
    Kept(&'a RawValue),
    /// Made anew.
    New(String),
    /// The rows that are left.
    Rows,
}

impl StateDoc {
    /// The body without the rows named in `deleted`, as of `at`, for the region's key `key`.
    ///
    /// `outputs` and `exportNames` are emptied, so that the index serves no value of a half-deleted stack; `imports` and
    /// `outputReads` go, so that it does not hold up the stacks it read from. The version stays as it was read (older cdkd
    /// goes on reading it); a record from the legacy key, which had no region, becomes version 2 and names its region.
    pub fn trim(&self, deleted: &BTreeSet<&str>, at: Millis, key: &StackKey) -> Vec<u8> {
        let raw_len = |text: &RawValue| text.get().len();
        let size: usize = self.resources.values().chain(self.top.values()).map(|raw| raw_len(raw)).sum();
        let mut out = Vec::with_capacity(size + size / 8 + 512);
        out.push(b'{');
        let mut first = true;
        for (name, value) in self.members(at, key) {
            separate(&mut out, &mut first, 1);
            write_name(&mut out, name);
            match value {
                Written::Kept(raw) => indent_into(&mut out, raw.get(), 1),
                Written::New(json) => out.extend_from_slice(json.as_bytes()),
                Written::Rows => self.write_rows(&mut out, deleted),
            }
        }
        new_line(&mut out, 0);
        out.push(b'}');
        out
    }

    /// What the root holds after a trim: members keep their place, new ones come last (the version first).
    fn members(&self, at: Millis, key: &StackKey) -> Vec<(&str, Written<'_>)> {
        let version = match (self.layout, self.version) {
            (Layout::Regional, version) => version,
            (Layout::Legacy, version) => Some(version.unwrap_or_default().max(REGIONAL_VERSION)),
        };
        let stamped = |name: &str| {
            Some(match name {
                "version" => Written::New(version?.to_string()),
                "stackName" => Written::New(quoted(&key.stack)),
                "region" => Written::New(quoted(&key.region)),
                "outputs" => Written::New("{}".into()),
                "exportNames" => Written::New("[]".into()),
                "lastModified" => Written::New(at.to_string()),
                "resources" => Written::Rows,
                _ => return None,
            })
        };
        let gone = |name: &str| matches!(name, "imports" | "outputReads");
        let mut members: Vec<(&str, Written<'_>)> = Vec::with_capacity(self.top.len() + 6);
        if !self.top.contains_key("version") {
            members.extend(stamped("version").map(|v| ("version", v)));
        }
        for (name, raw) in self.top.iter().filter(|(name, _)| !gone(name)) {
            members.push((name, stamped(name).unwrap_or(Written::Kept(raw))));
        }
        for name in ["stackName", "region", "outputs", "exportNames", "lastModified"] {
            if !self.top.contains_key(name) {
                members.extend(stamped(name).map(|v| (name, v)));
            }
        }
        members
    }

    fn write_rows(&self, out: &mut Vec<u8>, deleted: &BTreeSet<&str>) {
        out.push(b'{');
        let mut first = true;
        for (id, row) in self.resources.iter().filter(|(id, _)| !deleted.contains(id.as_str())) {
            separate(out, &mut first, 2);
            write_name(out, id);
            indent_into(out, row.get(), 2);
        }
        if !first {
            new_line(out, 1);
        }
        out.push(b'}');
    }
}

fn separate(out: &mut Vec<u8>, first: &mut bool, depth: usize) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    new_line(out, depth);
}

fn write_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(quoted(name).as_bytes());
    out.extend_from_slice(b": ");
}

/// A string as JSON text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
