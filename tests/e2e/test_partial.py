"""A resource that cannot be deleted: what it needs stays, everything else goes, and a rerun finishes the job."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bed import seed

from app import App, error, message, outcome

pytestmark = pytest.mark.timeout(180)


def test_a_failure_keeps_what_it_needs_and_nothing_else(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Partial"))
    seed.role(stack, "Role")
    seed.policy(stack, "Policy", "Role")
    seed.function(stack, "Api", "Role", needs=["Policy"])
    seed.rule(stack, "Nightly", "Api")
    seed.queue(stack, "Jobs")
    seed.table(stack, "Carts")
    stack.write()
    key = f"cdkd/{stack.name}/us-east-1"
    app.put(f"{key}/create-tokens.json", {"ledgerVersion": 1, "nonce": "n", "sent": {}})
    app.bed.plant({"service": "events", "action": "RemoveTargets", "match": stack.named("Nightly"), "forever": True,
                   "code": "ManagedRuleException", "message": "This rule is managed by an AWS service."})

    found = app.tear_down(stack.name)

    assert error(found) == ("FAILED", "Partial"), found
    assert "1 failed" in message(found)
    assert found["cause"]["counts"] == {"deleted": 2, "retained": 0, "skipped": 0, "failed": 1, "blocked": 3}
    left = {"Nightly", "Api", "Role", "Policy"}
    record = app.record(stack.name, found["executionArn"])
    assert record
    rows = {id.partition("/")[2]: row for id, row in record["resources"].items()}
    assert {logical for logical, row in rows.items() if row["status"] == "failed"} == {"Nightly"}
    assert rows["Nightly"]["code"] == "ManagedRuleException" and "managed by an AWS service" in rows["Nightly"]["reason"]
    blocked = {logical: row["reason"] for logical, row in rows.items() if row["status"] == "blocked"}
    assert set(blocked) == left - {"Nightly"}
    assert "Nightly" in blocked["Api"], "the report names what blocks"
    assert set(stack.survivors()) == left
    state = app.state(stack.name)
    assert state and set(state["resources"]) == left
    assert state["outputs"] == {} and state["exportNames"] == [] and "imports" not in state and "outputReads" not in state
    assert app.lock(stack.name) is None
    assert f"{key}/create-tokens.json" in app.keys(key), "the ledger stays with the state"
    assert {k: v for k, v in state["resources"].items()} == {k: v for k, v in stack.rows.items() if k in left}, "rows stay as they were"

    app.bed.lift()
    assert outcome(app.tear_down(stack.name)) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == [] and app.keys(f"{key}/state.json") == []


def test_a_delete_that_fails_for_a_while_is_tried_again(app: App, small: Callable[..., seed.StackBuilder]) -> None:
    stack = small(app)
    app.bed.plant(
        {"service": "dynamodb", "action": "DeleteTable", "match": stack.named("Carts"), "times": 1, "code": "ThrottlingException"},
        {"service": "ssm", "action": "DeleteParameter", "match": f"/{stack.name}/Second", "times": 1, "status": 500, "code": "InternalServerError"},
        {"service": "sqs", "action": "DeleteQueue", "match": stack.named("Jobs"), "times": 1, "drop": True},
    )
    assert outcome(app.tear_down(stack.name)) == ("SUCCEEDED", "Deleted")
    assert len(app.bed.fired()) >= 3
    assert stack.survivors() == []


def test_what_is_gone_already_counts_as_deleted(app: App, small: Callable[..., seed.StackBuilder]) -> None:
    stack = small(app)
    app.bed.look("dynamodb").delete_table(TableName=stack.physical("Carts"))
    app.bed.look("ssm").delete_parameter(Name=stack.physical("First"))
    found = app.tear_down(stack.name)
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    record = app.record(stack.name, found["executionArn"])
    assert record
    assert {id.partition("/")[2] for id, row in record["resources"].items() if row.get("already")} == {"Carts", "First"}


def test_what_the_policy_retains_stays_and_its_record_goes_with_the_state(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Retain"))
    seed.table(stack, "Ledger", deletionPolicy="Retain")
    seed.parameter(stack, "Old", deletionPolicy="RetainExceptOnCreate")
    seed.queue(stack, "Jobs")
    stack.write()
    before = app.bed.mark()
    found = app.tear_down(stack.name)
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert found["output"]["counts"] == {"deleted": 1, "retained": 2, "skipped": 0, "failed": 0, "blocked": 0}
    assert stack.survivors() == ["Ledger", "Old"]
    assert app.state(stack.name) is None
    assert {e["service"] for e in app.changes(before)} <= {"sqs"}, "what is retained gets no call at all"


def test_a_skipped_custom_resource_keeps_its_handler(app: App, name: Callable[[str], str]) -> None:
    stack = seed.StackBuilder(app.bed, name("Skip"))
    seed.handler(stack, "Handler")
    seed.custom_resource(stack, "Stubborn", "Handler", mode="fail")
    seed.queue(stack, "Jobs")
    stack.write()
    found = app.tear_down(stack.name)
    assert error(found) == ("FAILED", "Partial"), found
    assert found["cause"]["counts"]["skipped"] == 1
    left = set(stack.survivors())
    assert {"Stubborn", "Handler", "HandlerRole", "HandlerPolicy"} <= left and "Jobs" not in left
    state = app.state(stack.name)
    assert state and set(state["resources"]) == left, "so that a person can mend the handler and start again"
