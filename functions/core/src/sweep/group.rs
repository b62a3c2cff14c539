//! How far a group of connected stacks has come: what is torn down now, what waits for its readers, and what a reader
//! that stayed holds. Stacks of other groups have nothing to do with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::payload::{Item, StackResult};
use super::request::teardown;
use super::select::Selection;
use super::{RECORD_VERSION, Sweep};
use crate::run::deployed_again;
use crate::{Ending, Millis, Refusal, text};

/// So many teardowns are started by one wave: as many as the state machine runs at once, for one that waited there could be
/// deployed again after its state was looked at.
pub const MOST_ITEMS: usize = 5;
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
    /// When each state of its tree was last written, as it was chosen by.
    pub written: BTreeMap<String, Option<Millis>>,
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
            written: chosen.written.clone(),
            status: Status::Waiting,
            held_by: None,
            result: None,
        };
        let stacks = members.map(row).collect();
        Group { record_version: RECORD_VERSION, execution: selection.execution.clone(), step: 0, stacks }
    }

    /// The next step: takes the results of the running ones, and holds what those read that stay. It starts nobody yet.
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
        self.hold(dry_run);
        self
    }

    /// Who can be started now, so many as the wave still takes: their states are to be looked at first. A dry run waits for
    /// nobody.
    pub fn free(&self, dry_run: bool) -> Vec<&Row> {
        let running = self.stacks.iter().filter(|row| row.status == Status::Running).count();
        let free = |row: &&Row| {
            let mut readers = self.stacks.iter().filter(|reader| row.after.contains(&reader.n));
            row.status == Status::Waiting && (dry_run || readers.all(Row::is_gone))
        };
        self.stacks.iter().filter(free).take(MOST_ITEMS.saturating_sub(running)).collect()
    }

    /// Starts those of [`Group::free`] whose look says nothing against it. The others stay, and hold what they read.
    pub fn start(mut self, looks: Vec<(usize, Result<(), Refusal>)>, dry_run: bool) -> Group {
        let step = self.step;
        for (n, look) in looks {
            let Some(row) = self.stacks.iter_mut().find(|row| row.n == n && row.status == Status::Waiting) else { continue };
            row.status = match look {
                Ok(()) => Status::Running,
                Err(refusal) => {
                    row.result = Some(StackResult::of(n, step, refusal.ending, &refusal.message));
                    Status::Ended
                }
            };
        }
        self.hold(dry_run);
        self
    }

    /// A dry run holds nobody. Readers come before what they read, so one pass reaches everyone.
    fn hold(&mut self, dry_run: bool) {
        for at in 0..self.stacks.len() {
            let row = &self.stacks[at];
            if dry_run || row.status != Status::Waiting {
                continue;
            }
            let by = self.stacks[..at].iter().find(|reader| row.after.contains(&reader.n) && reader.stays());
            if let Some(by) = by.map(|reader| text::display(&format!("{} in {}", reader.stack, reader.region))) {
                self.stacks[at].status = Status::Held;
                self.stacks[at].held_by = Some(by);
            }
        }
    }

    /// The teardowns of this step: the same ones, however often it is asked.
    pub fn items(&self, sweep: &Sweep, place: usize) -> Vec<Item> {
        let running = self.stacks.iter().filter(|row| row.status == Status::Running);
        let item = |row: &Row| Item {
            n: row.n,
            step: self.step,
            name: execution_name(sweep, place, row),
            request: teardown(sweep, place, row),
        };
        running.map(item).collect()
    }
}

impl Row {
    /// Refuses a stack when `state`, one of its tree's, is not the one that it was chosen by. A teardown writes the states of
    /// its own tree only, so no other stack of the sweep did it.
    pub fn unchanged(&self, state: &str, last_modified: Option<Millis>) -> Result<(), Refusal> {
        if self.written.get(state).is_some_and(|then| *then == last_modified) {
            return Ok(());
        }
        Err(deployed_again(last_modified))
    }

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
