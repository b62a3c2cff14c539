//! Bedrock AgentCore: runtimes and evaluators. Its own browser and code interpreter belong to AWS (`road.rs`).

use std::time::Duration;

use aws_sdk_bedrockagentcorecontrol::types::AgentRuntimeStatus;
use ebb_core::{DeleteError, ErrorClass, Resource, Step};

use crate::Cx;
use crate::accepted;
use crate::arn::name_of;
use crate::call::{CallResult, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["ResourceNotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::BedrockAgentCore::Evaluator",
        step: |r, cx| Box::pin(evaluator(r, cx)),
        look: None,
        actions: &["bedrock-agentcore:DeleteEvaluator"],
        rules: Rules {
            gone: GONE,
            retry: &[
                retry("ConflictException", 5, 120),
                retry("ThrottlingException", 2, 60),
                retry("InternalServerException", 3, 60),
            ],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::BedrockAgentCore::Runtime",
        step: |r, cx| Box::pin(runtime(r, cx)),
        look: None,
        actions: &["bedrock-agentcore:DeleteAgentRuntime", "bedrock-agentcore:GetAgentRuntime"],
        rules: Rules {
            gone: GONE,
            retry: &[
                retry("ConflictException", 5, 300),
                retry("ThrottlingException", 2, 60),
                retry("InternalServerException", 3, 60),
            ],
            ..Rules::NONE
        },
    },
];

const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The call wants the id, the record holds the ARN.
async fn evaluator(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = name_of(r, "evaluator/", cx)?;
    cx.aws.bedrockagentcore().delete_evaluator().evaluator_id(id).send().await?;
    Ok(Step::DELETED)
}

async fn runtime(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = name_of(r, "runtime/", cx)?;
    if accepted::at(cx).is_none() {
        cx.aws.bedrockagentcore().delete_agent_runtime().agent_runtime_id(id).send().await?;
        return Ok(accepted::now(LOOK_AGAIN, cx));
    }
    match cx.aws.bedrockagentcore().get_agent_runtime().agent_runtime_id(id).send().await.ignore(GONE)? {
        None => Ok(Step::DELETED),
        Some(found) if *found.status() == AgentRuntimeStatus::DeleteFailed => Err(DeleteError {
            class: ErrorClass::Terminal,
            code: "DELETE_FAILED".into(),
            message: "AgentCore could not delete the runtime".into(),
            request_id: None,
        }
        .into()),
        Some(_) => Ok(accepted::still_there(r, LOOK_AGAIN, Duration::from_secs(600), cx)),
    }
}

#[cfg(test)]
mod tests;
