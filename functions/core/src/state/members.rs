//! One level of a JSON object: names and the text of each value, nothing deeper. Borrowed from the text it was read from.

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in order. The last of two equal names wins, as in JavaScript, and the clash is remembered.
pub struct Members<'a> {
    /// Name and value text.
    pub entries: IndexMap<String, &'a RawValue>,
    /// The first name that came twice.
    pub duplicate: Option<String>,
}

impl<'a> Members<'a> {
    /// Reads one level of an object's text. The error may quote the text: never show it.
    pub fn parse(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The text of a member.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.entries.get(name).copied()
    }

    /// A member that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// The names, in order.
    pub fn names(self) -> Vec<String> {
        self.entries.into_keys().collect()
    }

    /// The members as text of their own.
    pub(super) fn to_owned(&self) -> IndexMap<String, Box<RawValue>> {
        self.entries.iter().map(|(name, raw)| (name.clone(), (*raw).to_owned())).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members { entries: IndexMap::new(), duplicate: None };
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if members.entries.contains_key(&name) {
                        members.duplicate.get_or_insert_with(|| name.clone());
                    }
                    members.entries.insert(name, value);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The members of an object that is known to name none twice: quicker than [`Members`] where only a few are asked for.
pub(super) struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Pairs<'a> {
    /// The text of a member.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A name, copied only when it is written with escapes.
        #[derive(serde::Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::with_capacity(8);
                while let Some((Name(name), value)) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The kind of a value from its text, for messages that must not show the value.
pub(super) fn kind(raw: &RawValue) -> &'static str {
    kind_of_text(raw.get())
}

pub(super) fn kind_of_text(json: &str) -> &'static str {
    match json.trim_start().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "no JSON",
    }
}
