"""`Rig`: one bed with the app, the stack to tear down and its neighbour, and the story of the runs over it."""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bed import Bed, seed

from app import REGION, App, until
from stack import chaos_stack, neighbour_stack


@dataclass
class Attempt:
    """One execution of the teardown, with everything of it settled."""

    number: int
    execution: str
    mark: int
    rows_before: set[str]
    rows_after: set[str] | None = None
    survivors: list[str] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    keepers: list[dict[str, Any]] = field(default_factory=list)
    settled_mark: int = 0


@dataclass
class Rig:
    """What a scenario acts on. `dice` is the scenario's own."""

    app: App
    stack: seed.StackBuilder
    neighbour: seed.StackBuilder
    dice: Random
    say: Callable[[str], None]
    neighbours_versions: list[tuple[str, str, bool]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    faults: set[int] = field(default_factory=set)
    kills: int = 0
    stops: int = 0

    @property
    def bed(self) -> Bed:
        return self.app.bed

    def plant(self, rules: list[dict[str, Any]]) -> None:
        """Plant faults and count how often they fire; delays are planted by `Bed.plant` and not counted."""
        self.faults.update(self.bed.plant(*rules))

    def fired(self) -> list[dict[str, Any]]:
        """The faults that met a call."""
        return [fired for fired in self.bed.fired() if fired["id"] in self.faults]

    def met(self) -> int:
        """How many calls the faults met, whether they fired or not: each call counts once, at the first rule that it met."""
        rules = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{self.bed.endpoint}/_bed/fired"))["rules"]
        first: dict[str, int] = {}
        for rule in rules:
            if rule["forever"] and rule["id"] in self.faults:
                first.setdefault(rule["service"], rule["seen"])
        return sum(first.values())

    def start(self) -> Attempt:
        """Start a teardown, as a person would after reading how the last one ended."""
        number, name = len(self.attempts) + 1, self.stack.name
        request = {"stack": name, "region": REGION, "confirm": name}
        before = set((self.app.state(name) or {}).get("resources", {}))
        mark = self.bed.mark()
        attempt = Attempt(number, self.app.start(request, f"{name.lower()}-{number}"), mark, before)
        self.attempts.append(attempt)
        return attempt

    def settle(self, attempt: Attempt, seconds: float) -> Attempt:
        """Wait for the end of an execution and of its keepers, then note what there is."""
        end = time.monotonic() + seconds
        attempt.found = self.bed.wait(attempt.execution, seconds)
        ended = time.monotonic()
        keepers = until(lambda: self._keepers_ended(attempt, ended), max(60, end - ended), every=0.3)
        attempt.keepers = [self.bed.describe(arn) for arn in keepers]
        state = self.app.state(self.stack.name)
        attempt.rows_after = None if state is None else set(state["resources"])
        attempt.survivors = self.stack.survivors()
        attempt.record = self.app.record(self.stack.name, attempt.execution) or {}
        attempt.settled_mark = self.bed.mark()
        found = attempt.found
        end = (found.get("output") or {}).get("result") or found.get("error") or attempt.record.get("ended", {}).get("result")
        cause = found.get("cause")
        said = f": {cause['message']} {cause.get('crash', {}).get('Error', '')}" if isinstance(cause, dict) else ""
        self.say(f"run {attempt.number} {found['status']} {end} in wave {attempt.record.get('wave', '-')}, "
                 f"{len(attempt.survivors)} of {len(self.stack.rows)} resources left{said}")
        return attempt

    def struck(self, attempt: Attempt) -> Counter[str]:
        """How many calls of each function were lost with their process, by the histories of an attempt's executions."""
        drives = self.app.drives(attempt.record["run"]["runId"]) if attempt.record else []
        lost: Counter[str] = Counter()
        for execution in [attempt.execution, *(e["executionArn"] for e in (*drives, *attempt.keepers))]:
            events = {event["id"]: event for event in self.bed.history(execution)}
            for event in events.values():
                if event["type"] == "LambdaFunctionFailed":
                    while event["type"] != "LambdaFunctionScheduled":
                        event = events[event["previousEventId"]]
                    lost[event["lambdaFunctionScheduledEventDetails"]["resource"].rpartition(":")[2]] += 1
        return lost

    @property
    def over(self) -> bool:
        """Whether there is nothing left to start a teardown for."""
        return bool(self.attempts) and self.attempts[-1].rows_after is None

    @property
    def waves(self) -> int:
        return sum(attempt.record.get("wave", 0) for attempt in self.attempts)

    def _keepers_ended(self, attempt: Attempt, since: float) -> list[str] | None:
        """The keepers of an execution once all have ended: its own, and one that the event of a bad end starts moments later."""
        mine = []
        for keeper in self.bed.executions(self.app.outputs["KeeperStateMachineArn"]):
            described = self.bed.describe(keeper["executionArn"])
            if described["input"] == {"execution": attempt.execution}:
                mine.append(described)
        awaited = attempt.found["status"] != "SUCCEEDED" and len(mine) < 2 and time.monotonic() - since < 5
        if awaited or not mine or any(keeper["status"] == "RUNNING" for keeper in mine):
            return None
        return [keeper["executionArn"] for keeper in mine]


@contextmanager
def rig(name: str, dice: Random, wait_scale: float, say: Callable[[str], None]) -> Iterator[Rig]:
    """A bed with everything on it, and down again however the scenario ends."""
    with Bed(wait_scale=wait_scale) as bed:
        app = App.deployed(bed)
        built = Rig(app, chaos_stack(bed, name, dice), neighbour_stack(bed, f"{name}Neighbour"), dice, say)
        built.neighbours_versions = app.versions(f"cdkd/{name}Neighbour/")
        yield built
