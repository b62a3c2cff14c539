"""Follows a teardown while it runs: its waves, each resource from pending to gone, its lock."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any

from progress import SETTLED, Place, standing, took
from screen import Screen
from stage import Stage

COUNTED = ("deleted", "retained", "skipped", "failed", "blocked")
_EVERY = 0.5
_SHOWN = 6
_WORDS = {"deleted": "gone", "retained": "kept", "skipped": "skipped", "failed": "failed", "blocked": "blocked"}
_STYLES = {"deleted": "green", "retained": "cyan", "skipped": "yellow", "failed": "red", "blocked": "yellow"}
_OVER = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


class Follower:
    """Prints what changes between two looks at the run record."""

    def __init__(self, screen: Screen, place: Place, execution: str) -> None:
        self.screen, self.place, self.execution = screen, place, execution
        self.record: dict[str, Any] | None = None
        self._said: dict[str, str] = {}
        self._lock: tuple[Any, ...] | None = None
        self._wave = 0

    def look(self) -> None:
        """Look once and print what is new."""
        self._look_at_lock()
        record = self.place.record(self.execution)
        if record is None:
            return
        self.record = record
        resources = record["resources"]
        if record["wave"] > self._wave:
            self._wave = record["wave"]
            items = sorted(id.partition("/")[2] for id, r in resources.items() if r["status"] == "inFlight")
            looking = any(r.get("look") for r in resources.values())
            shown = ", ".join(items[:_SHOWN]) + (f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else "")
            what = "looks first, for what would refuse a delete" if looking else "at work on"
            if items:
                self.screen.line(self.screen.paint(f"  wave {self._wave:<3} {len(items):3} at once, {what}: {shown}", "dim"))
        for id, resource in sorted(resources.items(), key=lambda pair: pair[1].get("endedAt", 0)):
            self._resource(id.partition("/")[2], resource)
        self._footer(record)

    def _resource(self, name: str, resource: dict[str, Any]) -> None:
        status = resource["status"]
        if self._said.get(name) == status or status not in (*SETTLED, "pending"):
            return
        self._said[name] = status
        kind = resource["type"].removeprefix("AWS::")
        why = resource.get("reason") or ""
        if status == "pending":
            line = f"  {'pending':8} {'':>7}  {kind:34} {name:28} {why}"
        else:
            seconds = f"{took(resource):5.1f} s" if status == "deleted" else ""
            word = self.screen.paint(f"{_WORDS[status]:8}", _STYLES[status])
            because = f"{resource.get('code') or ''} {why}".strip() if status != "deleted" else ("was gone already" if resource.get("already") else "")
            line = f"  {word} {seconds:>7}  {kind:34} {name:28} {because}"
        self.screen.line(line.rstrip())

    def _look_at_lock(self) -> None:
        lock = self.place.lock()
        seen = (lock.get("owner"), lock.get("operation"), lock.get("expiresAt")) if lock else None
        if seen == self._lock or (seen and self._lock and seen[:2] == self._lock[:2] and abs(seen[2] - self._lock[2]) < 10_000):
            return
        if seen is None:
            self.screen.line("  lock     released")
        else:
            until = datetime.fromtimestamp(seen[2] / 1000, timezone.utc)
            self.screen.line(f"  lock     {seen[0]}, operation {seen[1]}, until {until:%H:%M:%S} UTC")
        self._lock = seen

    def _footer(self, record: dict[str, Any]) -> None:
        counts = standing(record)
        going = [id.partition("/")[2] for id, r in record["resources"].items() if r["status"] in ("inFlight", "pending")]
        seconds = (time.time() * 1000 - record["startedAt"]) / 1000
        self.screen.live([
            "",
            f"  {counts.get('deleted', 0)} of {len(record['resources'])} gone, {len(going)} on their way, "
            f"{counts.get('waiting', 0)} waiting for others   wave {record['wave']}   {seconds:.0f} s",
            f"  on their way: {', '.join(going[:8])}" if going else "",
        ])


def follow(stage: Stage, execution: str, timeout: float = 600) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Follow an execution to its end; answers its description and the last run record."""
    stage.screen.headline("Following the run record and the lock in the state bucket")
    follower = Follower(stage.screen, stage.place, execution)
    until = time.monotonic() + timeout
    while (found := stage.bed.describe(execution))["status"] not in _OVER:
        if time.monotonic() > until:
            raise TimeoutError(f"{execution} still runs after {timeout:.0f} s")
        follower.look()
        time.sleep(_EVERY)
    follower.look()
    return found, follower.record


def ending(stage: Stage, found: dict[str, Any], record: dict[str, Any] | None) -> dict[str, Any]:
    """Print how a run ended; answers its output, which is the Cause when it failed."""
    output = found.get("output") or found.get("cause") or {}
    if not isinstance(output, dict):
        output = {"result": found.get("error"), "message": str(output)}
    stage.screen.headline(f"The execution {found['status'].lower()}: {output.get('result')}")
    if output.get("message"):
        stage.screen.line(f"  {output['message']}")
    if output.get("todo"):
        stage.screen.line(f"  what to do: {output['todo']}")
    counts = output.get("counts") or {}
    seconds = (found["stopDate"] - found["startDate"]).total_seconds()
    stage.runs.append((found["name"], str(output.get("result")), *(str(counts.get(name, 0)) for name in COUNTED),
                       f"{seconds:.1f}", str(record["wave"] if record else 0)))
    return output


def interrupted_row(name: str, record: dict[str, Any]) -> tuple[str, ...]:
    """The row of a stopped run, which has no output of its own: what its record says, from its start to its settling."""
    counts = standing(record)
    worked = (record.get("ended", {}).get("at", 0) - record.get("startedAt", 0)) / 1000
    # As the report counts them: what was not settled is blocked.
    settled = [counts.get(status, 0) for status in COUNTED[:-1]]
    left = len(record.get("resources", {})) - sum(settled)
    return (name, record.get("ended", {}).get("result", "?"), *map(str, settled), str(left), f"{worked:.1f}", str(record.get("wave", 0)))
