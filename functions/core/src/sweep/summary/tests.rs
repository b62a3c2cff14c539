use super::*;
use crate::sweep::Select;
use crate::sweep::payload::StackResult;
use crate::sweep::testing::{Stack, begun, deployed_again, everything, selection, stack, sweep};

fn swept(stacks: &[Stack], ends: impl Fn(&str) -> Ending, dry_run: bool) -> PlaceOutcome {
    swept_by(stacks, &everything(), |name: &str| StackResult::of(0, 0, ends(name), "because"), dry_run)
}

fn swept_by(stacks: &[Stack], select: &Select, ends: impl Fn(&str) -> StackResult, dry_run: bool) -> PlaceOutcome {
    let selection = selection(stacks, select);
    let sweep = sweep(select.clone(), dry_run);
    let groups: Vec<Group> = (0..selection.groups())
        .map(|number| {
            let look = deployed_again(&[]);
            let mut group = begun(Group::begin(&selection, number).advance(&[], dry_run), dry_run, &look);
            while !group.items(&sweep, 0).is_empty() {
                let items = group.items(&sweep, 0);
                let results: Vec<StackResult> = items
                    .iter()
                    .map(|item| StackResult { n: item.n, step: item.step, ..ends(item.request["stack"].as_str().unwrap()) })
                    .collect();
                group = begun(group.advance(&results, dry_run), dry_run, &look);
            }
            group
        })
        .collect();
    let found = sweep.places[0].found.clone();
    let selected = Selected {
        found,
        chosen: selection.chosen.len(),
        left: selection.left.len(),
        groups: selection.groups(),
        ..Selected::default()
    };
    PlaceOutcome { selected, read: Some((selection, groups)), reported: true }
}

fn unread(error: Ending) -> PlaceOutcome {
    PlaceOutcome { selected: Selected::failed(1, &crate::Refusal::new(error, "no")), read: None, reported: false }
}

fn pair() -> [Stack; 3] {
    [stack("Net"), stack("Web").imports(&["Net"]), stack("Alone")]
}

#[test]
fn all_gone_is_deleted_and_nobody_chosen_is_nothing_to_do() {
    let sweep = sweep(everything(), false);
    let (result, output) = summary(&sweep, &[swept(&pair(), |_| Ending::Deleted, false)]);
    assert_eq!(result, Ending::Deleted);
    assert_eq!(
        output["counts"],
        json!({"chosen": 3, "deleted": 3, "looked": 0, "failed": 0, "held": 0, "waiting": 0, "left": 0})
    );
    assert_eq!(output["places"][0]["selection"], "s3://states/ebb/sweeps/cdkd/20260815T093012123Z-1a2b3c4d.0/selection.json");
    assert_eq!(output["places"][0]["report"], "s3://states/ebb/sweeps/cdkd/20260815T093012123Z-1a2b3c4d.0/report.json");
    assert_eq!(output["message"], "3 stacks torn down");
    let (result, output) = summary(&sweep, &[swept(&[], |_| Ending::Deleted, false)]);
    assert_eq!(
        (result, &output["message"]),
        (Ending::NothingToDo, &json!("nothing to tear down: 0 stacks looked at, none chosen"))
    );
}

/// A teardown's own words ("the stack …") say nothing true of a sweep.
#[test]
fn every_end_of_a_sweep_has_its_own_words() {
    let none = Select { stacks: vec!["Other".into()], ..Select::default() };
    let said = |select: &Select, dry_run: bool, ends: &dyn Fn(&str) -> StackResult, unread: usize| {
        let mut places = vec![swept_by(&pair(), select, ends, dry_run)];
        places.extend((0..unread).map(|_| super::tests::unread(Ending::AccessDenied)));
        let (result, output) = summary(&sweep(select.clone(), dry_run), &places);
        (result, output["message"].as_str().unwrap().to_owned())
    };
    let gone = |_: &str| StackResult::of(0, 0, Ending::Deleted, "");
    let looked =
        |name: &str| StackResult { guarded: Some(usize::from(name == "Web")), ..StackResult::of(0, 0, Ending::DryRun, "") };
    for (select, dry_run, ends, unread, result, message) in [
        (
            &none,
            false,
            &gone as &dyn Fn(&str) -> StackResult,
            0,
            Ending::NothingToDo,
            "nothing to tear down: 4 stacks looked at, none chosen",
        ),
        (&none, false, &gone, 1, Ending::Partial, "none of 4 stacks chosen: 1 place could not be read"),
        (&none, true, &looked, 0, Ending::DryRun, "none of 4 stacks chosen; nothing was changed"),
        (&none, true, &looked, 2, Ending::DryRun, "none of 4 stacks chosen: 2 places could not be read; nothing was changed"),
        (
            &everything(),
            true,
            &looked,
            1,
            Ending::DryRun,
            "of 3 stacks: 2 would go, 1 would be refused for what is protected or guarded, 1 place could not be read; nothing was changed",
        ),
    ] {
        assert_eq!(said(select, dry_run, ends, unread), (result, message.to_owned()));
    }
}

/// What would refuse is to be mended, so it is not among what would go; nor is a stack of which something is left.
#[test]
fn a_look_puts_a_stack_that_would_be_refused_first() {
    let looked =
        |name: &str| StackResult { guarded: Some(usize::from(name == "Net")), ..StackResult::of(0, 0, Ending::DryRun, "") };
    let place = swept_by(&pair(), &everything(), looked, true);
    let mut sweep = sweep(everything(), true);
    let (_, output) = summary(&sweep, std::slice::from_ref(&place));
    assert_eq!((&output["guarded"], &output["stacks"][0]["stack"]), (&json!(1), &json!("Net")));
    assert_eq!(output["todo"], crate::ending::TODO_GUARDED);
    sweep.options.skip_guarded = true;
    let (_, output) = summary(&sweep, &[place]);
    assert_eq!(output["message"], "of 3 stacks: 2 would go, 1 would stay in part; nothing was changed");
    assert_eq!((&output["guarded"], &output["partly"], &output["stacks"][0]["stack"]), (&json!(0), &json!(1), &json!("Net")));
}

/// A log group whose stream is retained stays in the real run: its stack is not said to go.
#[test]
fn a_look_says_which_stacks_would_stay_in_part() {
    let blocked = |name: &str| crate::record::Counts { retained: 1, blocked: usize::from(name == "Net"), ..Default::default() };
    let looked =
        |name: &str| StackResult { guarded: Some(0), counts: Some(blocked(name)), ..StackResult::of(0, 0, Ending::DryRun, "") };
    let (_, output) = summary(&sweep(everything(), true), &[swept_by(&pair(), &everything(), looked, true)]);
    assert_eq!(output["message"], "of 3 stacks: 2 would go, 1 would stay in part; nothing was changed");
    assert_eq!(output["todo"], "mend what the reports say would be left, or start again with `confirm` to delete the rest");
    assert_eq!((&output["guarded"], &output["partly"]), (&json!(0), &json!(1)));
    let rows = output["stacks"].as_array().unwrap();
    assert_eq!((&rows[0]["stack"], &rows[0]["plan"]["left"], went(&rows[0])), (&json!("Net"), &json!(1), false));
    assert!(rows[1..].iter().all(|row| went(row) && row["plan"]["left"] == 0));
}

/// Deleting began there, so "refused", which says that nothing was deleted, would be a lie.
#[test]
fn a_place_whose_outcome_cannot_be_read_any_more_is_not_called_refused() {
    let swept = swept(&pair(), |_| Ending::Deleted, false);
    let place = PlaceOutcome { selected: swept.selected.not_read("AccessDenied", "no"), read: None, reported: false };
    let (result, output) = summary(&sweep(everything(), false), &[place]);
    assert_eq!(
        (result, &output["message"]),
        (Ending::Partial, &json!("of 3 stacks: 3 not begun or not heard of, 1 place could not be read"))
    );
}

#[test]
fn what_is_to_be_mended_comes_first_and_says_why() {
    let ends = |name: &str| if name == "Web" { Ending::LockHeld } else { Ending::Deleted };
    let (result, output) = summary(&sweep(everything(), false), &[swept(&pair(), ends, false)]);
    assert_eq!((result, &output["exitClass"]), (Ending::Partial, &json!(2)));
    assert_eq!(output["message"], "of 3 stacks: 1 deleted, 1 failed, 1 held by a stack that stayed");
    let said: Vec<_> = output["stacks"].as_array().unwrap().iter().map(|s| (s["stack"].clone(), s["result"].clone())).collect();
    assert_eq!(said, [(json!("Web"), json!("LockHeld")), (json!("Net"), json!("Held")), (json!("Alone"), json!("Deleted"))]);
    assert_eq!(output["stacks"][0]["message"], "because");
    assert_eq!(output["stacks"][1]["message"], "Web in us-east-1 reads values of it and stayed");
}

/// An account that cannot be reached does not hide what was done in the others.
#[test]
fn a_place_that_cannot_be_read_makes_the_sweep_partial_and_alone_fails_it() {
    let sweep = sweep(everything(), false);
    let (result, output) = summary(&sweep, &[swept(&pair(), |_| Ending::Deleted, false), unread(Ending::AccessDenied)]);
    assert_eq!(result, Ending::Partial);
    assert_eq!(output["message"], "of 3 stacks: 3 deleted, 1 place could not be read");
    assert_eq!(output["places"][0]["error"], "AccessDenied", "what is to be mended comes first");
    let (result, output) = summary(&sweep, &[unread(Ending::BucketNotFound)]);
    assert_eq!(
        (result, &output["message"]),
        (Ending::BucketNotFound, &json!("nothing could be read in account 123456789012: no"))
    );
    let (_, output) = summary(&sweep, &[unread(Ending::AccessDenied), unread(Ending::AccessDenied)]);
    assert_eq!(output["message"], "none of 2 places could be read; in account 123456789012: no");
}

/// Nothing was found there, so it is told by what the request says of it.
#[test]
fn a_place_that_cannot_be_read_is_told_with_its_account_regions_and_bucket() {
    let mut sweep = sweep(everything(), false);
    let target = crate::Target { role_arn: "arn:aws:iam::210987654321:role/t".into(), external_id: Some("hunter2".into()) };
    let select = Select { regions: vec!["eu-west-1".into(), "us-east-1".into()], ..everything() };
    let other = crate::sweep::Place {
        target: Some(target),
        bucket: Some("theirs".into()),
        select,
        found: None,
        ..sweep.places[0].clone()
    };
    sweep.places.push(other);
    let (_, output) = summary(&sweep, &[swept(&pair(), |_| Ending::Deleted, false), unread(Ending::AccessDenied)]);
    let place = &output["places"][0];
    assert_eq!(
        (&place["account"], &place["regions"], &place["bucket"], &place["error"], &place["message"]),
        (&json!("210987654321"), &json!(["eu-west-1", "us-east-1"]), &json!("theirs"), &json!("AccessDenied"), &json!("no"))
    );
    assert_eq!(whereabouts(place), "account 210987654321, regions eu-west-1 us-east-1, bucket theirs, prefix cdkd");
    assert!(!output.to_string().contains("hunter2"));
    assert_eq!(output["stacks"][0]["account"], "123456789012");
}

/// A group whose record is missing was chosen and nothing is known of it.
#[test]
fn what_nothing_is_known_of_is_not_called_done() {
    let mut place = swept(&pair(), |_| Ending::Deleted, false);
    place.read.as_mut().unwrap().1.remove(0);
    let (result, output) = summary(&sweep(everything(), false), &[place]);
    assert_eq!((result, &output["counts"]["waiting"]), (Ending::Partial, &json!(1)));
    assert_eq!(output["stacks"][0]["result"], "NotBegun");
    assert_eq!(output["stacks"][0]["message"], "the sweep ended before its turn: sweep again");
}

/// The sweep may lose sight of a teardown that it has started: that is neither done nor not begun.
#[test]
fn a_teardown_that_was_started_and_not_heard_of_is_told_so() {
    let selection = selection(&[stack("Alone")], &everything());
    let groups = vec![begun(Group::begin(&selection, 0).advance(&[], false), false, deployed_again(&[]))];
    let selected = Selected { chosen: 1, groups: 1, ..Selected::default() };
    let (result, output) =
        summary(&sweep(everything(), false), &[PlaceOutcome { selected, read: Some((selection, groups)), reported: true }]);
    assert_eq!((result, &output["stacks"][0]["result"]), (Ending::Partial, &json!("NotHeard")));
    assert_eq!(output["message"], "of 1 stack: 1 not begun or not heard of");
}

#[test]
fn a_dry_run_answers_order_plans_and_how_long_it_takes() {
    let ends = |name: &str| if name == "Alone" { Ending::Refused } else { Ending::DryRun };
    let (result, output) = summary(&sweep(everything(), true), &[swept(&pair(), ends, true)]);
    assert_eq!(result, Ending::DryRun);
    assert_eq!(output["estimate"], json!({"longestChainSeconds": 20, "oneByOneSeconds": 30}));
    let net = output["stacks"].as_array().unwrap().iter().find(|s| s["stack"] == "Net").unwrap();
    assert_eq!((&net["level"], &net["after"], &net["plan"]["seconds"]), (&json!(1), &json!(["Web"]), &json!(10)));
    assert_eq!((&output["stacks"][0]["stack"], &output["stacks"][0]["result"]), (&json!("Alone"), &json!("Refused")));
}

/// A Cause holds 32 KiB; what does not fit is counted and lies in the reports.
#[test]
fn a_large_summary_is_cut_and_says_so() {
    let stacks: Vec<Stack> = (0..400).map(|n| stack(&format!("Preview-{n:03}"))).collect();
    let place = swept(&stacks, |_| Ending::Partial, false);
    let (selection, groups) = place.read.as_ref().unwrap();
    let sweep = sweep(everything(), false);
    assert_eq!(report(&sweep, selection, groups)["stacks"].as_array().unwrap().len(), 400);
    let (_, output) = summary(&sweep, &[place]);
    assert!(output.to_string().len() <= MOST_BYTES);
    let shown = output["stacks"].as_array().unwrap().len();
    assert!(shown > 40, "{shown}");
    assert_eq!(output["more"]["stacks"], 400 - shown);
    assert_eq!(output["counts"]["failed"], 400);
}
