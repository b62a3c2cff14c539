use serde_json::json;

use super::*;
use crate::Ending;
use crate::sweep::group::Group;
use crate::sweep::testing::{everything, selection, stack, sweep};

fn parse(input: &Value) -> Result<SweepRequest, Refusal> {
    SweepRequest::parse(&input.to_string(), "cdkd")
}

#[track_caller]
fn refusal(input: &Value) -> String {
    let refusal = parse(input).expect_err("refused");
    assert_eq!(refusal.ending, Ending::InvalidRequest);
    refusal.message
}

fn with(field: &str, value: Value) -> Value {
    let mut request: Value = serde_json::from_str(EXAMPLE).unwrap();
    request[field] = value;
    request
}

fn selecting(select: Value) -> Value {
    with("select", select)
}

#[test]
fn the_example_is_a_sweep() {
    let request = SweepRequest::parse(EXAMPLE, "cdkd").unwrap();
    let place = &request.places[0];
    assert_eq!((request.name.as_str(), request.dry_run, place.prefix.as_str()), ("old-previews", false, "cdkd"));
    assert_eq!((place.select.names.as_slice(), place.select.older_than), (&["Preview-*".to_owned()][..], Some(72 * 3600)));
}

#[test]
fn a_whole_sweep_is_read() {
    let request = parse(&json!({
        "name": "n", "dryRun": true, "prefix": "p", "lockWait": 60, "deleteData": true,
        "accounts": [
            {"account": "210987654321", "roleArn": "arn:aws:iam::210987654321:role/ebb-target", "externalId": "team", "regions": ["eu-west-1"],
             "bucket": "states", "prefix": "q"},
            {"account": "310987654321", "roleArn": "arn:aws:iam::310987654321:role/ebb-target", "select": {"stacks": ["A"], "limit": 2}},
        ],
        "select": {"names": ["Dev?"], "regions": ["us-east-1"], "dueTag": "teardown-after", "exclude": ["Dev1"], "olderThan": "90m"},
    }))
    .unwrap();
    assert_eq!((request.dry_run, request.options.lock_wait, request.options.delete_data), (true, 60, true));
    let [first, second] = &request.places[..] else { panic!("two places") };
    assert_eq!((first.prefix.as_str(), first.bucket.as_deref(), second.prefix.as_str()), ("q", Some("states"), "p"));
    assert_eq!(first.target.as_ref().unwrap().external_id.as_deref(), Some("team"));
    assert_eq!((first.select.regions.as_slice(), first.select.older_than), (&["eu-west-1".to_owned()][..], Some(5400)));
    assert_eq!(
        (first.select.due_tag.as_deref(), first.select.exclude.as_slice()),
        (Some("teardown-after"), &["Dev1".to_owned()][..])
    );
    assert_eq!(
        (second.select.stacks.as_slice(), second.select.limit, second.select.names.len()),
        (&["A".to_owned()][..], Some(2), 0)
    );
}

/// `confirm` repeats the sweep's own name.
#[test]
fn nothing_is_swept_without_the_sweeps_name_repeated() {
    for confirm in ["Old-previews", "", "Preview-*"] {
        assert!(
            refusal(&with("confirm", json!(confirm))).contains("`confirm` is not the sweep's name: write old-previews there")
        );
    }
    let mut without: Value = serde_json::from_str(EXAMPLE).unwrap();
    without.as_object_mut().unwrap().remove("confirm");
    assert!(refusal(&without).contains("`confirm` is missing"));
    without["dryRun"] = true.into();
    assert!(parse(&without).unwrap().dry_run);
}

/// A sweep that would take every stack because a criterion was forgotten.
#[test]
fn a_selection_without_a_criterion_is_refused() {
    for select in [json!({}), json!({"regions": ["us-east-1"]}), json!({"exclude": ["A"]}), json!({"limit": 3})] {
        assert!(refusal(&selecting(select)).starts_with("`select` chooses every stack"));
    }
    let accounts = json!([{"account": "210987654321", "roleArn": "arn:aws:iam::210987654321:role/t", "select": {}}]);
    assert!(refusal(&with("accounts", accounts)).starts_with("`accounts[0].select` chooses every stack"));
}

#[test]
fn every_bad_field_is_named_with_what_to_write_instead() {
    for (input, said) in [
        (json!({}), "the input names no sweep. The smallest sweep is {"),
        (json!({"Comment": "Insert your JSON here"}), "the input names no sweep"),
        (json!({"stack": "A", "confirm": "A"}), "`stack` is no field of a request; known are name, select"),
        (json!({"select": {"names": ["*"]}}), "`name` is missing"),
        (with("name", json!("")), "`name` must be 1 to 64"),
        (with("name", json!("a b")), "`name` must be 1 to 64"),
        (with("name", json!(7)), "`name` is a number; it must be a string"),
        (json!({"name": "a", "confirm": "a"}), "`select` is missing"),
        (with("allowNestedChild", json!(true)), "`allowNestedChild` is no field"),
        (with("dryrun", json!(true)), "`dryrun` is no field of a request; did you mean `dryRun`?"),
        (with("lockWait", json!(-1)), "`lockWait` must be a whole number of seconds from 0 to 86400"),
        (with("bucket", json!("S3")), "`bucket` is not a bucket's name"),
        (with("prefix", json!("ebb/x")), "`prefix` is Ebb's own place"),
        (selecting(json!("*")), "`select` must be an object"),
        (selecting(json!({"name": ["*"]})), "`select.name` is no field of a request; did you mean `select.names`?"),
        (selecting(json!({"names": "*"})), "`select.names` is a string; it must be a list of 1 to 100 strings"),
        (selecting(json!({"names": []})), "`select.names` must be a list of 1 to 100 strings"),
        (selecting(json!({"names": [7]})), "`select.names` holds a number"),
        (selecting(json!({"names": ["a{b,c}"]})), "`select.names` holds what is no glob"),
        (selecting(json!({"names": [""]})), "`select.names` holds what is no glob"),
        (selecting(json!({"stacks": ["Preview-*"]})), "`select.stacks` holds what is no stack's name; globs go into `names`"),
        (selecting(json!({"stacks": ["A"], "regions": ["Oregon"]})), "`select.regions` holds what is no region's name"),
        (selecting(json!({"stacks": ["A"], "limit": 0})), "`select.limit` must be a whole number of stacks from 1 to 500"),
        (selecting(json!({"dueTag": " "})), "`select.dueTag` is not a tag's key"),
        (with("accounts", json!({})), "`accounts` must be a list of 1 to 100 objects"),
        (with("accounts", json!([])), "`accounts` must be a list of 1 to 100 objects"),
        (with("accounts", json!([{}])), "`accounts[0].account` is missing"),
        (with("accounts", json!([{"account": 1}])), "`accounts[0].account` is a number"),
        (with("accounts", json!([{"account": "12"}])), "`accounts[0].account` is not an account's id"),
        (with("accounts", json!([{"account": "210987654321"}])), "`accounts[0].roleArn` is missing"),
        (with("accounts", json!([{"account": "210987654321", "roleArn": "x"}])), "`accounts[0].roleArn` is not a role's ARN"),
        (
            with("accounts", json!([{"account": "210987654321", "roleArn": "arn:aws:iam::310987654321:role/t"}])),
            "`accounts[0].roleArn` is a role of another account than `account` says",
        ),
    ] {
        let message = refusal(&input);
        assert!(message.starts_with(said), "{message}");
    }
    for age in ["", "72", "h", "-1h", "1.5h", "72H", "0h", "521w", "99999999999h", "72h "] {
        assert!(
            refusal(&selecting(json!({"olderThan": age}))).starts_with("`select.olderThan` must be a number with m, h, d or w"),
            "{age}"
        );
    }
    let mut both = with("accounts", json!([{"account": "210987654321", "roleArn": "arn:aws:iam::210987654321:role/t"}]));
    both["target"] = json!({"roleArn": "arn:aws:iam::210987654321:role/t"});
    assert!(refusal(&both).starts_with("`target` and `accounts` exclude each other"));
}

/// Two entries that could choose one stack would both tear it down.
#[test]
fn a_roster_with_the_same_place_twice_is_refused_and_names_the_entries() {
    let entry = |account: &str| json!({"account": account, "roleArn": format!("arn:aws:iam::{account}:role/t")});
    let (other, one) = (entry("310987654321"), entry("210987654321"));
    let and = |field: &str, value: Value| {
        let mut entry = one.clone();
        entry[field] = value;
        entry
    };
    let roster = |second: Value| with("accounts", json!([other, one, second]));
    let said = "`accounts[1]` and `accounts[2]` look into one bucket and prefix of one account";
    let role = json!("arn:aws:iam::210987654321:role/another");
    for second in [one.clone(), and("roleArn", role), and("prefix", json!("cdkd")), and("regions", json!(["us-east-1"]))] {
        assert!(refusal(&roster(second.clone())).starts_with(said), "{second}");
    }
    for second in [and("bucket", json!("states")), and("prefix", json!("team")), entry("410987654321")] {
        assert_eq!(parse(&roster(second)).unwrap().places.len(), 3);
    }
    let split = |second: &[&str]| {
        with("accounts", json!([and("regions", json!(["us-east-1", "us-west-2"])), and("regions", json!(second))]))
    };
    assert_eq!(parse(&split(&["eu-west-1"])).unwrap().places.len(), 2);
    assert!(refusal(&split(&["eu-west-1", "us-west-2"])).starts_with("`accounts[0]` and `accounts[1]` look into one bucket"));
}

/// A `select` for all accounts is handed on once for each.
#[test]
fn a_sweep_that_no_payload_holds_is_refused() {
    let stacks: Vec<String> = (0..400).map(|n| format!("S{n}{}", "x".repeat(300))).collect();
    assert!(refusal(&selecting(json!({"stacks": stacks}))).contains("split the sweep"));
    let accounts = |many: u64| -> Value {
        (0..many).map(|n| json!({"account": (100_000_000_000 + n).to_string(), "roleArn": format!("arn:aws:iam::{}:role/t", 100_000_000_000 + n)})).collect()
    };
    let names: Vec<String> = (0..40).map(|n| format!("Team-{n}-preview-*")).collect();
    let mut request = selecting(json!({"names": names}));
    request["accounts"] = accounts(100);
    assert!(refusal(&request).contains("split the sweep"));
    request["accounts"] = accounts(40);
    assert_eq!(parse(&request).unwrap().places.len(), 40);
}

/// What a child is started with is a request that the check reads, with the options of the sweep and no others.
#[test]
fn a_stack_is_torn_down_by_a_plain_request() {
    let mut sweep = sweep(everything(), false);
    sweep.options.lock_wait = 30;
    sweep.options.delete_data = true;
    let mut row = Group::begin(&selection(&[stack("Orders").in_region("us-west-2")], &everything()), 0).stacks.remove(0);
    row.written = [("Orders".to_owned(), Some(1_786_786_212_123)), ("Orders~Nested".to_owned(), Some(7))].into();
    let request = teardown(&sweep, 0, &row);
    assert_eq!(
        request,
        json!({
            "stack": "Orders", "region": "us-west-2", "confirm": "Orders", "bucket": "states", "prefix": "cdkd", "deleteData": true,
            "lockWait": 30, "expectedLastModified": 1_786_786_212_123u64, "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": sweep.execution,
        })
    );
    let read = crate::Request::parse(&request.to_string()).unwrap();
    assert_eq!((&read.options, read.expected_last_modified), (&sweep.options, Some(1_786_786_212_123)));

    sweep.dry_run = true;
    sweep.places[0].target =
        Some(crate::Target { role_arn: "arn:aws:iam::210987654321:role/t".into(), external_id: Some("ab".into()) });
    row.written = [("Orders".to_owned(), None)].into();
    let read = crate::Request::parse(&teardown(&sweep, 0, &row).to_string()).unwrap();
    assert_eq!((read.dry_run, read.expected_last_modified), (true, Some(0)), "one that says no date is held to that");
    assert_eq!(read.target, sweep.places[0].target);
}
