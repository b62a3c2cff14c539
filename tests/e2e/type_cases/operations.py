"""Logs, CloudWatch, CloudTrail, parameters, secrets, keys, budgets, and what is a record only."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, made, read, record


def _key_alias(stack: StackBuilder) -> str:
    seed.key(stack, "Key")
    return seed.key_alias(stack, "Alias", "Key")


def _trail(stack: StackBuilder) -> str:
    trails, name = stack.client("cloudtrail"), stack.named("Trail")
    bucket = seed.bucket(stack, "Trails")
    arn = trails.create_trail(Name=name, S3BucketName=stack.physical(bucket))["TrailARN"]
    trails.start_logging(Name=name)
    return made(stack, "AWS::CloudTrail::Trail", arn, {"TrailName": name, "S3BucketName": stack.physical(bucket), "IsLogging": True})


def _budget(stack: StackBuilder) -> str:
    name = stack.named("Monthly")
    budget = {"BudgetName": name, "BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": {"Amount": "10", "Unit": "USD"}}
    stack.client("budgets").create_budget(AccountId="000000000000", Budget=budget)
    return made(stack, "AWS::Budgets::Budget", name, {"Budget": budget})


def _budget_exists(budgets: Any, ident: str, _: dict[str, Any]) -> Any:
    return budgets.describe_budget(AccountId="000000000000", BudgetName=ident)


CASES = [
    record("AWS::CDK::Metadata"),
    record("AWS::CloudFormation::WaitConditionHandle", "https://example.com/wait"),
    Case("AWS::Budgets::Budget", _budget, "budgets", _budget_exists),
    Case("AWS::CloudTrail::Trail", _trail, "cloudtrail", read("get_trail", "Name")),
    Case("AWS::CloudWatch::Alarm", lambda stack: seed.alarm(stack, "Errors")),
    Case("AWS::KMS::Alias", _key_alias),
    Case("AWS::KMS::Key", lambda stack: seed.key(stack, "Key")),
    Case("AWS::Logs::LogGroup", lambda stack: seed.log_group(stack, "Logs")),
    Case("AWS::SSM::Parameter", lambda stack: seed.parameter(stack, "Config")),
    Case("AWS::SecretsManager::Secret", lambda stack: seed.secret(stack, "Password")),
]
