//! Tests of behaviour: the simulation, the model of the lock, the benches.

pub mod bench;
pub mod lock_model;
pub mod sim;
