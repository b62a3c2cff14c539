use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::sweep::testing::{NOW, Stack, begun, deployed_again, everything, selection, stack, sweep};

/// Runs every group of a fleet wave by wave; `ends` says how a stack's teardown ends. Answers the waves by name.
fn run(stacks: &[Stack], dry_run: bool, ends: impl Fn(&str) -> Ending) -> (Vec<Group>, Vec<Vec<String>>) {
    run_looking(stacks, dry_run, ends, deployed_again(&[]))
}

fn run_looking(
    stacks: &[Stack],
    dry_run: bool,
    ends: impl Fn(&str) -> Ending,
    look: impl Fn(&str) -> Result<(), Refusal>,
) -> (Vec<Group>, Vec<Vec<String>>) {
    let selection = selection(stacks, &everything());
    let sweep = sweep(everything(), dry_run);
    let mut waves: Vec<Vec<String>> = Vec::new();
    let mut groups = Vec::new();
    for number in 0..selection.groups() {
        let mut group = begun(Group::begin(&selection, number).advance(&[], dry_run), dry_run, &look);
        let mut at = 0;
        loop {
            let items = group.items(&sweep, 0);
            if items.is_empty() {
                break;
            }
            let name = |item: &Item| item.request["stack"].as_str().unwrap().to_owned();
            waves.resize(waves.len().max(at + 1), Vec::new());
            waves[at].extend(items.iter().map(name));
            let results: Vec<_> = items.iter().map(|item| StackResult::of(item.n, item.step, ends(&name(item)), "")).collect();
            group = begun(group.advance(&results, dry_run), dry_run, &look);
            at += 1;
        }
        groups.push(group);
    }
    waves.iter_mut().for_each(|wave| wave.sort());
    (groups, waves)
}

fn row<'a>(groups: &'a [Group], stack: &str) -> &'a Row {
    groups.iter().flat_map(|group| &group.stacks).find(|row| row.stack == stack).unwrap()
}

fn three_chains() -> Vec<Stack> {
    vec![
        stack("Net"),
        stack("Db").imports(&["Net"]),
        stack("Web").imports(&["Db", "Net"]),
        stack("Job").reads_outputs(&["Net"]),
        stack("Other"),
        stack("OtherWeb").imports(&["Other"]),
        stack("Alone"),
    ]
}

#[test]
fn consumers_first_and_independent_stacks_side_by_side() {
    let (groups, waves) = run(&three_chains(), false, |_| Ending::Deleted);
    assert_eq!(waves, [vec!["Alone", "Job", "OtherWeb", "Web"], vec!["Db", "Other"], vec!["Net"]]);
    assert_eq!(groups.len(), 3);
}

#[test]
fn a_failed_consumer_holds_its_producers_and_nothing_else() {
    let (groups, waves) = run(&three_chains(), false, |name| if name == "Web" { Ending::Partial } else { Ending::Deleted });
    assert_eq!(waves, [vec!["Alone", "Job", "OtherWeb", "Web"], vec!["Other"]]);
    for (held, by) in [("Db", "Web in us-east-1"), ("Net", "Web in us-east-1")] {
        let row = row(&groups, held);
        assert_eq!((row.status, row.held_by.as_deref()), (Status::Held, Some(by)));
    }
    assert_eq!(row(&groups, "Job").result.as_ref().unwrap().result, Ending::Deleted);
}

/// A stack that somebody else tore down in between is gone all the same.
#[test]
fn a_consumer_that_was_not_there_any_more_holds_nobody() {
    let (_, waves) = run(&three_chains(), false, |name| if name == "Web" { Ending::StackNotFound } else { Ending::NothingToDo });
    assert_eq!(waves.last().unwrap(), &["Net"]);
}

/// A dry run looks at everybody at once; a producer is refused as long as its consumers are there, which says nothing.
#[test]
fn a_look_waits_for_nobody() {
    let ends = |name: &str| match name {
        "Net" | "Db" | "Other" => Ending::ActiveImports,
        "Alone" => Ending::Refused,
        _ => Ending::DryRun,
    };
    let (groups, waves) = run(&three_chains(), true, ends);
    assert_eq!(waves.len(), 1);
    assert_eq!(waves[0].len(), 7);
    let net = row(&groups, "Net").result.as_ref().unwrap();
    assert_eq!(net.result, Ending::DryRun);
    assert!(net.message.as_ref().unwrap().contains("when the stacks that import from it are gone"));
    assert_eq!(row(&groups, "Alone").result.as_ref().unwrap().result, Ending::Refused);
}

/// Results that were not told, or of another step, are no news of success.
#[test]
fn a_teardown_of_which_nothing_is_heard_has_failed() {
    let selection = selection(&[stack("Net"), stack("Web").imports(&["Net"])], &everything());
    let first = begun(Group::begin(&selection, 0).advance(&[], false), false, deployed_again(&[]));
    let late = StackResult::of(0, first.step + 1, Ending::Deleted, "");
    for results in [vec![], vec![late]] {
        let group = first.clone().advance(&results, false);
        assert_eq!((group.stacks[0].status, group.stacks[1].status), (Status::Ended, Status::Held));
    }
}

#[test]
fn a_wave_starts_so_many_and_the_rest_in_the_next() {
    let mut stacks: Vec<Stack> = (0..12).map(|n| stack(&format!("Web{n:02}")).imports(&["Net"])).collect();
    stacks.push(stack("Net"));
    let (_, waves) = run(&stacks, false, |_| Ending::Deleted);
    assert_eq!(waves.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 2, 1]);
}

/// One that waited for its turn inside a wave could be deployed again after the look at it.
#[test]
fn a_wave_starts_as_many_as_the_machine_runs_at_once() {
    let machine = include_str!("../../../../../infra/sweep.asl.json");
    assert!(machine.contains(&format!(r#""MaxConcurrency": {MOST_ITEMS},"#)));
}

#[test]
fn a_stack_that_was_deployed_again_is_refused_and_holds_what_it_reads_and_nothing_else() {
    let (groups, waves) = run_looking(&three_chains(), false, |_| Ending::Deleted, deployed_again(&["Web"]));
    assert_eq!(waves, [vec!["Alone", "Job", "OtherWeb"], vec!["Other"]]);
    let web = row(&groups, "Web");
    let result = web.result.as_ref().unwrap();
    assert_eq!((web.status, result.result, result.step), (Status::Ended, Ending::Refused, 1));
    assert_eq!(result.message.as_deref(), Some("the stack was deployed again, or torn down in part, after it was chosen"));
    for held in ["Db", "Net"] {
        let row = row(&groups, held);
        assert_eq!((row.status, row.held_by.as_deref()), (Status::Held, Some("Web in us-east-1")));
    }
}

/// Hours after the selection: the importers are gone, and the exporter was deployed again in between.
#[test]
fn a_stack_that_was_deployed_again_while_it_waited_for_its_readers_is_refused() {
    let (groups, waves) = run_looking(&three_chains(), false, |_| Ending::Deleted, deployed_again(&["Net"]));
    assert_eq!(waves, [vec!["Alone", "Job", "OtherWeb", "Web"], vec!["Db", "Other"]]);
    assert_eq!(row(&groups, "Net").result.as_ref().unwrap().result, Ending::Refused);
    assert_eq!(row(&groups, "Db").result.as_ref().unwrap().result, Ending::Deleted);
}

/// A wave of nothing but refusals would end the group with the others not begun.
#[test]
fn a_refused_stack_makes_room_for_the_next() {
    let stacks: Vec<Stack> =
        (0..12).map(|n| stack(&format!("Web{n:02}")).reads_outputs(&["Net"])).chain([stack("Net")]).collect();
    let again = ["Web00", "Web01", "Web02", "Web03", "Web04", "Web05", "Web06"];
    let (groups, waves) = run_looking(&stacks, false, |_| Ending::Deleted, deployed_again(&again));
    assert_eq!(waves, [vec!["Web07", "Web08", "Web09", "Web10", "Web11"]]);
    assert_eq!(row(&groups, "Net").status, Status::Held);
}

#[test]
fn a_dry_run_tells_of_a_stack_that_was_deployed_again_and_holds_nobody() {
    let (groups, waves) = run_looking(&three_chains(), true, |_| Ending::DryRun, deployed_again(&["Web"]));
    assert_eq!(waves, [vec!["Alone", "Db", "Job", "Net", "Other", "OtherWeb"]]);
    assert_eq!(row(&groups, "Web").result.as_ref().unwrap().result, Ending::Refused);
}

/// Any other write counts, also one that is older or does not say when: whoever restores a state wants it.
#[test]
fn every_state_of_a_tree_has_to_be_the_one_that_it_was_chosen_by() {
    let child = stack("Web~Nested").with("parentStack", "Web".into()).with("lastModified", 7.into());
    let selection = selection(&[stack("Web").with("lastModified", 5.into()), child], &everything());
    let group = Group::begin(&selection, 0);
    let row = &group.stacks[0];
    assert_eq!(row.written, BTreeMap::from([("Web".into(), Some(5)), ("Web~Nested".into(), Some(7))]));
    assert_eq!((row.unchanged("Web", Some(5)), row.unchanged("Web~Nested", Some(7))), (Ok(()), Ok(())));
    for (state, now) in [("Web", Some(7)), ("Web", Some(4)), ("Web", None), ("Web~Nested", Some(8)), ("Web~Other", None)] {
        assert_eq!(row.unchanged(state, now).unwrap_err().ending, Ending::Refused, "{state} {now:?}");
    }
    assert_eq!(row.unchanged("Web", Some(NOW)), Err(crate::run::deployed_again(Some(NOW))));
}

/// The teardown compares once more under the lock, for which it may have waited.
#[test]
fn a_teardown_is_told_when_the_state_that_it_was_chosen_by_was_written() {
    let stacks = [stack("Web").with("lastModified", 5.into()), stack("Old").with("lastModified", "long ago".into())];
    let selection = selection(&stacks, &everything());
    let told: Vec<(String, Value)> = (0..selection.groups())
        .flat_map(|n| {
            begun(Group::begin(&selection, n).advance(&[], false), false, deployed_again(&[]))
                .items(&sweep(everything(), false), 0)
        })
        .map(|item| (item.request["stack"].as_str().unwrap().to_owned(), item.request["expectedLastModified"].clone()))
        .collect();
    assert_eq!(told, [("Old".into(), 0.into()), ("Web".into(), 5.into())]);
}

/// Names of executions are unique in an account for 90 days, at most 80 characters long, and plain.
#[test]
fn executions_have_names_of_their_own() {
    let long = "L".repeat(300);
    let stacks = [stack(&format!("{long}1")), stack(&format!("{long}2")), stack("Short")];
    let selection = selection(&stacks, &everything());
    let sweep = sweep(everything(), false);
    let mut names = BTreeSet::new();
    for group in 0..selection.groups() {
        for item in begun(Group::begin(&selection, group).advance(&[], false), false, deployed_again(&[])).items(&sweep, 0) {
            assert!(item.name.len() <= 80 && item.name.starts_with("20260815T093012123Z-1a2b3c4d-0."), "{}", item.name);
            names.insert(item.name);
        }
    }
    assert_eq!(names.len(), 3);
    assert!(names.contains("20260815T093012123Z-1a2b3c4d-0.2-Short"), "{names:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever reads whatever and whatever fails: a producer is begun when all its consumers are gone and never else, and
    /// a failure holds those that it reaches and nobody else.
    #[test]
    fn no_producer_is_ever_begun_before_its_consumers_are_gone(
        imports in prop::collection::vec((0usize..14, 0usize..14), 0..30),
        fails in prop::collection::btree_set(0usize..14, 0..4),
        again in prop::collection::btree_set(0usize..14, 0..3),
    ) {
        let name = |n: usize| format!("S{n:02}");
        // Downhill only, so that there are no circles.
        let imports: BTreeSet<(usize, usize)> = imports.into_iter().filter(|(a, b)| a > b).collect();
        let stacks: Vec<Stack> = (0..14).map(|n| {
            let from: Vec<String> = imports.iter().filter(|(a, _)| *a == n).map(|(_, b)| name(*b)).collect();
            stack(&name(n)).imports(&from.iter().map(String::as_str).collect::<Vec<_>>())
        }).collect();
        let failing: BTreeSet<String> = fails.iter().map(|n| name(*n)).collect();
        let deployed: Vec<String> = again.iter().map(|n| name(*n)).collect();
        let look = deployed_again(&deployed.iter().map(String::as_str).collect::<Vec<_>>());
        let ends = |stack: &str| if failing.contains(stack) { Ending::Partial } else { Ending::Deleted };
        let (groups, waves) = run_looking(&stacks, false, ends, look);
        prop_assert!(!waves.iter().flatten().any(|stack| deployed.contains(stack)));
        let begun: BTreeMap<&str, usize> = waves.iter().enumerate().flat_map(|(at, wave)| wave.iter().map(move |s| (s.as_str(), at))).collect();
        for (consumer, producer) in &imports {
            let (consumer, producer) = (name(*consumer), name(*producer));
            if let Some(at) = begun.get(producer.as_str()) {
                prop_assert!(begun.get(consumer.as_str()).is_some_and(|before| before < at));
                prop_assert!(!failing.contains(&consumer));
            }
        }
        // Reached by a failure that was begun, or by one that was deployed again, through imports.
        let mut held = BTreeSet::new();
        for n in (0..14).rev() {
            let stays = |a: usize| held.contains(&a) || fails.contains(&a) || again.contains(&a);
            if imports.iter().any(|(a, b)| *b == n && stays(*a)) {
                held.insert(n);
            }
        }
        for row in groups.iter().flat_map(|group| &group.stacks) {
            let n: usize = row.stack[1..].parse().unwrap_or(99);
            prop_assert_eq!(row.status == Status::Held, held.contains(&n), "{}", row.stack);
            prop_assert!(row.status != Status::Waiting && row.status != Status::Running);
        }
    }
}
