"""IAM: roles, users, groups, policies and keys."""

from __future__ import annotations

import json
from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, made, read

_DOCUMENT = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"}]}


def _role(stack: StackBuilder) -> str:
    role = seed.role(stack, "Role", inline={"Inside": _DOCUMENT})
    seed.managed_policy(stack, "Attached", "Role")
    seed.instance_profile(stack, "Profile", "Role")
    return role


def _policy(stack: StackBuilder) -> str:
    seed.role(stack, "Role")
    return seed.policy(stack, "Policy", "Role")


def _managed_policy(stack: StackBuilder) -> str:
    seed.role(stack, "Role")
    return seed.managed_policy(stack, "Policy", "Role", versions=3)


def _instance_profile(stack: StackBuilder) -> str:
    seed.role(stack, "Role")
    return seed.instance_profile(stack, "Profile", "Role")


def _group(stack: StackBuilder) -> str:
    iam, group, user = stack.client("iam"), stack.named("Group"), stack.named("Member")
    iam.create_group(GroupName=group)
    iam.create_user(UserName=user)
    iam.add_user_to_group(GroupName=group, UserName=user)
    return made(stack, "AWS::IAM::Group", group, {"GroupName": group})


def _user(stack: StackBuilder) -> str:
    """A user with a key, a password, a group and an inline policy, none of them recorded."""
    iam, user, group = stack.client("iam"), stack.named("User"), stack.named("Team")
    iam.create_user(UserName=user)
    iam.create_access_key(UserName=user)
    iam.create_login_profile(UserName=user, Password="Not-a-secret-1")
    iam.create_group(GroupName=group)
    iam.add_user_to_group(GroupName=group, UserName=user)
    iam.put_user_policy(UserName=user, PolicyName="Inside", PolicyDocument=json.dumps(_DOCUMENT))
    return made(stack, "AWS::IAM::User", user, {"UserName": user})


def _access_key(stack: StackBuilder) -> str:
    iam, user = stack.client("iam"), stack.named("User")
    iam.create_user(UserName=user)
    key = iam.create_access_key(UserName=user)["AccessKey"]["AccessKeyId"]
    return made(stack, "AWS::IAM::AccessKey", key, {"UserName": user})


def _membership(stack: StackBuilder) -> str:
    iam, group, user = stack.client("iam"), stack.named("Group"), stack.named("User")
    iam.create_group(GroupName=group)
    iam.create_user(UserName=user)
    iam.add_user_to_group(GroupName=group, UserName=user)
    return made(stack, "AWS::IAM::UserToGroupAddition", "Membership", {"GroupName": group, "Users": [user]})


def _is_member(iam: Any, _: str, properties: dict[str, Any]) -> bool:
    users = iam.get_group(GroupName=properties["GroupName"])["Users"]
    return properties["Users"][0] in [user["UserName"] for user in users]


def _key_exists(iam: Any, ident: str, properties: dict[str, Any]) -> bool:
    keys = iam.list_access_keys(UserName=properties["UserName"])["AccessKeyMetadata"]
    return ident in [key["AccessKeyId"] for key in keys]


CASES = [
    Case("AWS::IAM::AccessKey", _access_key, "iam", _key_exists),
    Case("AWS::IAM::Group", _group, "iam", read("get_group", "GroupName")),
    Case("AWS::IAM::InstanceProfile", _instance_profile),
    Case("AWS::IAM::ManagedPolicy", _managed_policy),
    Case("AWS::IAM::Policy", _policy),
    Case("AWS::IAM::Role", _role),
    Case("AWS::IAM::User", _user, "iam", read("get_user", "UserName")),
    Case("AWS::IAM::UserToGroupAddition", _membership, "iam", _is_member),
]
