//! Typed reading of a request's fields. Every refusal names the field and what to write instead, never what was written.

use serde_json::Value;
use serde_json::value::RawValue;

use super::{MAX_LOCK_WAIT, STARTED_BY};
use crate::state::Members;
use crate::{Ending, Refusal, text};

/// The members of an input; `example` shows what it could have been.
pub(crate) fn members_of<'a>(input: &'a str, example: &str) -> Result<Members<'a>, Refusal> {
    Members::parse(input).map_err(|_| match input.trim_start().starts_with('{') {
        true => invalid("the input is not JSON"),
        false => invalid(format!("the input is not an object. The smallest request is {example}")),
    })
}

/// Refuses unknown names and names that come twice.
pub(crate) fn known(members: &Members<'_>, fields: &[&str], of: &str) -> Result<(), Refusal> {
    if let Some(twice) = &members.duplicate {
        return Err(invalid(format!("`{of}{}` comes twice", text::escaped(twice))));
    }
    let is_known = |name: &str| fields.contains(&name) || (of.is_empty() && name == STARTED_BY);
    match members.entries.keys().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(unknown) => {
            let hint = match nearest(unknown, fields) {
                Some(near) => format!("did you mean `{of}{near}`?"),
                None => format!("known are {}", fields.join(", ")),
            };
            Err(invalid(format!("`{of}{}` is no field of a request; {hint}", text::escaped(unknown))))
        }
    }
}

/// The known name that is nearest, if any is near.
fn nearest<'a>(unknown: &str, fields: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).take(64).collect::<String>().to_lowercase();
    let unknown = plain(unknown);
    fields
        .iter()
        .map(|field| (strsim::jaro_winkler(&unknown, &plain(field)), *field))
        .filter(|(likeness, _)| *likeness >= 0.85)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, field)| field)
}

/// A request that cannot be read.
pub(crate) fn invalid(what: impl AsRef<str>) -> Refusal {
    Refusal::new(Ending::InvalidRequest, what)
}

/// The fields of an object.
pub(crate) struct Fields<'m> {
    /// The object.
    pub(crate) members: &'m Members<'m>,
    /// What its fields' names begin with in messages, such as `target.`.
    pub(crate) of: &'m str,
}

impl Fields<'_> {
    /// A refusal about a field.
    pub(crate) fn invalid(&self, name: &str, what: &str) -> Refusal {
        invalid(format!("`{}{name}` {what}", self.of))
    }

    fn value(&self, name: &str) -> Result<Option<Value>, Refusal> {
        let read = |raw: &RawValue| serde_json::from_str(raw.get()).map_err(|_| self.invalid(name, "cannot be read"));
        self.members.get(name).map(read).transpose()
    }

    fn wrong(&self, name: &str, found: &Value, expected: &str) -> Refusal {
        self.invalid(name, &format!("is {}; it must be {expected}", text::kind(found)))
    }

    /// A string.
    pub(crate) fn string(&self, name: &str) -> Result<Option<String>, Refusal> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, &other, "a string")),
        }
    }

    /// A list of at most `most` strings; none when it is left out.
    pub(crate) fn strings(&self, name: &str, most: usize) -> Result<Vec<String>, Refusal> {
        let expected = format!("a list of 1 to {most} strings");
        let list = match self.value(name)? {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(self.wrong(name, &other, &expected)),
        };
        if list.is_empty() || list.len() > most {
            return Err(self.invalid(name, &format!("must be {expected}")));
        }
        let string = |value: Value| match value {
            Value::String(text) => Ok(text),
            other => Err(self.invalid(name, &format!("holds {}; it must be {expected}", text::kind(&other)))),
        };
        list.into_iter().map(string).collect()
    }

    /// True or false; false when it is left out.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.value(name)? {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.wrong(name, &other, "true or false, without quotes")),
        }
    }

    /// A whole number of `what` from `least` to `most`.
    pub(crate) fn whole(&self, name: &str, what: &str, least: u64, most: u64) -> Result<Option<u64>, Refusal> {
        let expected = format!("a whole number of {what} from {least} to {most}, without quotes");
        match self.value(name)? {
            None => Ok(None),
            Some(Value::Number(n)) => match n.as_u64() {
                Some(n) if (least..=most).contains(&n) => Ok(Some(n)),
                _ => Err(self.invalid(name, &format!("must be {expected}"))),
            },
            Some(other) => Err(self.wrong(name, &other, &expected)),
        }
    }

    /// `lockWait`, in seconds.
    pub(crate) fn lock_wait(&self) -> Result<u64, Refusal> {
        Ok(self.whole("lockWait", "seconds", 0, MAX_LOCK_WAIT)?.unwrap_or(0))
    }
}
