"""The template's own schedule starts a teardown. On the emulator schedules start its own engine, so this bed runs that one."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from bed import Bed, seed

from app import ARTIFACTS, ROOT, App, until

pytestmark = pytest.mark.timeout(180)


def test_the_schedule_tears_the_stack_down() -> None:
    request = json.loads((ROOT / "events/scheduled.json").read_text())
    with Bed(strict=False) as bed:
        at = (datetime.now(timezone.utc) + timedelta(seconds=15)).strftime("at(%Y-%m-%dT%H:%M:%S)")
        stack = seed.StackBuilder(bed, request["stack"], request["region"])
        seed.queue(stack, "Jobs")
        seed.parameter(stack, "First")
        seed.state_bucket(bed)
        stack.write()
        app = App(bed, bed.deploy(ROOT / "infra/template.yaml", {"ScheduleExpression": at, "ScheduleInput": json.dumps(request)}, ARTIFACTS))
        found = until(lambda: bed.executions(app.outputs["TeardownStateMachineArn"]), 90)
        assert bed.wait(found[0]["executionArn"])["status"] == "SUCCEEDED"
        assert stack.survivors() == []
