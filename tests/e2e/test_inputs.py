"""Every bad input has an error of its own and changes nothing: not an object in the bucket, not a resource, no lock."""

from __future__ import annotations

import copy
import json
from typing import Any
from collections.abc import Callable

import pytest

from bed import seed

from app import REGION, App, error, message

pytestmark = pytest.mark.timeout(60)
STACK = "Inputs"


@pytest.fixture(scope="module")
def stack(app: App) -> seed.StackBuilder:
    """The stack that every request of this file is about; nothing may happen to it."""
    stack = seed.StackBuilder(app.bed, STACK)
    seed.queue(stack, "Jobs")
    seed.parameter(stack, "First")
    seed.parameter(stack, "Second", needs=["First"])
    stack.write()
    return stack


def refused(app: App, request: Any, expected: str, *texts: str) -> None:
    """The request is answered with `expected`, its message holds `texts`, and nothing at all has changed."""
    objects, mark = app.versions("cdkd/"), app.bed.mark()
    found = app.run(request)
    assert error(found) == ("FAILED", expected), found
    said = message(found)
    assert [text for text in texts if text not in said] == [], said
    assert app.versions("cdkd/") == objects, "nothing was written beside the state"
    assert app.changes(mark) == [], "nothing was deleted"
    entered = [e["stateEnteredEventDetails"]["name"] for e in app.bed.history(found["executionArn"]) if "stateEnteredEventDetails" in e]
    assert entered == ["Check the request", "Is the request sound", "Refused"]


def valid(**fields: Any) -> dict[str, Any]:
    return {"stack": STACK, "region": REGION, "confirm": STACK, **fields}


def without(*fields: str) -> dict[str, Any]:
    return {k: v for k, v in valid().items() if k not in fields}


REQUESTS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "the console's default input": ({"Comment": "Insert your JSON here"}, "InvalidRequest", ('"stack"', '"confirm"')),
    "nothing": ({}, "InvalidRequest", ('"stack"', '"confirm"')),
    "no stack": (without("stack"), "InvalidRequest", ("`stack` is missing",)),
    "no confirm": (without("confirm"), "InvalidRequest", ("`confirm` is missing", "dryRun")),
    "the wrong confirm": (valid(confirm="inputs"), "InvalidRequest", ("`confirm` is not the stack's name",)),
    "an unknown field": (valid(dryrun=True), "InvalidRequest", ("`dryrun`", "did you mean `dryRun`")),
    "a text for a flag": (valid(deleteData="true"), "InvalidRequest", ("`deleteData` is a string",)),
    "a stack that is a path": (valid(stack="../Inputs", confirm="../Inputs"), "InvalidRequest", ("`stack` is not",)),
    "a stack that is a glob": (valid(stack="Inp*", confirm="Inp*"), "InvalidRequest", ("`stack` is not",)),
    "a region that is none": (valid(region="us-east-1/x"), "InvalidRequest", ("`region` is not",)),
    "a bucket that is none": (valid(bucket="s3://x"), "InvalidRequest", ("`bucket` is not",)),
    "Ebb's own prefix": (valid(prefix="ebb/runs"), "InvalidRequest", ("`prefix`",)),
    "a wait that is too long": (valid(lockWait=90_000), "InvalidRequest", ("`lockWait`",)),
    "a role that is none": (valid(target={"roleArn": "ebb-target"}), "InvalidRequest", ("`target.roleArn`",)),
    "a role that the app's owner did not allow": (
        valid(target={"roleArn": "arn:aws:iam::210987654321:role/ebb-target"}), "Refused", ("AllowedTargetRoles",)),
    "a stack that is not there": (valid(stack="Nowhere", confirm="Nowhere"), "StackNotFound", ("Nowhere", REGION, "cdkd")),
    "another region": (valid(region="eu-west-1"), "StackNotFound", ("eu-west-1",)),
    "another prefix": (valid(prefix="elsewhere"), "StackNotFound", ("elsewhere",)),
    "a name in another case": (valid(stack="inputs", confirm="inputs"), "StackNotFound", ()),
    "a bucket that is not there": (valid(bucket="no-such-bucket-anywhere"), "BucketNotFound", ("no-such-bucket-anywhere",)),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_requests(app: App, stack: seed.StackBuilder, case: str) -> None:
    request, expected, texts = REQUESTS[case]
    refused(app, request, expected, *texts)


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], bytes]:
    def apply(document: dict[str, Any]) -> bytes:
        document = copy.deepcopy(document)
        change(document)
        return json.dumps(document, indent=2).encode()

    return apply


def put(field: str, value: Any) -> Callable[[dict[str, Any]], bytes]:
    return changed(lambda document: document.update({field: value}))


def row(field: str, value: Any) -> Callable[[dict[str, Any]], bytes]:
    return changed(lambda document: document["resources"]["First"].update({field: value}))


STATES: dict[str, tuple[Callable[[dict[str, Any]], bytes], str, tuple[str, ...]]] = {
    "not JSON": (lambda _: b"{", "MalformedState", ()),
    "empty": (lambda _: b"", "MalformedState", ()),
    "an array": (lambda _: b"[]", "MalformedState", ()),
    "a byte order mark": (lambda d: b"\xef\xbb\xbf" + json.dumps(d).encode(), "MalformedState", ()),
    "a newer version": (put("version", 12), "UnsupportedVersion", ("Unsupported state schema version", "12")),
    "version 0": (put("version", 0), "UnsupportedVersion", ("Unsupported state schema version",)),
    "version null": (put("version", None), "UnsupportedVersion", ("Unsupported state schema version",)),
    "version as text": (put("version", "11"), "UnsupportedVersion", ("Unsupported state schema version",)),
    "version as a fraction": (put("version", 10.5), "UnsupportedVersion", ("Unsupported state schema version",)),
    "no resources": (changed(lambda d: d.pop("resources")), "MalformedState", ("resources",)),
    "resources null": (put("resources", None), "MalformedState", ("resources",)),
    "resources as an empty array": (put("resources", []), "MalformedState", ("resources",)),
    "a row that is no object": (changed(lambda d: d["resources"].update(First=7)), "MalformedState", ("First",)),
    "a row without a type": (changed(lambda d: d["resources"]["First"].pop("resourceType")), "MalformedState", ("First",)),
    "a row without properties": (changed(lambda d: d["resources"]["First"].pop("properties")), "MalformedState", ("First",)),
    "a retained row without properties": (
        changed(lambda d: d["resources"]["First"].update(properties=None, deletionPolicy="Retain")), "MalformedState", ("First",)),
    "outputs as an array": (put("outputs", []), "MalformedState", ("outputs",)),
    "orphans as an object": (put("orphans", {}), "MalformedState", ("orphans",)),
    "an orphan without an id": (put("orphans", [{"logicalId": "A", "state": {}}]), "MalformedState", ("orphans",)),
    "orphans twice": (put("orphans", [{"logicalId": "A", "state": {"physicalId": "a"}}] * 2), "MalformedState", ("A",)),
    "dependencies that are no texts": (row("dependencies", [7]), "MalformedState", ("First",)),
    "another region in the body": (put("region", "eu-west-1"), "RegionMismatch", ()),
    "the region in another case": (put("region", "US-EAST-1"), "RegionMismatch", ()),
    "an empty region": (put("region", ""), "RegionMismatch", ()),
    "a region null": (put("region", None), "RegionMismatch", ("null",)),
    "a nested stack": (
        changed(lambda d: d.update(parentStack="Parent", parentLogicalId="Child", parentRegion=REGION)), "NestedChild", ("Parent",)),
    "a cycle": (row("dependencies", ["Second"]), "CircularDependency", ("First", "Second")),
    "its own lambda": (
        changed(lambda d: d["resources"]["First"].update(resourceType="AWS::Lambda::Function", physicalId="ebb-worker")), "Refused", ("First",)),
    "the state bucket": (
        changed(lambda d: d["resources"]["First"].update(resourceType="AWS::S3::Bucket", physicalId="cdkd-state-000000000000")),
        "Refused", ("First",)),
    "the protecting tag": (
        changed(lambda d: d["resources"]["First"]["properties"].update(Tags=[{"Key": "ebb:protect", "Value": "true"}])),
        "Refused", ("ProtectTag", "ebb:protect")),
}


@pytest.mark.parametrize("case", STATES)
def test_states(app: App, stack: seed.StackBuilder, case: str) -> None:
    make, expected, texts = STATES[case]
    key = f"cdkd/{STACK}/{REGION}/state.json"
    sound = app.read(key) or b""
    body = app.put(key, make(json.loads(sound)))
    try:
        refused(app, valid(), expected, *texts)
        assert app.read(key) == body
    finally:
        app.put(key, sound)


def test_a_stack_that_others_import_from(app: App, stack: seed.StackBuilder) -> None:
    producer, consumer = (seed.StackBuilder(app.bed, n) for n in ("Producer", "Consumer"))
    seed.parameter(producer, "P")
    producer.outputs["Url"] = "https://example.com"
    producer.write(exportNames=["ProducerUrl"])
    seed.parameter(consumer, "C")
    consumer.write(imports=[{"sourceStack": "Producer", "sourceRegion": " US-EAST-1", "exportName": "ProducerUrl"}])
    request = {"stack": "Producer", "region": REGION, "confirm": "Producer"}
    refused(app, request, "ActiveImports", "Consumer", REGION, "ProducerUrl")
    assert app.run(request)["cause"]["exitClass"] == 2
    assert producer.survivors() == ["P"]


def test_a_name_in_two_regions_needs_one_named(app: App, stack: seed.StackBuilder) -> None:
    for region in (REGION, "eu-west-1"):
        twin = seed.StackBuilder(app.bed, "Twins", region)
        seed.parameter(twin, "P")
        twin.write()
    refused(app, {"stack": "Twins", "confirm": "Twins"}, "InvalidRequest", "eu-west-1", REGION, "`region`")


def test_a_record_without_a_region_needs_it_named(app: App, stack: seed.StackBuilder) -> None:
    app.put("cdkd/Legacy/state.json", {"version": 1, "stackName": "Legacy", "resources": {}, "outputs": {}})
    refused(app, {"stack": "Legacy", "confirm": "Legacy"}, "InvalidRequest", "`region`")


def test_a_denied_read_is_never_a_stack_that_is_not_there(app: App, stack: seed.StackBuilder) -> None:
    app.bed.plant({"service": "s3", "action": "GetObject", "match": f"{STACK}/{REGION}/state.json", "agent": "rust", "forever": True,
                   "status": 403, "code": "AccessDenied"})
    refused(app, valid(), "AccessDenied", "s3:GetObject")


def test_a_stack_that_has_nothing_is_removed_under_the_lock(app: App, stack: seed.StackBuilder) -> None:
    seed.StackBuilder(app.bed, "Hollow").write()
    found = app.tear_down("Hollow")
    assert (found["status"], found["output"]["result"]) == ("SUCCEEDED", "Empty")
    assert app.state("Hollow") is None and app.lock("Hollow") is None


def test_after_all_of_it_the_stack_is_whole(app: App, stack: seed.StackBuilder) -> None:
    assert stack.survivors() == list(stack.rows)
    state = app.state(STACK)
    assert state and state["resources"] == stack.rows
