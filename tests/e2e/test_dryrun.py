"""A dry run answers the plan and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from bed import seed

from app import REGION, STATE_BUCKET, App, outcome

pytestmark = pytest.mark.timeout(120)


def test_the_plan_is_answered_and_nothing_is_changed(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Dry"))
    seed.bucket(stack, "Photos", objects=1)
    seed.table(stack, "Accounts", protected=True)
    seed.table(stack, "Ledger", deletionPolicy="Retain")
    seed.role(stack, "Role")
    seed.function(stack, "Api", "Role")
    stack.write(orphans=[{"logicalId": "Old", "orphanedAt": 1, "state": {"physicalId": "old"}}])
    held = app.put(f"cdkd/{stack.name}/{REGION}/lock.json", {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    objects, mark = app.versions("cdkd/"), app.bed.mark()

    found = app.run({"stack": stack.name, "region": REGION, "dryRun": True})

    assert outcome(found) == ("SUCCEEDED", "DryRun"), "it takes no lock, so a held one does not matter"
    plan = found["output"]["plan"]
    assert plan["resources"] == 5 and plan["waves"] == 2
    assert {row["id"].partition("/")[2]: row["code"] for row in plan["guarded"]} == {"Photos": "DataGuard", "Accounts": "Protected"}
    assert plan["retained"] == [f"{stack.name}/Ledger"] and plan["orphans"] == [f"{stack.name}/Old"]
    assert found["output"]["counts"]["deleted"] == 0
    assert app.versions("cdkd/") == objects and app.read(f"cdkd/{stack.name}/{REGION}/lock.json") == held
    assert app.changes(mark) == [] and stack.survivors() == list(stack.rows)
    report = app.read(found["output"]["report"]["json"].removeprefix(f"s3://{STATE_BUCKET}/"))
    assert json.loads(report or b"")["result"] == "DryRun"
