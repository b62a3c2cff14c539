"""Guards: what would refuse a delete is found before the first one, and named all at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bed import seed

from app import App, error, message, outcome

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def guarded(app: App, name: Callable[[str], str]) -> seed.StackBuilder:
    """A bucket with objects, a protected table, and things without guards; the bucket's policy needs the bucket."""
    stack = seed.StackBuilder(app.bed, name("Guarded"))
    seed.bucket(stack, "Photos", objects=2, versioned=True)
    seed.bucket_policy(stack, "PhotosPolicy", "Photos")
    seed.bucket(stack, "Scratch", objects=1, auto_delete=True)
    seed.table(stack, "Accounts", protected=True)
    seed.queue(stack, "Jobs")
    stack.write()
    return stack


def test_all_guards_are_named_before_anything_is_deleted(app: App, guarded: seed.StackBuilder) -> None:
    mark = app.bed.mark()
    found = app.tear_down(guarded.name)
    assert error(found) == ("FAILED", "Refused"), found
    said = message(found)
    assert "Photos" in said and "Accounts" in said and "Scratch" not in said and "Jobs" not in said, said
    assert app.changes(mark) == [], "nothing was deleted"
    assert guarded.survivors() == list(guarded.rows)
    state = app.state(guarded.name)
    assert state and state["resources"] == guarded.rows and app.lock(guarded.name) is None


def test_skip_guarded_leaves_those_and_deletes_the_rest(app: App, guarded: seed.StackBuilder) -> None:
    found = app.tear_down(guarded.name, skipGuarded=True)
    assert error(found) == ("FAILED", "Partial"), found
    assert found["cause"]["counts"]["skipped"] == 2
    assert set(guarded.survivors()) == {"Photos", "Accounts"}
    assert app.bed.look("s3").list_objects_v2(Bucket=guarded.physical("Photos")).get("KeyCount") == 0, "only delete markers are current"
    versions = app.bed.look("s3").list_object_versions(Bucket=guarded.physical("Photos"))
    assert len(versions.get("Versions", [])) == 4, "no version of a guarded bucket was touched"
    state = app.state(guarded.name)
    assert state and set(state["resources"]) == {"Photos", "Accounts"}


def test_one_option_opens_one_guard(app: App, guarded: seed.StackBuilder) -> None:
    found = app.tear_down(guarded.name, deleteData=True)
    assert error(found) == ("FAILED", "Refused"), found
    assert "Accounts" in message(found) and "Photos" not in message(found)
    assert guarded.survivors() == list(guarded.rows)


def test_the_options_open_the_guards(app: App, guarded: seed.StackBuilder) -> None:
    assert outcome(app.tear_down(guarded.name, deleteData=True, removeProtection=True)) == ("SUCCEEDED", "Deleted")
    assert guarded.survivors() == []


def test_protection_that_was_switched_off_for_nothing_is_switched_on_again(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Restore"))
    seed.table(stack, "Accounts", protected=True)
    stack.write()
    app.bed.plant({"service": "dynamodb", "action": "DeleteTable", "match": stack.named("Accounts"), "forever": True,
                   "code": "ValidationException", "message": "Planted: this table stays."})
    found = app.tear_down(stack.name, removeProtection=True)
    assert error(found) == ("FAILED", "Partial"), found
    table = app.bed.look("dynamodb").describe_table(TableName=stack.physical("Accounts"))["Table"]
    assert table["DeletionProtectionEnabled"] is True
