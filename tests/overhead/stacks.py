"""The stacks that are torn down: real resources on the bed, their state in the bucket."""

from __future__ import annotations

from collections.abc import Callable

from bed import Bed, seed

Maker = Callable[[Bed, str], seed.StackBuilder]
VPC_MIX = 77


def vpc_mix(bed: Bed, name: str) -> seed.StackBuilder:
    """A network with all that has to leave it in order, and an application beside it: 77 resources."""
    stack = seed.StackBuilder(bed, name)
    seed.vpc_stack(stack)
    for number in range(4):
        _service(stack, number)
    fill(stack, VPC_MIX)
    stack.write()
    return stack


def independent(bed: Bed, name: str, resources: int) -> seed.StackBuilder:
    """Queues, topics and parameters that need nothing."""
    stack = seed.StackBuilder(bed, name)
    kinds = (seed.queue, seed.topic, seed.parameter)
    for number in range(resources):
        kinds[number % len(kinds)](stack, f"Row{number:03}")
    stack.write()
    return stack


def services(bed: Bed, name: str, resources: int) -> seed.StackBuilder:
    """Ten resources for each service of an application: the larger the stack, the wider, but no deeper."""
    stack = seed.StackBuilder(bed, name)
    for number in range(resources // 10):
        _service(stack, number)
    stack.write()
    return stack


def _service(stack: seed.StackBuilder, number: int) -> None:
    """A function with what it runs on, and a topic that fills its queue."""
    of = f"Service{number:02}"
    seed.role(stack, f"{of}Role")
    seed.policy(stack, f"{of}Policy", f"{of}Role")
    seed.log_group(stack, f"{of}Logs", f"/aws/lambda/{stack.named(of)}")
    seed.function(stack, of, f"{of}Role", needs=[f"{of}Policy", f"{of}Logs"])
    seed.queue(stack, f"{of}Jobs")
    seed.queue_policy(stack, f"{of}JobsPolicy", f"{of}Jobs")
    seed.topic(stack, f"{of}News")
    seed.topic_policy(stack, f"{of}NewsPolicy", f"{of}News")
    seed.subscription(stack, f"{of}NewsToJobs", f"{of}News", f"{of}Jobs")
    seed.alarm(stack, f"{of}Errors", needs=[of])


def fill(stack: seed.StackBuilder, resources: int) -> None:
    """Parameters, up to so many resources."""
    for number in range(resources - len(stack.rows)):
        seed.parameter(stack, f"Setting{number:02}")
    if len(stack.rows) != resources:
        raise ValueError(f"{stack.name} has {len(stack.rows)} resources, not {resources}")
