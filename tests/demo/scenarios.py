"""The demo's scenarios: each acts, shows what happens and says what has to hold."""

from __future__ import annotations

import json
import time
from typing import Any
from collections.abc import Callable

from follow import Follower, ending, follow, interrupted_row
from progress import STATE_BUCKET
from proof import Proof
from stage import Stage

MINUTE = 60_000


def teardown(stage: Stage) -> Proof:
    """A stack of 84 resources goes, in the right order, and nothing else."""
    before = stage.bed.mark()
    planned = stage.plan("demo-plan")
    looked = [e for e in stage.bed.journal(agent="rust", since=before) if "/runs/" not in str(e["parameters"].get("Key"))]
    execution = stage.start("demo-1")
    found, record = follow(stage, execution)
    output = ending(stage, found, record)
    proof = Proof(stage)
    proof.that("the dry run changed nothing", planned.get("result") == "DryRun" and not looked, [e["action"] for e in looked])
    proof.that("the execution succeeded with result Deleted", (found["status"], output.get("result")) == ("SUCCEEDED", "Deleted"), output)
    proof.everything_is_gone()
    proof.neighbour_is_untouched()
    proof.no_delete_was_refused()
    proof.report(output, "teardown")
    return proof


def stuck(stage: Stage) -> Proof:
    """One resource cannot be deleted: what it needs stays, everything else goes."""
    stage.screen.headline("Making one resource undeletable: EventBridge says that the rule Nightly is managed by a service")
    rule = stage.stack.physical("Nightly").rpartition("/")[2]
    stage.bed.plant({"service": "events", "action": "RemoveTargets", "match": rule, "agent": "rust", "forever": True,
                     "code": "ManagedRuleException", "message": "This rule is managed by an AWS service."})
    found, record = follow(stage, stage.start("demo-stuck"))
    output = ending(stage, found, record)
    rows = (record or {}).get("resources", {})
    name = stage.stack.name
    failed = [id for id, r in rows.items() if r["status"] == "failed"]
    blocked = [id for id, r in rows.items() if r["status"] == "blocked"]
    proof = Proof(stage)
    proof.that("the execution failed with the error Partial", (found["status"], found.get("error")) == ("FAILED", "Partial"), found.get("error"))
    proof.that("only Nightly failed", failed == [f"{name}/Nightly"], failed)
    # Its function, what that needs, its log group, and the policies of its role.
    needed = {"Api", "ApiLogs", "ApiPolicy", "ApiRole", "Boundary", "SharedLayer"}
    proof.that(f"blocked is exactly what Nightly still needs: {', '.join(sorted(needed))}",
               {id.partition("/")[2] for id in blocked} == needed, blocked)
    unnamed = [id for id in blocked if not rows[id].get("reason")]
    proof.that("each blocked resource names what blocks it", not unnamed, unnamed)
    survivors = set(stage.stack.survivors())
    proof.that("everything else is gone", survivors == needed | {"Nightly"}, sorted(survivors ^ (needed | {"Nightly"})))
    kept = set((stage.place.state() or {}).get("resources", {}))
    proof.that("state.json keeps the rows of what is left, and no others", kept == needed | {"Nightly"}, sorted(kept))
    proof.lock_is_released()
    proof.report(output, "stuck")
    return proof


def held(stage: Stage) -> Proof:
    """Somebody else holds the stack's lock: nothing happens."""
    body = _foreign_lock(stage, 17 * MINUTE)
    before = stage.bed.mark()
    found, record = follow(stage, stage.start("demo-held"))
    output = ending(stage, found, record)
    said = output.get("message", "")
    proof = Proof(stage)
    proof.that("the execution failed with the error LockHeld", (found["status"], found.get("error")) == ("FAILED", "LockHeld"), found.get("error"))
    for what, text in (("owner", "maria@build-7:4242"), ("operation", "deploy"), ("remaining time", "17 min left")):
        proof.that(f"its Cause names the {what}: {text}", text in said, said)
    proof.that("the lock is what it was, byte for byte", stage.place.read(stage.place.key("lock.json")) == body)
    proof.nothing_was_changed(before)
    alive = stage.stack.survivors()
    proof.that(f"all {len(alive)} resources are there", len(alive) == len(stage.stack.rows))
    return proof


def expired(stage: Stage) -> Proof:
    """A lock that somebody left behind has expired: it is taken over."""
    _foreign_lock(stage, -5 * MINUTE)
    found, record = follow(stage, stage.start("demo-expired"))
    output = ending(stage, found, record)
    proof = Proof(stage)
    proof.that("the execution succeeded with result Deleted", (found["status"], output.get("result")) == ("SUCCEEDED", "Deleted"), output)
    proof.everything_is_gone()
    proof.report(output, "expired")
    return proof


def stop(stage: Stage) -> Proof:
    """Somebody stops the execution in the middle of a wave; a second one finishes the job."""
    screen, place = stage.screen, stage.place
    execution = stage.start("demo-stop")
    screen.headline("Following it into its third wave")
    follower = Follower(screen, place, execution)
    while not (follower.record and follower.record["wave"] >= 3 and "inFlight" in {r["status"] for r in follower.record["resources"].values()}):
        follower.look()
        time.sleep(0.1)
    screen.headline("Stopping the execution, as a person does it in the console")
    stage.bed.stop(execution, "Interrupted", "stopped by hand")
    stopped = time.time()
    closed = _await(lambda: (place.lock() or {}).get("operation") != "destroy", 200)
    closed_at = time.time()
    screen.line(f"  the lock was closed {closed_at - stopped:.1f} s later: {json.dumps(place.lock())}")
    screen.line("  from now on no step begins anything; the keeper waits 75 s for those under way, then settles the run")
    released = _await(lambda: place.lock() is None, 240)
    released_at = time.time()
    screen.line(f"  the lock was released {released_at - stopped:.1f} s after the stop")
    interrupted = place.record(execution) or {}
    left = set((place.state() or {}).get("resources", {}))
    stage.runs.append(interrupted_row("demo-stop", interrupted))

    screen.headline("Starting again")
    found, record = follow(stage, stage.start("demo-stop-again"))
    output = ending(stage, found, record)
    proof = Proof(stage)
    proof.that("the stop closed the lock within 30 s", closed and closed_at - stopped <= 30, f"{closed_at - stopped:.1f} s")
    late = [e for e in _deletes(stage) if closed_at + 10 < e["time"] - e["ms"] / 1000 < released_at]
    proof.that("no delete began more than 10 s after that", not late, [e["action"] for e in late])
    proof.that("the lock was gone within 200 s", released and released_at - stopped <= 200, f"{released_at - stopped:.1f} s")
    ended = interrupted.get("ended", {}).get("result")
    proof.that("the stopped run's record says Interrupted", ended == "Interrupted", ended)
    gone = {id.partition("/")[2] for id, r in interrupted.get("resources", {}).items() if r["status"] == "deleted"}
    proof.that(f"its state had lost the {len(gone)} deleted resources and no other", left == set(stage.stack.rows) - gone, left)
    proof.that("the second execution succeeded with result Deleted", (found["status"], output.get("result")) == ("SUCCEEDED", "Deleted"), output)
    proof.everything_is_gone()
    proof.report(output, "stop")
    return proof


SCENARIOS: dict[str, Callable[[Stage], Proof]] = {
    "": teardown, "stuck": stuck, "held": held, "expired": expired, "stop": stop,
}


def _foreign_lock(stage: Stage, lease: int) -> bytes:
    """A lock as cdkd writes it, of somebody else; `lease` milliseconds from now it ends, or has ended."""
    now = int(time.time() * 1000)
    lock = {"owner": "maria@build-7:4242", "timestamp": now + lease - 30 * MINUTE, "expiresAt": now + lease, "operation": "deploy"}
    body = json.dumps(lock).encode()
    stage.screen.headline("Putting somebody else's lock into the bucket")
    stage.screen.line(f"  {body.decode()}")
    stage.bed.client("s3").put_object(Bucket=STATE_BUCKET, Key=stage.place.key("lock.json"), Body=body, ContentType="application/json")
    return body


def _deletes(stage: Stage) -> list[dict[str, Any]]:
    """The calls of the worker that change resources."""
    own = (STATE_BUCKET,)
    return [e for e in stage.bed.journal(agent="rust") if e["parameters"].get("Bucket") not in own and e["service"] != "stepfunctions"]


def _await(holds: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (met := holds()) and time.monotonic() < until:
        time.sleep(0.2)
    return met
