//! Custom resources against a scripted AWS and a bucket in memory.

mod bench;
mod delivery;
mod marks;
mod outcomes;
mod preconditions;
