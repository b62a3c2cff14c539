//! The message for people: what happened, to what, what to do, where all of it is. What is left out is counted.

use serde_json::Value;

use crate::sweep::summary::{went, whereabouts};
use crate::{Ending, text};

/// So many places, and stacks of each kind, are named; the report has all of them.
const MOST: usize = 20;

/// Of a teardown.
pub(super) fn of_teardown(about: &str, detail: &Value) -> String {
    let mut lines = beginning(about, detail);
    for (name, value) in [
        ("Account", &detail["account"]),
        ("Asked for by account", &detail["requestedBy"]),
        ("Report", &detail["report"]["html"]),
        ("Run", &detail["runId"]),
    ] {
        lines.extend(value.as_str().map(|value| format!("{name}: {value}")));
    }
    ending(lines, detail)
}

/// Of a sweep: what is to be mended comes first.
pub(super) fn of_sweep(about: &str, detail: &Value, told: &Value) -> String {
    let mut lines = beginning(about, detail);
    let rows = |name: &str| told[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = |names: &[&str]| names.iter().filter_map(|name| told["counts"][*name].as_u64()).sum::<u64>();
    let is_look = told["dryRun"] == true;
    let (unread, read): (Vec<&Value>, Vec<&Value>) = rows("places").iter().partition(|place| place["error"].is_string());
    let kept = ["guarded", "partly"].iter().filter_map(|name| told[*name].as_u64()).sum::<u64>();
    let (gone, stay): (Vec<&Value>, Vec<&Value>) = rows("stacks").iter().partition(|row| went(row));
    let (stays, goes) = if is_look { ("Would stay", "Would go") } else { ("Stays", "Gone") };

    section(&mut lines, "Not read", &unread, told["unread"].as_u64().unwrap_or_default(), |place| {
        with_why(&whereabouts(place), &place["error"], &place["message"])
    });
    section(&mut lines, stays, &stay, count(&["failed", "held", "waiting"]) + kept, |stack| {
        let report = stack["report"].as_str().map(|report| format!(" (report: {})", text::display(report)));
        row(stack) + &report.unwrap_or_default()
    });
    section(&mut lines, goes, &gone, count(&["deleted", "looked"]).saturating_sub(kept), row);
    let reports: Vec<&Value> = read.into_iter().filter(|place| place["report"].is_string()).collect();
    let cut = told["more"]["places"].as_u64().unwrap_or_default();
    let cut_unread = told["unread"].as_u64().unwrap_or_default().saturating_sub(unread.len() as u64);
    let of_places = reports.len() as u64 + cut.saturating_sub(cut_unread);
    section(&mut lines, "All of it, and why the others were not chosen", &reports, of_places, |place| {
        let text = |name: &str| text::display(place[name].as_str().unwrap_or_default());
        format!("account {}: {} (chosen: {})", text("account"), text("report"), text("selection"))
    });
    let selections: Vec<&Value> = rows("selections").iter().collect();
    let all = selections.len() as u64 + told["more"]["selections"].as_u64().unwrap_or_default();
    section(&mut lines, "Who was chosen", &selections, all, |key| text::display(key.as_str().unwrap_or_default()));
    lines.extend(detail["sweepId"].as_str().map(|id| format!("Sweep: {id}")));
    ending(lines, detail)
}

fn beginning(about: &str, detail: &Value) -> Vec<String> {
    let line = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
    let mut lines = vec![format!("{about}: {} ({})", line("result"), line("outcome")), String::new(), line("message")];
    if detail["todo"] != Ending::Deleted.todo() {
        lines.push(format!("What to do: {}", line("todo")));
    }
    lines
}

fn ending(mut lines: Vec<String>, detail: &Value) -> String {
    let line = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
    if detail["result"] == Ending::Error.name() {
        lines.push(format!("Logs: log groups /aws/lambda/{}-*", line("app")));
    }
    lines.push(format!("Execution: {}", line("execution")));
    lines.join("\n")
}

/// A heading and a line for each; nothing when there are none. `all` is how many there are.
fn section(lines: &mut Vec<String>, heading: &str, rows: &[&Value], all: u64, line: impl Fn(&Value) -> String) {
    let shown: Vec<String> = rows.iter().take(MOST).map(|row| format!("  {}", line(row))).collect();
    let more = all.saturating_sub(shown.len() as u64);
    if shown.is_empty() && more == 0 {
        return;
    }
    lines.push(format!("{heading}:"));
    lines.extend(shown);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
}

fn row(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().map(text::display).filter(|text| !text.is_empty());
    let mut said = format!("{} in {}", text("stack").unwrap_or_default(), text("region").unwrap_or_default());
    if let Some(account) = text("account") {
        said += &format!(" of account {account}");
    }
    with_why(&said, &row["result"], &row["message"])
}

fn with_why(what: &str, name: &Value, message: &Value) -> String {
    let text = |value: &Value| text::display(value.as_str().unwrap_or_default());
    match message.as_str().filter(|message| !message.is_empty()) {
        Some(_) => format!("{what}: {} - {}", text(name), text(message)),
        None => format!("{what}: {}", text(name)),
    }
}
