//! Elastic Container Registry. A repository with images goes only when the stack itself opted in, or the request says so:
//! the forced delete takes every image in one call.

use ebb_core::provider::is_true;
use ebb_core::{Code, DeleteError, Look, Resource, Step};

use crate::Cx;
use crate::arn::name_of;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::ECR::Repository",
    step: |r, cx| Box::pin(repository(r, cx)),
    look: Some(|r, cx| Box::pin(look(r, cx))),
    actions: &["ecr:DeleteRepository", "ecr:ListImages"],
    rules: Rules {
        gone: &["RepositoryNotFoundException"],
        retry: &[retry("ServerException", 3, 60)],
        terminal: &["KmsException"],
        protected: &[],
    },
}];

const NOT_EMPTY: &str = "the repository still contains images: none is deleted unless it was deployed with EmptyOnDelete or \
                         the tag aws-cdk:auto-delete-images = true, or the request says deleteData";

/// Only what is recorded counts. A mask is no consent.
fn may_empty(r: &Resource, cx: &Cx<'_>) -> bool {
    cx.run.options.delete_data || r.flag("EmptyOnDelete") || is_true(r.tag("aws-cdk:auto-delete-images"))
}

/// The name in a recorded id that may be a name, an ARN or a URI. Names hold slashes too; only a URI starts with a registry.
fn name<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    let id = name_of(r, "repository/", cx)?;
    let Some((registry, name)) = id.split_once('/').filter(|(host, _)| host.contains(".dkr.ecr")) else { return Ok(id) };
    let here = format!(".{}.", cx.aws.region());
    if !registry.contains(&here) {
        let message = format!("the recorded URI is not of {}: no delete issued", cx.aws.region());
        return Err(DeleteError::refused(Code::WrongRegion, message).into());
    }
    Some(name).filter(|name| !name.is_empty()).ok_or_else(|| StepError::malformed_id("a repository's name, ARN or URI"))
}

async fn repository(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let delete = cx.aws.ecr().delete_repository().repository_name(name(r, cx)?).force(may_empty(r, cx));
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["RepositoryNotEmptyException"]) && !may_empty(r, cx) => {
            Err(DeleteError::refused(Code::DataGuard, NOT_EMPTY).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if may_empty(r, cx) {
        return Ok(Look::Clear);
    }
    let mut images = cx.aws.ecr().list_images().repository_name(name(r, cx)?).into_paginator().page_size(1).items().send();
    match images.try_next().await? {
        None => Ok(Look::Clear),
        Some(_) => Ok(Look::Refuses { code: Code::DataGuard, reason: NOT_EMPTY.into() }),
    }
}

#[cfg(test)]
mod tests;
