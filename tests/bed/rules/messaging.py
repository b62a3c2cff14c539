"""EventBridge, Kinesis, CloudWatch and Cognito."""

from __future__ import annotations

import re
from typing import Any

from . import Look, Refused, refuses


@refuses("events", "DeleteRule")
def _rule(look: Look, p: dict[str, Any]) -> None:
    bus = {"EventBusName": p["EventBusName"]} if p.get("EventBusName") else {}
    if look("events").list_targets_by_rule(Rule=p["Name"], **bus)["Targets"]:
        raise Refused("ValidationException", "Rule can't be deleted since it has targets.")


@refuses("events", "DeleteEventBus")
def _event_bus(look: Look, p: dict[str, Any]) -> None:
    if look("events").list_rules(EventBusName=p["Name"])["Rules"]:
        raise Refused("ValidationException", f"Cannot delete event bus {p['Name']} because it has rules.")


@refuses("kinesis", "DeleteStream")
def _stream(look: Look, p: dict[str, Any]) -> None:
    if p.get("EnforceConsumerDeletion") or not p.get("StreamName"):
        return
    kinesis = look("kinesis")
    arn = kinesis.describe_stream_summary(StreamName=p["StreamName"])["StreamDescriptionSummary"]["StreamARN"]
    if kinesis.list_stream_consumers(StreamARN=arn)["Consumers"]:
        raise Refused("ResourceInUseException", "Stream has registered consumers")


@refuses("cloudwatch", "DeleteAlarms")
def _alarms(look: Look, p: dict[str, Any]) -> None:
    names = p.get("AlarmNames") or [v for k, v in p.items() if k.startswith("AlarmNames.member.")]
    for composite in look("cloudwatch").describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]:
        if composite["AlarmName"] in names:
            continue
        for needed in re.findall(r"(?:ALARM|OK|INSUFFICIENT_DATA)\(\s*[\"']?([^\"')]+?)[\"']?\s*\)", composite["AlarmRule"]):
            if needed.rsplit(":alarm:", 1)[-1] in names:
                raise Refused(
                    "ValidationError", f"Cannot delete {needed} as there are composite alarm(s) depending on it."
                )


@refuses("cognito-idp", "DeleteUserPool")
def _user_pool(look: Look, p: dict[str, Any]) -> None:
    pool = look("cognito-idp").describe_user_pool(UserPoolId=p["UserPoolId"])["UserPool"]
    if pool.get("DeletionProtection") == "ACTIVE":
        raise Refused("InvalidParameterException", "The user pool cannot be deleted because deletion protection is activated.")
    if pool.get("Domain"):
        raise Refused(
            "InvalidParameterException", "User pool cannot be deleted. It has a domain configured that should be deleted first."
        )
