//! The report for people: one page without scripts, fonts or anything else from outside. Every text that is not ours is
//! escaped here.

use std::fmt::Write;

use ebb_core::{Ending, Outcome};

use super::{Report, ResourceReport, timeline};

const STYLE: &str = include_str!("report.css");

/// The page.
pub(super) fn page(report: &Report) -> String {
    let mut page = Page(String::with_capacity(16 * 1024));
    let run = &report.run;
    let _ = write!(
        page.0,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{stack}: {result}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{stack} <small>{region}</small> <span class=\"badge class{class}\">{result}</span></h1>\n<p>{message}</p>\n",
        stack = escape(&run.stack),
        region = escape(&run.region),
        result = escape(report.result),
        class = report.exit_class,
        message = escape(&report.message),
    );
    counts(&mut page, report);
    if !(report.exit_class == 0 && report.result != Ending::DryRun.name()) {
        page.section("What to do next", report.todo.iter().map(|todo| escape(todo)));
    }
    page.table(
        if run.dry_run { "What would be left" } else { "What is left, and why" },
        &["resource", "type", "outcome", "why", "what mends it"],
        report.resources.iter().filter(|row| is_left(row)).map(|row| {
            vec![named(row), escape(&row.resource_type), word(row), because(row), escape(row.todo.unwrap_or_default())]
        }),
    );
    page.table(
        "Still in AWS",
        &["resource", "type", "physical id", "what"],
        report
            .leftovers
            .iter()
            .map(|left| vec![escape(&left.id), escape(&left.resource_type), code(&left.physical_id), escape(&left.what)]),
    );
    page.section("Warnings", report.warnings.iter().map(|warning| escape(warning)));
    if let Some(plan) = &report.plan {
        let _ = write!(
            page.0,
            "<h2>Plan</h2>\n<p>The longest chain of deletes takes about {}. A level is what only waits for the levels before it; \
             what is free goes at once.</p>\n",
            duration(plan.longest_path_seconds.saturating_mul(1000))
        );
        let levels = plan.levels.iter().enumerate();
        page.table("", &["level", "resources"], levels.map(|(n, ids)| vec![(n + 1).to_string(), escape(&ids.join(", "))]));
    }
    if let Some(svg) = timeline::svg(report) {
        page.0.push_str("<h2>Time line</h2>\n");
        page.0.push_str(&svg);
    }
    page.table(
        "All resources",
        &["resource", "type", "outcome", "wave", "took", "why"],
        report.resources.iter().map(|row| {
            let wave = row.wave.map(|wave| wave.to_string()).unwrap_or_default();
            let took = row.duration_ms.map(duration).unwrap_or_default();
            vec![named(row), escape(&row.resource_type), word(row), wave, took, because(row)]
        }),
    );
    about(&mut page, report);
    page.0.push_str("</body>\n</html>\n");
    page.0
}

fn counts(page: &mut Page, report: &Report) {
    let counts = &report.counts;
    let all = [
        ("deleted", counts.deleted),
        ("retained", counts.retained),
        ("skipped", counts.skipped),
        ("failed", counts.failed),
        ("blocked", counts.blocked),
    ];
    page.0.push_str("<ul class=\"counts\">\n");
    for (name, count) in all {
        let none = if count == 0 { " none" } else { "" };
        let _ = writeln!(page.0, "<li class=\"{name}{none}\"><b>{count}</b> {name}</li>");
    }
    page.0.push_str("</ul>\n");
}

fn about(page: &mut Page, report: &Report) {
    let run = &report.run;
    let states: Vec<String> =
        report.states.iter().map(|s| format!("{} ({})", s.stack, if s.removed { "removed" } else { "kept" })).collect();
    let options = serde_json::to_value(&run.options).ok();
    let allowed: Vec<String> = options
        .as_ref()
        .and_then(|options| options.as_object())
        .into_iter()
        .flatten()
        .filter(|(_, value)| **value != false && **value != 0)
        .map(|(name, value)| if value == true { name.clone() } else { format!("{name} {value}") })
        .collect();
    let facts = [
        ("run", run.run_id.clone()),
        ("execution", run.execution.clone()),
        ("started", report.started_at.clone()),
        ("ended", format!("{}, after {}", report.ended_at, duration(report.duration_ms))),
        ("waves", report.waves.to_string()),
        ("drives", report.drives.to_string()),
        ("lock", run.lock_owner.clone()),
        ("account", run.account.clone()),
        ("state", format!("s3://{}, prefix {}", run.bucket, run.prefix)),
        ("state files", states.join(", ")),
        ("role", run.role.clone().unwrap_or_default()),
        ("options", allowed.join(", ")),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    page.table("The run", &["", ""], facts.map(|(name, value)| vec![name.to_owned(), code(&value)]));
}

/// Whether a person has something to do or to know about it.
fn is_left(row: &ResourceReport) -> bool {
    match row.outcome {
        Some(outcome) => !matches!(outcome, Outcome::Deleted | Outcome::Retained),
        None => row.code.is_some(),
    }
}

fn named(row: &ResourceReport) -> String {
    if row.physical_id.is_empty() { escape(&row.id) } else { format!("{}<br>{}", escape(&row.id), code(&row.physical_id)) }
}

fn because(row: &ResourceReport) -> String {
    let code = row.code.as_deref().map(|code| format!("<b>{}</b> ", escape(code))).unwrap_or_default();
    format!("{code}{}", escape(row.reason.as_deref().unwrap_or_default()))
}

fn word(row: &ResourceReport) -> String {
    let word = outcome(row);
    format!("<span class=\"{word}\">{word}</span>{}", if row.already { " (was gone)" } else { "" })
}

/// A resource's outcome as a word; also the class it is painted with.
pub(super) fn outcome(row: &ResourceReport) -> &'static str {
    match row.outcome {
        Some(Outcome::Deleted) => "deleted",
        Some(Outcome::Pending) => "pending",
        Some(Outcome::Retained) => "retained",
        Some(Outcome::Skipped) => "skipped",
        Some(Outcome::Failed) => "failed",
        Some(Outcome::Blocked) => "blocked",
        None => "planned",
    }
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<code>{}</code>", escape(text)) }
}

/// Text that cannot become markup, in content and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A time span for people.
pub(super) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{:.1} s", ms as f64 / 1000.0),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The page under construction. What it is given is markup.
struct Page(String);

impl Page {
    fn section(&mut self, title: &str, items: impl Iterator<Item = String>) {
        let items: Vec<String> = items.collect();
        if items.is_empty() {
            return;
        }
        let _ = write!(self.0, "<h2>{title}</h2>\n<ul>\n");
        for item in items {
            let _ = writeln!(self.0, "<li>{item}</li>");
        }
        self.0.push_str("</ul>\n");
    }

    fn table(&mut self, title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            return;
        }
        if !title.is_empty() {
            let _ = writeln!(self.0, "<h2>{title}</h2>");
        }
        self.0.push_str("<table>\n");
        if columns.iter().any(|column| !column.is_empty()) {
            let heads: String = columns.iter().map(|column| format!("<th>{column}</th>")).collect();
            let _ = writeln!(self.0, "<tr>{heads}</tr>");
        }
        for row in rows {
            let cells: String = row.iter().map(|cell| format!("<td>{cell}</td>")).collect();
            let _ = writeln!(self.0, "<tr>{cells}</tr>");
        }
        self.0.push_str("</table>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECRET, partial};

    #[test]
    fn a_partial_run() {
        insta::assert_snapshot!(page(&Report::of(&partial(), None)));
    }

    /// Everything read from S3 or AWS is text, never markup; nothing is fetched and nothing runs.
    #[test]
    fn hostile_text_stays_text() {
        let hostile = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>\u{202e}";
        let mut record = partial();
        let row = record.resources.get("S/Queue").cloned().unwrap();
        let evil = ebb_core::record::ResourceRecord {
            resource_type: hostile.into(),
            physical_id: hostile.into(),
            code: Some(hostile.into()),
            reason: Some(hostile.into()),
            ..row
        };
        record.resources.insert(format!("S/{hostile}"), evil);
        record.orphans.push(hostile.into());
        record.warnings.push(hostile.into());
        record.run.stack = hostile.into();
        record.run.owner = hostile.into();
        if let Some(ended) = &mut record.ended {
            ended.message = Some(hostile.into());
        }
        let page = page(&Report::of(&record, None));
        for needle in ["<script", "<img", "\u{202e}", "onerror='"] {
            assert!(!page.contains(needle), "{needle}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)"));
        for needle in ["<script", "src=", "href=", "url(", "@import", "http://", "https://"] {
            assert!(!super::page(&Report::of(&partial(), None)).contains(needle), "{needle}");
        }
    }

    /// What a step remembers is no one's to read.
    #[test]
    fn memos_are_not_shown() {
        let record = partial();
        assert!(serde_json::to_string(&record).unwrap().contains(SECRET), "the record has it");
        let report = Report::of(&record, None);
        assert!(!page(&report).contains(SECRET));
        assert!(!String::from_utf8(super::super::json::text(&report)).unwrap().contains(SECRET));
    }

    #[test]
    fn time_spans_are_words() {
        for (ms, words) in [(0, "0.0 s"), (812, "0.8 s"), (59_999, "59 s"), (61_000, "1 min 1 s"), (7_260_000, "2 h 1 min")] {
            assert_eq!(duration(ms), words);
        }
    }
}
