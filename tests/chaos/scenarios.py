"""The scenarios: each does its worst to a teardown, starts again while something is left, and says what it did."""

from __future__ import annotations

import time
from collections import Counter
from random import Random
from typing import Any
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import weather
from app import until
from checks import Checks, after_run, in_the_end
from kills import Killer
from rig import Attempt, Rig, rig

MOST_RUNS = 14
PATIENCE = 300.0


@dataclass
class Outcome:
    """What the table says of one scenario."""

    scenario: str
    rig: Rig | None = None
    faults: int = 0
    checks: Checks = field(default_factory=Checks)
    seconds: float = 0


def storm(rig: Rig, checks: Checks) -> None:
    """A fifth of all calls of the functions are throttled or fail, from the first to the last."""
    rig.plant(weather.storm(rig.dice, rig.stack.name))
    _until_gone(rig, checks, lambda attempt: None, ends=("Deleted", "Partial", "Error", "LockError"), most=4)
    fired = rig.fired()
    rate = len(fired) / rig.met()
    rig.say(f"{len(fired)} of {rig.met()} calls of the functions failed, {rate:.0%}")
    checks.that("about a fifth of the calls failed", 0.12 < rate < 0.32, f"{rate:.2f}")
    hit = {f["service"] for f in fired}
    for service in set(weather.SERVICES) - {"sts"}:  # without a target role nobody asks STS much
        checks.that(f"{service} failed at least once", service in hit, sorted(hit))
    checks.that("both throttles and failures fired", {f["status"] for f in fired} >= {400, 429, 500, 503}, {f["status"] for f in fired})
    checks.that("only the functions met faults", {f["agent"] for f in fired} == {"rust"}, {f["agent"] for f in fired})


def killed(rig: Rig, checks: Checks) -> None:
    """Processes die in the middle of their work: workers all along, the planner once the first run is well under way, the finalizer
    when one finishes."""
    kills: Counter[str] = Counter()

    def act(attempt: Attempt) -> None:
        def record() -> dict[str, Any]:
            return rig.app.record(rig.stack.name, attempt.execution) or {"wave": 0, "answer": {"next": ""}}

        def killer(function: str, most: int, pause: tuple[float, float], begins: Callable[[], bool]) -> Killer:
            return Killer(rig.bed, Random(rig.dice.random()), function, most, pause, begins)

        rig.bed.plant(*weather.slow(150), *weather.slow_bookkeeping(300))
        killers = [killer("ebb-worker", 5, (0.2, 0.8), lambda: record()["wave"] >= 1)]
        if attempt.number == 1:
            killers.append(killer("ebb-planner", 10, (0.0, 0.3), lambda: record()["wave"] >= 4))
        if attempt.number <= 3:
            killers.append(killer("ebb-finalizer", 4, (0.05, 0.4), lambda: record()["answer"]["next"] == "finish"))
        with ExitStack() as stack:
            for one in killers:
                stack.enter_context(one)
            rig.bed.wait(attempt.execution, PATIENCE)
        # The emulator gives up every process of a function when one of them is gone, so one kill may cost several calls.
        kills.update({one.function: one.killed for one in killers})
        rig.bed.lift()

    _until_gone(rig, checks, act, ends=("Deleted", "Partial", "Error"), most=6)
    rig.kills = kills.total()
    lost = [rig.struck(attempt) for attempt in rig.attempts]
    struck = sum(lost, Counter())
    rig.say(f"killed {dict(kills)}, calls lost with them, run by run, {[dict(one) for one in lost]}")
    for function in ("ebb-worker", "ebb-planner", "ebb-finalizer"):
        checks.that(f"{function} was killed at work", kills[function] and struck[function], (kills, struck))


def stopped(rig: Rig, checks: Checks) -> None:
    """The first run is stopped in its first wave, the second in its second, and so on until one gets to its end first."""

    def act(attempt: Attempt) -> None:
        def there() -> bool:
            record = rig.app.record(rig.stack.name, attempt.execution)
            if rig.bed.describe(attempt.execution)["status"] != "RUNNING":
                return True
            at_work = record and "inFlight" in {row["status"] for row in record["resources"].values()}
            return bool(at_work and record["wave"] >= attempt.number)

        rig.bed.plant(*weather.slow(250))
        until(there, PATIENCE, every=0.02)
        time.sleep(rig.dice.uniform(0, 0.4))
        if rig.bed.describe(attempt.execution)["status"] == "RUNNING":
            rig.bed.stop(attempt.execution, "Interrupted", "stopped by the test")
            rig.stops += 1
        rig.bed.lift()

    _until_gone(rig, checks, act, ends=("Deleted", "Interrupted"), most=MOST_RUNS)
    checks.that("at least three runs were stopped", rig.stops >= 3, rig.stops)
    checks.that("every stop is the end of one run", rig.stops == sum(a.found["status"] == "ABORTED" for a in rig.attempts), rig.stops)


def starved(rig: Rig, checks: Checks) -> None:
    """The keeper's renewals fail past two ticks while the run goes on: the lease outlives it, and the renewals come back."""
    refusals = 4 * 2  # a renewal that fails is tried three times more before the keeper waits for the next tick
    leases: list[int] = []

    def act(attempt: Attempt) -> None:
        rig.plant(weather.starving(refusals))
        rig.bed.plant(*weather.stuck("Setting0"))  # until then the run must not end
        while rig.bed.describe(attempt.execution)["status"] == "RUNNING":
            lock = rig.app.lock(rig.stack.name)
            if lock and len(rig.fired()) < refusals:
                leases[:] = [lock["expiresAt"]]
            elif lock and lock["expiresAt"] > leases[-1]:
                leases.append(lock["expiresAt"])
                rig.bed.lift()
                break
            time.sleep(0.1)

    _until_gone(rig, checks, act, ends=("Deleted",), most=1)
    checks.that("every starved renewal was refused", len(rig.fired()) == refusals, len(rig.fired()))
    checks.that("the lease was renewed after the famine", len(leases) == 2, leases)
    rig.say(f"the lease was renewed {(leases[-1] - leases[0]) / 1000:.0f} s late, after {refusals} refusals")


def unheard(rig: Rig, checks: Checks) -> None:
    """State, lock and run record are written and deleted, and every third answer is lost."""
    rig.plant(weather.lost_replies(rig.dice, rig.stack.name))
    _until_gone(rig, checks, lambda attempt: None, ends=("Deleted", "Error", "LockError"), most=4)
    lost = {(f["action"], kind) for f in rig.fired() for kind in ("state.json", "lock.json", "ebb/runs/") if kind in f["path"]}
    wanted = {(action, kind) for action in ("PutObject", "DeleteObject") for kind in ("state.json", "lock.json")} | {("PutObject", "ebb/runs/")}
    checks.that("a reply to each kind of write was lost", wanted <= lost, wanted - lost)


def _until_gone(rig: Rig, checks: Checks, act: Callable[[Attempt], None], ends: tuple[str, ...], most: int) -> None:
    while not rig.over and len(rig.attempts) < most:
        attempt = rig.start()
        act(attempt)
        after_run(checks, rig, rig.settle(attempt, PATIENCE), ends)


# Waits are cut as far as the scenario bears: a drain has to outlast the steps that are under way when it begins.
SCENARIOS: dict[str, tuple[float, Callable[[Rig, Checks], None]]] = {
    "storm": (0.05, storm), "killed": (0.05, killed), "stopped": (0.06, stopped), "starved": (0.05, starved), "unheard": (0.05, unheard),
}


def play(name: str, number: int, seed: int, say: Callable[[str], None]) -> Outcome:
    """One scenario on a bed of its own. What goes wrong in it is a violation, not the end of the others."""
    outcome, began = Outcome(name), time.monotonic()
    wait_scale, act = SCENARIOS[name]
    try:
        with rig(f"{name.capitalize()}{number}", Random(f"{seed}/{name}/{number}"), wait_scale, say) as outcome.rig:
            act(outcome.rig, outcome.checks)
            in_the_end(outcome.checks, outcome.rig)
            outcome.faults = len(outcome.rig.fired())
    except Exception as error:
        outcome.checks.that("the scenario can be played to its end", False, f"{type(error).__name__}: {error}")
    outcome.seconds = time.monotonic() - began
    return outcome
