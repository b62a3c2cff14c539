"""One teardown, and what of its time AWS took."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from bed import Bed, seed

FUNCTIONS = ("ebb-planner", "ebb-worker", "ebb-lock-keeper", "ebb-finalizer")
STATE_BUCKET = "cdkd-state-000000000000"
# What the functions run on, not what they delete.
_OWN_SERVICES = ("stepfunctions", "sts")


@dataclass
class Measured:
    """One execution."""

    resources: int
    waves: int
    seconds: float
    aws_seconds: float
    waited_seconds: float

    @property
    def overhead_ms(self) -> float:
        """What is not the AWS calls on the path."""
        return (self.seconds - self.aws_seconds) * 1000


def trace(bed: Bed) -> None:
    """Have the functions tell which invocation each of their calls belongs to."""
    for function in FUNCTIONS:
        bed.client("lambda").update_function_configuration(FunctionName=function, TracingConfig={"Mode": "Active"})


def tear_down(bed: Bed, outputs: dict[str, str], stack: seed.StackBuilder) -> Measured:
    """Tear a stack down, and see that it is gone."""
    before = len(bed.timings())
    request = {"stack": stack.name, "region": stack.region, "confirm": stack.name, "deleteData": True, "removeProtection": True}
    found = bed.wait(bed.start(outputs["TeardownStateMachineArn"], request, stack.name.lower()), 600)
    if found["status"] != "SUCCEEDED" or found["output"]["result"] != "Deleted":
        raise SystemExit(f"{stack.name}: {found['status']} {found.get('error')} {found.get('cause') or found.get('output')}")
    key = f"ebb/runs/cdkd/{stack.name}/{stack.region}/{found['output']['runId']}.json"
    record = json.loads(bed.look("s3").get_object(Bucket=STATE_BUCKET, Key=key)["Body"].read())
    seconds = (found["stopDate"] - found["startDate"]).total_seconds()
    calls = bed.timings()[before:]
    return Measured(len(stack.rows), record["wave"], seconds, on_the_path(calls), waited(calls))


def sorted_out(calls: list[dict[str, Any]]) -> tuple[list[list[dict[str, Any]]], list[tuple[float, float]]]:
    """The steps, each as its calls to what a stack consists of, and from when to when each plan worked: it touches the run's record."""
    invocations: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for call in calls:
        invocations[call["trace"]].append(call)
    steps = [own for all in invocations.values() if (own := [call for call in all if _is_of_the_stack(call)])]
    plans = [(min(call["began"] for call in all), max(call["ended"] for call in all))
             for all in invocations.values() if any("/ebb/runs/" in call["path"] for call in all)]
    return steps, sorted(plans)


def on_the_path(calls: list[dict[str, Any]]) -> float:
    """Seconds of the AWS calls that nothing could have saved: of each wave, which plans part, the step whose calls took longest."""
    steps, plans = sorted_out(calls)
    ends = [ended for _, ended in plans]
    longest: dict[int, float] = defaultdict(float)
    for step in steps:
        wave = bisect_right(ends, min(call["began"] for call in step))
        longest[wave] = max(longest[wave], covered(step))
    return sum(longest.values())


def waited(calls: list[dict[str, Any]]) -> float:
    """Seconds between two plans that no step was in: a look was not due yet."""
    steps, plans = sorted_out(calls)
    begins = sorted(min(call["began"] for call in step) for step in steps)
    pairs = [(ended, began) for (_, ended), (began, _) in zip(plans, plans[1:])]
    return sum(began - ended for ended, began in pairs if bisect_left(begins, ended) == bisect_left(begins, began))


def covered(calls: list[dict[str, Any]]) -> float:
    """Seconds in which at least one of the calls was under way."""
    seconds, until = 0.0, 0.0
    for call in sorted(calls, key=lambda call: call["began"]):
        seconds += max(0.0, call["ended"] - max(call["began"], until))
        until = max(until, call["ended"])
    return seconds


def _is_of_the_stack(call: dict[str, Any]) -> bool:
    in_state = call["service"] == "s3" and call["path"].startswith(f"/{STATE_BUCKET}")
    return not in_state and call["service"] not in _OWN_SERVICES
