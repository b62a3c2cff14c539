"""A teardown that is stopped in the middle, watched until somebody has settled it.

These take minutes of waiting and no work, so the session starts them first, on beds of their own and beside the other tests.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from collections.abc import Callable

from bed import Bed, seed

from app import REGION, App, began, until



@dataclass
class Stopped:
    """What was seen of one stopped run."""

    app: App
    stack: seed.StackBuilder
    execution: str
    stopped_at: float
    closed_at: float = 0
    lock: dict[str, Any] = field(default_factory=dict)
    released_at: float = 0
    deletes: list[dict[str, Any]] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    second: dict[str, Any] = field(default_factory=dict)
    left_in_the_end: list[str] = field(default_factory=list)


def stop_one(app: App, name: str, length: int = 30) -> Stopped:
    """Start a teardown of `length` deletes one after the other, stop it in the middle, and watch until its lock is closed."""
    stack = seed.StackBuilder(app.bed, name)
    seed.queue(stack, "Jobs")
    seed.queue_policy(stack, "JobsPolicy", "Jobs")
    for number in range(length):
        seed.parameter(stack, f"Step{number:03}", needs=[f"Step{number - 1:03}"] if number else [])
    stack.write()
    # Slow enough that a wave is out when the stop comes, and that the drive would go on for long after it.
    app.bed.plant({"service": "ssm", "action": "DeleteParameter", "match": f"/{name}/", "agent": "rust", "forever": True, "delay_ms": 1500})
    request = {"stack": name, "region": REGION, "confirm": name}
    execution = app.start(request, f"stop-{name}")
    until(lambda: len(_deletes(app, name)) >= 3, 120)
    app.bed.stop(execution, "Interrupted", "stopped by hand")
    seen = Stopped(app, stack, execution, time.time())
    seen.lock = until(lambda: (lock := app.lock(name)) and lock["operation"] != "destroy" and lock, 150, every=0.05)
    seen.closed_at = time.time()
    return seen


def settled(seen: Stopped) -> Stopped:
    """Watch until the lock is gone, note what is left, and tear down the rest with a second execution."""
    app, name = seen.app, seen.stack.name
    until(lambda: app.lock(name) is None, 240, every=0.05)
    seen.released_at = time.time()
    seen.deletes = _deletes(app, name)
    seen.record = app.record(name, seen.execution) or {}
    seen.state = app.state(name) or {}
    seen.left = seen.stack.survivors()
    app.bed.lift()
    seen.second = app.run({"stack": name, "region": REGION, "confirm": name}, timeout=300)
    seen.left_in_the_end = seen.stack.survivors()
    return seen


def by_the_rule() -> Stopped:
    """On the strict engine with waits as long as they say: the rule on ABORTED starts the keeper's machine."""
    with Bed() as bed:
        return settled(stop_one(App.deployed(bed), "ByTheRule"))


def by_the_keeper() -> Stopped:
    """The same without the rule: the keeper that the run itself has started finds out at its next renewal."""
    with Bed() as bed:
        app = App.deployed(bed)
        events = bed.client("events")
        for rule in events.list_rules()["Rules"]:
            events.disable_rule(Name=rule["Name"])
        # The emulators do not stop the drive with the teardown: it goes on until the close, and must not be done by then.
        return settled(stop_one(app, "ByTheKeeper", 110))


def on_the_emulators_own_engine() -> Stopped:
    """The rule, delivered and run by the emulator itself."""
    with Bed(strict=False) as bed:
        return stop_one(App.deployed(bed), "OwnEngine")


def beside(work: Callable[[], Stopped]) -> Future[Stopped]:
    """Begin `work` in a thread that does not keep the session from ending."""
    future: Future[Stopped] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name=work.__name__).start()
    return future


def begun_after(seen: Stopped, instant: float) -> list[str]:
    """The deletes of the run that began after `instant`."""
    return [f"{e['action']} {began(e) - seen.closed_at:+.1f} s" for e in seen.deletes if began(e) > instant]


def _deletes(app: App, name: str) -> list[dict[str, Any]]:
    return [e for e in app.bed.journal(agent="rust", action="DeleteParameter") if e["parameters"].get("Name", "").startswith(f"/{name}/")]
