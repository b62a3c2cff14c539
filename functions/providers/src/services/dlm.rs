//! Data Lifecycle Manager: policies. Snapshots that a policy made stay.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::StepResult;
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::DLM::LifecyclePolicy",
    step: |r, cx| Box::pin(policy(r, cx)),
    look: None,
    actions: &["dlm:DeleteLifecyclePolicy"],
    rules: Rules {
        gone: &["ResourceNotFoundException"],
        retry: &[retry("InternalServerException", 3, 60)],
        // A quota here, no rate limit.
        terminal: &["LimitExceededException"],
        protected: &[],
    },
}];

async fn policy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.dlm().delete_lifecycle_policy().policy_id(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests {
    use ebb_core::{ErrorClass, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    const DELETE: &[&str] = &["DELETE", "/policies/policy-0abc"];

    fn bench() -> Bench {
        Bench::new("AWS::DLM::LifecyclePolicy", "policy-0abc", json!({}))
    }

    #[tokio::test]
    async fn a_policy_goes_in_one_call() {
        let script = Script::new().json(DELETE, 200, json!({})).json_error(DELETE, "ResourceNotFoundException", "no");
        assert_eq!(bench().step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }

    #[tokio::test]
    async fn what_passes_and_what_does_not() {
        crate::testing::passes(bench, DELETE, "InternalServerException", 3, 60).await;
        let quota = Script::new().json_error(DELETE, "LimitExceededException", "no");
        assert_eq!(bench().step(&quota).await.unwrap_err().class, ErrorClass::Terminal, "a quota, no rate limit");
        let mut shut = bench();
        shut.fence(false);
        assert_eq!(shut.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut);
    }
}
