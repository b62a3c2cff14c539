//! The sample states planned, as if every step took equally long: reviewed once, compared for ever.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Bench, run};
use crate::graph::testing::nodes;
use crate::payload::PlanNext;
use crate::state::Layout;
use crate::state::samples::{self, doc};
use crate::{Graph, Outcome};

/// Waves, warnings, and what was decided without a step.
fn planned(states: &[(&str, &str, Layout)]) -> Value {
    let all = states.iter().flat_map(|(stack, sample, layout)| nodes(stack, &doc(sample, *layout))).collect();
    let mut bench = Bench::of(Graph::build(all).unwrap(), run(json!({"skipGuarded": true})));
    let decided: BTreeMap<String, String> = bench
        .record
        .resources
        .iter()
        .filter(|(_, row)| row.status.is_settled())
        .map(|(id, row)| (id.clone(), format!("{:?}: {}", row.status, row.reason.as_deref().unwrap_or_default())))
        .collect();
    let (mut looks, mut waves) = (Vec::new(), Vec::new());
    bench.plan(&[]);
    while bench.record.answer.next == PlanNext::Wave {
        let items = bench.items();
        let (wave, outcome) = if items[0].look { (&mut looks, Outcome::Pending) } else { (&mut waves, Outcome::Deleted) };
        wave.push(items.iter().map(|item| item.id.clone()).collect::<Vec<_>>());
        let results = bench.all(outcome);
        bench.plan(&results);
    }
    assert_eq!(bench.record.answer.next, PlanNext::Finish);
    json!({
        "looks": looks, "waves": waves, "decided": decided, "warnings": bench.record.warnings,
        "removed": bench.record.stacks.iter().filter(|(_, ledger)| ledger.removed).map(|(stack, _)| stack).collect::<Vec<_>>(),
        "counts": bench.record.counts(),
    })
}

#[test]
fn the_samples_planned() {
    let regional = Layout::Regional;
    for (name, states) in [
        ("01-legacy", vec![("LegacyMailer", samples::LEGACY, Layout::Legacy)]),
        ("02-rest-api", vec![("OrdersApi", samples::REST_API, regional)]),
        ("03-policies", vec![("LedgerData", samples::POLICIES, regional)]),
        ("04-network", vec![("EdgeNetwork", samples::NETWORK, regional)]),
        ("05-latest", vec![("TenantPortal", samples::LATEST, regional)]),
        (
            "06-07-nested",
            vec![
                ("Storefront", samples::NESTED_PARENT, regional),
                ("Storefront~SearchNested1B", samples::NESTED_CHILD, regional),
            ],
        ),
        ("06-parent-alone", vec![("Storefront", samples::NESTED_PARENT, regional)]),
        ("07-child-alone", vec![("Storefront~SearchNested1B", samples::NESTED_CHILD, regional)]),
        ("08-exporter", vec![("SharedBus", samples::EXPORTER, regional)]),
        ("09-importer", vec![("Billing", samples::IMPORTER, regional)]),
    ] {
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_json_snapshot!(name, planned(&states));
        });
    }
}
