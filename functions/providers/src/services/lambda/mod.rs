//! Lambda: functions and everything that hangs on them. The state names functions by name, partial or whole ARN, with
//! and without a qualifier; a delete without the right qualifier would take the whole function.

mod event_source_mapping;
mod function;
mod name;
mod parts;
#[cfg(test)]
mod tests;

use crate::call::CallError;
use crate::classify::{Retry, Rules, blocked, is_blocked, retry};
use crate::registry::TypeDef;

use name::FunctionName;

const GONE: &[&str] = &["ResourceNotFoundException"];

/// What passes on every call to Lambda.
const BUSY: &[Retry] = &[
    retry("ResourceConflictException", 2, 60),
    retry("PreconditionFailedException", 1, 30),
    retry("~concurrent update operation", 1, 60),
    retry("TooManyRequestsException", 2, 60),
    retry("ServiceException", 3, 60),
];

const RULES: Rules = Rules { gone: GONE, retry: BUSY, ..Rules::NONE };

/// Replicas of a Lambda@Edge function vanish hours after its last association with a distribution.
const REPLICATED: Retry = blocked("InvalidParameterValueException~replicated function", 1800, 43_200);

/// What holds such a function, and what to do when it does so for too long.
const REPLICAS: &str = "its replicas at CloudFront's edges, which go some hours after the function's last association with a \
                        distribution: remove it from every distribution, wait, and tear down again";

const FUNCTION_RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        REPLICATED,
        retry("ResourceConflictException", 5, 300),
        retry("TooManyRequestsException", 2, 60),
        retry("ServiceException", 3, 60),
    ],
    ..Rules::NONE
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::Lambda::Alias",
        step: |r, cx| Box::pin(parts::alias(r, cx)),
        look: None,
        actions: &["lambda:DeleteAlias"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Lambda::EventInvokeConfig",
        step: |r, cx| Box::pin(parts::event_invoke_config(r, cx)),
        look: None,
        actions: &["lambda:DeleteFunctionEventInvokeConfig"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Lambda::EventSourceMapping",
        step: |r, cx| Box::pin(event_source_mapping::step(r, cx)),
        look: None,
        actions: &["lambda:DeleteEventSourceMapping", "lambda:GetEventSourceMapping"],
        rules: event_source_mapping::RULES,
    },
    TypeDef {
        name: "AWS::Lambda::Function",
        step: |r, cx| Box::pin(function::step(r, cx)),
        look: None,
        actions: &["lambda:DeleteFunction", "lambda:GetFunction", "lambda:UpdateFunctionConfiguration"],
        rules: FUNCTION_RULES,
    },
    TypeDef {
        name: "AWS::Lambda::LayerVersion",
        step: |r, cx| Box::pin(parts::layer_version(r, cx)),
        look: None,
        actions: &["lambda:DeleteLayerVersion"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Lambda::Permission",
        step: |r, cx| Box::pin(parts::permission(r, cx)),
        look: None,
        actions: &["lambda:RemovePermission"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Lambda::Url",
        step: |r, cx| Box::pin(parts::url(r, cx)),
        look: None,
        actions: &["lambda:DeleteFunctionUrlConfig"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Lambda::Version",
        step: |r, cx| Box::pin(parts::version(r, cx)),
        look: None,
        actions: &["lambda:DeleteFunction"],
        rules: FUNCTION_RULES,
    },
];

/// A DeleteFunction that failed; replicas that hold the function are named.
fn not_deleted(error: impl Into<CallError>) -> CallError {
    let call = error.into();
    if is_blocked(&call, &FUNCTION_RULES) { call.held_by(vec![REPLICAS.to_owned()]) } else { call }
}
