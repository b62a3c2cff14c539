//! What came of a sweep: one answer for the execution, and a report for each place.

use serde_json::{Value, json};

use super::Sweep;
use super::group::{Group, Row, Status};
use super::payload::Selected;
use super::select::{Chosen, Left, Selection};
use crate::{Ending, text};

mod words;

pub use words::whereabouts;

/// The largest output in bytes of JSON: a Cause holds 32 KiB, and the reports have all of it.
const MOST_BYTES: usize = 16 * 1024;

/// Everything that is known of a place in the end.
#[derive(Clone, Debug)]
pub struct PlaceOutcome {
    /// What its selection answered.
    pub selected: Selected,
    /// The selection itself and the groups, unless the place or its objects could not be read.
    pub read: Option<(Selection, Vec<Group>)>,
    /// Whether its report lies in its bucket.
    pub reported: bool,
}

/// How many stacks came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Chosen.
    pub chosen: usize,
    /// Gone.
    pub deleted: usize,
    /// Looked at by a dry run.
    pub looked: usize,
    /// Their teardown failed, was refused or stopped.
    pub failed: usize,
    /// Not begun, because a stack that reads values of it stayed.
    pub held: usize,
    /// Not begun, or not heard of, because the sweep ended before.
    pub waiting: usize,
    /// Not chosen.
    pub left: usize,
}

impl Counts {
    fn add(&mut self, row: &Row) {
        match (&row.status, &row.result) {
            (Status::Held, _) => self.held += 1,
            (Status::Ended, Some(result)) if result.result == Ending::DryRun => self.looked += 1,
            (Status::Ended, Some(result)) if result.is_gone() => self.deleted += 1,
            (Status::Ended, _) => self.failed += 1,
            (Status::Waiting | Status::Running, _) => self.waiting += 1,
        }
    }
}

/// The result of the sweep and its output.
pub fn summary(sweep: &Sweep, places: &[PlaceOutcome]) -> (Ending, Value) {
    let mut total = Counts::default();
    for place in places {
        total.chosen += place.selected.chosen;
        total.left += place.selected.left;
        let rows = place.read.iter().flat_map(|(_, groups)| groups).flat_map(|group| &group.stacks);
        let before = (total.deleted, total.looked, total.failed, total.held, total.waiting);
        rows.for_each(|row| total.add(row));
        // What nothing is known of has not been begun, or its record is lost: either way somebody has to look.
        let known = total.deleted + total.looked + total.failed + total.held + total.waiting
            - (before.0 + before.1 + before.2 + before.3 + before.4);
        total.waiting += place.selected.chosen.saturating_sub(known);
    }
    let (unread, read): (Vec<&PlaceOutcome>, Vec<&PlaceOutcome>) =
        places.iter().partition(|place| place.selected.error.is_some());
    let places_said: Vec<Value> = unread.iter().chain(&read).map(|place| of_place(sweep, place)).collect();
    let unread = unread.len();
    let looks = Looks::of(sweep, places);
    let result = match sweep.dry_run {
        // Where something was chosen and only its report is missing, something may have been deleted.
        _ if unread == places.len() && unread > 0 && total.chosen == 0 => first_error(places),
        true => Ending::DryRun,
        false if total.failed + total.held + total.waiting + unread > 0 => Ending::Partial,
        false if total.chosen == 0 => Ending::NothingToDo,
        false => Ending::Deleted,
    };
    let mut output = json!({
        "result": result.name(), "exitClass": result.exit_class(), "sweepId": sweep.sweep_id, "name": sweep.name,
        "dryRun": sweep.dry_run, "counts": total, "unread": unread, "guarded": looks.refused, "partly": looks.partly,
        "message": words::message(&total, result, looks, &places_said[..unread]),
        "todo": words::todo(result, unread, looks),
    });
    if sweep.dry_run {
        output["estimate"] = estimate(places);
    }
    fit(&mut output, [("places", places_said), ("stacks", stacks(sweep, places)), ("left", left(places))]);
    (result, output)
}

/// Whether a row of the output is where the sweep wanted its stack: gone, or for a dry run about to go as a whole.
pub fn went(row: &Value) -> bool {
    let ending = row["result"].as_str().and_then(Ending::from_name);
    let holds = |what: &str| row["plan"][what].as_u64().is_some_and(|n| n > 0);
    let would_stay = ending == Some(Ending::DryRun) && (holds("guarded") || holds("left"));
    !would_stay && ending.is_some_and(|ending| ending.succeeds() || ending == Ending::StackNotFound)
}

/// How many stacks a dry run found that would not go as a whole.
#[derive(Clone, Copy)]
struct Looks {
    /// What is guarded would make their teardown refuse.
    refused: usize,
    /// Something of them would be left: what is known to stay, or with `skipGuarded` what is guarded.
    partly: usize,
}

impl Looks {
    fn of(sweep: &Sweep, places: &[PlaceOutcome]) -> Self {
        let rows = places.iter().filter_map(|place| place.read.as_ref()).flat_map(|(_, groups)| groups).flat_map(|g| &g.stacks);
        let looked = rows.filter_map(|row| row.result.as_ref()).filter(|result| result.result == Ending::DryRun);
        let mut looks = Looks { refused: 0, partly: 0 };
        for look in looked {
            let guarded = look.guarded.is_some_and(|guarded| guarded > 0);
            let left = look.counts.is_some_and(|counts| !counts.is_clean());
            match guarded && !sweep.options.skip_guarded {
                true => looks.refused += 1,
                false => looks.partly += usize::from(guarded || left),
            }
        }
        looks
    }
}

/// The whole of a place, for its own bucket.
pub fn report(sweep: &Sweep, selection: &Selection, groups: &[Group]) -> Value {
    let mut counts = Counts { chosen: selection.chosen.len(), left: selection.left.len(), ..Counts::default() };
    groups.iter().flat_map(|group| &group.stacks).for_each(|row| counts.add(row));
    json!({
        "recordVersion": super::RECORD_VERSION, "sweepId": sweep.sweep_id, "name": sweep.name, "execution": sweep.execution,
        "dryRun": sweep.dry_run, "counts": counts, "stacks": rows(selection, groups), "left": selection.left,
        "warnings": selection.warnings,
    })
}

fn first_error(places: &[PlaceOutcome]) -> Ending {
    let name = places.iter().find_map(|place| place.selected.error.as_deref());
    name.and_then(Ending::from_name).filter(|ending| !ending.succeeds()).unwrap_or(Ending::Error)
}

/// What is known of a place even when it could not be read: what the request says of it.
fn of_place(sweep: &Sweep, place: &PlaceOutcome) -> Value {
    let selected = &place.selected;
    let found = selected.found.as_ref();
    let key = |key: String| found.map(|found| format!("s3://{}/{key}", found.bucket));
    let asked = sweep.places.get(selected.place);
    json!({
        "account": found.map_or_else(|| sweep.account(selected.place), |found| found.account.clone()),
        "regions": asked.map(|place| place.select.regions.as_slice()).unwrap_or_default(),
        "bucket": found.map(|found| found.bucket.as_str()).or(asked.and_then(|place| place.bucket.as_deref())),
        "prefix": asked.map(|place| place.prefix.as_str()),
        "chosen": selected.chosen, "left": selected.left,
        "selection": key(sweep.selection_key(selected.place)).filter(|_| selected.error.is_none()),
        "report": key(sweep.report_key(selected.place)).filter(|_| place.reported),
        "error": selected.error, "message": selected.message,
    })
}

/// Typical seconds: of the longest chain of stacks, when as many run at once as can, and of all one after the other.
fn estimate(places: &[PlaceOutcome]) -> Value {
    let (mut longest, mut all) = (0, 0);
    for (selection, _) in places.iter().filter_map(|place| place.read.as_ref()) {
        let mut until: Vec<u64> = Vec::new();
        for chosen in &selection.chosen {
            let from = chosen.after.iter().filter_map(|reader| until.get(*reader)).max().copied().unwrap_or(0);
            until.push(from + chosen.forecast.seconds);
            all += chosen.forecast.seconds;
        }
        longest = longest.max(until.into_iter().max().unwrap_or(0));
    }
    json!({"longestChainSeconds": longest, "oneByOneSeconds": all})
}

/// What is to be mended first, then the rest in the order of the teardowns.
fn stacks(sweep: &Sweep, places: &[PlaceOutcome]) -> Vec<Value> {
    let of_place = |place: &PlaceOutcome| {
        let rows = place.read.as_ref().map(|(selection, groups)| rows(selection, groups)).unwrap_or_default();
        let found = place.selected.found.as_ref();
        let account = found.map_or_else(|| sweep.account(place.selected.place), |found| found.account.clone());
        rows.into_iter().map(move |mut row| {
            row["account"] = account.as_str().into();
            row
        })
    };
    let all = places.iter().flat_map(of_place);
    let (good, bad): (Vec<Value>, Vec<Value>) = all.partition(went);
    bad.into_iter().chain(good).collect()
}

fn rows(selection: &Selection, groups: &[Group]) -> Vec<Value> {
    let rows: Vec<&Row> = groups.iter().flat_map(|group| &group.stacks).collect();
    selection
        .chosen
        .iter()
        .enumerate()
        .map(|(n, chosen)| row(chosen, rows.iter().find(|row| row.n == n).copied(), selection))
        .collect()
}

fn row(chosen: &Chosen, row: Option<&Row>, selection: &Selection) -> Value {
    let after: Vec<&str> = chosen.after.iter().filter_map(|n| selection.chosen.get(*n)).map(|c| c.stack.as_str()).collect();
    let mut value = json!({
        "stack": text::display(&chosen.stack), "region": text::display(&chosen.region), "level": chosen.level, "plan": chosen.forecast,
    });
    if !after.is_empty() {
        value["after"] = json!(after);
    }
    match row.map(|row| (row.status, row.result.as_ref(), row.held_by.as_deref())) {
        Some((Status::Ended, Some(result), _)) => {
            value["result"] = result.result.name().into();
            for (name, said) in [("message", &result.message), ("runId", &result.run_id), ("report", &result.report)] {
                if let Some(said) = said {
                    value[name] = said.as_str().into();
                }
            }
            if let Some(guarded) = result.guarded {
                value["plan"]["guarded"] = guarded.into();
                value["plan"]["left"] = result.counts.map_or(0, |counts| counts.left()).into();
            }
        }
        Some((Status::Held, _, by)) => {
            value["result"] = "Held".into();
            value["message"] = format!("{} reads values of it and stayed", by.unwrap_or("a stack")).into();
        }
        Some((Status::Running, ..)) => {
            value["result"] = "NotHeard".into();
            value["message"] = "its teardown was started; how it ended its own execution and report say".into();
        }
        _ => {
            value["result"] = "NotBegun".into();
            value["message"] = "the sweep ended before its turn: sweep again".into();
        }
    }
    value
}

fn left(places: &[PlaceOutcome]) -> Vec<Value> {
    let all = places.iter().filter_map(|place| place.read.as_ref()).flat_map(|(selection, _)| &selection.left);
    // What nobody asked for tells a reader least.
    let (unnamed, named): (Vec<&Left>, Vec<&Left>) = all.partition(|left| left.code == "NotNamed");
    named.into_iter().chain(unnamed).map(|left| json!(left)).collect()
}

/// Adds as much of the lists as fits, and says how much more there is.
fn fit(output: &mut Value, mut lists: [(&str, Vec<Value>); 3]) {
    let all = lists.each_ref().map(|(_, list)| list.len());
    loop {
        for ((name, list), all) in lists.iter().zip(all) {
            output[*name] = json!(list);
            if list.len() < all {
                output["more"][*name] = json!(all - list.len());
            }
        }
        if output.to_string().len() <= MOST_BYTES {
            return;
        }
        // A quarter of the longest list gives way.
        let Some((_, list)) = lists.iter_mut().max_by_key(|(_, list)| list.len()).filter(|(_, list)| !list.is_empty()) else {
            return;
        };
        list.truncate(list.len() - list.len().div_ceil(4));
    }
}

#[cfg(test)]
mod tests;
