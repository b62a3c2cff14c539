use super::*;

/// A region-keyed body that differs in any way is refused when it records a resource, allowed when it has none.
#[test]
fn identity_of_a_region_keyed_state() {
    let region = |value: Value| move |s: &mut Value| s["region"] = value;
    assert_eq!(doc(samples::NETWORK, Layout::Regional).check_region("us-east-1"), Ok(RegionNote::Same));
    let absent = changed(samples::NETWORK, |s| remove(s, "", "region"));
    assert_eq!(absent.check_region("us-east-1"), Ok(RegionNote::Adopted));
    for (value, kind) in [
        (json!("us-east-2"), "another string"),
        (json!("US-EAST-1"), "another string"),
        (json!(" us-east-1"), "another string"),
        (json!(""), "an empty string"),
        (json!(null), "null"),
        (json!(7), "a number"),
        (json!(["us-east-1"]), "an array"),
        (json!({"a": "us-east-1"}), "an object"),
    ] {
        let refusal = changed(samples::NETWORK, region(value.clone())).check_region("us-east-1").unwrap_err();
        assert_eq!(refusal.ending, Ending::RegionMismatch);
        assert!(refusal.message.contains(&format!("its own `region` is {kind};")), "{refusal}");
        assert!(!refusal.message.contains("us-east-2") && !refusal.message.contains("US-EAST"), "only the kind: {refusal}");
        let empty = changed(samples::NETWORK, |s| {
            region(value)(s);
            s["resources"] = json!({});
        });
        assert_eq!(empty.check_region("us-east-1"), Ok(RegionNote::Diverges(kind)));
    }
}

/// The belonging test: falsy is ours, equal is ours, another string is elsewhere, a truthy non-string is refused.
#[test]
fn belonging_of_a_legacy_record() {
    for (value, expected) in [
        (Some(json!("ap-northeast-1")), Belonging::Ours),
        (None, Belonging::Ours),
        (Some(json!(null)), Belonging::Ours),
        (Some(json!("")), Belonging::Ours),
        (Some(json!(false)), Belonging::Ours),
        (Some(json!(0)), Belonging::Ours),
        (Some(json!(-0.0)), Belonging::Ours),
        (Some(json!("us-east-1")), Belonging::Elsewhere),
        (Some(json!("AP-NORTHEAST-1")), Belonging::Elsewhere),
        (Some(json!(7)), Belonging::Unclear),
        (Some(json!(true)), Belonging::Unclear),
        (Some(json!([])), Belonging::Unclear),
        (Some(json!({})), Belonging::Unclear),
    ] {
        let text = edit(samples::LEGACY, |s| match value.clone() {
            None => remove(s, "", "region"),
            Some(value) => s["region"] = value,
        });
        let doc = doc(&text, Layout::Legacy);
        assert_eq!(doc.region().belongs_to("ap-northeast-1"), expected, "{value:?}");
        assert_eq!(&peek_region(text.as_bytes()).unwrap(), doc.region());
        let note = doc.check_region("ap-northeast-1");
        match expected {
            Belonging::Ours if value == Some(json!("ap-northeast-1")) => assert_eq!(note, Ok(RegionNote::Same)),
            Belonging::Ours => assert_eq!(note, Ok(RegionNote::Regionless)),
            _ => assert_eq!(note.unwrap_err().ending, Ending::RegionMismatch),
        }
    }
}
