//! What goes before what, against the sentences of the contract.

mod computed;
mod hostile;
mod recorded;
mod rules;
mod samples;
