"""Guards: what would refuse a delete is found before the first one, and named all at once. A stack with two guards, then one with
one of each that the emulator can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from bed import seed

from app import App, error, message, outcome
from type_cases import containers, databases, edge, network, s3

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


@dataclass
class Fortress:
    """A stack and the logical ids of what is protected and of what holds data."""

    stack: seed.StackBuilder
    protections: set[str]
    data: set[str]

    @property
    def guarded(self) -> set[str]:
        return self.protections | self.data

    def looked(self, app: App, found: dict[str, Any]) -> dict[str, str]:
        """What each look refused for, by logical id, as the run's record has it."""
        record = app.record(self.stack.name, found["executionArn"])
        assert record
        looked = {id.partition("/")[2]: row.get("looked") or {} for id, row in record["resources"].items()}
        return {logical: one["code"] for logical, one in looked.items() if one.get("code")}


@pytest.fixture
def fortress(app: App, name: Callable[[str], str]) -> Fortress:
    """One of each protection and data guard, in a network of their own, and things without guards."""
    stack = seed.StackBuilder(app.bed, name("Fort"))
    seed.table(stack, "Accounts", protected=True)
    seed.log_group(stack, "Audit")
    app.bed.client("logs").put_log_group_deletion_protection(
        logGroupIdentifier=stack.physical("Audit"), deletionProtectionEnabled=True)
    protections = {
        "Accounts", "Audit",
        network.instance(stack, protected=True),
        containers.balancer(stack, protected=True),
        edge.user_pool(stack, protected=True),
        databases.instance(stack, protected=True),
        *(databases.cluster(stack, family, protected=True) for family in ("RDS", "DocDB", "Neptune")),
        containers.emr_cluster(stack, protected=True),
    }
    seed.bucket(stack, "Photos", objects=2)
    data = {"Photos", containers.repository(stack, image=True), s3.directory_bucket(stack), edge.zone(stack, validation=True)}
    seed.queue(stack, "Jobs")
    seed.parameter(stack, "Config")
    stack.write()
    return Fortress(stack, protections, data)


def test_each_guard_of_each_kind_refuses_before_the_first_delete(app: App, fortress: Fortress) -> None:
    mark = app.bed.mark()
    found = app.tear_down(fortress.stack.name)
    assert error(found) == ("FAILED", "Refused"), found
    assert fortress.looked(app, found) == {
        **dict.fromkeys(fortress.protections, "Protected"), **dict.fromkeys(fortress.data, "DataGuard")}
    assert f"and {len(fortress.guarded) - 8} more" in message(found)
    assert app.changes(mark) == [], "nothing was deleted and no protection was touched"
    assert fortress.stack.survivors() == list(fortress.stack.rows)


def test_each_option_opens_the_guards_of_its_kind_only(app: App, fortress: Fortress) -> None:
    mark = app.bed.mark()
    for option, still in (("removeProtection", fortress.data), ("deleteData", fortress.protections)):
        found = app.tear_down(fortress.stack.name, **{option: True})
        assert error(found) == ("FAILED", "Refused"), found
        assert set(fortress.looked(app, found)) == still
    assert app.changes(mark) == []


def test_without_the_guarded_the_rest_goes_but_for_what_they_stand_on(app: App, fortress: Fortress) -> None:
    found = app.tear_down(fortress.stack.name, skipGuarded=True)
    assert error(found) == ("FAILED", "Partial"), found
    left = set(fortress.stack.survivors())
    grounds = {need for logical in fortress.guarded for need in fortress.stack.rows[logical]["dependencies"]}
    assert fortress.guarded | grounds <= left
    assert not left & {"Jobs", "Config"}
    state = app.state(fortress.stack.name)
    assert state and set(state["resources"]) == left


def test_with_both_options_all_of_them_go(app: App, fortress: Fortress) -> None:
    found = app.tear_down(fortress.stack.name, deleteData=True, removeProtection=True)
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert fortress.stack.survivors() == [], "and each database's final snapshot is there"


def test_tables_that_nobody_recorded_are_found_at_the_delete_of_their_database(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Lake"))
    database = databases.glue_database(stack)
    stack.write()
    found = app.tear_down(stack.name)
    assert error(found) == ("FAILED", "Partial"), found
    record = app.record(stack.name, found["executionArn"])
    assert record and record["resources"][f"{stack.name}/{database}"]["code"] == "DataGuard"
    assert app.bed.look("glue").get_table(DatabaseName=stack.physical(database), Name="orders")
    assert outcome(app.tear_down(stack.name, deleteData=True)) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == []
