//! Whom a custom resource's delete asks: the `ServiceToken` of its row. A row without a usable one is not asked for (cdkd), which
//! is known from the row alone.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::provider::is_masked;
use crate::request::is_region;
use crate::{Code, text};

/// Why nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoToken {
    /// The row has no properties at all.
    NoProperties,
    /// It names no token.
    Missing,
    /// The token is no string but this.
    NoText(&'static str),
    /// It is an ARN whose region, a part of the host that is called, is none.
    NoRegion,
    /// The token is a mask or a dynamic reference.
    Masked,
}

impl NoToken {
    /// The row code.
    pub fn code(self) -> Code {
        match self {
            NoToken::NoProperties => Code::NoProperties,
            NoToken::Missing => Code::NoServiceToken,
            NoToken::NoText(_) | NoToken::NoRegion => Code::BadServiceToken,
            NoToken::Masked => Code::MaskedAddress,
        }
    }

    /// For people.
    pub fn reason(self) -> Cow<'static, str> {
        match self {
            NoToken::NoProperties => "no properties in state".into(),
            NoToken::Missing => "no ServiceToken in state".into(),
            NoToken::NoText(kind) => format!("the recorded ServiceToken is {kind}, not a string").into(),
            NoToken::NoRegion => "the recorded ServiceToken names no region".into(),
            NoToken::Masked => "the recorded ServiceToken is masked or dynamic".into(),
        }
    }
}

/// The region in a token that is an ARN.
pub fn region(token: &str) -> Option<&str> {
    token.strip_prefix("arn:")?.split(':').nth(2)
}

/// The token in a custom resource's properties.
pub fn of(properties: &Map<String, Value>) -> Result<&str, NoToken> {
    match properties.get("ServiceToken") {
        None if properties.is_empty() => Err(NoToken::NoProperties),
        None | Some(Value::Null) => Err(NoToken::Missing),
        Some(Value::String(token)) if token.is_empty() => Err(NoToken::Missing),
        Some(Value::String(token)) if is_masked(token) => Err(NoToken::Masked),
        Some(Value::String(token)) => match region(token) {
            Some(region) if !is_region(region) => Err(NoToken::NoRegion),
            _ => Ok(token),
        },
        Some(other) => Err(NoToken::NoText(text::kind(other))),
    }
}
