"""Copies state machines from the emulator, where CloudFormation made them, into the strict engine: same names, same ARNs."""

from __future__ import annotations

from botocore.exceptions import ClientError

from .clients import make_client


def mirror(emulator: str, strict: str, region: str = "us-east-1") -> dict[str, str]:
    """Bring the strict engine up to date with what is deployed; answers name → ARN."""
    source = make_client("stepfunctions", emulator, region=region)
    copy = make_client("stepfunctions", strict, region=region)
    arns = {}
    for page in source.get_paginator("list_state_machines").paginate():
        for machine in page["stateMachines"]:
            found = source.describe_state_machine(stateMachineArn=machine["stateMachineArn"])
            body = {"definition": found["definition"], "roleArn": found["roleArn"]}
            try:
                copy.create_state_machine(name=found["name"], type=found["type"], **body)
            except ClientError as error:
                if error.response["Error"]["Code"] != "StateMachineAlreadyExists":
                    raise
                copy.update_state_machine(stateMachineArn=machine["stateMachineArn"], **body)
            arns[found["name"]] = machine["stateMachineArn"]
    return arns
