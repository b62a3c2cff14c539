//! The report for programs.

use super::Report;

/// Two spaces of indentation, a line break at the end.
pub(super) fn text(report: &Report) -> Vec<u8> {
    // A report holds texts and numbers only: there is nothing in it that JSON cannot say.
    let mut body = serde_json::to_vec_pretty(report).unwrap_or_default();
    body.push(b'\n');
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::Forecast;
    use crate::testing::{dry, partial};

    #[test]
    fn a_partial_run() {
        let body = text(&Report::of(&partial(), None));
        insta::assert_json_snapshot!(serde_json::from_slice::<serde_json::Value>(&body).unwrap());
    }

    #[test]
    fn a_dry_run() {
        let forecast =
            Forecast { levels: vec![vec!["S/Queue".into()], vec!["S/Role".into(), "S/Table".into()]], longest_path_seconds: 14 };
        insta::assert_json_snapshot!(Report::of(&dry(), Some(&forecast)));
    }
}
