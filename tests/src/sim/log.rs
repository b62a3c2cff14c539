//! What a run of the simulation notes: faults, checks, violations, and on demand every event.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ebb_core::Millis;
use serde_json::Value;

use super::invariants::Invariant;

/// How much is noted of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    Off,
    /// A digest, to compare two runs of a seed.
    Digest,
    /// Every event, as a line.
    Lines,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// Milliseconds since the start.
    pub at: Millis,
    /// What was seen.
    pub what: String,
}

/// Counts by name.
pub type Tally = BTreeMap<&'static str, u64>;

/// The notes of one seed.
#[derive(Debug)]
pub struct Notes {
    trace: Trace,
    /// Digest of all events.
    pub digest: u64,
    /// The events, when asked for.
    pub lines: Vec<String>,
    /// Faults that were injected, by kind.
    pub faults: Tally,
    /// When the last one was.
    pub last_fault: Millis,
    /// Checks of invariants, by name.
    pub checks: Tally,
    /// What was done: executions, steps, calls.
    pub done: Tally,
    /// How runs ended.
    pub endings: BTreeMap<String, u64>,
    /// What broke.
    pub violations: Vec<Violation>,
}

/// The notes, shared.
#[derive(Debug)]
pub struct Log(Mutex<Notes>);

impl Log {
    /// Empty notes.
    pub fn new(trace: Trace) -> Self {
        Log(Mutex::new(Notes::new(trace)))
    }

    /// The notes, taken out.
    pub fn take(&self) -> Notes {
        std::mem::replace(&mut *self.notes(), Notes::new(Trace::Off))
    }

    /// The notes.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn new(trace: Trace) -> Self {
        Notes {
            trace,
            digest: 0,
            lines: Vec::new(),
            faults: Tally::new(),
            last_fault: 0,
            checks: Tally::new(),
            done: Tally::new(),
            endings: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    /// Notes an event; the text is made only when somebody wants it.
    pub fn event(&mut self, at: Millis, text: impl FnOnce() -> String) {
        if self.trace == Trace::Off {
            return;
        }
        let text = text();
        let mut hasher = DefaultHasher::new();
        (self.digest, at, &text).hash(&mut hasher);
        self.digest = hasher.finish();
        if self.trace == Trace::Lines {
            self.lines.push(format!("{:>10.3}  {text}", at as f64 / 1000.0));
        }
    }

    /// Counts a check, and notes a violation when it does not hold.
    pub fn check(&mut self, invariant: Invariant, at: Millis, holds: bool, what: impl FnOnce() -> String) {
        *self.checks.entry(invariant.name()).or_default() += 1;
        if holds {
            return;
        }
        let what = what();
        self.event(at, || format!("BROKEN {}: {what}", invariant.name()));
        if self.violations.len() < 20 {
            self.violations.push(Violation { invariant, at, what });
        }
    }

    /// Counts something that was done.
    pub fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }
}

/// How many bytes of JSON a value is, and whether `word` stands in one of its texts. Nothing is written for it: payloads are
/// measured all the time.
pub fn weigh(value: &Value, word: &str) -> (usize, bool) {
    let text = |text: &str| {
        let escaped = text.bytes().filter(|b| matches!(b, b'"' | b'\\' | b'\n' | b'\r' | b'\t')).count();
        (text.len() + 2 + escaped, text.contains(word))
    };
    match value {
        Value::Null => (4, false),
        Value::Bool(value) => (if *value { 4 } else { 5 }, false),
        Value::Number(number) => (number.to_string().len(), false),
        Value::String(string) => text(string),
        Value::Array(items) => items.iter().fold((2, false), |(size, found), item| {
            let (more, here) = weigh(item, word);
            (size + more + 1, found || here)
        }),
        Value::Object(members) => members.iter().fold((2, false), |(size, found), (name, member)| {
            let ((name, in_name), (more, here)) = (text(name), weigh(member, word));
            (size + name + more + 2, found || here || in_name)
        }),
    }
}

/// A text for a trace, not too long.
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_is_weighed_as_it_is_written() {
        let value = json!({"a": [1, -20, null, true, false], "b\n": {"c": "x\"y\\z marker"}, "d": [], "e": {}});
        let (size, found) = weigh(&value, "marker");
        let written = value.to_string().len();
        // Each list and object counts one comma too many.
        assert!((written..written + 6).contains(&size) && found, "{size} for {written}");
        assert!(!weigh(&value, "nowhere").1);
    }
}
