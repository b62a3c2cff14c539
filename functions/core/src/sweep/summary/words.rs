//! What a sweep came to in a sentence, and what a person does next.

use serde_json::Value;

use super::{Counts, Looks};
use crate::ending::TODO_GUARDED;
use crate::{Ending, text};

/// What happened. `unread` are the places that could not be read, as the output tells of them.
pub(super) fn message(total: &Counts, result: Ending, looks: Looks, unread: &[Value]) -> String {
    let looked_at = total.chosen + total.left;
    let places = (unread.len(), if unread.len() == 1 { "place could not be read" } else { "places could not be read" });
    let parts = match result {
        Ending::Deleted => return format!("{} torn down{}", stacks(total.chosen), of_the_others(total.left)),
        Ending::NothingToDo => return format!("nothing to tear down: {} looked at, none chosen", stacks(looked_at)),
        Ending::DryRun => vec![
            (total.looked.saturating_sub(looks.refused + looks.partly), "would go"),
            (looks.partly, "would stay in part"),
            (looks.refused, "would be refused for what is protected or guarded"),
            (total.failed, "would be refused"),
            (total.deleted, "already gone"),
            (total.waiting, "not looked at"),
            places,
        ],
        Ending::Partial => vec![
            (total.deleted, "deleted"),
            (total.failed, "failed"),
            (total.held, "held by a stack that stayed"),
            (total.waiting, "not begun or not heard of"),
            places,
        ],
        _ => return of_unread(unread),
    };
    let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let of = match total.chosen {
        0 => format!("none of {} chosen", stacks(looked_at)),
        chosen => format!("of {}", stacks(chosen)),
    };
    let said = std::iter::once(of).chain(Some(parts.collect::<Vec<_>>().join(", ")).filter(|parts| !parts.is_empty()));
    let unchanged = if result == Ending::DryRun { "; nothing was changed" } else { "" };
    format!("{}{unchanged}", said.collect::<Vec<_>>().join(": "))
}

/// What a person does next.
pub(super) fn todo(result: Ending, unread: usize, looks: Looks) -> &'static str {
    match result {
        Ending::Partial => "mend what keeps each stack and place, then sweep again: what is gone is not chosen any more",
        Ending::DryRun if unread > 0 => "mend what keeps the places from being read, then look again",
        Ending::DryRun if looks.refused > 0 => TODO_GUARDED,
        Ending::DryRun if looks.partly > 0 => {
            "mend what the reports say would be left, or start again with `confirm` to delete the rest"
        }
        Ending::Error => "start again; what the places say tells where to look",
        _ => result.todo(),
    }
}

/// Where a place of an output is, for people.
pub fn whereabouts(place: &Value) -> String {
    let text = |name: &str| place[name].as_str().map(text::display).filter(|text| !text.is_empty());
    let mut said = format!("account {}", text("account").unwrap_or_else(|| "unknown".to_owned()));
    let regions: Vec<&str> = place["regions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !regions.is_empty() {
        let word = if regions.len() == 1 { "region" } else { "regions" };
        said += &format!(", {word} {}", text::display(&regions.join(" ")));
    }
    for name in ["bucket", "prefix"] {
        if let Some(text) = text(name) {
            said += &format!(", {name} {text}");
        }
    }
    said
}

/// All places could not be read, so the first one says what the sweep ended with.
fn of_unread(unread: &[Value]) -> String {
    let first = unread.first().map(|place| {
        let said = place["message"].as_str().unwrap_or_default();
        format!("{}: {}", whereabouts(place), text::display(said))
    });
    match (unread.len(), first) {
        (1, Some(first)) => format!("nothing could be read in {first}"),
        (n, Some(first)) => format!("none of {n} places could be read; in {first}"),
        (_, None) => Ending::Error.meaning().to_owned(),
    }
}

fn stacks(n: usize) -> String {
    format!("{n} {}", if n == 1 { "stack" } else { "stacks" })
}

fn of_the_others(left: usize) -> String {
    if left == 0 { String::new() } else { format!(", {left} not chosen") }
}
