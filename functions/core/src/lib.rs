//! What a teardown *is*: documents, decisions and words. Pure: no I/O, no clock, no AWS crate.
//! Every other crate depends on this one; it depends on none of them.

pub mod catalogue;
pub mod clock;
pub mod ending;
pub mod keys;
pub mod payload;
pub mod provider;
pub mod run;
pub mod text;
pub mod wave;

pub use clock::{Clock, Millis};
pub use ending::{Ending, Refusal};
pub use keys::{StackKey, StackRef};
pub use provider::{Code, Context, DeleteError, ErrorClass, Fence, Look, Provider, Resource, Step};
pub use run::{Options, Run, Target};
pub use wave::{Item, Outcome, StepResult};
