//! API Gateway, REST APIs. The quotas of its control plane are low and hold for the whole account, and an API takes one
//! change at a time. What an API holds goes with it, so a part that is not found is gone even if its API is.

use aws_sdk_apigateway::types::{Op, PatchOperation};
use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::classify::{Retry, Rules, retry};
use crate::ids::{Parent, child, fits_path, parts, physical_id};
use crate::registry::{StepFn, TypeDef};

const THROTTLED: Retry = retry("TooManyRequestsException", 2, 300);
const CHANGING: Retry = retry("ConflictException", 2, 120);

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::ApiGateway::Account",
        step: |r, cx| Box::pin(account(r, cx)),
        look: None,
        actions: &["apigateway:GET", "apigateway:PATCH"],
        rules: Rules { retry: &[retry("TooManyRequestsException", 20, 300), retry("BadRequestException", 5, 60)], ..Rules::NONE },
    },
    goes("AWS::ApiGateway::Authorizer", |r, cx| Box::pin(authorizer(r, cx)), &[THROTTLED, CHANGING]),
    goes(
        "AWS::ApiGateway::Deployment",
        |r, cx| Box::pin(deployment(r, cx)),
        &[THROTTLED, CHANGING, retry("BadRequestException~stage", 5, 120)],
    ),
    goes("AWS::ApiGateway::Method", |r, cx| Box::pin(method(r, cx)), &[THROTTLED, CHANGING]),
    goes("AWS::ApiGateway::Resource", |r, cx| Box::pin(resource(r, cx)), &[THROTTLED, CHANGING]),
    // An account may delete one API in 30 seconds: several of a stack wait for each other.
    goes(
        "AWS::ApiGateway::RestApi",
        |r, cx| Box::pin(rest_api(r, cx)),
        &[retry("TooManyRequestsException", 30, 1800), CHANGING, retry("BadRequestException~base path mapping", 5, 300)],
    ),
    goes(
        "AWS::ApiGateway::Stage",
        |r, cx| Box::pin(stage(r, cx)),
        &[
            THROTTLED,
            CHANGING,
            retry("BadRequestException~usage plan", 5, 300),
            retry("BadRequestException~base path mapping", 5, 300),
        ],
    ),
];

/// A type that one DELETE takes.
const fn goes(name: &'static str, step: StepFn, retry: &'static [Retry]) -> TypeDef {
    let rules = Rules { gone: &["NotFoundException"], retry, ..Rules::NONE };
    TypeDef { name, step, look: None, actions: &["apigateway:DELETE"], rules }
}

/// The role that API Gateway logs with is one setting of account and region, shared by every stack: it is cleared only
/// while it is the role that this stack set.
async fn account(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let Some(role) = r.address("CloudWatchRoleArn")? else { return Ok(Step::ALREADY_GONE) };
    let apigateway = cx.aws.apigateway();
    if apigateway.get_account().send().await?.cloudwatch_role_arn() != Some(role) {
        return Ok(Step::ALREADY_GONE);
    }
    let clear = PatchOperation::builder().op(Op::Replace).path("/cloudwatchRoleArn").value("").build();
    apigateway.update_account().patch_operations(clear).send().await?;
    Ok(Step::DELETED)
}

async fn rest_api(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let api = physical_id(r, "a REST API id")?;
    cx.aws.apigateway().delete_rest_api().rest_api_id(api).send().await?;
    Ok(Step::DELETED)
}

async fn authorizer(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, authorizer) = child(r, "RestApiId", Parent::First)?;
    cx.aws.apigateway().delete_authorizer().rest_api_id(api).authorizer_id(authorizer).send().await?;
    Ok(Step::DELETED)
}

/// Cloud Control names the deployment first, unlike everything else in an API.
async fn deployment(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, deployment) = child(r, "RestApiId", Parent::Last)?;
    cx.aws.apigateway().delete_deployment().rest_api_id(api).deployment_id(deployment).send().await?;
    Ok(Step::DELETED)
}

/// A path goes with all paths below it and their methods.
async fn resource(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, resource) = child(r, "RestApiId", Parent::First)?;
    cx.aws.apigateway().delete_resource().rest_api_id(api).resource_id(resource).send().await?;
    Ok(Step::DELETED)
}

async fn stage(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, stage) = child(r, "RestApiId", Parent::First)?;
    cx.aws.apigateway().delete_stage().rest_api_id(api).stage_name(stage).send().await?;
    Ok(Step::DELETED)
}

/// `restApiId|resourceId|httpMethod`, or the three as they are recorded.
async fn method(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let [api, resource, method] = match parts(physical_id(r, "restApiId|resourceId|httpMethod")?) {
        Some(parts) => parts,
        None => recorded_method(r)?,
    };
    cx.aws.apigateway().delete_method().rest_api_id(api).resource_id(resource).http_method(method).send().await?;
    Ok(Step::DELETED)
}

fn recorded_method(r: &Resource) -> Result<[&str; 3], StepError> {
    match (r.address("RestApiId")?, r.address("ResourceId")?, r.address("HttpMethod")?) {
        (Some(api), Some(resource), Some(method)) if [api, resource, method].into_iter().all(fits_path) => {
            Ok([api, resource, method])
        }
        _ => Err(StepError::unreadable_id("restApiId|resourceId|httpMethod")),
    }
}

#[cfg(test)]
mod tests;
