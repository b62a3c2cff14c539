//! Cloud Control: the road of every row that was made through it and of every type without a native step.
//! DeleteResource answers a request token, later steps look at the request's status.

use std::time::Duration;

use aws_sdk_cloudcontrol::types::{HandlerErrorCode, OperationStatus, ProgressEvent};
use ebb_core::{DeleteError, ErrorClass, Millis, Resource, Step};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, classify, give_up, retry};
use crate::{Cx, memo};

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

/// What the next step needs to know.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
#[serde(default)]
struct Memo {
    /// Failed requests before this one.
    generation: u64,
    /// When the first of them failed for a reason that the type's own rules let pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<Millis>,
}

impl Memo {
    fn asked(self, token: &str) -> Step {
        let mut memo = json!(self);
        memo["token"] = json!(token);
        Step::pending_with(Duration::from_secs(2), "Cloud Control is deleting it", memo)
    }

    /// After a failed request a new attempt needs a new token, or the old failure comes back.
    fn again(self, look_again: Duration, note: &'static str) -> Step {
        Step::pending_with(look_again, note, json!(Memo { generation: self.generation + 1, ..self }))
    }
}

/// Delete and remember the token, or look at the request that the token names.
pub(crate) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    step_under(&Rules::NONE, r, cx).await
}

/// The same, for a type with `rules` of its own for what its handler says.
pub(crate) async fn step_under(rules: &Rules, r: &Resource, cx: &Cx<'_>) -> StepResult {
    let memo: Memo = cx.memo.and_then(|memo| Memo::deserialize(memo).ok()).unwrap_or_default();
    if let Some(token) = memo::text(cx, "token") {
        let status = cx.aws.cloudcontrol().get_resource_request_status().request_token(token).send().await;
        let event = match status {
            Ok(answer) => answer.progress_event,
            // Tokens can be asked for about a week; one that is forgotten means starting over.
            Err(error) if error.as_service_error().is_some_and(|e| e.is_request_token_not_found_exception()) => None,
            Err(error) => return Err(error.into()),
        };
        return match event {
            Some(event) => read(&event, token, memo, rules, cx),
            None => Ok(memo.again(Duration::from_secs(1), "the request is not known any more: starting over")),
        };
    }

    cx.fence.check().await?;
    let client_token = cx.ctx.token(r, &format!("delete {}", memo.generation));
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
    read(&event, &token, memo, rules, cx)
}

fn refused(message: &str) -> StepError {
    StepError::terminal("CloudControl", message)
}

/// What a progress event says of the delete.
fn read(event: &ProgressEvent, token: &str, memo: Memo, rules: &Rules, cx: &Cx<'_>) -> StepResult {
    match event.operation_status {
        Some(OperationStatus::Success) => Ok(Step::DELETED),
        Some(OperationStatus::CancelComplete) => Err(refused("somebody cancelled the delete request")),
        Some(OperationStatus::Failed) => failed(event, memo, rules, cx),
        _ => Ok(memo.asked(token)),
    }
}

/// The error code first: some handlers do not use the words. "Not found" in a text is never "gone".
fn failed(event: &ProgressEvent, memo: Memo, rules: &Rules, cx: &Cx<'_>) -> StepResult {
    use HandlerErrorCode as H;
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
        ) => Ok(memo.again(Duration::from_secs(5), "Cloud Control's handler failed for now: trying again")),
        code => {
            let name = code.as_ref().map_or("GeneralServiceException", |c| c.as_str());
            let call = CallError::inside(name, event.status_message.clone().unwrap_or_default());
            let error = classify(&call, &Rules { gone: &[], ..*rules });
            let ErrorClass::Retry { after, .. } = error.class else { return Err(StepError::Ours(error)) };
            let Some(budget) = give_up(&call, rules) else {
                return Ok(memo.again(after, "something still holds it: trying again"));
            };
            let since = memo.failing.unwrap_or_else(|| cx.clock.now());
            let waited = Duration::from_millis(cx.clock.now().saturating_sub(since));
            if waited >= budget {
                let message = format!("{} (for {} s)", error.message, waited.as_secs());
                return Err(StepError::Ours(DeleteError { class: ErrorClass::Terminal, message, ..error }));
            }
            Ok(Memo { failing: Some(since), ..memo }.again(after, "something still holds it: trying again"))
        }
    }
}

#[cfg(test)]
mod tests;
