//! The state bucket that Ebb shares with cdkd: state, lock, run record, exports index, event log.
//! Everything under a lock is written on a condition; nothing here decides, `ebb-core` does.

pub mod bucket;
pub mod world;

pub use bucket::{Bucket, BucketError, BucketErrorKind, Listing, Object, Put, Version, When};
pub use world::{Accounts, BucketPlace, Execution, Executions, ExecutionsError, World};
