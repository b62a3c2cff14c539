"""Takes a seeded stack down by plain boto3 calls, in the order its state tells: the bed's rules must let the right order pass."""

from __future__ import annotations

import json
from typing import Any
from collections.abc import Callable

from bed import Bed
from bed.seed import StackBuilder

Row = dict[str, Any]
_CLOUD_CONTROL = {"AWS::EC2::VPCEndpoint", "AWS::EC2::FlowLog", "AWS::EC2::SecurityGroupEgress", "AWS::CloudWatch::CompositeAlarm"}


def order(stack: StackBuilder) -> list[str]:
    """Dependents first. What only rules of the teardown know (alarms, the gateway's NAT) is added to what the rows say."""
    rows = stack.rows
    needs = {i: set(r["dependencies"]) & set(rows) for i, r in rows.items()}
    for ident, row in rows.items():
        if row["resourceType"] == "AWS::CloudWatch::CompositeAlarm":
            needs[ident] |= {i for i in rows if f'"{rows[i]["physicalId"]}"' in row["properties"]["AlarmRule"]}
        if row["resourceType"] == "AWS::EC2::VPCGatewayAttachment":
            needs[ident] |= set(row["dependencies"])
        if row["resourceType"] == "AWS::IAM::Policy":  # a policy goes after whoever runs under its role
            for other, used in rows.items():
                if used["properties"].get("Role", "").rpartition("/")[2] in row["properties"]["Roles"]:
                    needs[other].add(ident)
    done: list[str] = []

    def visit(ident: str) -> None:
        for needed in sorted(needs[ident]):
            visit(needed)
        if ident not in done:
            done.append(ident)

    for ident in rows:
        visit(ident)
    return done[::-1]


def delete(bed: Bed, row: Row) -> None:
    """Delete what one row records."""
    kind, ident, properties = row["resourceType"], row["physicalId"], row["properties"]
    if kind in _CLOUD_CONTROL:
        bed.client("cloudcontrol").delete_resource(TypeName=kind, Identifier=ident)
        return
    service, call = _DELETES[kind]
    call(bed.client(service), ident, properties)


def _role(iam: Any, ident: str, _: Row) -> None:
    for attached in iam.list_attached_role_policies(RoleName=ident)["AttachedPolicies"]:
        iam.detach_role_policy(RoleName=ident, PolicyArn=attached["PolicyArn"])
    for name in iam.list_role_policies(RoleName=ident)["PolicyNames"]:
        iam.delete_role_policy(RoleName=ident, PolicyName=name)
    iam.delete_role(RoleName=ident)


def _managed_policy(iam: Any, ident: str, properties: Row) -> None:
    for role in properties["Roles"]:
        iam.detach_role_policy(RoleName=role, PolicyArn=ident)
    for version in iam.list_policy_versions(PolicyArn=ident)["Versions"]:
        if not version["IsDefaultVersion"]:
            iam.delete_policy_version(PolicyArn=ident, VersionId=version["VersionId"])
    iam.delete_policy(PolicyArn=ident)


def _profile(iam: Any, ident: str, properties: Row) -> None:
    iam.remove_role_from_instance_profile(InstanceProfileName=ident, RoleName=properties["Roles"][0])
    iam.delete_instance_profile(InstanceProfileName=ident)


def _bucket(s3: Any, ident: str, _: Row) -> None:
    found = s3.list_object_versions(Bucket=ident)
    for item in found.get("Versions", []) + found.get("DeleteMarkers", []):
        s3.delete_object(Bucket=ident, Key=item["Key"], VersionId=item["VersionId"])
    s3.delete_bucket(Bucket=ident)


def _rule(events: Any, ident: str, properties: Row) -> None:
    name = ident.rpartition("/")[2]
    bus = {"EventBusName": properties["EventBusName"]} if "EventBusName" in properties else {}
    events.remove_targets(Rule=name, Ids=[t["Id"] for t in properties["Targets"]], **bus)
    events.delete_rule(Name=name, **bus)


def _ingress(ec2: Any, ident: str, properties: Row) -> None:
    rule = {k: properties[k] for k in ("IpProtocol", "FromPort", "ToPort")}
    pair = [{"GroupId": properties["SourceSecurityGroupId"]}]
    ec2.revoke_security_group_ingress(GroupId=properties["GroupId"], IpPermissions=[{**rule, "UserIdGroupPairs": pair}])


def _by(operation: str, parameter: str, **more: Any) -> Callable[[Any, str, Row], Any]:
    return lambda client, ident, _: getattr(client, operation)(**{parameter: ident}, **more)


_DELETES: dict[str, tuple[str, Callable[[Any, str, Row], Any]]] = {
    "AWS::CloudWatch::Alarm": ("cloudwatch", lambda c, i, _: c.delete_alarms(AlarmNames=[i])),
    "AWS::DynamoDB::Table": ("dynamodb", _by("delete_table", "TableName")),
    "AWS::EC2::EIP": ("ec2", lambda c, i, _: c.release_address(AllocationId=i.partition("|")[2])),
    "AWS::EC2::InternetGateway": ("ec2", _by("delete_internet_gateway", "InternetGatewayId")),
    "AWS::EC2::NatGateway": ("ec2", _by("delete_nat_gateway", "NatGatewayId")),
    "AWS::EC2::Route": ("ec2", lambda c, i, _: c.delete_route(RouteTableId=i.split("|")[0], DestinationCidrBlock=i.split("|")[1])),
    "AWS::EC2::RouteTable": ("ec2", _by("delete_route_table", "RouteTableId")),
    "AWS::EC2::SecurityGroup": ("ec2", _by("delete_security_group", "GroupId")),
    "AWS::EC2::SecurityGroupIngress": ("ec2", _ingress),
    "AWS::EC2::Subnet": ("ec2", _by("delete_subnet", "SubnetId")),
    "AWS::EC2::SubnetRouteTableAssociation": ("ec2", _by("disassociate_route_table", "AssociationId")),
    "AWS::EC2::VPC": ("ec2", _by("delete_vpc", "VpcId")),
    "AWS::EC2::VPCGatewayAttachment": (
        "ec2", lambda c, i, _: c.detach_internet_gateway(InternetGatewayId=i.split("|")[0], VpcId=i.split("|")[1])),
    "AWS::Events::EventBus": ("events", _by("delete_event_bus", "Name")),
    "AWS::Events::Rule": ("events", _rule),
    "AWS::IAM::InstanceProfile": ("iam", _profile),
    "AWS::IAM::ManagedPolicy": ("iam", _managed_policy),
    "AWS::IAM::Policy": ("iam", lambda c, i, p: c.delete_role_policy(RoleName=p["Roles"][0], PolicyName=i)),
    "AWS::IAM::Role": ("iam", _role),
    "AWS::KMS::Alias": ("kms", _by("delete_alias", "AliasName")),
    "AWS::KMS::Key": ("kms", _by("schedule_key_deletion", "KeyId", PendingWindowInDays=7)),
    "AWS::Lambda::EventSourceMapping": ("lambda", _by("delete_event_source_mapping", "UUID")),
    "AWS::Lambda::Function": ("lambda", _by("delete_function", "FunctionName")),
    "AWS::Lambda::LayerVersion": (
        "lambda", lambda c, i, _: c.delete_layer_version(LayerName=i.split(":")[6], VersionNumber=int(i.split(":")[7]))),
    "AWS::Lambda::Permission": ("lambda", lambda c, i, p: c.remove_permission(FunctionName=p["FunctionName"], StatementId=i)),
    "AWS::Lambda::Url": ("lambda", _by("delete_function_url_config", "FunctionName")),
    "AWS::Logs::LogGroup": ("logs", _by("delete_log_group", "logGroupName")),
    "AWS::S3::Bucket": ("s3", _bucket),
    "AWS::S3::BucketPolicy": ("s3", _by("delete_bucket_policy", "Bucket")),
    "AWS::SNS::Subscription": ("sns", _by("unsubscribe", "SubscriptionArn")),
    "AWS::SNS::Topic": ("sns", _by("delete_topic", "TopicArn")),
    "AWS::SNS::TopicPolicy": ("sns", lambda c, i, _: c.set_topic_attributes(
        TopicArn=i, AttributeName="Policy", AttributeValue=json.dumps({"Version": "2008-10-17", "Statement": []}))),
    "AWS::SQS::Queue": ("sqs", _by("delete_queue", "QueueUrl")),
    "AWS::SQS::QueuePolicy": ("sqs", lambda c, i, _: c.set_queue_attributes(QueueUrl=i, Attributes={"Policy": ""})),
    "AWS::SSM::Parameter": ("ssm", _by("delete_parameter", "Name")),
    "AWS::SecretsManager::Secret": ("secretsmanager", _by("delete_secret", "SecretId", ForceDeleteWithoutRecovery=True)),
    "AWS::StepFunctions::StateMachine": ("stepfunctions", _by("delete_state_machine", "stateMachineArn")),
    "Custom::S3AutoDeleteObjects": ("ssm", _by("delete_parameter", "Name")),
    "Custom::Thing": ("ssm", _by("delete_parameter", "Name")),
}
