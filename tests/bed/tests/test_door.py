"""The front door: what it refuses, what it notes, what fails on purpose."""

from __future__ import annotations

import time
from typing import Any
from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from bed import Bed, seed

pytestmark = pytest.mark.timeout(60)


def refused(call: Callable[..., Any], **parameters: Any) -> str:
    """The error code that `call` answers."""
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    return caught.value.response["Error"]["Code"]


def test_a_network_is_refused_out_of_order(bed: Bed) -> None:
    stack = seed.StackBuilder(bed, "Net")
    net = seed.vpc_stack(stack)
    ec2, id = bed.client("ec2"), stack.physical
    gateway, vpc = id(net.gateway), id(net.vpc)
    assert refused(ec2.delete_vpc, VpcId=vpc) == "DependencyViolation"
    assert refused(ec2.delete_subnet, SubnetId=id(net.public[0])) == "DependencyViolation"  # the NAT gateway
    assert refused(ec2.delete_subnet, SubnetId=id(net.private[1])) == "DependencyViolation"  # the function
    assert refused(ec2.delete_security_group, GroupId=id(net.groups[0])) == "DependencyViolation"
    assert refused(ec2.delete_internet_gateway, InternetGatewayId=gateway) == "DependencyViolation"
    assert refused(ec2.detach_internet_gateway, InternetGatewayId=gateway, VpcId=vpc) == "DependencyViolation"
    assert refused(ec2.delete_route_table, RouteTableId=id(net.public_table)) == "DependencyViolation"
    allocation = stack.rows["VpcNatAddress"]["attributes"]["AllocationId"]
    assert refused(ec2.release_address, AllocationId=allocation) == "InvalidIPAddress.InUse"
    assert stack.survivors() == list(stack.rows)
    ec2.delete_nat_gateway(NatGatewayId=id(net.nat))
    ec2.release_address(AllocationId=allocation)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)


def test_a_protected_instance_is_refused(bed: Bed) -> None:
    ec2 = bed.client("ec2")
    made = ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, DisableApiTermination=True)["Instances"][0]["InstanceId"]
    attribute = {"InstanceId": made, "Attribute": "disableApiTermination"}
    assert ec2.describe_instance_attribute(**attribute)["DisableApiTermination"] == {"Value": True}
    assert refused(ec2.terminate_instances, InstanceIds=[made]) == "OperationNotPermitted"
    ec2.modify_instance_attribute(InstanceId=made, DisableApiTermination={"Value": False})
    assert ec2.describe_instance_attribute(**attribute)["DisableApiTermination"] == {"Value": False}
    ec2.terminate_instances(InstanceIds=[made])


def test_a_protected_log_group_says_so_and_is_refused(bed: Bed) -> None:
    logs = bed.client("logs")
    for name in ("/kept", "/kept/not"):
        logs.create_log_group(logGroupName=name)
    logs.put_log_group_deletion_protection(logGroupIdentifier="/kept", deletionProtectionEnabled=True)
    found = logs.describe_log_groups(logGroupNamePrefix="/kept")["logGroups"]
    assert {g["logGroupName"]: g["deletionProtectionEnabled"] for g in found} == {"/kept": True, "/kept/not": False}
    assert refused(logs.delete_log_group, logGroupName="/kept") == "ValidationException"
    logs.put_log_group_deletion_protection(logGroupIdentifier="/kept", deletionProtectionEnabled=False)
    logs.delete_log_group(logGroupName="/kept")


def test_a_cluster_is_gone_with_the_final_snapshot_that_was_asked_for(bed: Bed) -> None:
    rds = bed.client("rds")
    rds.create_db_cluster(DBClusterIdentifier="orders", Engine="aurora-mysql", DeletionProtection=True, MasterUsername="owner",
                          MasterUserPassword="Not-a-secret-1")
    final = {"DBClusterIdentifier": "orders", "SkipFinalSnapshot": False, "FinalDBSnapshotIdentifier": "orders-final"}
    refused(rds.delete_db_cluster, **final)
    assert rds.describe_db_cluster_snapshots()["DBClusterSnapshots"] == []
    rds.modify_db_cluster(DBClusterIdentifier="orders", DeletionProtection=False, ApplyImmediately=True)
    rds.delete_db_cluster(**final)
    assert [s["DBClusterSnapshotIdentifier"] for s in rds.describe_db_cluster_snapshots()["DBClusterSnapshots"]] == ["orders-final"]
    assert rds.describe_db_clusters()["DBClusters"] == []


def test_services_that_the_emulator_lacks_are_there(bed: Bed) -> None:
    vectors = bed.client("s3vectors")
    vectors.create_vector_bucket(vectorBucketName="words")
    assert bed.look("s3vectors").get_vector_bucket(vectorBucketName="words")
    assert [e["action"] for e in bed.journal(service="s3vectors")] == ["CreateVectorBucket"]
    bed.reset()
    assert vectors.list_vector_buckets()["vectorBuckets"] == []


def test_services_with_other_protocols_are_refused(bed: Bed) -> None:
    stack = seed.StackBuilder(bed, "Other")
    seed.queue(stack, "Jobs")
    seed.bus_with_rule(stack, "Bus", "Jobs")
    seed.alarm(stack, "Errors")
    seed.composite_alarm(stack, "Paging", "Errors")
    seed.role(stack, "Role")
    seed.managed_policy(stack, "Policy", "Role", versions=2)
    seed.bucket(stack, "Full", objects=1)
    seed.table(stack, "Kept", protected=True)
    assert refused(bed.client("events").delete_rule, Name="Other-BusRule", EventBusName="Other-Bus") == "ValidationException"
    assert refused(bed.client("events").delete_event_bus, Name="Other-Bus") == "ValidationException"
    assert refused(bed.client("cloudwatch").delete_alarms, AlarmNames=["Other-Errors"]) == "ValidationError"
    assert refused(bed.client("iam").delete_policy, PolicyArn=stack.physical("Policy")) == "DeleteConflict"
    assert refused(bed.client("iam").delete_role, RoleName="Other-Role") == "DeleteConflict"
    assert refused(bed.client("s3").delete_bucket, Bucket=stack.physical("Full")) == "BucketNotEmpty"
    assert refused(bed.client("dynamodb").delete_table, TableName="Other-Kept") == "ValidationException"


def test_the_journal_notes_what_changes_and_who_asked(bed: Bed) -> None:
    s3 = bed.client("s3")
    s3.create_bucket(Bucket="noted")
    s3.put_object(Bucket="noted", Key="a/b c", Body=b"x")
    s3.list_objects_v2(Bucket="noted")
    s3.copy_object(Bucket="noted", Key="copy", CopySource="noted/a/b c")
    s3.delete_objects(Bucket="noted", Delete={"Objects": [{"Key": "copy"}]})
    refused(s3.delete_bucket, Bucket="noted")
    bed.client("sqs").create_queue(QueueName="noted")
    bed.client("lambda").list_functions()
    refused(bed.client("scheduler").delete_schedule, Name="absent", GroupName="mine")
    entries = [(e["service"], e["action"], e["status"], e["code"]) for e in bed.journal()]
    assert entries == [
        ("s3", "CreateBucket", 200, None),
        ("s3", "PutObject", 200, None),
        ("s3", "CopyObject", 200, None),
        ("s3", "DeleteObjects", 200, None),
        ("s3", "DeleteBucket", 409, "BucketNotEmpty"),
        ("sqs", "CreateQueue", 200, None),
        ("scheduler", "DeleteSchedule", 404, "ResourceNotFoundException"),
    ]
    assert bed.journal(action="PutObject")[0]["parameters"] == {"Bucket": "noted", "Key": "a/b c"}
    assert bed.journal(service="scheduler")[0]["parameters"].items() >= {"groupName": "mine", "Name": "absent"}.items()
    assert {e["agent"] for e in bed.journal()} == {"boto3"}
    assert bed.journal(since=bed.mark()) == []


def test_a_planted_failure_fires_as_often_as_it_should(bed: Bed) -> None:
    ssm = bed.client("ssm")
    ssm.put_parameter(Name="one", Value="1", Type="String")
    [rule] = bed.plant({"service": "ssm", "action": "DeleteParameter", "match": '"one"', "code": "ThrottlingException", "times": 2, "skip": 1})
    assert refused(ssm.delete_parameter, Name="other") == "ParameterNotFound"
    ssm.delete_parameter(Name="one")  # skipped
    for expected in ("ThrottlingException", "ThrottlingException", "ParameterNotFound"):
        assert refused(ssm.delete_parameter, Name="one") == expected
    assert [(f["id"], f["action"]) for f in bed.fired()] == [(rule, "DeleteParameter")] * 2
    assert [e["planted"] for e in bed.journal(action="DeleteParameter")] == [None, None, rule, rule, None]
    with pytest.raises(Exception, match="400"):
        bed.plant({"servcie": "ssm"})


@pytest.mark.parametrize(
    "service, action, call",
    [
        ("ec2", "DeleteVpc", {"VpcId": "vpc-1"}),
        ("iam", "DeleteRole", {"RoleName": "r"}),
        ("s3", "DeleteBucket", {"Bucket": "absent"}),
        ("lambda", "DeleteFunction", {"FunctionName": "f"}),
        ("dynamodb", "DeleteTable", {"TableName": "ttt"}),
        ("cloudwatch", "DeleteAlarms", {"AlarmNames": ["a"]}),
        ("stepfunctions", "StopExecution", {"executionArn": "arn:aws:states:us-east-1:000000000000:execution:a:b"}),
        ("cloudcontrol", "DeleteResource", {"TypeName": "AWS::S3::Bucket", "Identifier": "x"}),
        ("sns", "DeleteTopic", {"TopicArn": "arn:aws:sns:us-east-1:000000000000:t"}),
        ("apigateway", "DeleteRestApi", {"restApiId": "x"}),
        ("apigatewayv2", "DeleteApi", {"ApiId": "x"}),
    ],
)
def test_failures_have_the_wire_format_of_their_protocol(bed: Bed, service: str, action: str, call: dict[str, Any]) -> None:
    bed.plant({"service": service, "action": action, "code": "SlowDown", "message": "a < b & c", "status": 503})
    client = bed.client(service)
    operation = next(name for name, api in client.meta.method_to_api_mapping.items() if api == action)
    with pytest.raises(ClientError) as caught:
        getattr(client, operation)(**call)
    error = caught.value.response
    assert (error["Error"]["Code"], error["Error"]["Message"]) == ("SlowDown", "a < b & c")
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 503


def test_a_lost_answer_has_taken_effect(bed: Bed) -> None:
    s3 = bed.client("s3")
    s3.create_bucket(Bucket="lost")
    bed.plant({"service": "s3", "action": "PutObject", "match": "/lost/key", "after": True, "drop": True})
    with pytest.raises(ConnectionClosedError):
        s3.put_object(Bucket="lost", Key="key", Body=b"x", IfNoneMatch="*")
    assert refused(s3.put_object, Bucket="lost", Key="key", Body=b"x", IfNoneMatch="*") == "PreconditionFailed"
    bed.plant({"service": "s3", "action": "GetObject", "delay_ms": 300})
    began = time.monotonic()
    s3.get_object(Bucket="lost", Key="key")
    assert time.monotonic() - began > 0.3


def test_a_failure_can_be_for_the_functions_only(bed: Bed) -> None:
    bed.plant({"agent": "rust", "code": "Throttling", "forever": True})
    bed.client("s3").create_bucket(Bucket="mine")
    assert bed.fired() == []
    bed.lift()


def test_cloud_control_deletes_the_real_thing(bed: Bed) -> None:
    stack = seed.StackBuilder(bed, "Cc")
    seed.table(stack, "Table")
    seed.bucket(stack, "Full", objects=1)
    cc = bed.client("cloudcontrol")

    def finished(kind: str, ident: str, token: str = "") -> dict[str, Any]:
        extra = {"ClientToken": token} if token else {}
        event = cc.delete_resource(TypeName=kind, Identifier=ident, **extra)["ProgressEvent"]
        assert event["OperationStatus"] == "IN_PROGRESS"
        while event["OperationStatus"] == "IN_PROGRESS":
            time.sleep(0.05)
            event = cc.get_resource_request_status(RequestToken=event["RequestToken"])["ProgressEvent"]
        return event

    name = stack.physical("Table")
    assert cc.get_resource(TypeName="AWS::DynamoDB::Table", Identifier=name)["ResourceDescription"]["Identifier"] == name
    listed = cc.list_resources(TypeName="AWS::DynamoDB::Table")["ResourceDescriptions"]
    assert [r["Identifier"] for r in listed] == [name]
    first = finished("AWS::DynamoDB::Table", name, "token-1")
    assert first["OperationStatus"] == "SUCCESS"
    assert stack.survivors() == ["Full"]
    again = cc.delete_resource(TypeName="AWS::DynamoDB::Table", Identifier=name, ClientToken="token-1")["ProgressEvent"]
    assert (again["RequestToken"], again["OperationStatus"]) == (first["RequestToken"], "SUCCESS")
    assert finished("AWS::DynamoDB::Table", name)["ErrorCode"] == "NotFound"
    assert refused(cc.get_resource, TypeName="AWS::DynamoDB::Table", Identifier=name) == "ResourceNotFoundException"
    assert finished("AWS::S3::Bucket", stack.physical("Full"))["ErrorCode"] == "GeneralServiceException"
    assert refused(cc.delete_resource, TypeName="AWS::None::None", Identifier="x") == "UnsupportedActionException"
    assert len(cc.list_resource_requests()["ResourceRequestStatusSummaries"]) == 3
    assert [e["action"] for e in bed.journal(agent="cloudcontrol")] == ["DeleteTable", "DeleteBucket"]


def test_cloud_control_updates_and_refuses_two_at_once(bed: Bed) -> None:
    stack = seed.StackBuilder(bed, "Cc")
    seed.table(stack, "Kept", protected=True)
    cc, name = bed.client("cloudcontrol"), stack.physical("Kept")
    patch = '[{"op": "add", "path": "/DeletionProtectionEnabled", "value": false}]'
    event = cc.update_resource(TypeName="AWS::DynamoDB::Table", Identifier=name, PatchDocument=patch)["ProgressEvent"]
    assert refused(cc.delete_resource, TypeName="AWS::DynamoDB::Table", Identifier=name) == "ConcurrentOperationException"
    while cc.get_resource_request_status(RequestToken=event["RequestToken"])["ProgressEvent"]["OperationStatus"] != "SUCCESS":
        time.sleep(0.05)
    bed.client("dynamodb").delete_table(TableName=name)
