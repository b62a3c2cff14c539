"""One stack with a bit of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .builder import StackBuilder
from .compute import (
    bus_with_rule, event_source, function, function_url, instance_profile, layer, log_group, managed_policy, permission, policy, role,
    rule, state_machine,
)
from .custom import custom_resource, handler
from .network import vpc_stack
from .storage import (
    alarm, bucket, bucket_policy, composite_alarm, key, key_alias, parameter, queue, queue_policy, secret, subscription, table, topic,
    topic_policy,
)

if TYPE_CHECKING:
    from ..bed import Bed


def mixed_stack(bed: Bed, n: int = 80, name: str = "Shop", region: str = "us-east-1") -> StackBuilder:
    """A stack of at least `n` resources (never under 60) with every kind of edge between them; not yet written."""
    stack = StackBuilder(bed, name, region)
    vpc_stack(stack)
    _application(stack)
    _data(stack)
    _custom_resources(stack)
    for number in range(max(0, n - len(stack.rows))):
        parameter(stack, f"Setting{number:03}", needs=[f"Setting{number - 1:03}"] if number % 5 else [])
    return stack


def _application(stack: StackBuilder) -> None:
    layer(stack, "SharedLayer")
    role(stack, "ApiRole", inline={"Read": {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": "*"}]}})
    policy(stack, "ApiPolicy", "ApiRole")
    managed_policy(stack, "Boundary", "ApiRole", versions=2)
    instance_profile(stack, "ApiProfile", "ApiRole")
    log_group(stack, "ApiLogs", f"/aws/lambda/{stack.named('Api')}")
    function(stack, "Api", "ApiRole", layers=["SharedLayer"], needs=["ApiPolicy"])
    function_url(stack, "ApiUrl", "Api")
    queue(stack, "Jobs")
    queue_policy(stack, "JobsPolicy", "Jobs")
    event_source(stack, "JobsToApi", "Api", "Jobs")
    rule(stack, "Nightly", "Api")
    permission(stack, "NightlyPermission", "Api", "events.amazonaws.com", stack.arn("Nightly"), needs=["Nightly"])
    bus_with_rule(stack, "Orders", "Jobs")
    role(stack, "FlowRole", service="states.amazonaws.com")
    state_machine(stack, "Flow", "FlowRole")
    alarm(stack, "ApiErrors", needs=["Api"])
    alarm(stack, "JobsAge", needs=["Jobs"])
    composite_alarm(stack, "Paging", "ApiErrors", "JobsAge")


def _data(stack: StackBuilder) -> None:
    topic(stack, "News")
    topic_policy(stack, "NewsPolicy", "News")
    subscription(stack, "NewsToJobs", "News", "Jobs")
    table(stack, "Carts")
    table(stack, "Sessions")
    key(stack, "DataKey")
    key_alias(stack, "DataKeyAlias", "DataKey")
    secret(stack, "DbPassword")
    parameter(stack, "Config")
    bucket(stack, "Uploads", objects=3, versioned=True, auto_delete=True)
    bucket_policy(stack, "UploadsPolicy", "Uploads")
    bucket(stack, "Empty")


def _custom_resources(stack: StackBuilder) -> None:
    handler(stack, "Handler")
    custom_resource(stack, "SeedData", "Handler", needs=["Carts"])
    custom_resource(stack, "SlowThing", "Handler", mode="later", Seconds=2)
    bucket(stack, "Assets", objects=2, auto_delete=True)  # CDK tags what its cleaner empties
    custom_resource(stack, "AssetsCleaner", "Handler", kind="Custom::S3AutoDeleteObjects", needs=["Assets"],
                    BucketName=stack.physical("Assets"))
