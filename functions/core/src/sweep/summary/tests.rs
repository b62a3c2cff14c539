use super::*;
use crate::sweep::payload::StackResult;
use crate::sweep::testing::{Stack, begun, deployed_again, everything, selection, stack, sweep};

fn swept(stacks: &[Stack], ends: impl Fn(&str) -> Ending, dry_run: bool) -> PlaceOutcome {
    let selection = selection(stacks, &everything());
    let sweep = sweep(everything(), dry_run);
    let groups: Vec<Group> = (0..selection.groups())
        .map(|number| {
            let look = deployed_again(&[]);
            let mut group = begun(Group::begin(&selection, number).advance(&[], dry_run), dry_run, &look);
            while !group.items(&sweep, 0).is_empty() {
                let items = group.items(&sweep, 0);
                let end = |name: &str| StackResult::of(0, 0, ends(name), "because");
                let results: Vec<StackResult> = items
                    .iter()
                    .map(|item| StackResult { n: item.n, step: item.step, ..end(item.request["stack"].as_str().unwrap()) })
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
    PlaceOutcome { selected, read: Some((selection, groups)) }
}

fn unread(error: Ending) -> PlaceOutcome {
    PlaceOutcome { selected: Selected::failed(1, &crate::Refusal::new(error, "no")), read: None }
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
    assert_eq!(summary(&sweep, &[swept(&[], |_| Ending::Deleted, false)]).0, Ending::NothingToDo);
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
    assert_eq!(output["message"], "of 3 stacks: 3 deleted, 1 places that could not be read");
    assert_eq!(output["places"][0]["error"], "AccessDenied", "what is to be mended comes first");
    assert_eq!(summary(&sweep, &[unread(Ending::BucketNotFound)]).0, Ending::BucketNotFound);
}

/// A group whose record is missing was chosen and nothing is known of it.
#[test]
fn what_nothing_is_known_of_is_not_called_done() {
    let mut place = swept(&pair(), |_| Ending::Deleted, false);
    place.read.as_mut().unwrap().1.remove(0);
    let (result, output) = summary(&sweep(everything(), false), &[place]);
    assert_eq!((result, &output["counts"]["waiting"]), (Ending::Partial, &json!(1)));
    assert_eq!(output["stacks"][0]["result"], "NotBegun");
}

/// The sweep may lose sight of a teardown that it has started: that is neither done nor not begun.
#[test]
fn a_teardown_that_was_started_and_not_heard_of_is_told_so() {
    let selection = selection(&[stack("Alone")], &everything());
    let groups = vec![begun(Group::begin(&selection, 0).advance(&[], false), false, deployed_again(&[]))];
    let selected = Selected { chosen: 1, groups: 1, ..Selected::default() };
    let (result, output) = summary(&sweep(everything(), false), &[PlaceOutcome { selected, read: Some((selection, groups)) }]);
    assert_eq!((result, &output["stacks"][0]["result"]), (Ending::Partial, &json!("NotHeard")));
    assert_eq!(output["message"], "of 1 stacks: 1 not begun or not heard of");
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
