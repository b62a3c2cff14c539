"""Which call belongs to which invocation, and what of a run's time AWS took."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from bed import Bed
from overhead.teardown import covered, on_the_path, waited

pytestmark = pytest.mark.timeout(60)


def test_calls_of_a_traced_function_are_noted_and_no_others(bed: Bed) -> None:
    bed.client("s3").create_bucket(Bucket="shelf")
    assert bed.timings() == []
    for trace, path in (("Root=1-aa-bb;Parent=cc;Sampled=1", "/shelf/none"), ("Root=1-aa-dd", "/shelf?list-type=2")):
        request = urllib.request.Request(f"{bed.endpoint}{path}", headers={"X-Amzn-Trace-Id": trace})
        try:
            urllib.request.urlopen(request, timeout=10).read()
        except urllib.error.HTTPError as error:
            assert error.code == 404
    found = bed.timings()
    assert [(c["trace"], c["service"], c["action"], c["path"]) for c in found] == [
        ("1-aa-bb", "s3", "GetObject", "/shelf/none"), ("1-aa-dd", "s3", "ListObjectsV2", "/shelf")]
    assert all(c["began"] <= c["ended"] for c in found)


def test_the_path_is_the_slowest_step_of_each_wave() -> None:
    def call(trace: str, began: float, ended: float, service: str = "sqs", path: str = "/") -> dict[str, object]:
        return {"trace": trace, "service": service, "action": "Any", "path": path, "began": began, "ended": ended}

    record = "/cdkd-state-000000000000/ebb/runs/cdkd/S/us-east-1/r.json"
    state = "/cdkd-state-000000000000/cdkd/S/us-east-1/state.json"
    calls = [
        call("check", 0, 1, "stepfunctions"), call("plan-1", 1, 2, "s3", record),
        # Two steps side by side; what they read of the state bucket is not AWS's time, nor is a gap between two calls.
        call("a", 2, 4, "s3", state), call("a", 4, 5), call("a", 6, 8), call("b", 2, 4.5),
        call("plan-2", 9, 10, "s3", record),
        # Calls side by side count once; a bucket that is deleted is the stack's.
        call("c", 10, 12, "s3", "/uploads"), call("c", 11, 13, "s3", "/uploads"), call("d", 10, 10.5),
        call("plan-3", 14, 15, "s3", record),
        # A wait, and then the end.
        call("plan-4", 20, 21, "s3", record), call("e", 21, 22), call("plan-5", 23, 24, "s3", record),
    ]
    assert on_the_path(calls) == pytest.approx(3 + 3 + 1)
    assert waited(calls) == pytest.approx(20 - 15)
    assert covered([call("x", 5, 6), call("x", 1, 3), call("x", 2, 2.5)]) == pytest.approx(3)
