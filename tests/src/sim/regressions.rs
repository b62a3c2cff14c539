//! Seeds that once failed, and what it was. They are lived first, and for good.

/// Seed and story.
pub const REGRESSIONS: &[(u64, &str)] = &[];
