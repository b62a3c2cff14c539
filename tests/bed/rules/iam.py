"""IAM: what must be taken off before a policy, user or group goes. Roles and instance profiles the emulator guards itself."""

from __future__ import annotations

from typing import Any

from . import Look, Refused, refuses


def _conflict(message: str) -> Refused:
    return Refused("DeleteConflict", message, 409)


@refuses("iam", "DeletePolicy")
def _policy(look: Look, p: dict[str, Any]) -> None:
    if len(look("iam").list_policy_versions(PolicyArn=p["PolicyArn"])["Versions"]) > 1:
        raise _conflict("This policy has more than one version. Before you delete a policy, you must delete the policy's versions.")


@refuses("iam", "DeleteUser")
def _user(look: Look, p: dict[str, Any]) -> None:
    if look("iam").list_groups_for_user(UserName=p["UserName"])["Groups"]:
        raise _conflict("Cannot delete entity, must remove users from group first.")


@refuses("iam", "DeleteGroup")
def _group(look: Look, p: dict[str, Any]) -> None:
    if look("iam").get_group(GroupName=p["GroupName"])["Users"]:
        raise _conflict("Cannot delete entity, must remove users from group first.")
