"""Nested stacks: parent and child are one run, with a lock and a state of their own each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bed import seed

from app import REGION, App, error, message, outcome

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def tree(app: App, name: Callable[[str], str]) -> tuple[seed.StackBuilder, seed.StackBuilder]:
    """A parent whose function needs the child's queue, and the child."""
    parent = seed.StackBuilder(app.bed, name("Tree"))
    child = seed.StackBuilder(app.bed, f"{parent.name}~Search")
    seed.queue(child, "Jobs")
    seed.queue_policy(child, "JobsPolicy", "Jobs")
    child.write(parentStack=parent.name, parentLogicalId="Search", parentRegion=REGION)
    seed.role(parent, "Role")
    parent.add("Search", "AWS::CloudFormation::Stack", f"arn:cdkd-local:{REGION}:000000000000:nested-stack/{parent.name}/Search",
               {"TemplateURL": "local"}, needs=["Role"], attributes={"Outputs.Url": "x"})
    seed.parameter(parent, "Url", needs=["Search"])
    parent.write()
    return parent, child


def survivors(tree: tuple[seed.StackBuilder, seed.StackBuilder]) -> list[str]:
    parent, child = tree
    own = [logical for logical in parent.rows if logical != "Search"]
    rows = {logical: parent.rows[logical] for logical in own}
    kept = parent.rows
    parent.rows = rows
    try:
        return parent.survivors() + child.survivors()
    finally:
        parent.rows = kept


def test_both_go_in_order(app: App, tree: tuple[seed.StackBuilder, seed.StackBuilder]) -> None:
    parent, child = tree
    found = app.tear_down(parent.name)
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert found["output"]["counts"]["deleted"] == 5
    assert survivors(tree) == []
    assert [key for key in app.keys(f"cdkd/{parent.name}") if "/deployments/" not in key] == []
    record = app.record(parent.name, found["executionArn"])
    assert record
    rows = record["resources"]
    url, jobs, role = (rows[id] for id in (f"{parent.name}/Url", f"{child.name}/Jobs", f"{parent.name}/Role"))
    assert url["endedAt"] <= jobs["startedAt"], "what needs the nested stack goes before its resources"
    assert jobs["endedAt"] <= role["startedAt"], "what it needs goes after them"


def test_a_child_is_not_torn_down_by_itself_unless_told_so(app: App, tree: tuple[seed.StackBuilder, seed.StackBuilder]) -> None:
    parent, child = tree
    found = app.tear_down(child.name)
    assert error(found) == ("FAILED", "NestedChild") and parent.name in message(found), found
    assert outcome(app.tear_down(child.name, allowNestedChild=True)) == ("SUCCEEDED", "Deleted")
    assert outcome(app.tear_down(parent.name)) == ("SUCCEEDED", "Deleted"), "a child without state is done"
    assert survivors(tree) == []


def test_a_childs_lock_that_is_held_keeps_the_whole_tree(app: App, tree: tuple[seed.StackBuilder, seed.StackBuilder]) -> None:
    parent, child = tree
    body = app.put(f"cdkd/{child.name}/{REGION}/lock.json", {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    mark = app.bed.mark()
    found = app.tear_down(parent.name)
    assert error(found) == ("FAILED", "LockHeld") and child.name in message(found), found
    assert app.changes(mark) == [] and app.lock(parent.name) is None
    assert app.read(f"cdkd/{child.name}/{REGION}/lock.json") == body


def test_a_child_that_fails_keeps_the_parents_row(app: App, tree: tuple[seed.StackBuilder, seed.StackBuilder]) -> None:
    parent, child = tree
    app.bed.plant({"service": "sqs", "action": "DeleteQueue", "match": child.named("Jobs"), "forever": True,
                   "code": "InvalidAddress", "message": "The queue was not found in this story."})
    found = app.tear_down(parent.name)
    assert error(found) == ("FAILED", "Partial"), found
    assert set(app.state(parent.name)["resources"]) == {"Search", "Role"}  # type: ignore[index]
    assert set(app.state(child.name)["resources"]) == {"Jobs"}  # type: ignore[index]
    assert app.lock(parent.name) is None and app.lock(child.name) is None
