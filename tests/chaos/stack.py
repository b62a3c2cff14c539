"""The stack that is torn down: some of everything, small enough for several teardowns in a row."""

from __future__ import annotations

from random import Random

from bed import Bed, seed


def chaos_stack(bed: Bed, name: str, dice: Random) -> seed.StackBuilder:
    """A network with a NAT gateway and a function inside, a bucket with objects, custom resources, roles, and what talks to them.
    The dice decide how many parameters hang on one another. Written."""
    stack = seed.StackBuilder(bed, name)
    network = seed.vpc_stack(stack, cidr="10.40", full=False)
    seed.vpc_function(stack, network)
    seed.handler(stack, "Handler")
    seed.custom_resource(stack, "Seeded", "Handler")
    seed.custom_resource(stack, "Slow", "Handler", mode="later", Seconds=1)
    seed.bucket(stack, "Uploads", objects=3, versioned=True, auto_delete=True)
    seed.bucket_policy(stack, "UploadsPolicy", "Uploads")
    seed.queue(stack, "Jobs")
    seed.queue_policy(stack, "JobsPolicy", "Jobs")
    seed.topic(stack, "News")
    seed.subscription(stack, "NewsToJobs", "News", "Jobs")
    seed.rule(stack, "Nightly", "Jobs")
    seed.alarm(stack, "JobsAge", needs=["Jobs"])
    seed.table(stack, "Carts")
    seed.key(stack, "DataKey")
    seed.key_alias(stack, "DataKeyAlias", "DataKey")
    seed.secret(stack, "Password")
    seed.role(stack, "FlowRole", service="states.amazonaws.com")
    seed.managed_policy(stack, "Boundary", "FlowRole", versions=2)
    seed.state_machine(stack, "Flow", "FlowRole")
    for number in range(dice.randint(2, 5)):
        seed.parameter(stack, f"Setting{number}", needs=[f"Setting{number - 1}"] if number and dice.random() < 0.6 else [])
    stack.write()
    return stack


def neighbour_stack(bed: Bed, name: str) -> seed.StackBuilder:
    """Another stack beside it, of the same types, which nobody asked to tear down. Written."""
    stack = seed.StackBuilder(bed, name)
    seed.vpc_stack(stack, cidr="10.60", full=False)
    seed.table(stack, "Accounts")
    seed.role(stack, "Role")
    seed.policy(stack, "Policy", "Role")
    seed.queue(stack, "Letters")
    seed.bucket(stack, "Archive", objects=2)
    stack.write()
    return stack
