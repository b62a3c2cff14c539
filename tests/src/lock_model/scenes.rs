//! The scenes: who meets whom, as large as two minutes allow, and smaller ones for the tests.

use super::Scene;

/// A clock that is five minutes fast.
const FAST: i64 = 300_000;
/// A clock that is five minutes slow.
const SLOW: i64 = -300_000;

/// Scenes in which every property holds.
pub fn sound() -> Vec<Scene> {
    let alone = Scene::new("an Ebb run and its keeper");
    let met = Scene { acquires: 1, faults: 0, renewals: 0, looks: 1, advances: 6, ..Scene::new("") };
    vec![
        Scene { advances: 7, ..alone.clone() },
        Scene { name: "an Ebb run and its keeper, twice something goes wrong", faults: 2, renewals: 0, advances: 6, ..alone },
        Scene { name: "an Ebb run, its keeper and a second Ebb run", ebbs: vec![0, 0], advances: 8, ..met.clone() },
        Scene { name: "the same, one clock 5 min slow and one 5 min fast", ebbs: vec![SLOW, FAST], advances: 7, ..met.clone() },
        Scene { name: "an Ebb run, its keeper and cdkd", cdkd: 1, advances: 7, ..met.clone() },
        Scene { name: "an Ebb run, its keeper and cdkd, something goes wrong", cdkd: 1, faults: 1, advances: 4, ..met.clone() },
        Scene { name: "an Ebb run, its keeper, an operator and cdkd afterwards", operator: true, advances: 7, ..met },
    ]
}

/// The known limit: a cdkd of old that deletes the lock without a condition.
pub fn known_limit() -> Scene {
    Scene {
        old_cdkd: true,
        faults: 0,
        acquires: 1,
        renewals: 0,
        looks: 1,
        advances: 6,
        ..Scene::new("an Ebb run and a cdkd of old")
    }
}

/// Scenes whose design is spoilt on purpose: the checker must find it, or it shows nothing.
pub fn spoilt() -> Vec<Scene> {
    let spoilt = Scene { ebbs: vec![0, 0], acquires: 1, faults: 0, renewals: 0, looks: 1, advances: 6, ..Scene::new("") };
    vec![
        Scene { name: "spoilt: a drain of 5 s", drain: 5_000, ..spoilt.clone() },
        Scene { name: "spoilt: calls of 90 s", call: 90_000, ..spoilt },
    ]
}

/// Small scenes, for the tests.
pub fn small() -> Vec<Scene> {
    let small = Scene { acquires: 1, faults: 0, renewals: 0, looks: 1, advances: 5, ..Scene::new("an Ebb run and its keeper") };
    vec![
        Scene { acquires: 2, faults: 1, ..small.clone() },
        Scene { name: "an Ebb run, its keeper and a second Ebb run", ebbs: vec![0, 0], ..small.clone() },
        Scene { name: "an Ebb run, its keeper and cdkd", cdkd: 1, ..small },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    /// Mutual exclusion, no foreign delete, no late start, no lock left behind.
    #[test]
    fn every_property_holds_in_the_small_scenes() {
        for scene in small() {
            let report = check(scene, 2);
            assert!(report.broken.is_empty(), "{}: {:#?}", report.scene, report.broken);
            assert!(report.states > 1_000, "{}: only {} states", report.scene, report.states);
        }
    }

    /// An old cdkd's release is unconditional: cannot be prevented.
    #[test]
    fn the_known_limit_is_found() {
        let report = check(known_limit(), 2);
        assert!(report.broken.iter().any(|(property, path)| property.contains("removes a lock") && path.contains("OldReleases")));
    }

    #[test]
    fn a_spoilt_design_is_found() {
        for scene in spoilt() {
            let report = check(scene, 2);
            assert!(!report.broken.is_empty(), "{} was not found in {} states", report.scene, report.states);
        }
    }
}
