//! Names and ids that come from outside, of every odd form that S3 and AWS let through: read or refused, never cut into
//! something else. Tests only.

use proptest::prelude::*;

use crate::keys::{StateKey, parse_state_key};
use crate::request::{check_prefix, is_bucket_name, is_region, is_role_arn, is_stack_name};
use crate::run::{ExecutionArn, run_id};
use crate::{StackKey, StackRef, text};

/// What S3 takes as a part of a key: anything but the slash that ends the part.
const PARTS: [&str; 14] = [
    "S~Child",
    "S~A~B",
    "with space",
    " led",
    "a|b",
    "100%",
    "%2F",
    "a%2Fb",
    "quo\"te'",
    "a+b",
    "ünïcode-日本語",
    "-._~!*'()",
    "..",
    "\u{202e}x",
];

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A listed key is read back as the stack and region that it was made of.
fn comes_back(prefix: &str, stack: &str, region: &str) {
    let key = StackKey::new(prefix, stack, region);
    let named = StateKey::Regional(StackRef { stack: stack.into(), region: region.into() });
    assert_eq!(parse_state_key(prefix, &key.state()), Some(named), "{}", key.state());
    assert_eq!(parse_state_key(prefix, &key.legacy_state()), Some(StateKey::Legacy(stack.into())), "{}", key.legacy_state());
    for other in [
        key.lock(),
        key.legacy_lock(),
        key.rollback_journal(),
        key.create_tokens(),
        key.events("r"),
        key.events_index(),
        key.run_record("r"),
    ] {
        assert_eq!(parse_state_key(prefix, &other), None, "{other}");
    }
}

#[test]
fn odd_names_come_back_from_their_keys() {
    for prefix in ["cdkd", "", "a/b", "a//b/", "%2F", "ünï cöde"] {
        for part in PARTS {
            comes_back(prefix, part, "us-east-1");
            comes_back(prefix, "S", part);
        }
    }
}

/// No two stacks share an object.
#[test]
fn keys_of_different_stacks_differ() {
    let mut keys = std::collections::BTreeSet::new();
    for (stack, region) in PARTS.iter().flat_map(|stack| PARTS.map(|region| (*stack, region))) {
        let key = StackKey::new("cdkd", stack, region);
        for name in [key.state(), key.lock(), key.run_record("r"), key.report_json("r"), key.report_html("r"), key.events("r")] {
            assert!(keys.insert(name.clone()), "{name}");
        }
    }
}

/// What a request may name is plain: nothing of it has to be escaped anywhere.
#[test]
fn a_request_names_no_odd_stack_or_region() {
    for part in PARTS {
        assert_eq!(is_stack_name(part), matches!(part, "S~Child" | "S~A~B"), "{part}");
        assert!(!is_region(part) && !is_bucket_name(part) && !is_role_arn(part), "{part}");
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn any_key_is_a_states_or_not(prefix in "\\PC{0,6}", key in "[/a-c_.]{0,6}|\\PC{0,40}|cdkd/\\PC{0,10}/\\PC{0,10}/state\\.json") {
        for prefix in [prefix.as_str(), "cdkd", ""] {
            match parse_state_key(prefix, &key) {
                Some(StateKey::Regional(at)) => prop_assert_eq!(StackKey::new(prefix, &at.stack, &at.region).state(), &*key),
                Some(StateKey::Legacy(stack)) => prop_assert_eq!(StackKey::new(prefix, &stack, "r").legacy_state(), &*key),
                None => {}
            }
        }
    }

    #[test]
    fn any_parts_come_back(stack in "[^/]{1,12}", region in "[^/]{1,12}") {
        prop_assume!(stack != "_index");
        comes_back("cdkd", &stack, &region);
    }

    /// The owner survives the sanitiser unchanged, or our own lock would not be recognised.
    #[test]
    fn any_execution_has_an_owner_that_can_be_shown(arn in "\\PC{0,60}|arn:\\PC{0,9}:states:\\PC{0,9}:\\PC{0,9}:execution:\\PC{0,90}:\\PC{0,300}", at in any::<u64>()) {
        if let Some(execution) = ExecutionArn::parse(&arn) {
            let owner = execution.owner();
            prop_assert!(owner.len() <= 256);
            prop_assert_eq!(text::display(&owner), owner.clone());
            prop_assert_eq!(text::ascii(&owner), owner);
        }
        let id = run_id(&arn, at);
        prop_assert!(id.len() <= 40 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{id}");
    }

    #[test]
    fn any_text_is_a_name_or_none(name in "\\PC{0,80}|arn:aws:iam::123456789012:role/\\PC{0,30}|[a-z]{2}(-[a-z]{0,6}){0,4}-?[0-9]{0,2}") {
        let _ = (is_stack_name(&name), is_bucket_name(&name), check_prefix(&name));
        if is_region(&name) || is_role_arn(&name) {
            prop_assert!(name.is_ascii() && !name.contains(char::is_whitespace));
        }
        for shown in [text::display(&name), text::ascii(&name), text::cut(&name, 7)] {
            prop_assert!(shown.len() <= text::MAX_TEXT && !shown.contains('\n'));
        }
    }
}
