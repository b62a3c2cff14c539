//! Checks a scene and says what was found.

use std::fmt::Write as _;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use super::Scene;

/// What the checker found in a scene.
pub struct Report {
    /// The scene.
    pub scene: &'static str,
    /// States reached, each counted once.
    pub states: usize,
    /// The longest way to one of them.
    pub depth: usize,
    /// Properties that do not hold, with the way to where they break.
    pub broken: Vec<(&'static str, String)>,
    /// What should be reachable and is not: the scene would show nothing.
    pub unreached: Vec<&'static str>,
}

impl Report {
    /// Whether every property holds and everything that should happen does.
    pub fn holds(&self) -> bool {
        self.broken.is_empty() && self.unreached.is_empty()
    }
}

/// Explores every state of `scene`, up to the first property that breaks.
pub fn check(scene: Scene, threads: usize) -> Report {
    let name = scene.name;
    let properties = scene.properties();
    let checker = scene.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    // After a failure the rest was not looked at.
    let failed = |property: &stateright::Property<Scene>| {
        property.expectation == Expectation::Always && checker.discovery(property.name).is_some()
    };
    let complete = !properties.iter().any(failed);
    let mut broken = Vec::new();
    let mut unreached = Vec::new();
    for property in properties {
        match (property.expectation, checker.discovery(property.name)) {
            (Expectation::Always, Some(path)) => {
                let mut told = String::new();
                for (step, (state, action)) in path.into_vec().into_iter().enumerate() {
                    let seconds = (state.now - super::START) / 1000;
                    match action {
                        Some(action) => _ = writeln!(told, "  {:>2}. at {seconds:>4} s  {action:?}", step + 1),
                        None => {
                            let what = state.foreign_delete.clone().unwrap_or_default();
                            _ = writeln!(told, "      at {seconds:>4} s  {what}");
                        }
                    }
                }
                broken.push((property.name, told));
            }
            (Expectation::Sometimes, None) if complete => unreached.push(property.name),
            _ => {}
        }
    }
    Report { scene: name, states: checker.unique_state_count(), depth: checker.max_depth(), broken, unreached }
}
