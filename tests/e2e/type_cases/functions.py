"""Lambda, and what a handler made."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, made, read


def _function(stack: StackBuilder) -> str:
    seed.role(stack, "Role")
    return seed.function(stack, "Api", "Role")


def _permission(stack: StackBuilder) -> str:
    _function(stack)
    return seed.permission(stack, "Allow", "Api", "events.amazonaws.com")


def _url(stack: StackBuilder) -> str:
    _function(stack)
    return seed.function_url(stack, "Url", "Api")


def _event_source(stack: StackBuilder) -> str:
    _function(stack)
    seed.queue(stack, "Jobs")
    return seed.event_source(stack, "JobsToApi", "Api", "Jobs")


def _invoke_config(stack: StackBuilder) -> str:
    _function(stack)
    name = stack.physical("Api")
    stack.client("lambda").put_function_event_invoke_config(FunctionName=name, MaximumRetryAttempts=0)
    return made(stack, "AWS::Lambda::EventInvokeConfig", f"{name}|$LATEST", {"FunctionName": name, "Qualifier": "$LATEST"})


def _invoke_config_exists(client: Any, ident: str, _: dict[str, Any]) -> Any:
    return client.get_function_event_invoke_config(FunctionName=ident.partition("|")[0])


def _custom(kind: str) -> Case:
    def make(stack: StackBuilder) -> str:
        seed.handler(stack, "Handler")
        return seed.custom_resource(stack, "Thing", "Handler", kind=kind.replace("*", "Thing"))

    return Case(kind, make, "ssm", read("get_parameter", "Name"))


CASES = [
    Case("AWS::Lambda::EventInvokeConfig", _invoke_config, "lambda", _invoke_config_exists),
    Case("AWS::Lambda::EventSourceMapping", _event_source),
    Case("AWS::Lambda::Function", _function),
    Case("AWS::Lambda::LayerVersion", lambda stack: seed.layer(stack, "Shared")),
    Case("AWS::Lambda::Permission", _permission),
    Case("AWS::Lambda::Url", _url),
    _custom("AWS::CloudFormation::CustomResource"),
    _custom("Custom::*"),
]
