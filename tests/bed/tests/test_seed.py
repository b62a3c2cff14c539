"""The seeded stacks: really there, recorded as cdkd records, and able to go in the right order."""

from __future__ import annotations

import json
import time

import pytest

from bed import Bed, seed

from reaper import delete, order

pytestmark = pytest.mark.timeout(90)


def test_a_mixed_stack_exists_is_recorded_and_goes_in_order(bed: Bed) -> None:
    seed.state_bucket(bed)
    bed.cloudcontrol_seconds(0)
    stack = seed.mixed_stack(bed, 75)
    assert len(stack.rows) >= 75
    assert stack.survivors() == list(stack.rows)
    state = json.loads(bed.client("s3").get_object(Bucket="cdkd-state-000000000000", Key=stack.write())["Body"].read())
    assert (state["version"], state["stackName"], state["region"]) == (11, "Shop", "us-east-1")
    assert state["resources"] == stack.rows
    for row in stack.rows.values():
        assert row["physicalId"] and isinstance(row["properties"], dict) and set(row["dependencies"]) <= set(stack.rows)
    for logical in order(stack):
        delete(bed, stack.rows[logical])
        until = time.monotonic() + 5
        while seed.exists(bed, stack.rows[logical]) and time.monotonic() < until:
            time.sleep(0.05)
    assert stack.survivors() == []


def _deliver(bed: Bed, stack: seed.StackBuilder, logical: str) -> tuple[object, str]:
    """Send a Delete request as a teardown does; answers the handler's result and the response object's body so far."""
    s3, row = bed.client("s3"), stack.rows[logical]
    key = f"custom-resource-responses/{logical}.json"
    s3.put_object(Bucket="responses", Key=key, Body=b"")
    url = s3.generate_presigned_url("put_object", Params={"Bucket": "responses", "Key": key}, ExpiresIn=600)
    request = {
        "RequestType": "Delete", "RequestId": logical, "ResponseURL": url, "ResourceType": row["resourceType"],
        "LogicalResourceId": logical, "PhysicalResourceId": row["physicalId"],
        "StackId": f"arn:aws:cloudformation:us-east-1:000000000000:stack/cdkd-{logical}/cdkd",
        "ResourceProperties": {k: str(v) for k, v in row["properties"].items()},
    }
    answer = bed.invoke(row["properties"]["ServiceToken"], request)
    return answer, s3.get_object(Bucket="responses", Key=key)["Body"].read().decode()


def test_custom_resource_handlers_answer_in_their_ways(bed: Bed) -> None:
    bed.client("s3").create_bucket(Bucket="responses")
    stack = seed.StackBuilder(bed, "Custom")
    seed.handler(stack)
    seed.bucket(stack, "Assets", objects=2)
    things = {mode: seed.custom_resource(stack, mode.title(), "Handler", mode, Seconds=1) for mode in seed.MODES}
    things["empty"] = seed.custom_resource(stack, "Cleaner", "Handler", BucketName=stack.physical("Assets"))

    for mode, status in (("put", "SUCCESS"), ("empty", "SUCCESS"), ("fail", "FAILED")):
        answer, body = _deliver(bed, stack, things[mode])
        assert answer is None
        assert json.loads(body)["Status"] == status
    assert _deliver(bed, stack, things["return"])[0]["Status"] == "SUCCESS"  # type: ignore[index]
    assert _deliver(bed, stack, things["silent"]) == (None, "")
    with pytest.raises(RuntimeError, match="told to crash"):
        _deliver(bed, stack, things["crash"])
    assert _deliver(bed, stack, things["later"]) == (None, "")
    until = time.monotonic() + 10
    while "Later" in stack.survivors() and time.monotonic() < until:
        time.sleep(0.1)
    left = set(stack.survivors()) & set(things.values())
    assert left == {"Fail", "Crash", "Silent"}
    assert "Contents" not in bed.client("s3").list_objects_v2(Bucket=stack.physical("Assets"))
    assert any('"mode": "put"' in line for line in bed.logs("Custom-Handler"))
