//! Seeds that once failed, and what it was. They are lived first, and for good. A seed means its run only as long as the
//! draws in `scenario` and `shapes` stay what they are; where they changed, the story stays and the seed guards its like.

/// Seed and story.
pub const REGRESSIONS: &[(u64, &str)] = &[
    (156, "simulation: a legacy record that moved to the region's key counted as lost"),
    (173, "simulation: a stale state of an old cdkd process listed a custom resource that was long gone"),
    (185, "simulation: a lapsed lock of a nested stack without state counted as left behind"),
    (188, "store: a warm planner wrote a nested state again that another container had removed, and took it for a conflict"),
    (238, "the same, in a generated stack"),
    (278, "simulation: as 173, in a real graph"),
];
