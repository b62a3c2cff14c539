//! Measurements: how long a teardown takes against what it must take. Everything here is computed in virtual time, so the
//! numbers are the same on every machine.

pub mod graphs;
pub mod makespan;
