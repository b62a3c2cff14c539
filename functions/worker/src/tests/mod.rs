//! The worker with a provider of the test's, a bucket in memory and a virtual clock.

mod answers;
pub(crate) mod bench;
mod fence;
mod hostile;
mod rows;
mod spans;
