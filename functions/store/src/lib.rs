//! The state bucket that Ebb shares with cdkd: state, lock, run record, exports index, event log.
//! Everything under a lock is written on a condition; nothing here decides, `ebb-core` does.

pub mod accounts;
pub mod at_once;
pub mod aws;
pub mod bucket;
pub mod conformance;
pub mod event_log;
pub mod executions;
pub mod exports;
pub mod hooked;
pub mod in_line;
pub mod lambda;
pub mod lock;
pub mod memory;
pub mod one_world;
pub mod record_file;
pub mod resolve;
pub mod runs;
pub mod s3;
pub mod session;
pub mod stacks;
pub mod state_file;
pub mod strong_refs;
pub mod system_clock;
pub mod telemetry;
pub mod versions;
pub mod virtual_clock;
pub mod world;

#[cfg(test)]
mod replay;

pub use accounts::AwsAccounts;
pub use at_once::at_once;
pub use bucket::{Bucket, BucketError, BucketErrorKind, Listing, Object, Put, Version, When};
pub use bytes::Bytes;
pub use event_log::{Counts, Event, EventError, EventType, RunEvents, RunResult};
pub use executions::SfnExecutions;
pub use exports::remove_exports;
pub use hooked::{Call, Hook, Hooked};
pub use lambda::{Failure, serve};
pub use memory::MemoryBucket;
pub use one_world::OneWorld;
pub use resolve::{Resolution, ResolveRun};
pub use s3::S3Bucket;
pub use session::Sessions;
pub use stacks::{ListedStack, list_stacks, regions_of};
pub use strong_refs::{Consumer, Consumers, find_consumers};
pub use system_clock::SystemClock;
pub use virtual_clock::VirtualClock;
pub use world::{Accounts, BucketPlace, End, Execution, Executions, ExecutionsError, World};
