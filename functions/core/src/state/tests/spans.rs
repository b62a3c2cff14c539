use std::collections::BTreeSet;

use super::*;

/// The bytes of a row in its body.
fn cut<'a>(doc: &StateDoc, body: &'a [u8], id: &str) -> &'a [u8] {
    &body[doc.span(id).unwrap_or_else(|| panic!("{id} has no span"))]
}

/// Every row alone is the row of the whole, of the body as it was read and as it is written back.
#[test]
fn a_span_holds_its_row_and_nothing_else() {
    for (text, layout) in ALL {
        let first = doc(text, layout);
        let key = StackKey::new("cdkd", "S", "us-east-1");
        let gone: BTreeSet<&str> = first.ids().step_by(3).collect();
        let trimmed = first.trim(&gone, 7, &key);
        let second = StateDoc::parse(&trimmed, Layout::Regional).unwrap();
        assert_eq!(second.resource_count(), first.resource_count() - gone.len());
        for (doc, body) in [(&first, text.as_bytes()), (&second, &trimmed)] {
            for id in doc.ids() {
                assert_eq!(Row::alone(cut(doc, body, id), id), doc.row(id), "{id}");
            }
        }
    }
}

/// The body decides where a row lies, not how it is usually laid out; a name may be escaped and hold what looks like a row.
#[test]
fn a_span_is_found_in_any_layout() {
    const ROW: &str = r#"{"physicalId":"q","resourceType":"T","properties":{"a":"}, \"B\": {"}}"#;
    let body = format!(
        "{{\"outputs\":{{\"A\":1}},\"resources\":{{\n\t\"\\u0041\" :{ROW} ,\r\n \"\\\"A\\\": \\u007b\":\n{ROW},\"ü\":{ROW}}},\"z\":{{}}}}"
    );
    let doc = doc(&body, Layout::Regional);
    assert_eq!(doc.ids().collect::<Vec<_>>(), ["A", "\"A\": {", "ü"]);
    for (id, starts) in [("A", "\"\\u0041\" :{"), ("\"A\": {", "\"\\\"A\\\": \\u007b\":\n{"), ("ü", "\"ü\":{")] {
        let bytes = cut(&doc, body.as_bytes(), id);
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.starts_with(starts) && text.ends_with(ROW), "{text}");
        assert_eq!(Row::alone(bytes, id), doc.row(id));
    }
    assert_eq!(doc.span("B"), None);
}

/// What lies elsewhere is not a row: cut off, too long, of another name, twice, or no text.
#[test]
fn anything_else_is_not_the_row() {
    const ROW: &str = r#""A": {"physicalId": "q", "resourceType": "T", "properties": {}}"#;
    assert_eq!(Row::alone(ROW.as_bytes(), "A").unwrap().physical_id.as_deref(), Some("q"));
    let other = ROW.replace("\"A\"", "\"B\"");
    for odd in [
        ROW[1..].to_owned(),
        ROW[..ROW.len() - 1].to_owned(),
        format!("{ROW},"),
        format!("{ROW}}}"),
        format!("{ROW}, {other}"),
        format!("{ROW}, {ROW}"),
        format!("{ROW}}}, {{{ROW}"),
        other,
        String::new(),
        r#""A": 7"#.to_owned(),
        r#""A": {"physicalId": "q"}"#.to_owned(),
    ] {
        assert_eq!(Row::alone(odd.as_bytes(), "A"), None, "{odd}");
    }
    assert_eq!(Row::alone(b"\"A\": {\"resourceType\": \"\xff\"}", "A"), None);
}
