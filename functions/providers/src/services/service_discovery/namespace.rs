//! Namespaces of all three kinds: one call, and an operation to look at.

use std::time::Duration;

use aws_sdk_servicediscovery::operation::delete_namespace::DeleteNamespaceError;
use aws_sdk_servicediscovery::types::{
    FilterCondition, Operation, OperationStatus, OperationType, ServiceFilter, ServiceFilterName,
};
use ebb_core::{DeleteError, ErrorClass, Resource, Step};
use serde_json::json;

use crate::arn::name_of;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::registry::TypeDef;
use crate::{Cx, memo};

const RULES: Rules = Rules {
    gone: &["NamespaceNotFound"],
    retry: &[blocked("ResourceInUse", 10, 330), retry("DuplicateRequest", 5, 300), retry("RequestLimitExceeded", 2, 60)],
    ..Rules::NONE
};

pub(super) const fn of(name: &'static str) -> TypeDef {
    TypeDef {
        name,
        step: |r, cx| Box::pin(namespace(r, cx)),
        look: None,
        actions: &["servicediscovery:DeleteNamespace", "servicediscovery:GetOperation", "servicediscovery:ListServices"],
        rules: RULES,
    }
}

const OPERATION: &str = "operation";

async fn namespace(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = name_of(r, "namespace/", cx)?;
    if let Some(operation) = memo::text(cx, OPERATION)
        && let Some(found) = operation_of(operation, cx).await?
    {
        match (&found.status, &found.r#type) {
            (Some(OperationStatus::Submitted | OperationStatus::Pending), _) => return Ok(pending(r, operation, cx)),
            (Some(OperationStatus::Success), Some(OperationType::DeleteNamespace)) => return Ok(Step::DELETED),
            (Some(OperationStatus::Fail), Some(OperationType::DeleteNamespace)) => return Err(failed(found).into()),
            // It was another change of the namespace that the delete had to wait for.
            _ => {}
        }
    }
    cx.fence.check().await?;
    match cx.aws.servicediscovery().delete_namespace().id(id).send().await {
        Ok(answer) => match answer.operation_id() {
            Some(operation) => Ok(pending(r, operation, cx)),
            None => Ok(Step::pending(Duration::from_secs(5), "DeleteNamespace answered no operation: asked again")),
        },
        Err(error) => {
            let running = match error.as_service_error() {
                Some(DeleteNamespaceError::DuplicateRequest(duplicate)) => duplicate.duplicate_operation_id().map(str::to_owned),
                _ => None,
            };
            if let Some(operation) = running {
                return Ok(pending(r, &operation, cx));
            }
            let call = CallError::from(error);
            if is_blocked(&call, &RULES) {
                let by = named("services", services_in(id, cx).await);
                return Err(call.held_by(by).into());
            }
            Err(call.into())
        }
    }
}

/// The operation; `None` when it is forgotten.
async fn operation_of(operation: &str, cx: &Cx<'_>) -> Result<Option<Operation>, StepError> {
    let answer = cx.aws.servicediscovery().get_operation().operation_id(operation).send().await;
    Ok(answer.ignore(&["OperationNotFound"])?.and_then(|answer| answer.operation))
}

/// A DNS namespace deletes a hosted zone with it.
fn pending(r: &Resource, operation: &str, cx: &Cx<'_>) -> Step {
    let seconds = if r.resource_type == "AWS::ServiceDiscovery::HttpNamespace" { 5 } else { 15 };
    Step::pending_with(
        Duration::from_secs(seconds),
        "the namespace is being deleted",
        memo::with(cx, [(OPERATION, json!(operation))]),
    )
}

fn failed(operation: Operation) -> DeleteError {
    DeleteError {
        class: ErrorClass::Terminal,
        code: operation.error_code.unwrap_or_else(|| "OperationFailed".into()),
        message: operation.error_message.unwrap_or_else(|| "the operation that deletes the namespace failed".into()),
        request_id: None,
    }
}

async fn services_in(namespace: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let filter = ServiceFilter::builder().name(ServiceFilterName::NamespaceId).condition(FilterCondition::Eq).values(namespace);
    let call = cx.aws.servicediscovery().list_services().set_filters(filter.build().ok().map(|filter| vec![filter]));
    let pages = call.into_paginator().send().try_collect().await?;
    Ok(pages
        .iter()
        .flat_map(|page| page.services())
        .filter_map(|s| Some(format!("{} (service {})", s.id()?, s.name()?)))
        .collect())
}
