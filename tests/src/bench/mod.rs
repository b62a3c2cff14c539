//! Measurements; `docs/performance.md` says what the numbers mean. Makespan and lock are computed in virtual time, so they
//! are the same on every machine.

pub mod corpus;
pub mod graphs;
pub mod lock;
pub mod makespan;
pub mod planner;
pub mod report;
mod row;
