"""IAM: what must be taken off before a policy, user or group goes. Roles and instance profiles the emulator guards itself."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from ..wire import Reply
from . import Look, Refused, answers, refuses


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


# Kinds of credentials that the emulator cannot make: a user has none of them.
_LISTS = {"ListSSHPublicKeys": "SSHPublicKeys", "ListServiceSpecificCredentials": "ServiceSpecificCredentials",
          "ListSigningCertificates": "Certificates"}


def _none_of_them(action: str, members: str) -> None:
    @answers("iam", action)
    def listed(look: Look, p: dict[str, Any]) -> Reply:
        try:
            look("iam").get_user(UserName=p["UserName"])
        except ClientError as error:
            raise Refused("NoSuchEntity", f"The user with name {p['UserName']} cannot be found.", 404) from error
        inner = f"<{action}Result><{members}/><IsTruncated>false</IsTruncated></{action}Result>"
        return Reply(200, [("Content-Type", "text/xml")], f"<{action}Response>{inner}</{action}Response>".encode())


for _action, _members in _LISTS.items():
    _none_of_them(_action, _members)
