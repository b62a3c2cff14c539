"""Locks of others, of two runs at once, and of a run that asks twice."""

from __future__ import annotations

import json
import time
from typing import Any
from collections.abc import Callable

import pytest

from bed import seed

from app import REGION, STATE_BUCKET, App, error, message, outcome, until

pytestmark = pytest.mark.timeout(180)
MINUTE = 60_000
Small = Callable[..., seed.StackBuilder]


def lock_of(owner: Any, lease: int, **members: Any) -> dict[str, Any]:
    """A lock that ends `lease` milliseconds from now."""
    now = int(time.time() * 1000)
    return {"owner": owner, "timestamp": now - 30 * MINUTE, "expiresAt": now + lease, "operation": "deploy", **members}


def key(stack: seed.StackBuilder) -> str:
    return f"cdkd/{stack.name}/{REGION}/lock.json"


def test_a_held_lock_is_named_and_left_alone(app: App, small: Small) -> None:
    stack = small(app)
    body = app.put(key(stack), lock_of("maria@build-7:4242", 17 * MINUTE))
    versions, mark = app.versions(f"cdkd/{stack.name}/"), app.bed.mark()

    found = app.tear_down(stack.name)

    assert error(found) == ("FAILED", "LockHeld"), found
    said = message(found)
    for text in ("maria@build-7:4242", "operation: deploy", "17 min left"):
        assert text in said, said
    unlock = json.loads(said[said.index("{"):said.rindex("}") + 1])
    assert unlock == {"action": "force-unlock", "stack": stack.name, "region": REGION, "bucket": STATE_BUCKET, "prefix": "cdkd"}
    assert app.read(key(stack)) == body
    assert app.versions(f"cdkd/{stack.name}/") == versions
    assert app.changes(mark) == []
    assert stack.survivors() == list(stack.rows)

    assert app.bed.invoke("ebb-lock-keeper", unlock)["failed"] == [], "the input in the message works as it stands"
    assert outcome(app.tear_down(stack.name)) == ("SUCCEEDED", "Deleted")


@pytest.mark.parametrize("body", [b"{", b"[]", b'"maria"'])
def test_a_lock_that_is_none_is_never_overwritten(app: App, small: Small, body: bytes) -> None:
    stack = small(app)
    app.put(key(stack), body)
    mark = app.bed.mark()
    found = app.tear_down(stack.name)
    assert error(found) in (("FAILED", "LockError"), ("FAILED", "LockHeld")), found
    assert "force-unlock" in message(found)
    assert app.read(key(stack)) == body and app.changes(mark) == []


def test_hostile_text_in_a_lock_reaches_no_command(app: App, small: Small) -> None:
    stack = small(app)
    app.put(key(stack), lock_of("a\u202eb\n$(rm -rf /)\u0007", 5 * MINUTE, operation="x\r\ny"))
    found = app.tear_down(stack.name)
    assert error(found) == ("FAILED", "LockHeld"), found
    assert not [c for c in message(found) if ord(c) < 32 or c == "\u202e"]


@pytest.mark.parametrize("lock", [
    lock_of("maria@build-7:4242", -MINUTE), {**lock_of("maria@build-7:4242", 0), "expiresAt": "soon"}, {"owner": "maria@build-7:4242"},
])
def test_an_expired_lock_is_taken_over(app: App, small: Small, lock: dict[str, Any]) -> None:
    stack = small(app)
    app.put(key(stack), lock)
    assert outcome(app.tear_down(stack.name)) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == [] and app.lock(stack.name) is None


def test_a_patient_request_waits_for_the_lock(hasty: App, small: Small) -> None:
    stack = small(hasty)
    hasty.put(key(stack), lock_of("maria@build-7:4242", 3_000))
    found = hasty.tear_down(stack.name, lockWait=60)
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert (found["stopDate"] - found["startDate"]).total_seconds() >= 3


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_state_that_was_written_since_is_refused(hasty: App, small: Small, dry_run: bool) -> None:
    stack = small(hasty, lastModified=1_786_786_212_123)
    mark = hasty.bed.mark()
    found = hasty.tear_down(stack.name, expectedLastModified=1_786_786_212_122, dryRun=dry_run)
    assert error(found) == ("FAILED", "Refused"), found
    assert message(found) == "the stack was deployed again, or torn down in part, after it was chosen: its state was written at 2026-08-15T09:30:12.123Z"
    assert hasty.changes(mark) == [] and hasty.lock(stack.name) is None


def test_a_stack_that_is_deployed_while_a_run_waits_for_its_lock_stays(hasty: App, small: Small) -> None:
    stack = small(hasty, lastModified=1_786_786_212_123)
    hasty.put(key(stack), lock_of("maria@build-7:4242", 60 * MINUTE))
    request = {"stack": stack.name, "region": REGION, "confirm": stack.name, "lockWait": 600}
    execution = hasty.start(request | {"expectedLastModified": 1_786_786_212_123})
    until(lambda: any(e["type"] == "WaitStateEntered" for e in hasty.bed.history(execution)), 30)
    state = hasty.read(stack.write(lastModified=1_786_786_999_000))
    hasty.bed.look("s3").delete_object(Bucket=STATE_BUCKET, Key=key(stack))
    found = hasty.bed.wait(execution)
    assert error(found) == ("FAILED", "Refused"), found
    assert message(found).startswith("the stack was deployed again, or torn down in part, after it was chosen: its state was written at 2026-08-15T09:43:19")
    assert stack.survivors() == list(stack.rows) and hasty.lock(stack.name) is None
    assert hasty.read(f"cdkd/{stack.name}/{REGION}/state.json") == state
    assert outcome(hasty.tear_down(stack.name, expectedLastModified=1_786_786_999_000)) == ("SUCCEEDED", "Deleted")


def test_a_second_teardown_of_the_same_stack_is_told_who_works_on_it(app: App, small: Small) -> None:
    stack = small(app)
    app.bed.plant({"service": "dynamodb", "action": "DeleteTable", "match": stack.named("Carts"), "delay_ms": 6000})
    request = {"stack": stack.name, "region": REGION, "confirm": stack.name}
    first = app.start(request, f"first-{stack.name}")
    lock = until(lambda: app.lock(stack.name), 20)
    second = app.run(request, f"second-{stack.name}")
    assert error(second) == ("FAILED", "LockHeld"), second
    assert lock["owner"] in message(second) and f"first-{stack.name}" in lock["owner"]
    assert outcome(app.bed.wait(first)) == ("SUCCEEDED", "Deleted"), "the first is not disturbed"
    assert stack.survivors() == []


def test_an_acquire_that_is_repeated_finds_its_own_lock(app: App, small: Small) -> None:
    stack = small(app)
    # A run that waits for somebody else's lock; its own acquire is then repeated by hand.
    app.put(key(stack), lock_of("maria@build-7:4242", 60 * MINUTE))
    execution = app.start({"stack": stack.name, "region": REGION, "confirm": stack.name, "lockWait": 600})
    try:
        entered = until(lambda: [e for e in app.bed.history(execution) if e["type"] == "WaitStateEntered"], 30)
        run = json.loads(entered[0]["stateEnteredEventDetails"]["input"])["run"]
        assert app.bed.invoke("ebb-lock-keeper", {"action": "acquire", "run": run})["next"] == "wait"
        app.bed.invoke("ebb-lock-keeper", {"action": "force-unlock", "stack": stack.name, "region": REGION})
        assert app.bed.invoke("ebb-lock-keeper", {"action": "acquire", "run": run}) == {"next": "drive"}
        held = app.lock(stack.name)
        assert held and (held["owner"], held["timestamp"], held["operation"]) == (run["owner"], run["timestamp"], "destroy")
        assert 29 * MINUTE < held["expiresAt"] - time.time() * 1000 <= 30 * MINUTE
        assert app.bed.invoke("ebb-lock-keeper", {"action": "acquire", "run": run}) == {"next": "drive"}
        again = app.lock(stack.name)
        assert again and (again["owner"], again["timestamp"]) == (run["owner"], run["timestamp"])
        assert outcome(app.bed.wait(execution)) == ("SUCCEEDED", "Deleted"), "the machine's own try finds the lock, too"
    finally:
        if app.bed.describe(execution)["status"] == "RUNNING":
            app.bed.stop(execution)


def test_a_reply_that_was_lost_does_not_lock_the_run_out(app: App, small: Small) -> None:
    stack = small(app)
    app.bed.plant({"service": "s3", "action": "PutObject", "match": key(stack), "agent": "rust", "after": True, "drop": True})
    assert outcome(app.tear_down(stack.name)) == ("SUCCEEDED", "Deleted")
    assert len(app.bed.fired()) >= 1 and app.lock(stack.name) is None


def test_force_unlock_removes_a_lock_and_ends_the_run_that_held_it(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Force"))
    for number in range(6):
        seed.parameter(stack, f"P{number}", needs=[f"P{number - 1}"] if number else [])
    stack.write()
    app.bed.plant({"service": "ssm", "action": "DeleteParameter", "match": f"/{stack.name}/P4", "delay_ms": 4000})
    execution = app.start({"stack": stack.name, "region": REGION, "confirm": stack.name})
    until(lambda: [e for e in app.bed.journal(action="DeleteParameter", agent="rust") if e["parameters"].get("Name") == f"/{stack.name}/P5"], 60)
    answer = app.bed.invoke("ebb-lock-keeper", {"action": "force-unlock", "stack": stack.name})
    assert len(answer["removed"]) == 1 and answer["failed"] == [], answer
    found = app.bed.wait(execution)
    assert error(found) == ("FAILED", "LockLost"), found
    assert "P0" in stack.survivors(), "a run without its lock goes no further"
    assert outcome(app.tear_down(stack.name)) == ("SUCCEEDED", "Deleted")
