"""A state that workers read their rows of, and not whole."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from bed import seed

from app import STATE_BUCKET, App, outcome

pytestmark = pytest.mark.timeout(120)


def test_rows_of_a_large_state_are_read_where_they_lie(app: App, small: Callable[..., seed.StackBuilder]) -> None:
    stack = small(app, "Large")
    for row in stack.rows.values():
        row["properties"]["Note"] = "ü\"{}" * 20_000
    etag = app.bed.look("s3").head_object(Bucket=STATE_BUCKET, Key=stack.write())["ETag"]
    found = app.tear_down("Large")
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == []
    [drive] = app.drives(found["output"]["runId"])
    entered = [e["stateEnteredEventDetails"] for e in app.bed.history(drive["executionArn"]) if e["type"] == "MapStateEntered"]
    waves = [json.loads(details["input"])["plan"]["items"] for details in entered]
    # As long as the state is large, every item says where its row lies in the object as it was then.
    assert {item["span"]["etag"] for item in waves[0]} == {etag}
    spans = [item["span"] for wave in waves for item in wave if "span" in item]
    assert len(spans) >= len(stack.rows) - 4 and all(span["first"] < span["last"] for span in spans)
