"""One teardown of a stack with a bit of everything, looked at from every side."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from bed import seed

from app import REGION, STATE_BUCKET, App, outcome

pytestmark = pytest.mark.timeout(240)
OTHERS_EXPORT = {"value": "kept", "producerStack": "Elsewhere", "producerRegion": REGION}


@dataclass
class Torn:
    """What there is to look at afterwards."""

    app: App
    stack: seed.StackBuilder
    neighbour: seed.StackBuilder
    found: dict[str, Any]
    record: dict[str, Any]
    journal: list[dict[str, Any]]

    def key(self, name: str) -> str:
        return f"cdkd/{self.stack.name}/{REGION}/{name}"


@pytest.fixture(scope="module")
def torn(app: App) -> Torn:
    stack = seed.mixed_stack(app.bed, 84, name="Main")
    stack.outputs["Url"] = "https://main.example.com"
    stack.write(exportNames=["MainUrl"])
    neighbour = seed.StackBuilder(app.bed, "MainNeighbour")
    seed.vpc_stack(neighbour, cidr="10.60")
    seed.table(neighbour, "Accounts")
    seed.bucket(neighbour, "Archive", objects=2)
    neighbour.write()
    for name, body in (("rollback-journal.json", {"journalVersion": 1, "segments": []}),
                       ("create-tokens.json", {"ledgerVersion": 1, "nonce": "n", "sent": {}})):
        app.put(f"cdkd/Main/{REGION}/{name}", body)
        app.put(f"cdkd/Main/{REGION}/{name}", {**body, "again": True})
    app.put(f"cdkd/_index/{REGION}/exports.json", {
        "indexVersion": 1, "region": REGION, "lastModified": 1,
        "exports": {"MainUrl": {"value": "https://main", "producerStack": "Main", "producerRegion": REGION}, "Other": OTHERS_EXPORT},
    })
    before = app.bed.mark()
    found = app.tear_down("Main")
    record = app.record("Main", found["executionArn"])
    assert record, f"no run record; the execution: {found}"
    return Torn(app, stack, neighbour, found, record, app.bed.journal(since=before, agent="rust"))


def test_it_ends_as_deleted_with_every_resource_counted(torn: Torn) -> None:
    assert outcome(torn.found) == ("SUCCEEDED", "Deleted")
    output = torn.found["output"]
    assert output["exitClass"] == 0
    assert output["counts"] == {"deleted": len(torn.stack.rows), "retained": 0, "skipped": 0, "failed": 0, "blocked": 0}
    assert torn.record["ended"]["result"] == "Deleted"
    assert len(torn.record["resources"]) == len(torn.stack.rows) >= 60


def test_nothing_of_the_stack_exists_any_more(torn: Torn) -> None:
    assert torn.stack.survivors() == []


def test_the_stack_next_to_it_is_untouched(torn: Torn) -> None:
    assert torn.neighbour.survivors() == list(torn.neighbour.rows)
    kept = torn.app.state("MainNeighbour")
    assert kept and list(kept["resources"]) == list(torn.neighbour.rows)


def test_the_order_of_deletes_is_one_that_aws_accepts(torn: Torn) -> None:
    assert [(e["action"], e["code"]) for e in torn.journal if e["refused"]] == []


def test_nothing_begins_before_what_needs_it_has_ended(torn: Torn) -> None:
    rows = torn.record["resources"]
    early = [
        (logical, needed)
        for logical, row in torn.stack.rows.items()
        for needed in row["dependencies"]
        if rows[f"Main/{needed}"]["startedAt"] < rows[f"Main/{logical}"]["endedAt"]
    ]
    assert early == []


def test_unrelated_resources_go_at_the_same_time(torn: Torn) -> None:
    assert torn.record["wave"] < len(torn.stack.rows) / 2


def test_each_custom_resource_is_delivered_once(torn: Torn) -> None:
    invoked = [e for e in torn.journal if e["service"] == "lambda" and e["action"] == "Invoke"]
    custom = [r for r in torn.stack.rows.values() if r["resourceType"].startswith("Custom::")]
    assert len(invoked) == len(custom) == 3


def test_only_events_stay_under_the_stacks_keys(torn: Torn) -> None:
    run_id = torn.found["output"]["runId"]
    assert torn.app.keys("cdkd/Main/") == [torn.key(f"deployments/{run_id}.jsonl"), torn.key("deployments/index.json")]
    assert torn.app.keys("custom-resource-responses/") == []


def test_old_versions_go_where_they_may_and_those_of_the_state_stay(torn: Torn) -> None:
    pages = torn.app.bed.look("s3").list_object_versions(Bucket=STATE_BUCKET)
    old = {v["Key"] for kind in ("Versions", "DeleteMarkers") for v in pages.get(kind, []) if not v["IsLatest"]}
    assert torn.key("state.json") in old, "the state's old versions are the way back"
    assert not old & {torn.key("lock.json"), torn.key("rollback-journal.json")}
    assert not [key for key in old if key.startswith("custom-resource-responses/")]


def test_the_exports_index_loses_this_stacks_entries_only(torn: Torn) -> None:
    index = json.loads(torn.app.read(f"cdkd/_index/{REGION}/exports.json") or b"{}")
    assert index["exports"] == {"Other": OTHERS_EXPORT}


def test_the_event_log_tells_the_run_as_cdkd_reads_it(torn: Torn) -> None:
    run_id = torn.found["output"]["runId"]
    lines = (torn.app.read(torn.key(f"deployments/{run_id}.jsonl")) or b"").decode().splitlines()
    events = [json.loads(line) for line in lines]
    assert events[0]["eventType"] == "RUN_STARTED" and events[-1]["eventType"] == "RUN_FINISHED"
    gone = {e["logicalId"] for e in events if e["eventType"] == "RESOURCE_SUCCEEDED"}
    assert gone == set(torn.stack.rows)
    index = json.loads(torn.app.read(torn.key("deployments/index.json")) or b"{}")
    assert run_id in json.dumps(index)


def test_the_report_is_written_for_programs_and_for_people(torn: Torn) -> None:
    where = torn.found["output"]["report"]
    key = {kind: url.removeprefix(f"s3://{STATE_BUCKET}/") for kind, url in where.items()}
    report = json.loads(torn.app.read(key["json"]) or b"")
    assert report["result"] == "Deleted"
    page = (torn.app.read(key["html"]) or b"").decode()
    assert page.lower().startswith("<!doctype html>")
    assert [logical for logical in torn.stack.rows if logical not in page] == []
    assert "<script" not in page and not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page), "a page that loads nothing from outside"


def test_only_the_planner_writes_the_state_and_every_write_is_conditional(torn: Torn) -> None:
    writes = [e for e in torn.journal if e["parameters"].get("Key") == torn.key("state.json")]
    assert writes, "the state is written while the run goes on"
    assert {e["status"] for e in writes} <= {200, 204}, "no write was refused: nobody else wrote"
