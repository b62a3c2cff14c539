//! Cloud Control: the road of every row that was made through it and of every type without a native step.
//! DeleteResource answers a request token, later steps look at the request's status.

mod failure;
mod guard;
mod identifier;
mod identifiers;
mod memo;
mod non_provisionable;
pub(crate) mod permissions;
pub(crate) mod protection;

use std::time::Duration;

use aws_sdk_cloudcontrol::types::{HandlerErrorCode, Operation, OperationStatus, ProgressEvent, ResourceRequestStatusFilter};
use ebb_core::{DeleteError, ErrorClass, Look, Millis, Resource, Step, text};

use self::failure::{Verdict, judge};
use self::identifier::Identifier;
use self::memo::Memo;
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::protection::left_off;
use crate::services::ec2;

pub(crate) use self::non_provisionable::cannot_delete;

/// Exceptions of the calls themselves (Cloud Control API reference, DeleteResource); see `failure.rs` for a request's events.
pub(crate) const RULES: Rules = Rules {
    gone: &["ResourceNotFoundException"],
    retry: &[
        retry("ConcurrentOperationException", 5, 1800),
        retry("ConcurrentModificationException", 5, 300),
        retry("ResourceConflictException", 5, 600),
        retry("ServiceInternalErrorException", 5, 25),
        retry("NetworkFailureException", 5, 25),
        retry("HandlerInternalFailureException", 5, 15),
        retry("HandlerFailureException", 5, 5),
    ],
    terminal: &["ServiceLimitExceededException", "TypeNotFoundException", "UnsupportedActionException"],
    protected: &[],
};

/// IAM actions of the road itself; each type's handler needs its own besides (`permissions.rs`).
pub const ACTIONS: &[&str] = &[
    "cloudformation:DeleteResource",
    "cloudformation:GetResource",
    "cloudformation:GetResourceRequestStatus",
    "cloudformation:ListResourceRequests",
    "cloudformation:UpdateResource",
    "ec2:ModifyInstanceAttribute",
    "s3:GetBucketLocation",
];

/// Exceptions whose own words decide, like a handler's general failure, or that ask for a new client token.
const JUDGED: &[&str] =
    &["ClientTokenConflictException", "GeneralServiceException", "InvalidRequestException", "NotStabilizedException"];

/// How long a request usually may run. Then it is looked at once a minute: what runs in AWS is not cancelled, and the row's
/// deadline decides when it has failed.
const USUAL: Duration = Duration::from_secs(15 * 60);

/// Types whose requests run longer.
const SLOW: &[(&str, Duration)] = &[
    ("AWS::AmazonMQ::Broker", HOUR),
    ("AWS::EKS::Cluster", Duration::from_secs(30 * 60)),
    ("AWS::ElastiCache::CacheCluster", HOUR),
    ("AWS::ElastiCache::ReplicationGroup", HOUR),
    ("AWS::MSK::Cluster", HOUR),
    ("AWS::MSK::ServerlessCluster", HOUR),
    ("AWS::NeptuneGraph::Graph", HOUR),
    ("AWS::NetworkFirewall::Firewall", HOUR),
    ("AWS::OpenSearchService::Domain", HOUR),
    ("AWS::RDS::DBCluster", HOUR),
    ("AWS::RDS::DBInstance", HOUR),
    ("AWS::Redshift::Cluster", HOUR),
    ("AWS::SageMaker::Domain", HOUR),
];

const HOUR: Duration = Duration::from_secs(60 * 60);

/// After `looks` looks, when the next: a second, half as long again each time, at most ten.
fn spacing(looks: u32) -> Duration {
    let millis = (0..looks.min(6)).fold(1000, |millis, _| millis * 3 / 2);
    Duration::from_millis(millis.min(10_000))
}

/// What is asked for: the row, its identifier, and the type's own rules for what its handler says.
struct Asked<'a> {
    r: &'a Resource,
    id: Identifier,
    rules: &'a Rules,
}

/// Delete and remember the token, or look at the request that the token names.
pub(crate) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    step_under(&Rules::NONE, r, cx).await
}

/// The same, for a type with `rules` of its own for what its handler says.
pub(crate) async fn step_under(rules: &Rules, r: &Resource, cx: &Cx<'_>) -> StepResult {
    let mut memo = Memo::of(cx);
    if let Some(failed) = memo.failed.clone() {
        return protection::putting_back(failed, memo, cx).await;
    }
    let asked = Asked { r, id: identifier::of(r, cx)?, rules };
    if let Some(token) = memo.token.clone() {
        return look_at(&asked, &token, memo, cx).await;
    }
    guard::region(r, &asked.id.joined(), cx).await?;
    guard::data(r, cx).await?;
    if let Some(step) = protection::switch_off(r, &asked.id, &mut memo, cx).await? {
        return Ok(step);
    }
    if r.resource_type == "AWS::EC2::Instance" && cx.run.options.remove_protection {
        ec2::allow_termination(r, cx).await?;
    }
    delete(&asked, memo, cx).await
}

/// What would refuse: a protection that only this road knows, or whatever the native step would look at.
pub(crate) async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    match protection::look(r, cx).await? {
        Look::Clear => guard::native_look(r, cx).await,
        refuses => Ok(refuses),
    }
}

async fn delete(asked: &Asked<'_>, memo: Memo, cx: &Cx<'_>) -> StepResult {
    let Asked { r, id, .. } = asked;
    cx.fence.check().await?;
    let client_token = cx.ctx.token(r, &format!("delete {}", memo.generation));
    let delete = cx.aws.cloudcontrol().delete_resource().type_name(&r.resource_type).identifier(id.sent());
    match delete.client_token(client_token).send().await.map_err(CallError::from) {
        Ok(answer) => {
            let event = answer.progress_event.ok_or_else(|| refused("Cloud Control answered without a progress event"))?;
            let token = event.request_token.clone();
            let token = token.ok_or_else(|| refused("Cloud Control answered without a request token"))?;
            let memo = memo.running(&token, cx);
            read(asked, &event, memo, cx).await
        }
        Err(call) if call.is(&["ConcurrentOperationException"]) => match running_delete(r, id, cx).await? {
            Some(token) => Ok(memo.running(&token, cx).pending(spacing(0), "another delete of it runs already: waiting for it")),
            None => Err(call.into()),
        },
        Err(call) if call.is(JUDGED) => after_failure(asked, (&call.code, &call.message), memo, cx).await,
        Err(call) => Err(call.into()),
    }
}

/// The token of a delete of this very resource that somebody started.
async fn running_delete(r: &Resource, id: &Identifier, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    let filter = ResourceRequestStatusFilter::builder()
        .operations(Operation::Delete)
        .operation_statuses(OperationStatus::Pending)
        .operation_statuses(OperationStatus::InProgress)
        .build();
    let mut pages =
        cx.aws.cloudcontrol().list_resource_requests().resource_request_status_filter(filter).into_paginator().items().send();
    while let Some(event) = pages.next().await {
        let event = event.about_other()?;
        let ours = event.type_name() == Some(&r.resource_type)
            && event.operation == Some(Operation::Delete)
            && event.identifier().is_some_and(|i| i == id.joined() || i == id.sent());
        if ours && let Some(token) = event.request_token {
            return Ok(Some(token));
        }
    }
    Ok(None)
}

async fn look_at(asked: &Asked<'_>, token: &str, memo: Memo, cx: &Cx<'_>) -> StepResult {
    let status = cx.aws.cloudcontrol().get_resource_request_status().request_token(token).send().await;
    let event = match status {
        Ok(answer) => answer.progress_event,
        // Tokens can be asked for about a week; one that is forgotten means starting over.
        Err(error) if error.as_service_error().is_some_and(|e| e.is_request_token_not_found_exception()) => None,
        Err(error) => return Err(error.into()),
    };
    match event {
        Some(event) => read(asked, &event, Memo { looks: memo.looks + 1, ..memo }, cx).await,
        None => Ok(memo.anew().pending(spacing(0), "the request is not known any more: starting over")),
    }
}

fn refused(message: &str) -> StepError {
    StepError::Ours(failure_of("CloudControl", message))
}

fn failure_of(code: &str, message: &str) -> DeleteError {
    DeleteError { class: ErrorClass::Terminal, code: code.into(), message: message.into(), request_id: None }
}

/// What a progress event says of the delete.
async fn read(asked: &Asked<'_>, event: &ProgressEvent, memo: Memo, cx: &Cx<'_>) -> StepResult {
    match event.operation_status {
        Some(OperationStatus::Success) => Ok(Step::DELETED),
        Some(OperationStatus::CancelComplete) => {
            let error = failure_of("CloudControl", "somebody cancelled the delete request");
            protection::failed(asked.r, &asked.id, error, memo, cx).await
        }
        Some(OperationStatus::Failed) => {
            let code = event.error_code.as_ref().map_or("GeneralServiceException", HandlerErrorCode::as_str);
            after_failure(asked, (code, event.status_message().unwrap_or_default()), memo, cx).await
        }
        _ => Ok(running(asked.r, event, &memo, cx)),
    }
}

/// When to look at a running request again: later when Cloud Control says so.
fn running(r: &Resource, event: &ProgressEvent, memo: &Memo, cx: &Cx<'_>) -> Step {
    let now = cx.clock.now();
    let usual = SLOW.iter().find(|(name, _)| *name == r.resource_type).map_or(USUAL, |(_, cap)| *cap);
    let taken = Duration::from_millis(now.saturating_sub(memo.asked_at.unwrap_or(now)));
    if taken >= usual {
        let note = format!("Cloud Control is still deleting it after {} minutes", taken.as_secs() / 60);
        return memo.pending(Duration::from_secs(60), note);
    }
    let asked_for = event.retry_after.and_then(|at| at.to_millis().ok()).and_then(|at| Millis::try_from(at).ok());
    let asked_for = Duration::from_millis(asked_for.unwrap_or(0).saturating_sub(now)).min(Duration::from_secs(300));
    memo.pending(spacing(memo.looks).max(asked_for), "Cloud Control is deleting it")
}

async fn after_failure(asked: &Asked<'_>, (code, message): (&str, &str), memo: Memo, cx: &Cx<'_>) -> StepResult {
    match judge(code, message, asked, memo.clone(), cx) {
        Verdict::Gone => Ok(Step::ALREADY_GONE),
        Verdict::Again(memo, after) => {
            Ok(memo.pending(after, format!("{code}: trying again")).after_error(text::cut(&text::display(code), 64)))
        }
        Verdict::Final { error, gave_up: true } if memo.protection_on_at.is_some() => {
            Err(DeleteError { message: left_off(&error.message), ..error }.into())
        }
        Verdict::Final { error, gave_up: true } => Err(error.into()),
        Verdict::Final { error, gave_up: false } => protection::failed(asked.r, &asked.id, error, memo, cx).await,
    }
}

#[cfg(test)]
mod tests;
