//! The table of native types: one entry per type, contributed by the service files. Checked by tests: unique, sorted.

use std::sync::OnceLock;

use futures::future::BoxFuture;

use ebb_core::{Look, Resource};

use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::classify::Rules;
use crate::services;

/// The step of a type.
pub type StepFn = for<'a> fn(&'a Resource, &'a Cx<'a>) -> BoxFuture<'a, StepResult>;
/// The read-only look of a type that has a protection or a data guard.
pub type LookFn = for<'a> fn(&'a Resource, &'a Cx<'a>) -> BoxFuture<'a, Result<Look, StepError>>;

/// How a type goes away.
pub struct TypeDef {
    /// `AWS::Service::Type`.
    pub name: &'static str,
    /// One step toward gone.
    pub step: StepFn,
    /// Whether a protection or a guard would refuse; read-only.
    pub look: Option<LookFn>,
    /// IAM actions that step and look call.
    pub actions: &'static [&'static str],
    /// What this type's error codes mean.
    pub rules: Rules,
}

/// Every native type, sorted by name.
pub fn types() -> &'static [&'static TypeDef] {
    static TYPES: OnceLock<Vec<&'static TypeDef>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let mut all: Vec<&TypeDef> = services::ALL.iter().copied().flatten().collect();
        all.sort_by_key(|def| def.name);
        all
    })
}

/// The entry of a type, if it has one.
pub fn find(name: &str) -> Option<&'static TypeDef> {
    let types = types();
    types.binary_search_by_key(&name, |def| def.name).ok().map(|i| types[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planner, which does not link this crate, knows whom to look at before the first delete.
    #[test]
    fn the_plan_looks_at_what_can_be_looked_at() {
        let native = types().iter().filter(|def| def.look.is_some()).map(|def| def.name);
        let mut looks: Vec<&str> = native.chain(services::cloud_control::protection::looked_at()).collect();
        looks.sort_unstable();
        let planned = ebb_core::catalogue::entries().iter().filter(|entry| entry.looked_at);
        assert_eq!(looks, planned.map(|entry| entry.resource_type).collect::<Vec<_>>());
    }

    #[test]
    fn every_type_stands_once_and_says_what_it_calls() {
        assert!(types().windows(2).all(|w| w[0].name < w[1].name), "a type stands twice");
        for def in types() {
            assert!(def.name.starts_with("AWS::"), "{}", def.name);
            assert!(!def.actions.is_empty(), "{} declares no IAM actions", def.name);
            assert!(def.actions.windows(2).all(|w| w[0] < w[1]), "{}: actions are sorted and unique", def.name);
        }
    }
}
