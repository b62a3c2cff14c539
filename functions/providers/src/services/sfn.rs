//! Step Functions: state machines and activities. A machine stays visible as DELETING while its executions end, and its
//! role must live as long: later steps look until it is gone.

use std::time::Duration;

use aws_sdk_sfn::types::StateMachineStatus;
use ebb_core::{Millis, Resource, Step};
use serde_json::{Value, json};

use crate::Cx;
use crate::arn::same_region;
use crate::call::StepResult;
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::StepFunctions::Activity",
        step: |r, cx| Box::pin(activity(r, cx)),
        look: None,
        actions: &["states:DeleteActivity"],
        rules: Rules { gone: &["ActivityDoesNotExist"], retry: &[retry("ThrottlingException", 2, 60)], ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::StepFunctions::StateMachine",
        step: |r, cx| Box::pin(state_machine(r, cx)),
        look: None,
        actions: &["states:DeleteStateMachine", "states:DescribeStateMachine"],
        rules: Rules { gone: &["StateMachineDoesNotExist"], retry: &[retry("ThrottlingException", 2, 60)], ..Rules::NONE },
    },
];

/// How long the look goes on after the delete was accepted; an execution that runs longer holds the machine, no longer us.
const VISIBLE: Duration = Duration::from_secs(300);

const ACCEPTED: &str = "acceptedAt";

/// Look first: the delete answers the same whether there is a machine or not.
async fn state_machine(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let arn = r.physical_id.as_str();
    same_region(arn, cx)?;
    let accepted: Option<Millis> = cx.memo.and_then(|memo| memo.get(ACCEPTED)).and_then(Value::as_u64);
    let found = match (cx.aws.sfn().describe_state_machine().state_machine_arn(arn).send().await, accepted) {
        (Err(error), Some(_)) if error.as_service_error().is_some_and(|e| e.is_state_machine_does_not_exist()) => {
            return Ok(Step::DELETED);
        }
        (answer, _) => answer?,
    };
    if found.status() != Some(&StateMachineStatus::Deleting) {
        cx.fence.check().await?;
        cx.aws.sfn().delete_state_machine().state_machine_arn(arn).send().await?;
    }
    let now = cx.clock.now();
    // A machine without executions is gone in a moment.
    let look_again = Duration::from_secs(if accepted.is_none() { 1 } else { 5 });
    let accepted = accepted.unwrap_or(now);
    if Duration::from_millis(now.saturating_sub(accepted)) >= VISIBLE {
        tracing::warn!(resource = r.logical_id, "the state machine is still DELETING: its executions hold it");
        return Ok(Step::DELETED);
    }
    Ok(Step::pending_with(look_again, "the state machine is DELETING", json!({ ACCEPTED: accepted })))
}

async fn activity(r: &Resource, cx: &Cx<'_>) -> StepResult {
    same_region(&r.physical_id, cx)?;
    cx.aws.sfn().delete_activity().activity_arn(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, Step};
    use serde_json::{Value, json};

    use crate::testing::{Bench, Script};

    const ARN: &str = "arn:aws:states:us-east-1:123456789012:stateMachine:orders";
    const TYPE: &str = "AWS::StepFunctions::StateMachine";

    fn machine(status: &str) -> Value {
        json!({
            "stateMachineArn": ARN, "name": "orders", "status": status, "definition": "{}", "roleArn": "arn:aws:iam::123456789012:role/r",
            "type": "STANDARD", "creationDate": 1_765_000_000.0
        })
    }

    #[tokio::test]
    async fn a_machine_is_deleted_once_and_looked_at_until_it_is_gone() {
        let script = Script::new()
            .json(&["DescribeStateMachine", ARN], 200, machine("ACTIVE"))
            .json(&["DeleteStateMachine", ARN], 200, json!({}))
            .json(&["DescribeStateMachine"], 200, machine("DELETING"))
            .json_error(&["DescribeStateMachine"], "StateMachineDoesNotExist", "no");
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        bench.pass(5);
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        bench.pass(5);
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }

    #[tokio::test]
    async fn a_machine_that_is_not_there_is_gone_without_a_delete() {
        let script = Script::new().json_error(&["DescribeStateMachine"], "StateMachineDoesNotExist", "no");
        assert_eq!(Bench::new(TYPE, ARN, json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }

    // An accepted delete counts as gone when running executions hold the machine for longer than the wait.
    #[tokio::test]
    async fn executions_that_go_on_do_not_hold_the_run_for_ever() {
        let script = Script::new().json(&["DescribeStateMachine"], 200, machine("DELETING")).json(
            &["DescribeStateMachine"],
            200,
            machine("DELETING"),
        );
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        bench.pass(300);
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    }

    #[tokio::test]
    async fn a_throttle_passes_and_keeps_what_was_accepted() {
        let script = Script::new()
            .json(&["DescribeStateMachine"], 200, machine("ACTIVE"))
            .json(&["DeleteStateMachine"], 200, json!({}))
            .json_error(&["DescribeStateMachine"], "ThrottlingException", "slow down")
            .json_error(&["DescribeStateMachine"], "StateMachineDoesNotExist", "no");
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        for _ in 0..2 {
            assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    }

    #[tokio::test]
    async fn denials_are_final() {
        let script = Script::new().json(&["DescribeStateMachine"], 200, machine("ACTIVE")).json_error(
            &["DeleteStateMachine"],
            "AccessDeniedException",
            "no",
        );
        assert_eq!(Bench::new(TYPE, ARN, json!({})).step(&script).await.map_err(|e| e.code), Err("AccessDeniedException".into()));
    }

    #[tokio::test]
    async fn a_shut_fence_lets_looks_pass_and_no_delete() {
        let script = Script::new().json(&["DescribeStateMachine"], 200, machine("ACTIVE"));
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FenceShut.name()));
        script.assert_done();
    }

    #[tokio::test]
    async fn another_region_is_refused_before_any_call() {
        let script = Script::new();
        for (name, arn) in [
            (TYPE, "arn:aws:states:eu-west-1:1:stateMachine:o"),
            ("AWS::StepFunctions::Activity", "arn:aws:states:eu-west-1:1:activity:a"),
        ] {
            assert_eq!(Bench::new(name, arn, json!({})).step(&script).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
        }
        assert_eq!(script.seen(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn an_activity_goes_in_one_call() {
        let arn = "arn:aws:states:us-east-1:123456789012:activity:manual";
        let script = Script::new().json(&["DeleteActivity", arn], 200, json!({})).json_error(
            &["DeleteActivity"],
            "ActivityDoesNotExist",
            "no",
        );
        let mut bench = Bench::new("AWS::StepFunctions::Activity", arn, json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
}
