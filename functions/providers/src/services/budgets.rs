//! Budgets. A budget goes with its notifications and their subscribers.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::StepResult;
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::Budgets::Budget",
    step: |r, cx| Box::pin(budget(r, cx)),
    look: None,
    actions: &["budgets:ModifyBudget"],
    rules: Rules {
        gone: &["NotFoundException"],
        retry: &[retry("ThrottlingException", 2, 60), retry("InternalErrorException", 3, 60)],
        ..Rules::NONE
    },
}];

/// The account is the run's: the one whose credentials make the call.
async fn budget(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.budgets().delete_budget().account_id(&cx.run.account).budget_name(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests {
    use ebb_core::{ErrorClass, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    const DELETE: &[&str] =
        &["AWSBudgetServiceGateway.DeleteBudget", "\"AccountId\":\"123456789012\"", "\"BudgetName\":\"monthly\""];

    fn bench() -> Bench {
        Bench::new("AWS::Budgets::Budget", "monthly", json!({}))
    }

    #[tokio::test]
    async fn a_budget_goes_in_one_call() {
        let script = Script::new().json(DELETE, 200, json!({})).json_error(DELETE, "NotFoundException", "no");
        assert_eq!(bench().step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }

    #[tokio::test]
    async fn what_passes_and_what_does_not() {
        for (code, wait, budget) in [("ThrottlingException", 2, 60), ("InternalErrorException", 3, 60)] {
            crate::testing::passes(bench, DELETE, code, wait, budget).await;
        }
        let denied = Script::new().json_error(DELETE, "AccessDeniedException", "no");
        assert_eq!(bench().step(&denied).await.unwrap_err().class, ErrorClass::Denied);
        let mut shut = bench();
        shut.fence(false);
        assert_eq!(shut.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut);
    }
}
