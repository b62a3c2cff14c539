//! The waves on a time line: one bar per resource, from its first step to its end, as an inline SVG.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use super::html::{duration, escape, outcome};

const LABELS: f64 = 300.0;
const BARS: f64 = 600.0;
const ROW: f64 = 18.0;
const TOP: f64 = 34.0;
/// Rows of the picture; the table below it has all.
const MOST: usize = 400;

/// The picture, or nothing when no work was begun.
pub(super) fn svg(report: &Report) -> Option<String> {
    let (from, to) = report.span;
    let rows: Vec<_> = report.resources.iter().filter(|row| row.started > 0).take(MOST).collect();
    if rows.is_empty() {
        return None;
    }
    let span = to.saturating_sub(from).max(1) as f64;
    let x = |at: u64| LABELS + BARS * (at.clamp(from, to.max(from)) - from) as f64 / span;
    let height = TOP + ROW * rows.len() as f64 + 6.0;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg viewBox=\"0 0 {:.0} {height:.0}\" role=\"img\" aria-label=\"Time line of the run\">",
        LABELS + BARS + 10.0
    );
    // A line where each wave began; numbers that would run into each other are left out.
    let mut waves: BTreeMap<u64, u64> = BTreeMap::new();
    for row in &rows {
        if let Some(wave) = row.wave {
            let first = waves.entry(wave).or_insert(row.started);
            *first = (*first).min(row.started);
        }
    }
    let mut last = f64::MIN;
    for (wave, at) in waves {
        let x = x(at);
        let _ = writeln!(svg, "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{height:.0}\" class=\"wave\"/>", TOP - 6.0);
        if x - last > 22.0 {
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{:.0}\" class=\"tick\">{wave}</text>", TOP - 10.0);
            last = x;
        }
    }
    let _ = writeln!(svg, "<text x=\"0\" y=\"{:.0}\" class=\"tick\">wave</text>", TOP - 10.0);
    for (n, row) in rows.iter().enumerate() {
        let y = TOP + ROW * n as f64;
        let end = if row.ended > 0 { row.ended } else { to };
        let (left, right) = (x(row.started), x(end));
        let took = duration(end.saturating_sub(row.started));
        let _ = writeln!(
            svg,
            "<g><title>{id} ({kind}): {outcome}, {took}</title><text x=\"{:.0}\" y=\"{:.0}\" class=\"label\">{label}</text>\
             <rect x=\"{left:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"{:.0}\" class=\"{outcome}\"/></g>",
            LABELS - 8.0,
            y + 13.0,
            y + 2.0,
            (right - left).max(2.0),
            ROW - 4.0,
            id = escape(&row.id),
            kind = escape(&row.resource_type),
            outcome = outcome(row),
            label = escape(&shortened(&row.id)),
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// The end of a long id tells more than its beginning.
fn shortened(id: &str) -> String {
    let chars: Vec<char> = id.chars().collect();
    match chars.len() {
        0..=44 => id.to_owned(),
        n => format!("…{}", chars[n - 43..].iter().collect::<String>()),
    }
}
