"""What holds data and what carries it: buckets, tables, queues, topics, secrets, keys and alarms."""

from __future__ import annotations

import json
import uuid
from typing import Any
from collections.abc import Iterable

from .builder import StackBuilder


def bucket(stack: StackBuilder, logical: str, *, objects: int = 0, versioned: bool = False, auto_delete: bool = False,
           **fields: Any) -> str:
    """A bucket with `objects` in it (two versions and a delete marker each when `versioned`). `auto_delete` tags it as CDK does."""
    s3, name = stack.client("s3"), f"{stack.name}-{logical}-{uuid.uuid4().hex[:8]}".lower()
    where = {} if stack.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": stack.region}}
    s3.create_bucket(Bucket=name, **where)
    properties: dict[str, Any] = {"BucketName": name}
    if versioned:
        s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        properties["VersioningConfiguration"] = {"Status": "Enabled"}
    if auto_delete:
        properties["Tags"] = [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}]
        s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": properties["Tags"]})
    for number in range(objects):
        for body in (b"first", b"second")[: 2 if versioned else 1]:
            s3.put_object(Bucket=name, Key=f"folder/object {number}", Body=body)
        if versioned:
            s3.delete_object(Bucket=name, Key=f"folder/object {number}")
    return stack.add(logical, "AWS::S3::Bucket", name, properties, attributes={"Arn": f"arn:aws:s3:::{name}"}, **fields)


def bucket_policy(stack: StackBuilder, logical: str, bucket_logical: str) -> str:
    name, arn = stack.physical(bucket_logical), stack.arn(bucket_logical)
    statement = {"Sid": "Tls", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": f"{arn}/*",
                 "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    document = {"Version": "2012-10-17", "Statement": [{**statement, "Action": "s3:DeleteBucketWebsite"}]}
    stack.client("s3").put_bucket_policy(Bucket=name, Policy=json.dumps(document))
    return stack.add(logical, "AWS::S3::BucketPolicy", name, {"Bucket": name, "PolicyDocument": document}, needs=[bucket_logical])


def table(stack: StackBuilder, logical: str, *, protected: bool = False, **fields: Any) -> str:
    """A table; `protected` turns its deletion protection on."""
    properties: dict[str, Any] = {
        "TableName": stack.named(logical),
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        "DeletionProtectionEnabled": protected,
    }
    arn = stack.client("dynamodb").create_table(**properties)["TableDescription"]["TableArn"]
    return stack.add(logical, "AWS::DynamoDB::Table", stack.named(logical), properties, attributes={"Arn": arn}, **fields)


def queue(stack: StackBuilder, logical: str, needs: Iterable[str] = ()) -> str:
    sqs, name = stack.client("sqs"), stack.named(logical)
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return stack.add(logical, "AWS::SQS::Queue", url, {"QueueName": name}, needs=needs,
                     attributes={"Arn": arn, "QueueName": name, "QueueUrl": url})


def queue_policy(stack: StackBuilder, logical: str, queue_logical: str) -> str:
    url = stack.physical(queue_logical)
    document = _allow("sqs:SendMessage", stack.arn(queue_logical), "events.amazonaws.com")
    stack.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(document)})
    return stack.add(logical, "AWS::SQS::QueuePolicy", url, {"Queues": [url], "PolicyDocument": document}, needs=[queue_logical])


def topic(stack: StackBuilder, logical: str) -> str:
    name = stack.named(logical)
    arn = stack.client("sns").create_topic(Name=name)["TopicArn"]
    return stack.add(logical, "AWS::SNS::Topic", arn, {"TopicName": name}, attributes={"TopicArn": arn, "TopicName": name, "Arn": arn})


def topic_policy(stack: StackBuilder, logical: str, topic_logical: str) -> str:
    arn = stack.physical(topic_logical)
    document = _allow("sns:Publish", arn, "cloudwatch.amazonaws.com")
    stack.client("sns").set_topic_attributes(TopicArn=arn, AttributeName="Policy", AttributeValue=json.dumps(document))
    return stack.add(logical, "AWS::SNS::TopicPolicy", arn, {"Topics": [arn], "PolicyDocument": document}, needs=[topic_logical])


def subscription(stack: StackBuilder, logical: str, topic_logical: str, queue_logical: str) -> str:
    properties = {"TopicArn": stack.physical(topic_logical), "Protocol": "sqs", "Endpoint": stack.arn(queue_logical)}
    arn = stack.client("sns").subscribe(**properties, ReturnSubscriptionArn=True)["SubscriptionArn"]
    return stack.add(logical, "AWS::SNS::Subscription", arn, properties, needs=[topic_logical, queue_logical])


def parameter(stack: StackBuilder, logical: str, needs: Iterable[str] = (), **fields: Any) -> str:
    name = f"/{stack.name}/{logical}"
    stack.client("ssm").put_parameter(Name=name, Type="String", Value="value")
    return stack.add(logical, "AWS::SSM::Parameter", name, {"Name": name, "Type": "String", "Value": "value"}, needs=needs, **fields)


def secret(stack: StackBuilder, logical: str, **fields: Any) -> str:
    name = stack.named(logical)
    arn = stack.client("secretsmanager").create_secret(Name=name, SecretString="hidden")["ARN"]
    return stack.add(logical, "AWS::SecretsManager::Secret", arn, {"Name": name, "GenerateSecretString": {}},
                     attributes={"Id": arn, "Arn": arn}, **fields)


def key(stack: StackBuilder, logical: str, window: int = 7, **fields: Any) -> str:
    made = stack.client("kms").create_key(Description=stack.named(logical))["KeyMetadata"]
    return stack.add(logical, "AWS::KMS::Key", made["KeyId"],
                     {"Description": stack.named(logical), "PendingWindowInDays": window, "EnableKeyRotation": False},
                     attributes={"Arn": made["Arn"], "KeyId": made["KeyId"]}, **fields)


def key_alias(stack: StackBuilder, logical: str, key_logical: str) -> str:
    name = f"alias/{stack.named(logical)}"
    stack.client("kms").create_alias(AliasName=name, TargetKeyId=stack.physical(key_logical))
    return stack.add(logical, "AWS::KMS::Alias", name, {"AliasName": name, "TargetKeyId": stack.physical(key_logical)},
                     needs=[key_logical])


def alarm(stack: StackBuilder, logical: str, needs: Iterable[str] = ()) -> str:
    properties = {"AlarmName": stack.named(logical), "Namespace": "AWS/Lambda", "MetricName": "Errors", "Statistic": "Sum",
                  "Period": 60, "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold"}
    stack.client("cloudwatch").put_metric_alarm(**properties)
    arn = f"arn:aws:cloudwatch:{stack.region}:000000000000:alarm:{stack.named(logical)}"
    return stack.add(logical, "AWS::CloudWatch::Alarm", stack.named(logical), properties, needs=needs, attributes={"Arn": arn})


def composite_alarm(stack: StackBuilder, logical: str, *alarm_logicals: str) -> str:
    """An alarm over others. Its row names no dependencies: only the rule's text says what it needs."""
    said = " OR ".join(f'ALARM("{stack.physical(a)}")' for a in alarm_logicals)
    properties = {"AlarmName": stack.named(logical), "AlarmRule": said}
    stack.client("cloudwatch").put_composite_alarm(**properties)
    return stack.add(logical, "AWS::CloudWatch::CompositeAlarm", stack.named(logical), properties, by="cc-api")


def _allow(action: str, resource: str, service: str) -> dict[str, Any]:
    statement = {"Sid": "Allow", "Effect": "Allow", "Principal": {"Service": service}, "Action": action, "Resource": resource}
    return {"Version": "2012-10-17", "Statement": [statement]}
