"""Every type that an emulator can hold: made through its service, recorded as cdkd records it, taken away by the worker alone with no
rights but its role's, proved gone by its service, and taken away once more."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from bed import Bed, seed

from app import ACCOUNT, REGION, ROOT, STATE_BUCKET, App
from type_cases import CASES, ELSEWHERE, REPLAYED, Case

pytestmark = pytest.mark.timeout(120)
STEPS = 30  # no type needs as many when nothing takes time


@dataclass
class Worker:
    """The worker on one stack: sends it items as the state machine does, and tells the next what the last one asked to be told."""

    app: App
    stack: seed.StackBuilder
    options: dict[str, bool] = field(default_factory=dict)
    minutes: int = 0

    def __post_init__(self) -> None:
        """Write the state, and the lock that the worker's fence looks for."""
        self.started = int((time.time() - 60 * self.minutes) * 1000)
        execution = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:ebb-teardown:{self.stack.name}"
        self.run = {
            "runId": "20261130T154512123Z-1a2b3c4d", "execution": execution, "owner": f"ebb@{ACCOUNT}:{REGION}/ebb-teardown/{self.stack.name}",
            "timestamp": self.started, "account": ACCOUNT, "bucket": STATE_BUCKET, "bucketRegion": REGION, "prefix": "cdkd",
            "stack": self.stack.name, "region": REGION, "dryRun": False, "options": self.options,
        }
        self.stack.write()
        lock = {"owner": self.run["owner"], "timestamp": self.started, "expiresAt": int(time.time() * 1000) + 1_800_000, "operation": "destroy"}
        self.app.put(f"cdkd/{self.stack.name}/{REGION}/lock.json", lock)

    def step(self, logical: str, memo: Any = None, attempt: int = 1, look: bool = False) -> dict[str, Any]:
        """The result of one step of one resource."""
        item = {"id": f"{self.stack.name}/{logical}", "type": self.stack.rows[logical]["resourceType"], "step": 1, "attempt": attempt,
                "startedAt": self.started, "look": look, "memo": memo}
        return self.app.bed.invoke("ebb-worker", {"action": "step", "run": self.run, "item": item, "retry": 0})

    def settle(self, logical: str, attempt: int) -> dict[str, Any]:
        """Step by step until there is an outcome, without the waits in between: nothing takes time here but Cloud Control."""
        memo: Any = None
        for _ in range(STEPS):
            result = self.step(logical, memo, attempt)
            if result["outcome"] != "pending":
                return result
            memo = result.get("memo") or memo
        return result


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    """The app on a bed of its own that evaluates policies, and where Cloud Control answers at once."""
    with Bed(iam=True) as bed:
        bed.cloudcontrol_seconds(0)
        yield App.with_its_own_rights(bed)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.type)
def test_it_goes(app: App, name: Callable[[str], str], case: Case) -> None:
    stack = seed.StackBuilder(app.bed, name("Type"))
    logical = case.make(stack)
    row = stack.rows[logical]
    assert seed.exists(app.bed, row), "or its absence would prove nothing"
    worker = Worker(app, stack, case.options, case.minutes)
    mark = app.bed.mark()

    looked = worker.step(logical, look=True)
    assert (looked["outcome"], looked.get("code")) == ("pending", None), looked
    assert app.changes(mark) == [], "a look changes nothing"

    result = worker.settle(logical, attempt=1)
    assert result["outcome"] == "deleted" and not result.get("already"), result
    assert bool(app.changes(mark)) == case.calls
    denied = [(e["service"], e["action"]) for e in app.bed.journal(agent="rust", since=mark) if e["status"] == 403]
    assert denied == [], "each is a grant that a policy lacks"
    if case.calls:
        assert not seed.exists(app.bed, row), "its service still has it"

    again = worker.settle(logical, attempt=2)
    assert again["outcome"] == case.again, again


def test_every_type_of_the_catalogue_has_a_case_or_a_reason_for_none() -> None:
    rows = json.loads((ROOT / "functions/providers/catalogue_rows.json").read_text())
    assert sorted([*CASES, *ELSEWHERE, *REPLAYED]) == [row["type"] for row in rows]
    assert all(kind in (ROOT / "tests/e2e" / file).read_text() for kind, file in ELSEWHERE.items())
