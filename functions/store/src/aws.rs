//! The world of a Lambda: AWS, through the function's own role or a target's.

use std::sync::Arc;

use ebb_core::Clock;

use crate::{AwsAccounts, Sessions, SfnExecutions, SystemClock, World};

/// Built once per container.
pub async fn world() -> (World, Arc<Sessions>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let sessions = Arc::new(Sessions::load(clock.clone()).await);
    let executions = Arc::new(SfnExecutions::new(sessions.own()));
    let accounts = Arc::new(AwsAccounts::new(sessions.clone()));
    (World { clock, executions, accounts }, sessions)
}
