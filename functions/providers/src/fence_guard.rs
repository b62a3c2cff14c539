//! The fence inside the clients: every mutating AWS call is refused before it leaves unless the fence of the step that
//! makes it is open. A step cannot forget it, and a call outside a step is refused too.

use std::fmt;
use std::sync::Arc;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeSerializationInterceptorContextRef;
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use ebb_core::Fence;

tokio::task_local! {
    static FENCE: Arc<dyn Fence>;
}

/// Runs `future` with `fence` in force for the calls that it makes.
pub async fn with_fence<T>(fence: Arc<dyn Fence>, future: impl Future<Output = T>) -> T {
    FENCE.scope(fence, future).await
}

/// The call never left: the lock is not ours, closed, too old a read, or its lease is too short.
#[derive(Debug)]
pub struct FenceShut;

impl fmt::Display for FenceShut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fence is shut: no mutating call may start")
    }
}

impl std::error::Error for FenceShut {}

/// Part of every client's configuration.
#[derive(Debug)]
pub struct FenceGuard;

impl Intercept for FenceGuard {
    fn name(&self) -> &'static str {
        "FenceGuard"
    }

    // The first hook of a client that knows the operation: what comes before runs without its configuration.
    fn read_before_serialization(
        &self,
        _context: &BeforeSerializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let operation = cfg.load::<Metadata>().map(|m| m.name().to_owned()).unwrap_or_default();
        if is_read(&operation) || FENCE.try_with(|fence| fence.is_open()).unwrap_or(false) {
            Ok(())
        } else {
            Err(FenceShut.into())
        }
    }
}

/// Reads need no fence. Anything whose name does not say that it reads counts as a change.
fn is_read(operation: &str) -> bool {
    ["Describe", "List", "Get", "Head"].iter().any(|verb| operation.starts_with(verb))
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, Step};
    use serde_json::json;

    use super::is_read;
    use crate::testing::{Bench, Script};

    #[test]
    fn what_does_not_say_that_it_reads_is_a_change() {
        assert!(is_read("DescribeVpcs") && is_read("ListObjectVersions") && is_read("GetRole") && is_read("HeadBucket"));
        assert!(!is_read("DeleteRole") && !is_read("Invoke") && !is_read("SetTopicAttributes") && !is_read(""));
    }

    // A dry run looks without a lock.
    #[tokio::test]
    async fn behind_a_shut_fence_reads_leave_and_changes_do_not() {
        let script = Script::new().json(&["DescribeTable"], 200, json!({ "Table": { "TableStatus": "ACTIVE" } }));
        let mut bench = Bench::new("AWS::DynamoDB::Table", "orders", json!({}));
        bench.fence(false);
        assert!(bench.look(&script).await.is_ok());
        script.assert_done();
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err::<Step, _>(Code::FenceShut.name()));
        assert_eq!(script.seen().len(), 1);
    }
}
