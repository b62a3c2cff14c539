//! Display-safe text: everything read from S3 or AWS passes here before it reaches a log, an event, a message or an
//! output (contract: cdkd prints the same way).

use serde_json::Value;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::Millis;

/// What is shown when nothing printable is left.
pub const UNRENDERABLE: &str = "<unrenderable>";
/// Longest text that is displayed, in bytes.
pub const MAX_TEXT: usize = 1024;

/// Control characters, line and paragraph separators and bidirectional overrides become spaces; trimmed and cut at 1 KiB.
pub fn display(text: &str) -> String {
    let safe: String = text.chars().map(|c| if is_hostile(c) { ' ' } else { c }).collect();
    let safe = safe.trim();
    if safe.is_empty() && !text.is_empty() {
        return UNRENDERABLE.to_owned();
    }
    cut(safe, MAX_TEXT)
}

/// As [`display`], and only printable ASCII is kept: for names that appear in ready-made commands.
pub fn ascii(text: &str) -> String {
    let safe: String = text.chars().filter(|c| (' '..='~').contains(c)).collect();
    let safe = safe.trim();
    if safe.is_empty() && !text.is_empty() {
        return UNRENDERABLE.to_owned();
    }
    cut(safe, MAX_TEXT)
}

/// A JSON value for people: a string's display form, or the kind of anything else, never its value.
pub fn display_value(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(s)) => display(s),
        Some(other) => kind(other).to_owned(),
    }
}

/// The kind of a JSON value, for messages that must not show the value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// At most `max` bytes, on a character boundary, with an ellipsis when something was cut.
pub fn cut(text: &str, max: usize) -> String {
    const ELLIPSIS: char = '…';
    if text.len() <= max {
        return text.to_owned();
    }
    let Some(room) = max.checked_sub(ELLIPSIS.len_utf8()) else {
        return String::new();
    };
    let end = (0..=room).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..end])
}

/// At most `max` bytes of a message, and a cut one says that it was. Prose gives way before an input to paste that ends it
/// (a JSON object), which is there whole or not at all.
pub fn shorten(message: &str, max: usize) -> String {
    const CUT: &str = "… (cut)";
    if message.len() <= max {
        return message.to_owned();
    }
    let at = message.find("{\"").filter(|_| message.ends_with('}')).unwrap_or(message.len());
    let (prose, input) = message.split_at(at);
    let input = Some(format!("{CUT} {input}")).filter(|said| !input.is_empty() && said.len() <= max);
    let said = input.unwrap_or_else(|| CUT.to_owned());
    let Some(room) = max.checked_sub(said.len()) else { return String::new() };
    let end = (0..=room.min(prose.len())).rev().find(|&i| prose.is_char_boundary(i)).unwrap_or(0);
    format!("{}{said}", &prose[..end])
}

/// A name as somebody wrote it, for a message that says that it is wrong: what cannot be seen, or looks like something else,
/// is shown as an escape (`confirm\u{200b}`). At most 64 bytes.
pub fn escaped(name: &str) -> String {
    let shown = |c: char| match c {
        ' '..='~' => String::from(c),
        _ => c.escape_unicode().to_string(),
    };
    cut(&name.chars().take(64).map(shown).collect::<String>(), 64)
}

/// An instant as cdkd writes it: ISO 8601, UTC, milliseconds (`2026-08-15T09:30:12.123Z`).
pub fn iso(at: Millis) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at) * 1_000_000)
        .ok()
        .and_then(|instant| instant.format(&format).ok())
        .unwrap_or_else(|| format!("{at}ms"))
}

fn is_hostile(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hostile_characters_become_spaces() {
        assert_eq!(display("a\u{1b}[2Jb\u{202e}c\r\n"), "a [2Jb c");
        assert_eq!(display("\u{0}\u{7f}"), UNRENDERABLE);
        assert_eq!(display(""), "");
        assert_eq!(ascii("naïve\u{202e}"), "nave");
    }

    #[test]
    fn cuts_on_a_character_boundary_with_an_ellipsis() {
        assert_eq!(cut("éééé", 8), "éééé");
        assert_eq!(cut("éééé", 7), "éé…");
        assert_eq!(cut("abc", 2), "");
        assert!(display(&"x".repeat(5000)).len() <= MAX_TEXT);
    }

    #[test]
    fn a_message_that_is_cut_says_so_and_never_cuts_an_input_to_paste() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("ééééééééé", 13), "éé… (cut)");
        let held = r#"held by somebody with a name {"action":"force-unlock"}"#;
        assert_eq!(shorten(held, held.len()), held);
        assert_eq!(shorten(held, 48), r#"held by someb… (cut) {"action":"force-unlock"}"#);
        assert_eq!(shorten(held, 20), "held by som… (cut)", "what does not fit is left out");
        assert_eq!(shorten(held, 3), "");
        for max in 0..60 {
            let said = shorten(held, max);
            assert!(said.len() <= max && (!said.contains('{') || said.ends_with(r#"{"action":"force-unlock"}"#)), "{said}");
        }
    }

    #[test]
    fn a_name_shows_what_cannot_be_seen_in_it() {
        assert_eq!(escaped("confirm\u{200b}"), r"confirm\u{200b}");
        assert_eq!(escaped("st\u{430}ck\n\u{202e}"), r"st\u{430}ck\u{a}\u{202e}");
        assert_eq!(escaped("dry run"), "dry run");
        assert!(escaped(&"\u{feff}".repeat(500)).len() <= 64);
    }

    #[test]
    fn shows_the_kind_and_never_the_value_of_what_is_not_text() {
        assert_eq!(display_value(Some(&json!({"secret": 1}))), "an object");
        assert_eq!(display_value(Some(&json!("a\nb"))), "a b");
        assert_eq!(display_value(None), "");
    }
}
