//! What is wrong with a state, collected so that a person mends it in one go: logical ids and fields, never values.

use crate::{Ending, Refusal, text};

/// cdkd's code for a state whose parts are not as they must be.
const CODE: &str = "STATE_RESOURCES_MALFORMED";
/// How many are named; the rest is counted.
const NAMED: usize = 6;

/// Defects found so far.
#[derive(Default)]
pub(super) struct Defects {
    named: Vec<String>,
    count: usize,
}

impl Defects {
    /// Something is wrong with the row of that id.
    pub(super) fn row(&mut self, logical_id: &str, what: &str) {
        self.add(format!("{}: {what}", name(logical_id)));
    }

    /// Something is wrong.
    pub(super) fn add(&mut self, what: impl Into<String>) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(what.into());
        }
    }

    /// The refusal, when there is any defect.
    pub(super) fn refuse(self) -> Result<(), Refusal> {
        if self.count == 0 {
            return Ok(());
        }
        let more = match self.count - self.named.len() {
            0 => String::new(),
            n => format!("; and {n} more"),
        };
        Err(Refusal::new(Ending::MalformedState, format!("{CODE}: {}{more}", self.named.join("; "))))
    }
}

/// A name read from a state, for a message: display-safe and short.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", text::cut(&text::display(name), 120))
}

/// A refusal for a body that is no state at all.
pub(super) fn unreadable(what: impl AsRef<str>) -> Refusal {
    Refusal::new(Ending::MalformedState, what)
}
