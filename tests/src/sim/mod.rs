//! The whole system in one process and no real time: planner, worker, lock-keeper and finalizer as they are shipped, driven
//! by the definitions in `infra/`, in a modelled world that loses replies, doubles deliveries, kills, delays and lies about
//! the time. A seed is a run; the same seed is the same run.
//!
//! `seed::run` lives one seed; `bin/soak` lives many; what must hold is in [`invariants`].

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the simulation is a test")]

pub mod asl;
pub mod aws;
pub mod bucket;
pub mod custom;
pub mod executions;
pub mod fleet;
pub mod functions;
pub mod invariants;
pub mod log;
pub mod machine;
pub mod neighbours;
pub mod paths;
pub mod provider;
pub mod regressions;
pub mod rng;
pub mod scenario;
pub mod seed;
pub mod shapes;
pub mod soak;
pub mod truth;
pub mod world;
