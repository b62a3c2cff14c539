use proptest::prelude::*;
use serde_json::json;

use serde_json::Value;

use super::*;
use crate::Ending;

fn refusal(input: &str) -> String {
    let refusal = Request::parse(input).expect_err(input);
    assert_eq!(refusal.ending, Ending::InvalidRequest, "{input}");
    refusal.message
}

/// A valid request with one field set.
fn with(field: &str, value: Value) -> String {
    let mut request = json!({"stack": "OrdersApi", "confirm": "OrdersApi"});
    request[field] = value;
    request.to_string()
}

#[test]
fn the_smallest_request_is_valid_and_allows_nothing_beyond() {
    let request = Request::parse(EXAMPLE).unwrap();
    assert_eq!((request.stack.as_str(), request.region.as_deref(), request.dry_run), ("OrdersApi", Some("us-west-2"), false));
    assert_eq!((request.bucket, request.prefix, request.target), (None, None, None));
    assert_eq!((request.options, request.expected_last_modified), (Options::default(), None));
}

#[test]
fn every_field_is_read() {
    let request = Request::parse(
        r#"{"stack": "A~B1", "region": "us-gov-west-1", "confirm": "A~B1", "dryRun": false, "bucket": "my.bucket-1", "prefix": "",
            "target": {"roleArn": "arn:aws-cn:iam::123456789012:role/teams/ebb-target", "externalId": "a/b"},
            "removeProtection": true, "deleteData": true, "skipGuarded": true, "skipFinalSnapshot": true,
            "allowNestedChild": true, "purgeEvents": true, "lockWait": 86400, "expectedLastModified": 1786786212123,
            "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": "arn:aws:states:us-east-1:123456789012:execution:sweep:1"}"#,
    )
    .unwrap();
    assert_eq!(request.prefix.as_deref(), Some(""), "an empty prefix is one, not none");
    assert_eq!(request.target.as_ref().and_then(|t| t.external_id.as_deref()), Some("a/b"));
    assert_eq!(
        request.options,
        Options {
            remove_protection: true,
            delete_data: true,
            skip_guarded: true,
            skip_final_snapshot: true,
            allow_nested_child: true,
            purge_events: true,
            lock_wait: 86_400
        }
    );
    assert_eq!(request.expected_last_modified, Some(1_786_786_212_123));
    assert!(!format!("{request:?}").contains("a/b"), "Debug shows no external id");
}

/// Every file of `events/` that starts a teardown is a request as it stands.
#[test]
fn the_inputs_to_paste_are_requests() {
    for input in [
        include_str!("../../../../events/teardown.json"),
        include_str!("../../../../events/dry-run.json"),
        include_str!("../../../../events/scheduled.json"),
        include_str!("../../../../events/cross-account.json"),
        include_str!("../../../../events/with-options.json"),
    ] {
        Request::parse(input).expect(input);
    }
}

/// Pasted from a chat or a page: nobody finds what cannot be seen.
#[test]
fn what_cannot_be_seen_in_a_fields_name_is_shown() {
    let message = refusal(&with("dryRun\u{200b}", json!(true)));
    assert_eq!(message, r"`dryRun\u{200b}` is no field of a request; did you mean `dryRun`?");
    let message = refusal(r#"{"stack": "A", "confirm": "A", "st\u0430ck": "B"}"#);
    assert!(message.starts_with(r"`st\u{430}ck` is no field"), "{message}");
}

#[test]
fn a_stacks_name_that_is_too_long_is_told_how_long_it_may_be() {
    let message = refusal(&with("stack", json!("S".repeat(513))));
    assert!(message.starts_with("`stack` is not a stack's name") && message.contains("512 characters at most"), "{message}");
    let longest = "S".repeat(512);
    assert!(Request::parse(&json!({"stack": longest, "confirm": longest}).to_string()).is_ok());
}

/// Console default input (`{"Comment": …}`) answers with a smallest valid example.
#[test]
fn an_input_that_asks_for_nothing_is_answered_with_an_example() {
    for input in ["{}", r#"{"Comment": "Insert your JSON here"}"#, "null", "[]", "7", r#""OrdersApi""#, "", "\u{feff}{}"] {
        assert!(refusal(input).contains(EXAMPLE), "{input}");
    }
    assert!(refusal(r#"{"confirm": "OrdersApi"}"#).contains(EXAMPLE));
    assert_eq!(refusal(r#"{"stack": "#), "the input is not JSON");
}

/// Unknown fields are errors.
#[test]
fn an_unknown_field_is_named_with_the_nearest_known_one() {
    for (field, near) in [
        ("dryrun", "dryRun"),
        ("dry_run", "dryRun"),
        ("Stack", "stack"),
        ("stackName", "stack"),
        ("removeProtecton", "removeProtection"),
        ("skipSnapshot", "skipFinalSnapshot"),
        ("lockwait", "lockWait"),
        ("expectedLastModifed", "expectedLastModified"),
        ("regions", "region"),
    ] {
        let message = refusal(&with(field, json!(true)));
        assert_eq!(message, format!("`{field}` is no field of a request; did you mean `{near}`?"));
    }
    assert!(refusal(&with("zzz", json!(true))).contains("known are stack, region, confirm"));
    assert!(refusal(&with("Comment", json!("x"))).starts_with("`Comment` is no field"), "only alone is it the console's default");
    let message = refusal(&with("target", json!({"roleARN": "x"})));
    assert_eq!(message, "`target.roleARN` is no field of a request; did you mean `target.roleArn`?");
    assert!(refusal(r#"{"stack":"A","stack":"B","confirm":"B"}"#).contains("`stack` comes twice"));
}

#[test]
fn a_wrong_type_names_the_field_and_what_it_must_be() {
    for (field, value, expected) in [
        ("stack", json!(7), "`stack` is a number; it must be a string"),
        ("region", json!(null), "`region` is null; it must be a string"),
        ("prefix", json!(["x"]), "`prefix` is an array; it must be a string"),
        ("confirm", json!(true), "`confirm` is a boolean; it must be a string"),
        ("dryRun", json!("true"), "`dryRun` is a string; it must be true or false, without quotes"),
        ("deleteData", json!(1), "`deleteData` is a number; it must be true or false, without quotes"),
        ("lockWait", json!("60"), "`lockWait` is a string; it must be a whole number of seconds from 0 to 86400, without quotes"),
        (
            "expectedLastModified",
            json!("2026-08-15"),
            "`expectedLastModified` is a string; it must be a whole number of milliseconds since 1970 from 0 to 9007199254740991, \
             without quotes",
        ),
        ("target", json!("arn"), "`target` must be an object: {\"roleArn\": \"arn:aws:iam::123456789012:role/ebb-target\"}"),
        ("target", json!({"roleArn": {}}), "`target.roleArn` is an object; it must be a string"),
        ("target", json!({}), "`target.roleArn` is missing"),
    ] {
        assert_eq!(refusal(&with(field, value)), expected);
    }
}

/// Reject stack names and regions that contain control characters or `/`, or equal `.`/`..`; a prefix only for control
/// characters, and Ebb's own.
#[test]
fn values_that_would_become_wrong_keys_are_refused_and_not_echoed() {
    let long = "a".repeat(600);
    for stack in ["", ".", "..", "a/b", "a\nb", "1a", "a_b", "~a", "a~", "a~~b", "a~b-c", "é", long.as_str()] {
        assert!(!is_stack_name(stack), "{stack}");
        let message = refusal(&json!({"stack": stack, "confirm": stack}).to_string());
        assert!(
            message.starts_with("`stack` is not a stack's name") && (stack.len() < 3 || !message.contains(stack)),
            "{message}"
        );
    }
    for region in
        ["", "..", "us-west-2/x", "US-WEST-2", "us-west", "us-2", "uswest2", "us-west-22", "us--west-2", "us-west-2 ", "..-a-1"]
    {
        assert!(!is_region(region), "{region}");
        assert!(refusal(&with("region", json!(region))).starts_with("`region` is not"), "{region}");
    }
    for region in ["us-west-2", "eu-central-1", "us-gov-east-1", "us-iso-east-1", "mx-central-1"] {
        assert!(is_region(region), "{region}");
    }
    for prefix in ["ebb", "ebb/", "ebb/runs", "a\u{1}", "a\u{7f}"] {
        assert!(refusal(&with("prefix", json!(prefix))).starts_with("`prefix` "), "{prefix}");
    }
    for prefix in ["", "ebbs", "team/cdkd", "/x", "..", "é"] {
        Request::parse(&with("prefix", json!(prefix))).expect(prefix);
    }
    for bucket in ["", "ab", "Bucket", "a/b", "-ab", "arn:aws:s3:::x"] {
        assert!(refusal(&with("bucket", json!(bucket))).starts_with("`bucket` is not"), "{bucket}");
    }
    for arn in [
        "",
        "arn:aws:iam::123456789012:user/x",
        "arn:aws:iam::12345678901:role/x",
        "arn:aws:iam::123456789012:role/",
        "arn:aws:iam::123456789012:role/x:role/y",
        "arn:gcp:iam::123456789012:role/x",
        "arn:aws:iam::123456789012:role/*",
    ] {
        let message = refusal(&with("target", json!({"roleArn": arn})));
        assert!(message.starts_with("`target.roleArn` is not"), "{arn}");
    }
    assert!(
        refusal(&with("target", json!({"roleArn": "arn:aws:iam::123456789012:role/x", "externalId": "a b"})))
            .contains("externalId")
    );
    for wait in [json!(-1), json!(1.5), json!(86_401), json!(1e30)] {
        assert!(refusal(&with("lockWait", wait)).starts_with("`lockWait` must be"));
    }
    for written in [json!(-1), json!(1.5), json!(9_007_199_254_740_992u64), json!(1e30)] {
        assert!(refusal(&with("expectedLastModified", written)).starts_with("`expectedLastModified` must be"));
    }
}

/// `confirm` repeats the stack's name; mandatory unless `dryRun`.
#[test]
fn nothing_is_deleted_without_the_stacks_name_repeated() {
    assert!(refusal(r#"{"stack": "A"}"#).contains("`confirm` is missing: write A there"));
    for confirm in ["B", "a", "A ", ""] {
        let message = refusal(&json!({"stack": "A", "confirm": confirm}).to_string());
        assert!(message.contains("`confirm` is not the stack's name"), "{message}");
    }
    assert!(refusal(r#"{"stack": "A", "dryRun": false}"#).contains("`confirm` is missing"));
    assert!(Request::parse(r#"{"stack": "A", "dryRun": true}"#).unwrap().dry_run);
}

/// The rule's transformer wraps an event's detail, so that the word of EventBridge on who asks stands where no detail reaches.
#[test]
fn an_event_is_read_with_the_account_that_it_came_from() {
    let asked = |by: Value, request: Value| Request::parse(&json!({"requestedBy": by, "request": request}).to_string());
    let valid = json!({"stack": "A", "region": "us-west-2", "confirm": "A"});
    let request = asked(json!("210987654321"), valid.clone()).unwrap();
    assert_eq!((request.requested_by.as_deref(), request.stack.as_str()), (Some("210987654321"), "A"));
    assert_eq!(Request::parse(&valid.to_string()).unwrap().requested_by, None);

    for by in [json!(null), json!(210_987_654_321u64), json!("210"), json!("")] {
        assert!(asked(by, valid.clone()).unwrap_err().message.starts_with("`requestedBy` "));
    }
    let mut forged = valid.clone();
    forged["requestedBy"] = "123456789012".into();
    assert!(
        asked(json!("210987654321"), forged.clone()).unwrap_err().message.starts_with("`requestedBy` is no field of a request")
    );
    assert!(refusal(&forged.to_string()).starts_with("`requestedBy` is no field of a request"));
    let beside = json!({"requestedBy": "210987654321", "request": valid, "stack": "B"});
    assert!(refusal(&beside.to_string()).starts_with("`stack` is no field"));
    assert!(asked(json!("210987654321"), json!("A")).unwrap_err().message.starts_with("the input is not an object"));
    assert!(asked(json!("210987654321"), json!({})).unwrap_err().message.starts_with("the input names no stack"));
    let nested = json!({"requestedBy": "210987654321", "request": {"requestedBy": "1", "request": {}}});
    assert!(Request::parse(&nested.to_string()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(input in "\\PC{0,80}|[\\[\\]{}\":,a-z0-9 ]{0,80}") {
        let _ = Request::parse(&input);
    }

    #[test]
    fn a_mutated_request_is_read_or_refused(at in 0usize..200, with in any::<char>(), cut in 0usize..6) {
        let input = include_str!("../../../../events/with-options.json");
        let mut chars: Vec<char> = input.chars().collect();
        let at = at.min(chars.len() - 1);
        chars.splice(at..(at + cut).min(chars.len()), [with]);
        let input: String = chars.into_iter().collect();
        match Request::parse(&input) {
            Ok(request) => prop_assert!(is_stack_name(&request.stack)),
            Err(refusal) => prop_assert_eq!(refusal.ending, Ending::InvalidRequest),
        }
    }
}

#[test]
fn a_deep_input_does_not_exhaust_the_stack() {
    let bomb = format!(r#"{{"stack":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(refusal(&bomb), "`stack` cannot be read");
}
