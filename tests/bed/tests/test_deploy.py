"""The app's own template and state machines on the bed, with stand-ins for its functions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from collections.abc import Iterator

import pytest

from bed import Bed

from stand_in import say, write_functions

pytestmark = pytest.mark.timeout(120)

TEMPLATE = Path(__file__).resolve().parents[3] / "infra" / "template.yaml"
RUN = {"runId": "r1", "stack": "Shop", "region": "us-east-1", "account": "000000000000", "dryRun": False}
SCRIPT: dict[str, Any] = {
    "check": {"next": "lock", "run": RUN, "drive": 1, "plan": {"step": 0}},
    "acquire": {"next": "drive"},
    "plan": [
        {"next": "wave", "step": 1, "items": [{"id": "A", "step": 1}, {"id": "B", "step": 1}]},
        {"next": "finish", "step": 2, "error": None, "cause": None},
    ],
    "step": {"outcome": "deleted"},
    "finish": {"next": "succeed", "output": {"result": "Deleted"}},
    "renew": {"next": "over", "run": RUN},
    "close": {"closed": []},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bed, dict[str, str]]]:
    with Bed(wait_scale=0.02) as bed:
        yield bed, bed.deploy(TEMPLATE, {"StateBucket": "state"}, write_functions(tmp_path_factory.mktemp("functions")))


def test_a_teardown_runs_through_the_apps_machines(app: tuple[Bed, dict[str, str]]) -> None:
    bed, outputs = app
    say(bed, SCRIPT)
    execution = bed.start(outputs["TeardownStateMachineArn"], {"stack": "Orders"}, "first")
    found = bed.wait(execution)
    assert (found["status"], found["output"]) == ("SUCCEEDED", {"result": "Deleted"}), found
    [drive] = bed.executions(outputs["DriveStateMachineArn"])
    assert drive["name"] == "r1-1"
    [keeper] = bed.executions(outputs["KeeperStateMachineArn"])
    assert keeper["name"] == "first"
    assert bed.wait(keeper["executionArn"])["status"] == "SUCCEEDED"


def test_a_refusal_is_the_executions_error(app: tuple[Bed, dict[str, str]]) -> None:
    bed, outputs = app
    say(bed, {**SCRIPT, "check": {"next": "refuse", "error": "StackNotFound", "cause": '{"message": "no such stack"}'}})
    found = bed.wait(bed.start(outputs["TeardownStateMachineArn"], {"stack": "Orders"}, "second"))
    assert (found["status"], found["error"], found["cause"]) == ("FAILED", "StackNotFound", {"message": "no such stack"})


def test_a_stopped_teardown_gets_a_keeper_from_the_rule(app: tuple[Bed, dict[str, str]]) -> None:
    bed, outputs = app
    say(bed, {**SCRIPT, "acquire": {"next": "wait", "seconds": 3000}, "renew": {"next": "held"}})
    execution = bed.start(outputs["TeardownStateMachineArn"], {"stack": "Orders"}, "third")
    time.sleep(1)
    before = len(bed.executions(outputs["KeeperStateMachineArn"]))
    bed.stop(execution)
    say(bed, SCRIPT)
    until = time.monotonic() + 10
    while len(found := bed.executions(outputs["KeeperStateMachineArn"])) == before and time.monotonic() < until:
        time.sleep(0.1)
    assert bed.describe(found[0]["executionArn"])["input"] == {"execution": execution}
    assert {bed.wait(e["executionArn"])["status"] for e in found} == {"SUCCEEDED"}
