//! What must hold. It is held against the bookkeeping in [`super::truth`].
//!
//! Left out on purpose, because the protocol does not promise it:
//! * a cdkd process of old releases whatever lock is there and works past its lease. What it deletes and writes itself is
//!   not judged; Ebb's runs beside it still are, except that they may lose their lock (`release` allows for it).
//! * clocks that are off by more than two minutes: a closed lock's lease is five minutes, the drain takes 75 s of it, so a
//!   finalizer whose clock is that far ahead finds the lease over. `release` and `progress` are not judged then; `order`,
//!   `fence`, `record`, `neighbour`, `once`, `secrets` and `payload` are.
//! * access that is denied: a lock that may not be deleted stays, and holds nobody up once its lease is over. Denied for good,
//!   `release` and `progress` are not judged.

/// Bytes of a state's payload.
pub const MOST_PAYLOAD: usize = 256 * 1024;
/// Events of an execution's history.
pub const MOST_EVENTS: u64 = 25_000;

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// No delete reaches a resource while something that needs it lives.
    Order,
    /// (a) no call starts with under 60 s of lease on the fence just read, (b) none later than 10 s after a close, a
    /// release or a foreign removal, (c) none goes on 75 s after it.
    Fence,
    /// Every recorded resource is gone, or recorded, or dropped by its policy.
    Record,
    /// Nothing outside the stack is touched; another's lock and a newer deployment are never removed.
    Neighbour,
    /// Five minutes after a run's death and the last fault no lock of it is left.
    Release,
    /// A custom resource's handler is asked at most once per attempt.
    Once,
    /// Result, record, report and events say what the world says.
    Truth,
    /// A run without permanent faults ends, and once everything is mended the stack goes.
    Progress,
    /// No value of a property or an output gets out of the state.
    Secrets,
    /// No payload over 256 KiB, no history over 25,000 events.
    Payload,
    /// No definition meets data that does not fit it.
    Machine,
}

impl Invariant {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::Order => "order",
            Invariant::Fence => "fence",
            Invariant::Record => "record",
            Invariant::Neighbour => "neighbour",
            Invariant::Release => "release",
            Invariant::Once => "once",
            Invariant::Truth => "truth",
            Invariant::Progress => "progress",
            Invariant::Secrets => "secrets",
            Invariant::Payload => "payload",
            Invariant::Machine => "machine",
        }
    }
}
