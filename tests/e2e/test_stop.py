"""StopExecution in the middle of a wave: the fence shuts, the run is settled, the lock goes, a new execution finishes the job."""

from __future__ import annotations

from typing import Any

import pytest

from app import App, outcome
from stopped import Stopped, begun_after, stop_one, settled

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(scope="module", params=["by_the_rule", "by_the_keeper"])
def seen(request: pytest.FixtureRequest, stops: dict[str, Any]) -> Stopped:
    """A stopped run with the rule on ABORTED, and one without."""
    return stops[request.param].result(400)


def test_the_close_comes_in_time(seen: Stopped) -> None:
    limit = 30 if seen.stack.name == "ByTheRule" else 130
    assert seen.closed_at - seen.stopped_at <= limit
    assert seen.lock["operation"] == "destroy-stopping"
    assert seen.lock["expiresAt"] / 1000 <= seen.closed_at + 300


def test_no_delete_begins_more_than_ten_seconds_after_the_close(seen: Stopped) -> None:
    assert seen.deletes and begun_after(seen, seen.closed_at + 10) == []


def test_the_lock_is_gone_within_200_seconds_and_not_before_the_last_step_can_have_ended(seen: Stopped) -> None:
    assert seen.released_at - seen.stopped_at <= 205
    assert seen.released_at - seen.closed_at >= 74


def test_the_state_is_in_line_with_what_is_gone(seen: Stopped) -> None:
    gone = {id.partition("/")[2] for id, row in seen.record["resources"].items() if row["status"] == "deleted"}
    assert 0 < len(gone) < len(seen.stack.rows)
    assert set(seen.state["resources"]) == set(seen.stack.rows) - gone
    assert set(seen.left) <= set(seen.state["resources"]), "nothing that is still there has lost its record"
    assert seen.record["ended"]["result"] == "Interrupted"


def test_a_new_execution_finishes_the_job(seen: Stopped) -> None:
    assert outcome(seen.second) == ("SUCCEEDED", "Deleted")
    assert seen.left_in_the_end == []


def test_the_emulators_own_engine_shuts_the_fence_within_30_seconds(stops: dict[str, Any]) -> None:
    seen = stops["on_the_emulators_own_engine"].result(300)
    assert seen.lock["operation"] == "destroy-stopping"
    assert seen.closed_at - seen.stopped_at <= 30


def test_a_second_keeper_does_no_harm(hasty: App) -> None:
    """The rule's keeper and the run's own both settle the run: one result, one report, no lock left."""
    seen = settled(stop_one(hasty, "TwoKeepers"))
    keepers = hasty.bed.executions(hasty.outputs["KeeperStateMachineArn"])
    ended = [hasty.bed.wait(k["executionArn"]) for k in keepers if hasty.bed.describe(k["executionArn"])["input"] == {"execution": seen.execution}]
    assert len(ended) == 2 and {k["status"] for k in ended} == {"SUCCEEDED"}
    assert {k["output"]["error"] for k in ended} == {"Interrupted"}
    assert outcome(seen.second) == ("SUCCEEDED", "Deleted") and hasty.lock("TwoKeepers") is None
