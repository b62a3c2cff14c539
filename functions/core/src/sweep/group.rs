//! How far a group of connected stacks has come: what is torn down now, what waits for its readers, and what a reader
//! that stayed holds. Stacks of other groups have nothing to do with it.

use serde::{Deserialize, Serialize};

use super::payload::{Item, StackResult};
use super::request::teardown;
use super::select::Selection;
use super::{RECORD_VERSION, Sweep};
use crate::{Ending, text};

/// So many teardowns are started by one wave; their results travel together.
pub const MOST_ITEMS: usize = 40;
/// An execution's name has at most 80 characters.
const MOST_NAME: usize = 80;

/// The record of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// [`RECORD_VERSION`] of the release that wrote it.
    pub record_version: u64,
    /// ARN of the sweep's execution: whose record this is.
    pub execution: String,
    /// Counts waves; each is written once, so that a second delivery is told from the first.
    pub step: u64,
    /// Its stacks, whoever reads values of others before them.
    pub stacks: Vec<Row>,
}

/// A stack of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its number in the selection.
    pub n: usize,
    /// The stack.
    pub stack: String,
    /// Its region.
    pub region: String,
    /// Numbers of its readers.
    pub after: Vec<usize>,
    /// Where it stands.
    pub status: Status,
    /// Who holds it: a reader that stayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// How its teardown ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<StackResult>,
}

/// Where a stack of a sweep stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// For its readers, or for its turn.
    Waiting,
    /// Its teardown was started.
    Running,
    /// Its teardown is over.
    Ended,
    /// A reader of it stayed, so it was not begun.
    Held,
}

impl Group {
    /// The record of a group before anything was started.
    pub fn begin(selection: &Selection, group: usize) -> Group {
        let members = selection.chosen.iter().enumerate().filter(|(_, chosen)| chosen.group == group);
        let row = |(n, chosen): (usize, &super::select::Chosen)| Row {
            n,
            stack: chosen.stack.clone(),
            region: chosen.region.clone(),
            after: chosen.after.clone(),
            status: Status::Waiting,
            held_by: None,
            result: None,
        };
        let stacks = members.map(row).collect();
        Group { record_version: RECORD_VERSION, execution: selection.execution.clone(), step: 0, stacks }
    }

    /// The next step: takes the results of the running ones and starts what is free. A look holds and frees nobody.
    pub fn advance(mut self, results: &[StackResult], dry_run: bool) -> Group {
        let asked = self.step;
        for row in self.stacks.iter_mut().filter(|row| row.status == Status::Running) {
            let told = results.iter().find(|result| result.n == row.n && result.step == asked).cloned();
            let mut result =
                told.unwrap_or_else(|| StackResult::of(row.n, asked, Ending::Error, "how its teardown ended was not told"));
            if dry_run && result.result == Ending::ActiveImports && !row.after.is_empty() {
                result.result = Ending::DryRun;
                result.message = Some("its resources are looked at when the stacks that import from it are gone".into());
            }
            row.status = Status::Ended;
            row.result = Some(result);
        }
        self.step += 1;
        // Readers come before what they read, so one pass reaches everyone.
        let mut started = 0;
        for at in 0..self.stacks.len() {
            if self.stacks[at].status != Status::Waiting {
                continue;
            }
            let readers: Vec<&Row> = self.stacks[..at].iter().filter(|row| self.stacks[at].after.contains(&row.n)).collect();
            let held_by =
                readers.iter().find(|reader| reader.stays()).map(|reader| format!("{} in {}", reader.stack, reader.region));
            let free = readers.iter().all(|reader| reader.is_gone());
            let row = &mut self.stacks[at];
            match held_by {
                Some(by) if !dry_run => {
                    row.status = Status::Held;
                    row.held_by = Some(text::display(&by));
                }
                _ if (free || dry_run) && started < MOST_ITEMS => {
                    row.status = Status::Running;
                    started += 1;
                }
                _ => {}
            }
        }
        self
    }

    /// The teardowns of this step: the same ones, however often it is asked.
    pub fn items(&self, sweep: &Sweep, place: usize) -> Vec<Item> {
        let running = self.stacks.iter().filter(|row| row.status == Status::Running);
        let item = |row: &Row| Item {
            n: row.n,
            step: self.step,
            name: execution_name(sweep, place, row),
            request: teardown(sweep, place, &row.stack, &row.region),
        };
        running.map(item).collect()
    }
}

impl Row {
    fn is_gone(&self) -> bool {
        self.result.as_ref().is_some_and(StackResult::is_gone)
    }

    fn stays(&self) -> bool {
        self.status == Status::Held || (self.status == Status::Ended && !self.is_gone())
    }
}

/// `{sweepId}-{place}.{n}-{stack}`: unique, and a person finds the stack by it.
fn execution_name(sweep: &Sweep, place: usize, row: &Row) -> String {
    let name = format!("{}-{place}.{}-{}", sweep.sweep_id, row.n, row.stack);
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(MOST_NAME).collect()
}

#[cfg(test)]
mod tests;
