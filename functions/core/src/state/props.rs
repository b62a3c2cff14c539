//! Properties of reading and writing states: whatever is in the bucket, nothing panics and nothing unknown is altered.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::samples::{ALL, LATEST};
use super::{Layout, Members, StateDoc};
use crate::StackKey;

const AT: crate::Millis = 1_770_000_000_123;

fn key() -> StackKey {
    StackKey::new("cdkd", "TenantPortal", "eu-west-1")
}

/// JSON text of any shape, with numbers that no float holds exactly, and some that none holds at all.
fn any_json() -> impl Strategy<Value = String> {
    json_with("-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
}

/// JSON text that can stand in a property: cdkd, being JavaScript, writes no number beyond a float's range.
pub(crate) fn any_property() -> impl Strategy<Value = String> {
    json_with("-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
}

fn json_with(number: &'static str) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        number,
        any::<String>().prop_map(|s| Value::from(s).to_string()),
        "\"(\\\\u00e9|\\\\/|\\\\\\\\|\\\\\"|[a-z{}\\[\\]:, ])*\"",
        Just("null".to_owned()),
        Just("true".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..4).prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// The text without white space between tokens.
fn compact(json: &str) -> String {
    let (mut out, mut in_string, mut escaped) = (String::new(), false, false);
    for c in json.chars() {
        if in_string || !c.is_ascii_whitespace() {
            out.push(c);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
    }
    out
}

/// What passes the gate can be read, trimmed, and read again.
fn holds_together(doc: &StateDoc) -> Result<(), TestCaseError> {
    prop_assert_eq!(doc.rows().count(), doc.resource_count());
    let _ = (doc.imports(), doc.output_reads(), doc.export_names(), doc.output_names(), doc.parent(), doc.check_region("r"));
    let half: BTreeSet<&str> = doc.ids().step_by(2).collect();
    let body = doc.trim(&half, AT, &key());
    let again = StateDoc::parse(&body, Layout::Regional).map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(again.resource_count(), doc.resource_count() - half.len());
    prop_assert_eq!(again.orphans(), doc.orphans());
    prop_assert_eq!(again.trim(&half, AT, &key()), body, "a repeated trim writes the same bytes");
    Ok(())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn unknown_fields_survive_a_rewrite_to_the_letter(stack_field in any_json(), row_field in any_json(), property in any_property()) {
        let body = LATEST
            .replacen("\"stackName\"", &format!("\"fromTomorrow\": {stack_field},\n\"stackName\""), 1)
            .replacen("\"BucketName\"", &format!("\"FromTomorrow\":{property} ,\"BucketName\""), 1)
            .replacen("\"physicalId\"", &format!("\"alsoFromTomorrow\" : {row_field}, \"physicalId\""), 1);
        let doc = StateDoc::parse(body.as_bytes(), Layout::Regional).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let text = String::from_utf8(doc.trim(&BTreeSet::new(), AT, &key())).unwrap();
        let top = Members::parse(&text).unwrap();
        prop_assert_eq!(compact(top.get("fromTomorrow").unwrap().get()), stack_field);
        let rows = Members::parse(top.get("resources").unwrap().get()).unwrap();
        let row = Members::parse(rows.get("AssetsBucket0A").unwrap().get()).unwrap();
        prop_assert_eq!(compact(row.get("alsoFromTomorrow").unwrap().get()), row_field);
        let properties = Members::parse(row.get("properties").unwrap().get()).unwrap();
        prop_assert_eq!(compact(properties.get("FromTomorrow").unwrap().get()), property);
        let order: Vec<&String> = top.entries.keys().collect();
        prop_assert_eq!(&order[..3], &["version", "fromTomorrow", "stackName"]);
    }

    #[test]
    fn the_rest_of_a_row_is_kept_token_by_token(sample in 0..ALL.len()) {
        let (text, layout) = ALL[sample];
        let doc = StateDoc::parse(text.as_bytes(), layout).unwrap();
        let written = String::from_utf8(doc.trim(&BTreeSet::new(), AT, &key())).unwrap();
        let rows = |text: &str| compact(Members::parse(text).unwrap().get("resources").unwrap().get());
        prop_assert_eq!(rows(&written), rows(text));
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = StateDoc::parse(&body, Layout::Regional);
        let _ = StateDoc::parse(&body, Layout::Legacy);
    }

    #[test]
    fn any_json_is_read_or_refused(json in any_json()) {
        let row = format!(r#"{{"resources": {{"A": {json}}}, "orphans": [{json}], "imports": {json}}}"#);
        let fields = format!(
            r#"{{"resources": {{"A": {{"resourceType": "T", "properties": {{}}, "attributes": {json}, "provisionedBy": {json}, "deletionPolicy": {json}}}}},
                "imports": {json}, "exportNames": {json}, "parentStack": {json}, "region": {json}}}"#
        );
        for body in [json, row, fields] {
            if let Ok(doc) = StateDoc::parse(body.as_bytes(), Layout::Legacy) {
                holds_together(&doc)?;
            }
        }
    }

    #[test]
    fn a_mutated_state_is_read_or_refused(sample in 0..ALL.len(), at in any::<prop::sample::Index>(), cut in 0usize..40, put in "[\\[\\]{}\",:a0 \\\\]{0,3}") {
        let (text, layout) = ALL[sample];
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + cut).min(text.len()), put.bytes());
        if let Ok(doc) = StateDoc::parse(&bytes, layout) {
            holds_together(&doc)?;
        }
    }

    #[test]
    fn a_state_with_any_part_replaced_is_read_or_refused(sample in 0..ALL.len(), at in any::<prop::sample::Index>(), json in any_json()) {
        let (text, layout) = ALL[sample];
        // Replaces the value of one member, whichever line it starts on.
        let lines: Vec<(usize, &str)> = text.match_indices("\": ").collect();
        let start = lines[at.index(lines.len())].0 + 3;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        values.next();
        let end = start + values.byte_offset();
        let body = format!("{}{json}{}", &text[..start], &text[end..]);
        if let Ok(doc) = StateDoc::parse(body.as_bytes(), layout) {
            holds_together(&doc)?;
        }
    }
}
