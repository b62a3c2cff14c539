"""SQS, SNS, EventBridge, Kinesis, Firehose, Scheduler, Pipes and Step Functions."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, made, read


def _queue_policy(stack: StackBuilder) -> str:
    seed.queue(stack, "Jobs")
    return seed.queue_policy(stack, "Policy", "Jobs")


def _topic_policy(stack: StackBuilder) -> str:
    seed.topic(stack, "News")
    return seed.topic_policy(stack, "Policy", "News")


def _subscription(stack: StackBuilder) -> str:
    seed.topic(stack, "News")
    seed.queue(stack, "Jobs")
    return seed.subscription(stack, "NewsToJobs", "News", "Jobs")


def _rule(stack: StackBuilder) -> str:
    seed.queue(stack, "Jobs")
    return seed.rule(stack, "Nightly", "Jobs")


def _bus(stack: StackBuilder) -> str:
    """A bus with a rule on it."""
    seed.queue(stack, "Jobs")
    return seed.bus_with_rule(stack, "Orders", "Jobs")


def _stream(stack: StackBuilder) -> str:
    """A stream with a consumer."""
    _consumer(stack)
    return made(stack, "AWS::Kinesis::Stream", stack.named("Stream"), {"Name": stack.named("Stream"), "ShardCount": 1})


def _consumer(stack: StackBuilder) -> str:
    kinesis, name = stack.client("kinesis"), stack.named("Stream")
    kinesis.create_stream(StreamName=name, ShardCount=1)
    arn = kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamARN"]
    consumer = kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="reader")["Consumer"]["ConsumerARN"]
    return made(stack, "AWS::Kinesis::StreamConsumer", consumer, {"StreamARN": arn, "ConsumerName": "reader"})


def _delivery(stack: StackBuilder) -> str:
    seed.role(stack, "Role", service="firehose.amazonaws.com")
    name, bucket = stack.named("Delivery"), seed.bucket(stack, "Lake")
    stack.client("firehose").create_delivery_stream(
        DeliveryStreamName=name, S3DestinationConfiguration={"RoleARN": stack.arn("Role"), "BucketARN": stack.arn(bucket)}
    )
    return made(stack, "AWS::KinesisFirehose::DeliveryStream", name, {"DeliveryStreamName": name})


def _schedule(stack: StackBuilder) -> str:
    """A schedule in a group of its own, beside one of the same name in the default group."""
    scheduler, name, group = stack.client("scheduler"), stack.named("Nightly"), stack.named("Group")
    seed.role(stack, "Role", service="scheduler.amazonaws.com")
    seed.queue(stack, "Jobs")
    scheduler.create_schedule_group(Name=group)
    what = {"Name": name, "ScheduleExpression": "rate(1 day)", "State": "DISABLED", "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": stack.arn("Jobs"), "RoleArn": stack.arn("Role")}}
    scheduler.create_schedule(**what)
    scheduler.create_schedule(**what, GroupName=group)
    return made(stack, "AWS::Scheduler::Schedule", name, {"Name": name, "GroupName": group})


def _schedule_exists(scheduler: Any, ident: str, properties: dict[str, Any]) -> Any:
    assert scheduler.get_schedule(Name=ident), "the one of the same name in the default group stays"
    return scheduler.get_schedule(Name=ident, GroupName=properties["GroupName"])


def _pipe(stack: StackBuilder) -> str:
    seed.role(stack, "Role", service="pipes.amazonaws.com")
    seed.queue(stack, "From")
    seed.queue(stack, "To")
    name = stack.named("Pipe")
    properties = {"Name": name, "RoleArn": stack.arn("Role"), "Source": stack.arn("From"), "Target": stack.arn("To")}
    stack.client("pipes").create_pipe(**properties, DesiredState="STOPPED")
    return made(stack, "AWS::Pipes::Pipe", name, properties)


def _state_machine(stack: StackBuilder) -> str:
    seed.role(stack, "Role", service="states.amazonaws.com")
    return seed.state_machine(stack, "Flow", "Role")


CASES = [
    Case("AWS::Events::EventBus", _bus),
    Case("AWS::Events::Rule", _rule),
    Case("AWS::Kinesis::Stream", _stream, "kinesis", read("describe_stream_summary", "StreamName")),
    Case("AWS::Kinesis::StreamConsumer", _consumer, "kinesis", read("describe_stream_consumer", "ConsumerARN")),
    Case("AWS::KinesisFirehose::DeliveryStream", _delivery, "firehose", read("describe_delivery_stream", "DeliveryStreamName")),
    Case("AWS::Pipes::Pipe", _pipe, "pipes", read("describe_pipe", "Name")),
    Case("AWS::SNS::Subscription", _subscription),
    Case("AWS::SNS::Topic", lambda stack: seed.topic(stack, "News")),
    Case("AWS::SNS::TopicPolicy", _topic_policy),
    Case("AWS::SQS::Queue", lambda stack: seed.queue(stack, "Jobs")),
    Case("AWS::SQS::QueuePolicy", _queue_policy),
    Case("AWS::Scheduler::Schedule", _schedule, "scheduler", _schedule_exists),
    Case("AWS::StepFunctions::StateMachine", _state_machine),
]
