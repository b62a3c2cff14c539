"""Whether what a row of a state records is still there, asked of its service past the front door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from collections.abc import Callable

from ..cloudcontrol import is_absent

if TYPE_CHECKING:
    from ..bed import Bed

Row = dict[str, Any]
Check = Callable[[Any, str, dict[str, Any]], Any]


def exists(bed: Bed, row: Row, region: str = "us-east-1") -> bool:
    """Whether the resource of `row` exists; a type without a check is an error."""
    kind = row["resourceType"]
    service, check = ("ssm", _parameter) if kind.startswith("Custom::") else CHECKS[kind]
    try:
        return bool(check(bed.look(service, region), row["physicalId"], row["properties"]))
    except Exception as error:
        if is_absent(error):
            return False
        raise


def listed(operation: str, rows: str, key: str) -> Check:
    """A check that lists everything and looks for the id: the emulator answers some look-ups with everything anyway."""
    return lambda client, ident, _: ident in [item[key] for item in getattr(client, operation)()[rows]]


def read(operation: str, parameter: str) -> Check:
    """A check that asks for the one thing and believes an error that says it is not there."""
    return lambda client, ident, _: getattr(client, operation)(**{parameter: ident})


def _parameter(ssm: Any, ident: str, _: Row) -> Any:
    return ssm.get_parameter(Name=ident)


def _association(ec2: Any, ident: str, _: Row) -> bool:
    tables = ec2.describe_route_tables()["RouteTables"]
    return ident in [a["RouteTableAssociationId"] for t in tables for a in t["Associations"]]


def _route(ec2: Any, ident: str, _: Row) -> bool:
    table, destination = ident.split("|")
    found = [t for t in ec2.describe_route_tables()["RouteTables"] if t["RouteTableId"] == table]
    return any(r.get("DestinationCidrBlock") == destination for t in found for r in t["Routes"])


def _attachment(ec2: Any, ident: str, _: Row) -> bool:
    gateway, vpc = ident.split("|")
    found = [g for g in ec2.describe_internet_gateways()["InternetGateways"] if g["InternetGatewayId"] == gateway]
    return any(a["VpcId"] == vpc for g in found for a in g["Attachments"])


def _address(ec2: Any, ident: str, _: Row) -> bool:
    return ident.rpartition("|")[2] in [a["AllocationId"] for a in ec2.describe_addresses()["Addresses"]]


def _nat(ec2: Any, ident: str, _: Row) -> bool:
    gateways = ec2.describe_nat_gateways()["NatGateways"]
    return any(n["NatGatewayId"] == ident and n["State"] != "deleted" for n in gateways)


def _ingress(ec2: Any, ident: str, _: Row) -> bool:
    group, protocol, low, high = ident.split("|")
    found = [g for g in ec2.describe_security_groups()["SecurityGroups"] if g["GroupId"] == group]
    rules = [(p["IpProtocol"], str(p.get("FromPort")), str(p.get("ToPort"))) for g in found for p in g["IpPermissions"]]
    return (protocol, low, high) in rules


def _inline_policy(iam: Any, ident: str, properties: Row) -> bool:
    for role in properties["Roles"]:
        try:
            if ident in iam.list_role_policies(RoleName=role)["PolicyNames"]:
                return True
        except iam.exceptions.NoSuchEntityException:
            continue
    return False


def _permission(client: Any, ident: str, properties: Row) -> bool:
    found = json.loads(client.get_policy(FunctionName=properties["FunctionName"])["Policy"])
    return ident.rpartition("|")[2] in [s["Sid"] for s in found["Statement"]]


def _layer(client: Any, ident: str, _: Row) -> Any:
    name, version = ident.split(":")[6:8]
    return client.get_layer_version(LayerName=name, VersionNumber=int(version))


def _rule(events: Any, ident: str, properties: Row) -> Any:
    bus = {"EventBusName": properties["EventBusName"]} if "EventBusName" in properties else {}
    return events.describe_rule(Name=ident.rpartition("/")[2], **bus)


def _queue_policy(sqs: Any, ident: str, _: Row) -> Any:
    return sqs.get_queue_attributes(QueueUrl=ident, AttributeNames=["Policy"]).get("Attributes", {}).get("Policy")


def _topic_policy(sns: Any, ident: str, properties: Row) -> bool:
    """The row's own statements are there: the default policy a topic falls back to has others."""
    found = json.loads(sns.get_topic_attributes(TopicArn=ident)["Attributes"]["Policy"])
    recorded = [s["Sid"] for s in properties["PolicyDocument"]["Statement"]]
    return any(s.get("Sid") in recorded for s in found["Statement"])


def _key(kms: Any, ident: str, _: Row) -> bool:
    return kms.describe_key(KeyId=ident)["KeyMetadata"]["KeyState"] != "PendingDeletion"


def _secret(client: Any, ident: str, _: Row) -> bool:
    return "DeletedDate" not in client.describe_secret(SecretId=ident)


def _alarm(kind: str) -> Check:
    def check(client: Any, ident: str, _: Row) -> bool:
        return ident in [a["AlarmName"] for a in client.describe_alarms(AlarmTypes=[kind])[f"{kind}s"]]

    return check


# By type: the service that knows, and how it is asked. Tests of further types add theirs.
CHECKS: dict[str, tuple[str, Check]] = {
    "AWS::CloudWatch::Alarm": ("cloudwatch", _alarm("MetricAlarm")),
    "AWS::CloudWatch::CompositeAlarm": ("cloudwatch", _alarm("CompositeAlarm")),
    "AWS::DynamoDB::Table": ("dynamodb", read("describe_table", "TableName")),
    "AWS::EC2::EIP": ("ec2", _address),
    "AWS::EC2::FlowLog": ("ec2", listed("describe_flow_logs", "FlowLogs", "FlowLogId")),
    "AWS::EC2::InternetGateway": ("ec2", listed("describe_internet_gateways", "InternetGateways", "InternetGatewayId")),
    "AWS::EC2::NatGateway": ("ec2", _nat),
    "AWS::EC2::Route": ("ec2", _route),
    "AWS::EC2::RouteTable": ("ec2", listed("describe_route_tables", "RouteTables", "RouteTableId")),
    "AWS::EC2::SecurityGroup": ("ec2", listed("describe_security_groups", "SecurityGroups", "GroupId")),
    "AWS::EC2::SecurityGroupEgress": ("ec2", listed("describe_security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId")),
    "AWS::EC2::SecurityGroupIngress": ("ec2", _ingress),
    "AWS::EC2::Subnet": ("ec2", listed("describe_subnets", "Subnets", "SubnetId")),
    "AWS::EC2::SubnetRouteTableAssociation": ("ec2", _association),
    "AWS::EC2::VPC": ("ec2", listed("describe_vpcs", "Vpcs", "VpcId")),
    "AWS::EC2::VPCEndpoint": ("ec2", listed("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId")),
    "AWS::EC2::VPCGatewayAttachment": ("ec2", _attachment),
    "AWS::Events::EventBus": ("events", read("describe_event_bus", "Name")),
    "AWS::Events::Rule": ("events", _rule),
    "AWS::IAM::InstanceProfile": ("iam", read("get_instance_profile", "InstanceProfileName")),
    "AWS::IAM::ManagedPolicy": ("iam", read("get_policy", "PolicyArn")),
    "AWS::IAM::Policy": ("iam", _inline_policy),
    "AWS::IAM::Role": ("iam", read("get_role", "RoleName")),
    "AWS::KMS::Alias": ("kms", listed("list_aliases", "Aliases", "AliasName")),
    "AWS::KMS::Key": ("kms", _key),
    "AWS::Lambda::EventSourceMapping": ("lambda", read("get_event_source_mapping", "UUID")),
    "AWS::Lambda::Function": ("lambda", read("get_function_configuration", "FunctionName")),
    "AWS::Lambda::LayerVersion": ("lambda", _layer),
    "AWS::Lambda::Permission": ("lambda", _permission),
    "AWS::Lambda::Url": ("lambda", read("get_function_url_config", "FunctionName")),
    "AWS::Logs::LogGroup": ("logs", listed("describe_log_groups", "logGroups", "logGroupName")),
    "AWS::S3::Bucket": ("s3", read("head_bucket", "Bucket")),
    "AWS::S3::BucketPolicy": ("s3", read("get_bucket_policy", "Bucket")),
    "AWS::SNS::Subscription": ("sns", listed("list_subscriptions", "Subscriptions", "SubscriptionArn")),
    "AWS::SNS::Topic": ("sns", read("get_topic_attributes", "TopicArn")),
    "AWS::SNS::TopicPolicy": ("sns", _topic_policy),
    "AWS::SQS::Queue": ("sqs", lambda c, i, _: c.get_queue_attributes(QueueUrl=i, AttributeNames=["QueueArn"])),
    "AWS::SQS::QueuePolicy": ("sqs", _queue_policy),
    "AWS::SSM::Parameter": ("ssm", _parameter),
    "AWS::SecretsManager::Secret": ("secretsmanager", _secret),
    "AWS::StepFunctions::StateMachine": ("stepfunctions", read("describe_state_machine", "stateMachineArn")),
}
