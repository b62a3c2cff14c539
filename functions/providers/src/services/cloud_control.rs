//! Cloud Control: the road of every row that was made through it and of every type without a native step.
//! DeleteResource answers a request token, later steps look at the request's status.

use std::time::Duration;

use aws_sdk_cloudcontrol::types::{HandlerErrorCode, OperationStatus, ProgressEvent};
use ebb_core::{DeleteError, ErrorClass, Resource, Step};
use serde_json::json;

use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::classify::{CallText, Rules, classify_text, retry};

pub(crate) const RULES: Rules = Rules {
    gone: &["ResourceNotFoundException"],
    retry: &[
        retry("ConcurrentOperationException", 5, 1800),
        retry("ConcurrentModificationException", 5, 300),
        retry("ResourceConflictException", 5, 600),
        retry("ServiceInternalErrorException", 5, 120),
        retry("NetworkFailureException", 5, 120),
        retry("HandlerInternalFailureException", 5, 60),
        retry("NotStabilizedException", 10, 60),
    ],
    terminal: &["ClientTokenConflictException", "ServiceLimitExceededException"],
    protected: &[],
};

/// IAM actions of the road itself; each type's handler needs its own besides.
pub const ACTIONS: &[&str] = &[
    "cloudformation:CancelResourceRequest",
    "cloudformation:DeleteResource",
    "cloudformation:GetResource",
    "cloudformation:GetResourceRequestStatus",
];

/// Registry types that Cloud Control lists as NON_PROVISIONABLE, by whole type or by service.
const CANNOT: &[&str] = &[
    "AWS::AppMesh::",
    "AWS::CDK::",
    "AWS::DAX::",
    "AWS::DMS::ReplicationInstance",
    "AWS::EC2::ClientVpn",
    "AWS::ElasticLoadBalancingV2::ListenerCertificate",
    "AWS::Elasticsearch::Domain",
    "AWS::FSx::Volume",
    "AWS::LakeFormation::Permissions",
    "AWS::Route53::RecordSetGroup",
    "AWS::SES::Receipt",
    "AWS::ServiceDiscovery::Instance",
    "AWS::WAF::",
    "AWS::WAFRegional::",
];

/// Whether Cloud Control can never delete the type.
pub(crate) fn cannot_delete(resource_type: &str) -> bool {
    CANNOT.iter().any(|prefix| resource_type.starts_with(prefix))
}

/// Delete and remember the token, or look at the request that the token names.
pub(crate) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let memo = cx.memo.and_then(|m| m.as_object());
    let generation = memo.and_then(|m| m.get("generation")).and_then(|g| g.as_u64()).unwrap_or(0);
    if let Some(token) = memo.and_then(|m| m.get("token")).and_then(|t| t.as_str()) {
        let status = cx.aws.cloudcontrol().get_resource_request_status().request_token(token).send().await;
        let event = match status {
            Ok(answer) => answer.progress_event,
            // Tokens can be asked for about a week; one that is forgotten means starting over.
            Err(error) if error.as_service_error().is_some_and(|e| e.is_request_token_not_found_exception()) => None,
            Err(error) => return Err(error.into()),
        };
        return match event {
            Some(event) => read(&event, token, generation),
            None => Ok(again(generation + 1, Duration::from_secs(1), "the request is not known any more: starting over")),
        };
    }

    cx.fence.check().await?;
    // After a failed request a new attempt needs a new token, or the old failure comes back.
    let client_token = cx.ctx.token(r, &format!("delete {generation}"));
    let answer = cx
        .aws
        .cloudcontrol()
        .delete_resource()
        .type_name(&r.resource_type)
        .identifier(&r.physical_id)
        .client_token(client_token)
        .send()
        .await?;
    let event = answer.progress_event.ok_or_else(|| refused("Cloud Control answered without a progress event"))?;
    let token = event.request_token.clone().ok_or_else(|| refused("Cloud Control answered without a request token"))?;
    read(&event, &token, generation)
}

fn refused(message: &str) -> StepError {
    StepError::Ours(DeleteError {
        class: ErrorClass::Terminal,
        code: "CloudControl".into(),
        message: message.into(),
        request_id: None,
    })
}

fn again(generation: u64, look_again: Duration, note: &'static str) -> Step {
    Step::pending_with(look_again, note, json!({ "generation": generation }))
}

/// What a progress event says of the delete.
fn read(event: &ProgressEvent, token: &str, generation: u64) -> StepResult {
    match event.operation_status {
        Some(OperationStatus::Success) => Ok(Step::DELETED),
        Some(OperationStatus::CancelComplete) => Err(refused("somebody cancelled the delete request")),
        Some(OperationStatus::Failed) => failed(event, generation),
        _ => {
            let memo = json!({ "token": token, "generation": generation });
            Ok(Step::pending_with(Duration::from_secs(2), "Cloud Control is deleting it", memo))
        }
    }
}

/// The error code first: some handlers do not use the words.
fn failed(event: &ProgressEvent, generation: u64) -> StepResult {
    use HandlerErrorCode as H;
    let message = event.status_message.clone().unwrap_or_default();
    match &event.error_code {
        Some(H::NotFound) => Ok(Step::ALREADY_GONE),
        Some(
            H::Throttling
            | H::ServiceInternalError
            | H::ServiceTimeout
            | H::NetworkFailure
            | H::InternalFailure
            | H::NotStabilized
            | H::ResourceConflict,
        ) => Ok(again(generation + 1, Duration::from_secs(5), "Cloud Control's handler failed for now: trying again")),
        code => {
            let name = code.as_ref().map_or("GeneralServiceException", |c| c.as_str()).to_owned();
            let error = classify_text(CallText { code: &name, message: &message });
            match error.class {
                ErrorClass::Retry { after, .. } => Ok(again(generation + 1, after, "something still holds it: trying again")),
                _ => Err(StepError::Ours(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
