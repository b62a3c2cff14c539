use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::sweep::testing::{NOW, chosen, everything, fleet, left, selection, selection_by, stack};

const HOUR: u64 = 3_600;

fn select(names: &[&str]) -> Select {
    Select { names: names.iter().map(|name| (*name).to_owned()).collect(), ..Select::default() }
}

#[test]
fn the_first_criterion_that_is_not_met_is_the_reason() {
    let stacks = [
        stack("Preview-1"),
        stack("Preview-2").written(1),
        stack("Preview-3").in_region("eu-west-1"),
        stack("Preview-keep"),
        stack("Orders").written(1),
        stack("Preview-5").with("lastModified", json!("yesterday")),
    ];
    let select = Select {
        regions: vec!["us-east-1".into()],
        older_than: Some(72 * HOUR),
        exclude: vec!["*-keep".into()],
        stacks: vec!["Nowhere".into()],
        ..select(&["Preview-*"])
    };
    let found = selection(&stacks, &select);
    assert_eq!(chosen(&found), ["Preview-1"]);
    assert_eq!(
        left(&found),
        [
            ("Nowhere", "StackNotFound"),
            ("Orders", "NotNamed"),
            ("Preview-2", "TooYoung"),
            ("Preview-3", "OtherRegion"),
            ("Preview-5", "TooYoung"),
            ("Preview-keep", "Excluded"),
        ]
    );
    assert!(found.left[2].reason.contains("2026-08-15T08:30:12.123Z"), "{}", found.left[2].reason);
}

#[test]
fn listed_stacks_and_matched_ones_are_both_meant_and_a_list_alone_means_no_others() {
    let stacks = [stack("A"), stack("B1"), stack("C")];
    assert_eq!(chosen(&selection(&stacks, &Select { stacks: vec!["A".into()], ..select(&["B?"]) })), ["A", "B1"]);
    assert_eq!(chosen(&selection(&stacks, &Select { stacks: vec!["C".into()], ..Select::default() })), ["C"]);
    assert_eq!(chosen(&selection(&stacks, &Select { older_than: Some(HOUR), ..Select::default() })), ["A", "B1", "C"]);
}

/// `teardown-after` in the past: a date, or an instant with a zone, on any resource; of several the latest counts.
#[test]
fn a_stack_is_due_when_its_tag_lies_in_the_past() {
    let tag = |value: &str| json!([{"Key": "teardown-after", "Value": value}]);
    let stacks = [
        stack("Past").tagged(tag("2026-08-15")),
        stack("PastInstant").tagged(tag(" 2026-08-15T11:30:12+02:00 ")),
        stack("Future").tagged(tag("2026-08-15T09:30:13Z")),
        stack("Tomorrow").tagged(tag("2026-08-16")),
        stack("Odd").tagged(tag("next week")),
        stack("Masked").tagged(tag("***")),
        stack("Number").tagged(json!({"teardown-after": 7})),
        stack("Map").tagged(json!({"teardown-after": "2020-01-01"})),
        stack("Twice")
            .tagged(json!([{"Key": "teardown-after", "Value": "2020-01-01"}, {"Key": "teardown-after", "Value": "2030-01-01"}])),
        stack("Plain"),
    ];
    let due = Select { due_tag: Some("teardown-after".into()), ..Select::default() };
    let found = selection(&stacks, &due);
    assert_eq!(chosen(&found), ["Map", "Past", "PastInstant"]);
    assert!(found.left.iter().all(|left| left.code == "NotDue"));
    let reason = |name: &str| found.left.iter().find(|left| left.stack == name).map(|left| left.reason.as_str());
    assert_eq!(reason("Plain"), Some("no resource carries the tag teardown-after"));
    assert_eq!(reason("Odd"), Some("a value of the tag teardown-after is no date such as 2026-11-30"));
    assert_eq!(reason("Twice"), Some("it is due at 2030-01-01T00:00:00.000Z"));
    assert_eq!(chosen(&selection(&stacks, &Select { due_tag: Some("other".into()), ..Select::default() })), [""; 0]);
}

/// Trees go as one: what a nested stack reads, and when it was written, is the tree's.
#[test]
fn nested_stacks_go_with_their_root() {
    let stacks = [
        stack("Net"),
        stack("Web").written(100),
        stack("Web~Api").written(1).imports(&["Net~Core"]),
        stack("Net~Core").written(100),
        stack("Lost~Child").with("parentStack", json!("Lost")),
    ];
    let trees = fleet(&stacks, None);
    assert_eq!(trees.iter().map(|tree| tree.stack.as_str()).collect::<Vec<_>>(), ["Lost~Child", "Net", "Web"]);
    let found = selection(&stacks, &everything());
    assert_eq!(chosen(&found), ["Web", "Net"]);
    assert_eq!(found.chosen[1].after, [0]);
    assert_eq!(left(&found), [("Lost~Child", "NestedChild")]);
    let young = selection(&stacks, &Select { older_than: Some(50 * HOUR), ..Select::default() });
    assert_eq!(chosen(&young), [""; 0], "Web was written an hour ago by its child, and holds Net");
}

#[test]
fn importers_go_before_exporters_in_both_kinds_of_reads() {
    let stacks = [stack("A-net"), stack("B-db").imports(&["A-net"]), stack("C-web").reads_outputs(&["B-db"]), stack("D-alone")];
    let found = selection(&stacks, &everything());
    assert_eq!(chosen(&found), ["C-web", "B-db", "A-net", "D-alone"]);
    let of = |what: fn(&Chosen) -> usize| found.chosen.iter().map(what).collect::<Vec<_>>();
    assert_eq!((of(|c| c.level), of(|c| c.group)), (vec![0, 1, 2, 0], vec![0, 0, 0, 1]));
    assert_eq!(found.groups(), 2);
}

/// A refused importer, however far away, keeps what it imports from; a weak reader keeps nobody.
#[test]
fn whoever_stays_holds_what_it_imports_from() {
    let stacks = [
        stack("Net"),
        stack("Db").imports(&["Net"]),
        stack("Prod-web").imports(&["Db"]),
        stack("Log"),
        stack("Prod-reader").reads_outputs(&["Log"]),
    ];
    let found = selection(&stacks, &Select { exclude: vec!["Prod-*".into()], ..everything() });
    assert_eq!(chosen(&found), ["Log"]);
    assert_eq!(
        left(&found),
        [("Db", "ActiveImports"), ("Net", "ActiveImports"), ("Prod-reader", "Excluded"), ("Prod-web", "Excluded")]
    );
    assert_eq!(found.left[0].reason, "Prod-web in us-east-1 imports from it and stays");
    assert_eq!(found.left[1].reason, "Db in us-east-1 imports from it and stays");
}

#[test]
fn what_the_rails_refuse_is_left_with_their_words() {
    let found = selection_by(&[stack("A"), stack("B").imports(&["A"])], &everything(), |name| match name {
        "B" => Err(Refusal::new(Ending::Refused, "ProtectTag: Queue carries the tag")),
        _ => Ok(Forecast::default()),
    });
    assert_eq!(left(&found), [("A", "ActiveImports"), ("B", "Refused")]);
    assert_eq!(found.left[1].reason, "ProtectTag: Queue carries the tag");
}

/// A broken state hides no import; one that cannot be read at all is told.
#[test]
fn a_broken_state_still_holds_what_it_imports_from() {
    let stacks = [
        stack("Net"),
        stack("Broken").imports(&["Net"]).with("resources", json!(7)),
        stack("Free"),
        stack("New").with("version", json!(99)),
    ];
    let found = selection(&stacks, &everything());
    assert_eq!(chosen(&found), ["Free"]);
    assert_eq!(left(&found), [("Broken", "MalformedState"), ("Net", "ActiveImports"), ("New", "UnsupportedVersion")]);
    assert_eq!(found.warnings, ["New in us-east-1 could not be read, so what it imports is not known"]);
}

/// Nobody knows what a stack imports whose state the bucket did not give out: whatever has outputs stays, and what that
/// imports from. Who has none cannot be imported from.
#[test]
fn a_state_that_is_not_given_out_holds_whoever_has_outputs() {
    for ending in [Ending::AccessDenied, Ending::Error] {
        let unread = stack("Prod-web").withheld(ending);
        let nested = [stack("Prod-web"), stack("Prod-web~Api").withheld(ending)];
        for prod in [vec![unread], nested.into()] {
            for named in [vec!["*"], vec!["Net", "Db", "Log", "Job"]] {
                let others = [stack("Net").exports().imports(&["Db"]), stack("Db"), stack("Log").exports(), stack("Job")];
                let stacks: Vec<_> = others.into_iter().chain(prod.clone()).collect();
                let found = selection(&stacks, &select(&named));
                assert_eq!(chosen(&found), ["Job"]);
                let of_prod = if named == ["*"] { ending.name() } else { "NotNamed" };
                let held = ending.name();
                assert_eq!(left(&found), [("Db", "ActiveImports"), ("Log", held), ("Net", held), ("Prod-web", of_prod)]);
                let reason = &found.left[1].reason;
                assert!(
                    reason.starts_with("whether Prod-web in us-east-1 imports from it is not known, for a state"),
                    "{reason}"
                );
                assert!(reason.contains("GetObject of cdkd/Prod-web"), "{reason}");
            }
        }
    }
    let two = [stack("A").withheld(Ending::Error), stack("B").withheld(Ending::Error), stack("Net").exports()];
    let found = selection(&two, &select(&["Net"]));
    assert!(found.left[2].reason.starts_with("whether A in us-east-1 or one of 1 more imports from it"), "{:?}", found.left[2]);
}

/// What is not given out hides no import that another state of the tree tells of.
#[test]
fn a_tree_tells_what_can_be_read_of_it() {
    let odd = || stack("Web~Odd").with("version", json!(99)).with("parentStack", json!("Web"));
    let found = selection(&[stack("Net").exports(), stack("Web").imports(&["Net"]), odd()], &everything());
    assert_eq!((chosen(&found), found.warnings.len()), (vec!["Web", "Net"], 0));
    let found = selection(&[stack("Net").exports(), stack("Web").imports(&["Net"]), odd()], &select(&["Net"]));
    assert_eq!((chosen(&found), left(&found)[0]), (vec![], ("Net", "ActiveImports")));
    assert_eq!(found.warnings, ["Web in us-east-1 could not be read, so what it imports is not known"]);
}

/// Imports in a circle refuse each other for ever; weak reads in one only stop ordering.
#[test]
fn circles_are_named() {
    let stacks = [
        stack("A").imports(&["B"]),
        stack("B").imports(&["A"]),
        stack("Under").reads_outputs(&["Base"]),
        stack("Base").reads_outputs(&["Under"]).imports(&["Deep"]),
        stack("Deep"),
    ];
    let found = selection(&stacks, &everything());
    assert_eq!(left(&found), [("A", "CircularDependency"), ("B", "CircularDependency")]);
    assert_eq!(found.left[0].reason, "these import from one another: A in us-east-1, B in us-east-1");
    assert_eq!(chosen(&found), ["Base", "Deep", "Under"]);
    assert_eq!(found.chosen[1].after, [0]);
    assert_eq!(
        found.warnings,
        ["these read from one another, so weak reads do not order them: Base in us-east-1, Under in us-east-1"]
    );
}

/// The oldest first; and whoever is cut off is never imported from by one that was taken.
#[test]
fn a_limit_cuts_at_the_end_of_the_order() {
    let stacks = [
        stack("Net").written(500),
        stack("Web").written(90).imports(&["Net"]),
        stack("Old").written(300),
        stack("New").written(80),
    ];
    let limited = |limit| selection(&stacks, &Select { limit: Some(limit), ..everything() });
    assert_eq!(chosen(&limited(2)), ["Old", "Web"]);
    assert_eq!(left(&limited(2)), [("Net", "OverLimit"), ("New", "OverLimit")]);
    assert_eq!(chosen(&limited(3)), ["Old", "Web", "Net"]);
    assert_eq!(chosen(&limited(9)).len(), 4);
}

#[test]
fn the_same_name_in_another_region_is_another_stack() {
    let stacks = [stack("Net"), stack("Net").in_region("eu-west-1"), stack("Web").imports(&["Net"])];
    let found = selection(&stacks, &everything());
    let regions: Vec<_> = found.chosen.iter().map(|c| (c.stack.as_str(), c.region.as_str(), c.after.len())).collect();
    assert_eq!(regions, [("Net", "eu-west-1", 0), ("Web", "us-east-1", 0), ("Net", "us-east-1", 1)]);
}

#[test]
fn a_key_that_is_no_stacks_is_left_alone() {
    let found = selection(&[stack("with space"), stack("A").in_region("mars")], &everything());
    assert_eq!(left(&found), [("A", "InvalidRequest"), ("with space", "InvalidRequest")]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever reads whatever and whoever is refused: no producer before its consumers, nobody is chosen whom somebody who
    /// stays imports from, and everyone is either chosen or left with a reason.
    #[test]
    fn no_producer_ever_comes_before_its_consumers(
        reads in prop::collection::vec((0usize..12, 0usize..12, any::<bool>()), 0..40),
        refused in prop::collection::vec(0usize..12, 0..3),
        limit in prop::option::of(1usize..12),
    ) {
        let name = |n: usize| format!("S{n:02}");
        let stacks: Vec<_> = (0..12).map(|n| {
            let of = |strong: bool| reads.iter().filter(move |(a, _, s)| *a == n && *s == strong).map(|(_, b, _)| name(*b)).collect::<Vec<_>>();
            let (strong, weak) = (of(true), of(false));
            let refs = |v: &[String]| v.iter().map(String::as_str).map(str::to_owned).collect::<Vec<_>>();
            let (strong, weak) = (refs(&strong), refs(&weak));
            stack(&name(n))
                .imports(&strong.iter().map(String::as_str).collect::<Vec<_>>())
                .reads_outputs(&weak.iter().map(String::as_str).collect::<Vec<_>>())
        }).collect();
        let select = Select { limit, ..everything() };
        let found = selection_by(&stacks, &select, |stack| match refused.iter().any(|n| name(*n) == stack) {
            true => Err(Refusal::new(Ending::Refused, "no")),
            false => Ok(Forecast::default()),
        });
        prop_assert_eq!(found.chosen.len() + found.left.len(), 12);
        let at = |n: usize| found.chosen.iter().position(|chosen| chosen.stack == name(n));
        for (consumer, producer, _) in reads.iter().filter(|(a, b, strong)| *strong && a != b) {
            if let Some(producer) = at(*producer) {
                prop_assert!(at(*consumer).is_some_and(|consumer| consumer < producer), "an importer stays or comes later");
                prop_assert!(found.chosen[producer].after.contains(&at(*consumer).unwrap_or_default()));
            }
        }
        for (n, chosen) in found.chosen.iter().enumerate() {
            for reader in &chosen.after {
                prop_assert!(*reader < n);
                prop_assert_eq!(found.chosen[*reader].group, chosen.group);
                prop_assert!(found.chosen[*reader].level < chosen.level);
            }
        }
        prop_assert!(found.chosen.len() <= limit.unwrap_or(12));
        prop_assert!(NOW > 0);
    }
}
