"""The inputs of `events/`, pasted as they are: what each README line promises happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bed import Bed, seed

import fleet
from app import ROOT, App, error, message, outcome, until

pytestmark = pytest.mark.timeout(150)
USED = {"teardown", "dry-run", "with-options", "cross-account", "scheduled", "force-unlock", "stop",
        "sweep", "sweep-dry-run", "sweep-due", "sweep-accounts", "requested"}


def event(file: str) -> dict[str, Any]:
    return json.loads((ROOT / "events" / f"{file}.json").read_text())


def stack_of(bed: Bed, request: dict[str, Any], *, guarded: bool = False) -> seed.StackBuilder:
    """A stack such as the event names, in the region it names."""
    stack = seed.StackBuilder(bed, request["stack"], request["region"])
    seed.queue(stack, "Jobs")
    seed.parameter(stack, "First")
    if guarded:
        seed.bucket(stack, "Photos", objects=1)
        seed.table(stack, "Accounts", protected=True)
    return stack


def test_every_event_is_used_here() -> None:
    assert {path.stem for path in (ROOT / "events").glob("*.json")} == USED


def test_dry_run_then_teardown(app: App) -> None:
    stack = stack_of(app.bed, event("teardown"))
    stack.write()
    assert outcome(app.run(event("dry-run"))) == ("SUCCEEDED", "DryRun")
    assert stack.survivors() == ["Jobs", "First"]
    assert outcome(app.run(event("teardown"))) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == []


def test_with_options(app: App) -> None:
    request = event("with-options")
    stack = stack_of(app.bed, request, guarded=True)
    seed.state_bucket(app.bed, request["bucket"])
    stack.write(request["bucket"], request["prefix"])
    assert outcome(app.run(request)) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == []
    left = app.bed.look("s3").list_objects_v2(Bucket=request["bucket"], Prefix=f"{request['prefix']}/")
    assert [o["Key"] for o in left["Contents"] if "/deployments/" not in o["Key"]] == []


def test_scheduled(app: App) -> None:
    stack = stack_of(app.bed, event("scheduled"))
    seed.bucket(stack, "Photos", objects=1)
    stack.write()
    assert outcome(app.run(event("scheduled"))) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == []


def test_a_sweep_looked_at_and_then_done(app: App) -> None:
    old = [fleet.stack(app.bed, f"Preview-{n}") for n in range(2)]
    demo = fleet.stack(app.bed, "Preview-demo")
    young = fleet.stack(app.bed, "Preview-young", hours_old=2)
    looked = app.sweep(event("sweep-dry-run"))
    assert outcome(looked) == ("SUCCEEDED", "DryRun")
    assert fleet.results(looked) == {"Preview-0": "DryRun", "Preview-1": "DryRun", "Preview-demo": "DryRun"}
    assert outcome(app.sweep(event("sweep"))) == ("SUCCEEDED", "Deleted")
    assert fleet.gone([*old, demo, young]) == ["Preview-0", "Preview-1"]


def test_a_sweep_of_what_is_due(app: App) -> None:
    due = fleet.stack(app.bed, "Due", tags={"teardown-after": "2020-01-01"})
    later = fleet.stack(app.bed, "NotYetDue", tags={"teardown-after": "2999-01-01"})
    assert outcome(app.sweep(event("sweep-due"))) == ("SUCCEEDED", "Deleted")
    assert fleet.gone([due, later]) == ["Due"]


def test_a_sweep_of_accounts_needs_their_roles_to_be_allowed(app: App) -> None:
    found = app.sweep(event("sweep-accounts"))
    assert error(found) == ("FAILED", "Refused") and message(found).startswith("AllowedTargetRoles: "), found


def test_a_request_by_event_asks_for_the_account_that_sends_it() -> None:
    """`requested.json` is sent by the account of the role that it names; the whole way is in test_accounts.py."""
    (entry,) = json.loads((ROOT / "events/requested.json").read_text())
    request = json.loads(entry["Detail"])
    assert entry["DetailType"] == "Ebb Teardown Requested" and request["target"] == event("cross-account")["target"]


def test_cross_account_needs_the_role_to_be_allowed(app: App) -> None:
    found = app.run(event("cross-account"))
    assert error(found) == ("FAILED", "Refused") and "AllowedTargetRoles" in message(found), found
    assert event("cross-account")["target"]["externalId"] not in json.dumps(found["cause"])


def test_force_unlock(app: App) -> None:
    request = event("force-unlock")
    key = f"cdkd/{request['stack']}/{request['region']}/lock.json"
    app.put(key, {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    answer = app.bed.invoke("ebb-lock-keeper", request)
    assert len(answer["removed"]) == 1 and answer["failed"] == [], answer
    assert app.read(key) is None
    assert [v for v in app.versions(key) if not v[2]] == [], "no old version of the lock stays"
    again = app.bed.invoke("ebb-lock-keeper", request)
    assert (again["removed"], len(again["absent"])) == ([], 1), "no lock is a success, too"


def test_stop(hasty: App) -> None:
    stack = seed.StackBuilder(hasty.bed, "StopEvent")
    for number in range(8):
        seed.parameter(stack, f"P{number}", needs=[f"P{number - 1}"] if number else [])
    stack.write()
    hasty.bed.plant({"service": "ssm", "action": "DeleteParameter", "match": "/StopEvent/", "forever": True, "delay_ms": 1000, "agent": "rust"})
    mark = hasty.bed.mark()
    execution = hasty.start({"stack": "StopEvent", "region": "us-east-1", "confirm": "StopEvent"})
    until(lambda: hasty.bed.journal(action="DeleteParameter", agent="rust", since=mark), 60)
    hasty.bed.client("stepfunctions").stop_execution(**{**event("stop"), "executionArn": execution})
    until(lambda: hasty.lock("StopEvent") is None, 60)
    record = hasty.record("StopEvent", execution)
    assert record and record["ended"]["result"] == "Interrupted"
    state = hasty.state("StopEvent")
    assert state and set(stack.survivors()) <= set(state["resources"]) < set(stack.rows)
