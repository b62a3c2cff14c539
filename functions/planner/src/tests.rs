//! Check and plan against a bucket in memory: who is refused and why, and what a plan leaves behind when it is cut short.

mod check;
mod crashes;
mod pending;
mod plan;
mod sweep;
mod waves;
