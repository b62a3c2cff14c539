//! What a teardown *is*: documents, decisions and words. Pure: no I/O, no clock, no AWS crate.
//! Every other crate depends on this one; it depends on none of them.

pub mod catalogue;
pub mod clock;
pub mod crash;
pub mod ending;
pub mod final_snapshot;
pub mod graph;
pub mod importers;
pub mod json_indent;
pub mod keys;
pub mod lock;
#[cfg(test)]
mod names;
pub mod news;
pub mod own;
pub mod payload;
pub mod plan;
pub mod provider;
pub mod rails;
pub mod record;
pub mod request;
pub mod run;
pub mod service_token;
pub mod state;
pub mod status;
pub mod sweep;
pub mod text;
pub mod wave;

pub use clock::{Clock, Millis};
pub use ending::{Ending, Refusal};
pub use graph::{Graph, Node};
pub use keys::{StackKey, StackRef};
pub use provider::{Code, Context, DeleteError, ErrorClass, Fence, Look, Provider, Resource, Step};
pub use record::RunRecord;
pub use request::Request;
pub use run::{Options, Run, Target};
pub use state::StateDoc;
pub use status::Status;
pub use wave::{Item, Outcome, Span, StepResult};
