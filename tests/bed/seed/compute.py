"""Roles, functions and what calls them: layers, permissions, addresses, rules, queues and state machines."""

from __future__ import annotations

import json
from typing import Any
from collections.abc import Iterable

from ..deploy import zipped
from .builder import StackBuilder

_RUNTIME = "python3.11"  # the emulator runs it as a process of this machine
_IDLE = "def handler(event, context):\n    return {'ok': True}\n"


def _document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def role(stack: StackBuilder, logical: str, service: str = "lambda.amazonaws.com", managed: Iterable[str] = (),
         inline: dict[str, Any] | None = None, needs: Iterable[str] = ()) -> str:
    """A role; `managed`: ARNs of policies attached to it, `inline`: policies inside it by name."""
    iam, name = stack.client("iam"), stack.named(logical)
    trust = _document({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})
    made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    properties: dict[str, Any] = {"RoleName": name, "AssumeRolePolicyDocument": trust}
    for arn in managed:
        iam.attach_role_policy(RoleName=name, PolicyArn=arn)
        properties.setdefault("ManagedPolicyArns", []).append(arn)
    for policy_name, document in (inline or {}).items():
        iam.put_role_policy(RoleName=name, PolicyName=policy_name, PolicyDocument=json.dumps(document))
        properties.setdefault("Policies", []).append({"PolicyName": policy_name, "PolicyDocument": document})
    return stack.add(logical, "AWS::IAM::Role", name, properties, needs=needs,
                     attributes={"Arn": made["Arn"], "RoleId": made["RoleId"]})


def policy(stack: StackBuilder, logical: str, role_logical: str, actions: Iterable[str] = ("logs:*",), resource: str = "*") -> str:
    """An inline policy of a role, as CDK's grants make them."""
    document = _document({"Effect": "Allow", "Action": list(actions), "Resource": resource})
    name, owner = stack.named(logical), stack.physical(role_logical)
    stack.client("iam").put_role_policy(RoleName=owner, PolicyName=name, PolicyDocument=json.dumps(document))
    return stack.add(logical, "AWS::IAM::Policy", name, {"PolicyName": name, "PolicyDocument": document, "Roles": [owner]},
                     needs=[role_logical])


def managed_policy(stack: StackBuilder, logical: str, *role_logicals: str, versions: int = 1) -> str:
    """A managed policy attached to roles; more than one of its `versions` must go before it can."""
    iam, name = stack.client("iam"), stack.named(logical)
    document = _document({"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"})
    arn = iam.create_policy(PolicyName=name, PolicyDocument=json.dumps(document))["Policy"]["Arn"]
    for _ in range(versions - 1):
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=json.dumps(document), SetAsDefault=True)
    roles = [stack.physical(r) for r in role_logicals]
    for owner in roles:
        iam.attach_role_policy(RoleName=owner, PolicyArn=arn)
    return stack.add(logical, "AWS::IAM::ManagedPolicy", arn,
                     {"ManagedPolicyName": name, "PolicyDocument": document, "Roles": roles},
                     needs=role_logicals, attributes={"PolicyArn": arn})


def instance_profile(stack: StackBuilder, logical: str, role_logical: str) -> str:
    iam, name = stack.client("iam"), stack.named(logical)
    arn = iam.create_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Arn"]
    iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=stack.physical(role_logical))
    return stack.add(logical, "AWS::IAM::InstanceProfile", name,
                     {"InstanceProfileName": name, "Roles": [stack.physical(role_logical)]}, needs=[role_logical],
                     attributes={"Arn": arn})


def log_group(stack: StackBuilder, logical: str, name: str = "") -> str:
    name = name or f"/{stack.name}/{logical}"
    logs = stack.client("logs")
    logs.create_log_group(logGroupName=name)
    logs.put_retention_policy(logGroupName=name, retentionInDays=30)
    arn = f"arn:aws:logs:{stack.region}:000000000000:log-group:{name}:*"
    return stack.add(logical, "AWS::Logs::LogGroup", name, {"LogGroupName": name, "RetentionInDays": 30}, attributes={"Arn": arn})


def function(stack: StackBuilder, logical: str, role_logical: str, *, code: str = _IDLE, vpc: dict[str, Any] | None = None,
             layers: Iterable[str] = (), needs: Iterable[str] = (), timeout: int = 30) -> str:
    """A function that really runs; `code` is its Python source with a `handler`."""
    name = stack.named(logical)
    properties: dict[str, Any] = {"FunctionName": name, "Runtime": _RUNTIME, "Handler": "index.handler", "Timeout": timeout,
                                  "Role": stack.arn(role_logical)}
    if vpc:
        properties["VpcConfig"] = vpc
    if layers:
        properties["Layers"] = [stack.physical(one) for one in layers]
    made = stack.client("lambda").create_function(Code={"ZipFile": zipped({"index.py": code.encode()})}, **properties)
    return stack.add(logical, "AWS::Lambda::Function", name, properties, needs=[role_logical, *layers, *needs],
                     attributes={"Arn": made["FunctionArn"]})


def layer(stack: StackBuilder, logical: str) -> str:
    name = stack.named(logical)
    made = stack.client("lambda").publish_layer_version(
        LayerName=name, Content={"ZipFile": zipped({"python/shared.py": b""})}, CompatibleRuntimes=[_RUNTIME]
    )
    arn = made["LayerVersionArn"]
    return stack.add(logical, "AWS::Lambda::LayerVersion", arn, {"LayerName": name, "CompatibleRuntimes": [_RUNTIME]},
                     attributes={"LayerVersionArn": arn})


def permission(stack: StackBuilder, logical: str, function_logical: str, principal: str, source: str = "",
               needs: Iterable[str] = ()) -> str:
    """Leave for a service to call a function; `source` is the ARN it calls for."""
    owner, statement = stack.arn(function_logical), stack.named(logical)
    extra = {"SourceArn": source} if source else {}
    stack.client("lambda").add_permission(
        FunctionName=owner, StatementId=statement, Action="lambda:InvokeFunction", Principal=principal, **extra
    )
    return stack.add(logical, "AWS::Lambda::Permission", statement,
                     {"FunctionName": owner, "Action": "lambda:InvokeFunction", "Principal": principal, **extra},
                     needs=[function_logical, *needs])


def function_url(stack: StackBuilder, logical: str, function_logical: str) -> str:
    owner = stack.arn(function_logical)
    made = stack.client("lambda").create_function_url_config(FunctionName=owner, AuthType="AWS_IAM")
    return stack.add(logical, "AWS::Lambda::Url", owner, {"TargetFunctionArn": owner, "AuthType": "AWS_IAM"},
                     needs=[function_logical], attributes={"FunctionUrl": made["FunctionUrl"], "FunctionArn": owner})


def event_source(stack: StackBuilder, logical: str, function_logical: str, queue_logical: str) -> str:
    """A mapping from a queue to a function."""
    properties = {"FunctionName": stack.physical(function_logical), "EventSourceArn": stack.arn(queue_logical), "Enabled": False}
    made = stack.client("lambda").create_event_source_mapping(**properties)
    return stack.add(logical, "AWS::Lambda::EventSourceMapping", made["UUID"], properties,
                     needs=[function_logical, queue_logical], attributes={"Id": made["UUID"]})


def rule(stack: StackBuilder, logical: str, target_logical: str, bus: str = "") -> str:
    """A rule with a function or a queue as its target; `bus` is the logical id of a bus of the stack's own."""
    events, name = stack.client("events"), stack.named(logical)
    on = {"EventBusName": stack.physical(bus)} if bus else {}
    when: dict[str, Any] = {"EventPattern": {"source": ["ebb.never"]}} if bus else {"ScheduleExpression": "rate(1 day)"}
    sent = {"EventPattern": json.dumps(when["EventPattern"])} if bus else when
    arn = events.put_rule(Name=name, State="DISABLED", **sent, **on)["RuleArn"]
    targets = [{"Id": "Target0", "Arn": stack.arn(target_logical)}]
    events.put_targets(Rule=name, Targets=targets, **on)
    return stack.add(logical, "AWS::Events::Rule", arn, {"Name": name, "State": "DISABLED", "Targets": targets, **when, **on},
                     needs=[target_logical, *([bus] if bus else [])], attributes={"Arn": arn})


def bus_with_rule(stack: StackBuilder, logical: str, target_logical: str) -> str:
    """An event bus that one rule listens on."""
    name = stack.named(logical)
    arn = stack.client("events").create_event_bus(Name=name)["EventBusArn"]
    stack.add(logical, "AWS::Events::EventBus", name, {"Name": name}, attributes={"Arn": arn, "Name": name})
    rule(stack, f"{logical}Rule", target_logical, bus=logical)
    return logical


def state_machine(stack: StackBuilder, logical: str, role_logical: str) -> str:
    name = stack.named(logical)
    definition = json.dumps({"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}})
    arn = stack.client("stepfunctions").create_state_machine(
        name=name, definition=definition, roleArn=stack.arn(role_logical)
    )["stateMachineArn"]
    properties = {"StateMachineName": name, "DefinitionString": definition, "RoleArn": stack.arn(role_logical)}
    return stack.add(logical, "AWS::StepFunctions::StateMachine", arn, properties, needs=[role_logical],
                     attributes={"Arn": arn, "Name": name})
