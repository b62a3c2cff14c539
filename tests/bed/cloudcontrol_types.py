"""The resource types Cloud Control knows here, one entry each. Add a line for a type that a test needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from collections.abc import Callable

Read = Callable[[Any, str], dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """How a type is read, deleted and listed through its own service; `update` maps a patch's path to a call."""

    service: str
    read: Read
    delete: Callable[[Any, str], Any]
    list: Callable[[Any], list[str]]
    update: dict[str, Callable[[Any, str, Any], Any]] = field(default_factory=dict)


def _keep(service: str, names: str, read: Read, delete: Callable[[Any, str], Any], rows: Callable[[Any], list[Any]],
          key: str = "", **more: Any) -> tuple[str, Kind]:
    """An entry whose list is `rows`, narrowed to `key` of each."""
    return names, Kind(service, read, delete, lambda c: [r[key] if key else r for r in rows(c)], **more)


def _first(items: list[dict[str, Any]], key: str, ident: str) -> dict[str, Any]:
    """The item named `ident`: the emulator answers some look-ups with everything."""
    return next(item for item in items if item[key] == ident)


def _version(arn: str) -> dict[str, str]:
    function, _, qualifier = arn.rpartition(":")
    return {"FunctionName": function, "Qualifier": qualifier}


def _egress_rule(ec2: Any, ident: str) -> dict[str, Any]:
    rules = ec2.describe_security_group_rules()["SecurityGroupRules"]
    return next(r for r in rules if r["SecurityGroupRuleId"] == ident and r["IsEgress"])


def _revoke_egress(ec2: Any, ident: str) -> None:
    ec2.revoke_security_group_egress(GroupId=_egress_rule(ec2, ident)["GroupId"], SecurityGroupRuleIds=[ident])


def _delete_endpoint(ec2: Any, ident: str) -> None:
    ec2.delete_vpc_endpoints(VpcEndpointIds=[ident])


def _functions(c: Any) -> list[dict[str, Any]]:
    return c.list_functions()["Functions"]


def _versions(c: Any) -> list[str]:
    found = [v for f in _functions(c) for v in c.list_versions_by_function(FunctionName=f["FunctionName"])["Versions"]]
    return [v["FunctionArn"] for v in found if v["Version"] != "$LATEST"]


def _aliases(c: Any) -> list[str]:
    return [a["AliasArn"] for f in _functions(c) for a in c.list_aliases(FunctionName=f["FunctionName"])["Aliases"]]


def _groups(c: Any, prefix: str = "") -> list[dict[str, Any]]:
    return c.describe_log_groups(**({"logGroupNamePrefix": prefix} if prefix else {}))["logGroups"]


KINDS: dict[str, Kind] = dict([
    _keep("s3", "AWS::S3::Bucket", lambda c, i: c.head_bucket(Bucket=i) and {"BucketName": i},
          lambda c, i: c.delete_bucket(Bucket=i), lambda c: c.list_buckets()["Buckets"], "Name"),
    _keep("sqs", "AWS::SQS::Queue",
          lambda c, i: {"QueueUrl": i, **c.get_queue_attributes(QueueUrl=i, AttributeNames=["All"])["Attributes"]},
          lambda c, i: c.delete_queue(QueueUrl=i), lambda c: c.list_queues().get("QueueUrls", [])),
    _keep("sns", "AWS::SNS::Topic", lambda c, i: c.get_topic_attributes(TopicArn=i)["Attributes"],
          lambda c, i: c.delete_topic(TopicArn=i), lambda c: c.list_topics()["Topics"], "TopicArn"),
    _keep("dynamodb", "AWS::DynamoDB::Table", lambda c, i: c.describe_table(TableName=i)["Table"],
          lambda c, i: c.delete_table(TableName=i), lambda c: c.list_tables()["TableNames"],
          update={"/DeletionProtectionEnabled": lambda c, i, v: c.update_table(TableName=i, DeletionProtectionEnabled=v)}),
    _keep("lambda", "AWS::Lambda::Function", lambda c, i: c.get_function(FunctionName=i)["Configuration"],
          lambda c, i: c.delete_function(FunctionName=i), _functions, "FunctionName"),
    _keep("lambda", "AWS::Lambda::Version", lambda c, i: c.get_function_configuration(**_version(i)),
          lambda c, i: c.delete_function(**_version(i)), _versions),
    _keep("lambda", "AWS::Lambda::Alias",
          lambda c, i: c.get_alias(FunctionName=_version(i)["FunctionName"], Name=_version(i)["Qualifier"]),
          lambda c, i: c.delete_alias(FunctionName=_version(i)["FunctionName"], Name=_version(i)["Qualifier"]), _aliases),
    _keep("logs", "AWS::Logs::LogGroup", lambda c, i: _first(_groups(c, i), "logGroupName", i),
          lambda c, i: c.delete_log_group(logGroupName=i), _groups, "logGroupName"),
    _keep("iam", "AWS::IAM::Role", lambda c, i: {"RoleName": c.get_role(RoleName=i)["Role"]["RoleName"]},
          lambda c, i: c.delete_role(RoleName=i), lambda c: c.list_roles()["Roles"], "RoleName"),
    _keep("ec2", "AWS::EC2::VPC", lambda c, i: _first(c.describe_vpcs(VpcIds=[i])["Vpcs"], "VpcId", i),
          lambda c, i: c.delete_vpc(VpcId=i), lambda c: c.describe_vpcs()["Vpcs"], "VpcId"),
    _keep("ec2", "AWS::EC2::SecurityGroup",
          lambda c, i: _first(c.describe_security_groups(GroupIds=[i])["SecurityGroups"], "GroupId", i),
          lambda c, i: c.delete_security_group(GroupId=i), lambda c: c.describe_security_groups()["SecurityGroups"], "GroupId"),
    _keep("ec2", "AWS::EC2::SecurityGroupEgress", _egress_rule, _revoke_egress,
          lambda c: [r for r in c.describe_security_group_rules()["SecurityGroupRules"] if r["IsEgress"]], "SecurityGroupRuleId"),
    _keep("ec2", "AWS::EC2::VPCEndpoint", lambda c, i: _first(c.describe_vpc_endpoints()["VpcEndpoints"], "VpcEndpointId", i),
          _delete_endpoint, lambda c: c.describe_vpc_endpoints()["VpcEndpoints"], "VpcEndpointId"),
    _keep("ec2", "AWS::EC2::FlowLog", lambda c, i: _first(c.describe_flow_logs()["FlowLogs"], "FlowLogId", i),
          lambda c, i: c.delete_flow_logs(FlowLogIds=[i]), lambda c: c.describe_flow_logs()["FlowLogs"], "FlowLogId"),
    _keep("kms", "AWS::KMS::Key", lambda c, i: c.describe_key(KeyId=i)["KeyMetadata"],
          lambda c, i: c.schedule_key_deletion(KeyId=i, PendingWindowInDays=30), lambda c: c.list_keys()["Keys"], "KeyId"),
    _keep("secretsmanager", "AWS::SecretsManager::Secret", lambda c, i: {"Id": c.describe_secret(SecretId=i)["ARN"]},
          lambda c, i: c.delete_secret(SecretId=i, ForceDeleteWithoutRecovery=True), lambda c: c.list_secrets()["SecretList"], "ARN"),
    _keep("ssm", "AWS::SSM::Parameter", lambda c, i: {"Name": c.get_parameter(Name=i)["Parameter"]["Name"]},
          lambda c, i: c.delete_parameter(Name=i), lambda c: c.describe_parameters()["Parameters"], "Name"),
    _keep("stepfunctions", "AWS::StepFunctions::StateMachine",
          lambda c, i: {"Arn": c.describe_state_machine(stateMachineArn=i)["stateMachineArn"]},
          lambda c, i: c.delete_state_machine(stateMachineArn=i), lambda c: c.list_state_machines()["stateMachines"],
          "stateMachineArn"),
    _keep("events", "AWS::Events::EventBus", lambda c, i: {"Name": c.describe_event_bus(Name=i)["Name"]},
          lambda c, i: c.delete_event_bus(Name=i), lambda c: c.list_event_buses()["EventBuses"], "Name"),
    _keep("ecr", "AWS::ECR::Repository", lambda c, i: c.describe_repositories(repositoryNames=[i])["repositories"][0],
          lambda c, i: c.delete_repository(repositoryName=i), lambda c: c.describe_repositories()["repositories"],
          "repositoryName"),
    _keep("cloudwatch", "AWS::CloudWatch::Alarm",
          lambda c, i: _first(c.describe_alarms(AlarmNames=[i])["MetricAlarms"], "AlarmName", i),
          lambda c, i: c.delete_alarms(AlarmNames=[i]), lambda c: c.describe_alarms()["MetricAlarms"], "AlarmName"),
    _keep("cloudwatch", "AWS::CloudWatch::CompositeAlarm",
          lambda c, i: _first(c.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"], "AlarmName", i),
          lambda c, i: c.delete_alarms(AlarmNames=[i]),
          lambda c: c.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"], "AlarmName"),
    _keep("apigateway", "AWS::ApiGateway::RestApi", lambda c, i: {"RestApiId": c.get_rest_api(restApiId=i)["id"]},
          lambda c, i: c.delete_rest_api(restApiId=i), lambda c: c.get_rest_apis()["items"], "id"),
    _keep("cloudtrail", "AWS::CloudTrail::Trail", lambda c, i: c.get_trail(Name=i)["Trail"], lambda c, i: c.delete_trail(Name=i),
          lambda c: c.describe_trails()["trailList"], "Name"),
    _keep("elasticache", "AWS::ElastiCache::ReplicationGroup",
          lambda c, i: c.describe_replication_groups(ReplicationGroupId=i)["ReplicationGroups"][0],
          lambda c, i: c.delete_replication_group(ReplicationGroupId=i),
          lambda c: c.describe_replication_groups()["ReplicationGroups"], "ReplicationGroupId"),
    _keep("redshift", "AWS::Redshift::Cluster", lambda c, i: c.describe_clusters(ClusterIdentifier=i)["Clusters"][0],
          lambda c, i: c.delete_cluster(ClusterIdentifier=i, SkipFinalClusterSnapshot=True),
          lambda c: c.describe_clusters()["Clusters"], "ClusterIdentifier"),
    _keep("eks", "AWS::EKS::Cluster", lambda c, i: {"Name": c.describe_cluster(name=i)["cluster"]["name"]},
          lambda c, i: c.delete_cluster(name=i), lambda c: c.list_clusters()["clusters"],
          update={"/DeletionProtection": lambda c, i, v: c.update_cluster_config(name=i, deletionProtection=v)}),
])
