"""The functions are replaced in the middle of a run: containers end, records are read by what comes after, the run goes on."""

from __future__ import annotations

import pytest

from bed import Bed, seed

from app import ARTIFACTS, App, outcome, until
from bed.deploy import FUNCTIONS, zipped

pytestmark = pytest.mark.timeout(180)


def test_a_run_outlives_an_update_of_its_functions() -> None:
    with Bed() as bed:
        app = App.deployed(bed)
        stack = seed.StackBuilder(bed, "Upgraded")
        for number in range(10):
            seed.parameter(stack, f"P{number}", needs=[f"P{number - 1}"] if number else [])
        stack.write()
        # Another file beside the executable, so that the code is not the same.
        code = {name: zipped({"bootstrap": (ARTIFACTS / name).read_bytes(), "RELEASE": b"next"}) for name in FUNCTIONS}
        bed.plant({"service": "ssm", "action": "DeleteParameter", "match": "/Upgraded/", "forever": True, "delay_ms": 5000, "agent": "rust"})
        execution = app.start({"stack": "Upgraded", "region": "us-east-1", "confirm": "Upgraded"})
        until(lambda: len(bed.journal(action="DeleteParameter", agent="rust")) >= 1, 60)
        before = {name: bed.client("lambda").get_function(FunctionName=f"ebb-{name}")["Configuration"]["CodeSha256"] for name in code}
        for name, body in code.items():
            answer = bed.client("lambda").update_function_code(FunctionName=f"ebb-{name}", ZipFile=body)
            assert answer["CodeSha256"] != before[name]
        bed.client("lambda").update_function_configuration(FunctionName="ebb-planner", Description="the next release")
        assert bed.describe(execution)["status"] == "RUNNING", "the update came in the middle"
        assert outcome(bed.wait(execution)) == ("SUCCEEDED", "Deleted")
        assert stack.survivors() == [] and app.lock("Upgraded") is None
