"""No value of a resource leaves the state: not in a log, an execution's history, an event, the record or a report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bed import seed

from app import FUNCTIONS, REGION, App, error

pytestmark = pytest.mark.timeout(180)
MARK = "c0ffee"  # every planted value holds this


def marked(what: str) -> str:
    return f"{MARK}-{what}-secret"


def secretive(app: App, name: str) -> seed.StackBuilder:
    """A stack in which everything that may hold a value holds a marked one: properties, attributes, outputs, the handler's answer."""
    stack = seed.StackBuilder(app.bed, name)
    seed.role(stack, "Role")
    seed.policy(stack, "Policy", "Role")
    seed.function(stack, "Api", "Role", needs=["Policy"])
    seed.table(stack, "Carts")
    seed.secret(stack, "Password")
    seed.parameter(stack, "Setting")
    seed.queue(stack, "Jobs")
    seed.bucket(stack, "Photos", objects=1, auto_delete=True)
    seed.handler(stack, "Handler")
    seed.custom_resource(stack, "Thing", "Handler", mode="return", Password=marked("custom"))
    seed.custom_resource(stack, "Failing", "Handler", mode="crash", Token=marked("crash"))
    for logical, row in stack.rows.items():
        row["properties"]["Description"] = marked(f"property-{logical}")
        row["properties"]["Environment"] = {"Variables": {"KEY": marked(f"nested-{logical}")}}
        row.setdefault("attributes", {})["Value"] = marked(f"attribute-{logical}")
        row["observedProperties"] = {"Value": marked(f"observed-{logical}")}
        row["metadata"] = {"note": marked(f"metadata-{logical}")}
    stack.rows["Setting"]["properties"]["Value"] = marked("value")
    stack.outputs["Url"] = marked("output")
    return stack


def everything_said(app: App, found: dict[str, Any]) -> dict[str, str]:
    """All that the run has left for people to read, by where it is: what its machines, its functions and its files say."""
    said = {}
    executions = [found["executionArn"]]
    for machine in ("DriveStateMachineArn", "KeeperStateMachineArn"):
        executions += [e["executionArn"] for e in app.bed.executions(app.outputs[machine]) if e["startDate"] >= found["startDate"]]
    for arn in executions:
        said[f"description of {arn}"] = json.dumps(app.bed.describe(arn), default=str)
        said[f"history of {arn}"] = json.dumps(app.bed.history(arn), default=str)
    for function in FUNCTIONS:
        said[f"log of {function}"] = "\n".join(app.bed.logs(function))
    for key in app.keys("ebb/"):
        said[key] = (app.read(key) or b"").decode()
    for key in app.keys("cdkd/"):
        if "/deployments/" in key or key.endswith("lock.json"):
            said[key] = (app.read(key) or b"").decode()
    return said


def leaks(said: dict[str, str]) -> list[str]:
    return [f"{where}: {text[max(0, text.index(MARK) - 60):text.index(MARK) + 40]}" for where, text in said.items() if MARK in text]


def test_a_run_with_all_its_outcomes_says_no_value(app: App) -> None:
    stack = secretive(app, "Secretive")
    stack.write()
    # One delete fails for good, one for a while, one loses its answer: errors are where values like to slip out.
    app.bed.plant(
        {"service": "dynamodb", "action": "DeleteTable", "match": stack.named("Carts"), "forever": True, "code": "ValidationException", "message": "No."},
        {"service": "ssm", "action": "DeleteParameter", "match": "/Secretive/Setting", "times": 1, "drop": True},
        {"service": "secretsmanager", "action": "DeleteSecret", "times": 1, "status": 500, "code": "InternalServiceError"},
    )
    found = app.tear_down(stack.name)
    assert error(found) == ("FAILED", "Partial"), found
    said = everything_said(app, found)
    assert len(said) > 10 and any("Secretive/Carts" in text for text in said.values()), "the search looks where things are said"
    assert leaks(said) == []
    state = app.read(f"cdkd/{stack.name}/{REGION}/state.json") or b""
    assert marked("crash").encode() in state, "the rows that are kept are kept as they were"


@pytest.mark.parametrize("broken", ["row", "outputs", "json", "version", "cycle"])
def test_a_refusal_says_no_value(app: App, broken: str) -> None:
    stack = seed.StackBuilder(app.bed, f"Refused{broken.title()}")
    seed.parameter(stack, "Setting")
    seed.parameter(stack, "Other")
    stack.rows["Setting"]["properties"]["Value"] = marked("value")
    fields: dict[str, Any] = {"outputs": {"Url": marked("output")}}
    match broken:
        case "row":
            stack.rows["Other"]["properties"] = [marked("row")]  # type: ignore[assignment]
        case "outputs":
            fields["outputs"] = [marked("output")]
        case "version":
            fields["version"] = 99
        case "cycle":
            stack.rows["Setting"]["dependencies"], stack.rows["Other"]["dependencies"] = ["Other"], ["Setting"]
    key = stack.write(**fields)
    if broken == "json":
        app.put(key, (app.read(key) or b"")[:-20] + b'"' + marked("tail").encode())
    found = app.tear_down(stack.name)
    assert found["status"] == "FAILED" and found["error"] in ("MalformedState", "UnsupportedVersion", "CircularDependency"), found
    assert leaks(everything_said(app, found)) == []


def test_the_external_id_stays_in_the_request(app: App) -> None:
    request = {"stack": "Any", "region": REGION, "confirm": "Any",
               "target": {"roleArn": "arn:aws:iam::210987654321:role/other", "externalId": marked("external")}}
    found = app.run(request)
    assert error(found) == ("FAILED", "Refused"), found
    assert MARK not in json.dumps(found["cause"])
    assert [line for line in app.logs() if MARK in line] == []
