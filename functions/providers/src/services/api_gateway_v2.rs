//! API Gateway, HTTP and WebSocket APIs. An API takes one change at a time, and what it holds goes with it.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::classify::{Retry, Rules, retry};
use crate::ids::{Parent, child, physical_id};
use crate::registry::{StepFn, TypeDef};

/// An integration or authorizer that a route still names is refused as a conflict too.
const BUSY: &[Retry] = &[retry("TooManyRequestsException", 2, 300), retry("ConflictException", 2, 120)];

pub(crate) const TYPES: &[TypeDef] = &[
    goes(
        "AWS::ApiGatewayV2::Api",
        |r, cx| Box::pin(api(r, cx)),
        &[
            retry("TooManyRequestsException", 2, 300),
            retry("ConflictException", 2, 120),
            retry("BadRequestException~mapping", 5, 300),
        ],
    ),
    goes("AWS::ApiGatewayV2::Authorizer", |r, cx| Box::pin(authorizer(r, cx)), BUSY),
    goes("AWS::ApiGatewayV2::Integration", |r, cx| Box::pin(integration(r, cx)), BUSY),
    goes("AWS::ApiGatewayV2::Route", |r, cx| Box::pin(route(r, cx)), BUSY),
    goes("AWS::ApiGatewayV2::Stage", |r, cx| Box::pin(stage(r, cx)), BUSY),
];

/// A type that one DELETE takes.
const fn goes(name: &'static str, step: StepFn, retry: &'static [Retry]) -> TypeDef {
    let rules = Rules { gone: &["NotFoundException"], retry, ..Rules::NONE };
    TypeDef { name, step, look: None, actions: &["apigateway:DELETE"], rules }
}

/// The recorded API and the part of it. Composite ids come in either order, so the API must be recorded.
fn part(r: &Resource) -> Result<(&str, &str), StepError> {
    child(r, "ApiId", Parent::Unknown)
}

async fn api(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.apigatewayv2().delete_api().api_id(physical_id(r, "an API id")?).send().await?;
    Ok(Step::DELETED)
}

async fn authorizer(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, authorizer) = part(r)?;
    cx.aws.apigatewayv2().delete_authorizer().api_id(api).authorizer_id(authorizer).send().await?;
    Ok(Step::DELETED)
}

async fn integration(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, integration) = part(r)?;
    cx.aws.apigatewayv2().delete_integration().api_id(api).integration_id(integration).send().await?;
    Ok(Step::DELETED)
}

async fn route(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, route) = part(r)?;
    cx.aws.apigatewayv2().delete_route().api_id(api).route_id(route).send().await?;
    Ok(Step::DELETED)
}

async fn stage(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (api, stage) = part(r)?;
    cx.aws.apigatewayv2().delete_stage().api_id(api).stage_name(stage).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
