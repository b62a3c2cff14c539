"""Log groups: their deletion protection, which the emulator does not know."""

from __future__ import annotations

from typing import Any

from ..wire import Reply, json_reply
from . import Look, Refused, answers, refuses


def _protected(look: Look) -> set[str]:
    return look.book.setdefault("protected_log_groups", set())


@answers("logs", "PutLogGroupDeletionProtection")
def _protect(look: Look, p: dict[str, Any]) -> Reply:
    (_protected(look).add if p["deletionProtectionEnabled"] else _protected(look).discard)(p["logGroupIdentifier"])
    return json_reply({})


@answers("logs", "DescribeLogGroups")
def _describe(look: Look, p: dict[str, Any]) -> Reply | None:
    if not _protected(look):
        return None
    found = look("logs").describe_log_groups(**p)
    found.pop("ResponseMetadata")
    for group in found["logGroups"]:
        group["deletionProtectionEnabled"] = group["logGroupName"] in _protected(look)
    return json_reply(found)


@refuses("logs", "DeleteLogGroup")
def _delete(look: Look, p: dict[str, Any]) -> None:
    if p["logGroupName"] in _protected(look):
        raise Refused("ValidationException", "The log group has deletion protection enabled and cannot be deleted.")
