"""Stacks to tear down: real resources in the bed, and the state cdkd would have written about them.

`StackBuilder` holds one stack. The functions of the other modules make resources and record them in it:

    stack = StackBuilder(bed, "Orders")
    network = vpc_stack(stack)
    bucket(stack, "Uploads", objects=3, auto_delete=True)
    stack.write("cdkd-state-000000000000")
    …
    assert stack.survivors() == []
"""

from .builder import StackBuilder, put_state, state_bucket
from .compute import (
    bus_with_rule, event_source, function, function_url, instance_profile, layer, log_group, managed_policy, permission, policy, role,
    rule, state_machine,
)
from .custom import MODES, custom_resource, handler
from .exists import exists
from .mixed import mixed_stack
from .network import Network, endpoint, flow_log, group_rules, nat, vpc_function, vpc_stack
from .storage import (
    alarm, bucket, bucket_policy, composite_alarm, key, key_alias, parameter, queue, queue_policy, secret, subscription, table, topic,
    topic_policy,
)

__all__ = [
    "alarm", "bucket", "bucket_policy", "bus_with_rule", "composite_alarm", "custom_resource", "endpoint", "event_source",
    "exists", "flow_log", "function", "function_url", "group_rules", "handler", "instance_profile", "key", "key_alias",
    "layer", "log_group", "managed_policy", "mixed_stack", "MODES", "nat", "Network", "parameter", "permission", "policy",
    "put_state", "queue", "queue_policy", "role", "rule", "secret", "StackBuilder", "state_bucket", "state_machine",
    "subscription", "table", "topic", "topic_policy", "vpc_function", "vpc_stack",
]
