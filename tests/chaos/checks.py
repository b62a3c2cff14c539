"""What has to hold after every run and at the end, asked of AWS's own APIs and of the journal of the front door."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from app import REGION, STATE_BUCKET, App
from rig import Attempt, Rig

FINISHED = ("Deleted", "Empty", "NothingToDo")


@dataclass
class Checks:
    """Claims that held, and those that did not."""

    held: int = 0
    violations: list[str] = field(default_factory=list)

    def that(self, claim: str, holds: object, found: Any = "") -> None:
        if holds:
            self.held += 1
        else:
            self.violations.append(f"{claim}: {found}")

    def __str__(self) -> str:
        return f"{self.held}/{self.held + len(self.violations)}"


def after_run(checks: Checks, rig: Rig, attempt: Attempt, ends: tuple[str, ...]) -> None:
    """One settled run: nothing locked, nothing lost, and what Ebb says of it is so. `ends`: how a run may end here."""
    run, found, record, name = f"run {attempt.number}", attempt.found, attempt.record, rig.stack.name
    end = "Interrupted" if found["status"] == "ABORTED" else found.get("error") or found["output"]["result"]
    checks.that(f"{run} ends as it may", end in ends, f"{end}: {found.get('cause')}")
    keepers = [(k["status"], k.get("error")) for k in attempt.keepers]
    checks.that(f"{run}'s keepers succeed", {status for status, _ in keepers} == {"SUCCEEDED"}, keepers)
    checks.that(f"no lock is left after {run}", rig.app.lock(name) is None, rig.app.lock(name))
    said = json.dumps(record.get("warnings", []))
    left = [key for key in rig.app.keys("custom-resource-responses/") if key not in said and not _came_late(rig, key)]
    checks.that(f"after {run} no response object is left unsaid", not left, [_story(rig, attempt, key) for key in left])
    if not record:
        checks.that(f"{run} without a record changed nothing", attempt.rows_after == attempt.rows_before, end)
        return

    ended = record.get("ended", {}).get("result")
    # A crash or a stop ends the execution; its keeper then finds a run that was interrupted, or one that had done all there was to do.
    truths = {end, "Interrupted", *FINISHED} if end in ("Error", "Interrupted") else {end}
    checks.that(f"{run}'s record is settled in accord with its end", ended in truths, f"{ended}, the execution: {end}")
    gone = {id.partition("/")[2] for id, row in record["resources"].items() if row["status"] == "deleted"}
    alive = set(attempt.survivors)
    checks.that(f"{run} claims no resource that is there", not gone & alive, gone & alive)
    rows = attempt.rows_after or set()
    checks.that(f"after {run} nothing that is there lacks its row", alive <= rows, alive - rows)
    checks.that(f"{run} took exactly the deleted rows from the state", rows == attempt.rows_before - gone, rows ^ (attempt.rows_before - gone))
    checks.that(f"{run} says finished if and only if it is", (ended in FINISHED) == (attempt.rows_after is None and not alive), f"{ended}, {alive}")
    if isinstance(found.get("output"), dict):
        counted = Counter(row["status"] for row in record["resources"].values())
        counts = found["output"]["counts"]
        checks.that(f"{run}'s output counts what its record says", all(counts[s] == counted.get(s, 0) for s in counts), (counts, counted))
    _written(checks, rig.app, name, run, record, ended)


def _came_late(rig: Rig, key: str) -> bool:
    """Whether a handler answered into an object after Ebb had deleted it: it holds an address that outlives the run."""
    calls = [(e["agent"], e["action"]) for e in rig.bed.journal(service="s3") if e["parameters"].get("Key") == key and 200 <= e["status"] < 300]
    return len(calls) > 1 and calls[-2] == ("rust", "DeleteObject") and calls[-1][0] != "rust" and calls[-1][1] == "PutObject"


def _story(rig: Rig, attempt: Attempt, key: str) -> str:
    """Who wrote and deleted an object, in seconds after the run began: what a reader of a violation asks first."""
    began = attempt.found["startDate"].timestamp()
    calls = [e for e in rig.bed.journal() if e["parameters"].get("Key") == key]
    ended = attempt.found["stopDate"].timestamp() - began
    finished = [round(k["stopDate"].timestamp() - began, 1) for k in attempt.keepers]
    told = [f"{e['action']} by {e['agent']} {e['status']} at {e['time'] - began:.1f} s" for e in calls]
    return f"{key}: {', '.join(told)}; the run ended at {ended:.1f} s, its keepers at {finished}"


def _written(checks: Checks, app: App, name: str, run: str, record: dict[str, Any], ended: str | None) -> None:
    run_id = record["run"]["runId"]
    report = json.loads(app.read(f"ebb/runs/cdkd/{name}/{REGION}/{run_id}.report.json") or b"{}")
    checks.that(f"{run}'s report says what the record says", report.get("result") == ended, report.get("result"))
    lines = (app.read(f"cdkd/{name}/{REGION}/deployments/{run_id}.jsonl") or b"").decode().splitlines()
    kinds = [json.loads(line)["eventType"] for line in lines]
    checks.that(f"{run}'s events are whole", kinds and (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED"), kinds[:1] + kinds[-1:])


def in_the_end(checks: Checks, rig: Rig) -> None:
    """All runs together: the stack is gone, its neighbour is not, and nobody was asked or told twice."""
    name, app = rig.stack.name, rig.app
    survivors = rig.stack.survivors()
    checks.that(f"none of the {len(rig.stack.rows)} resources exists any more", not survivors, survivors)
    left = [key for key in app.keys(f"cdkd/{name}/") if "/deployments/" not in key]
    checks.that("only events stay under the stack's keys", not left, left)
    locks = [key for key in app.keys() if key.endswith("lock.json")]
    checks.that("no lock is in the bucket", not locks, locks)
    missing = set(rig.neighbour.rows) - set(rig.neighbour.survivors())
    checks.that("the neighbour's resources are all there", not missing, missing)
    checks.that("the neighbour's objects are what they were", app.versions(f"cdkd/{rig.neighbour.name}/") == rig.neighbours_versions)

    journal = rig.bed.journal(agent="rust")
    _refusals(checks, journal)
    _deliveries(checks, rig, journal)
    for attempt, later in zip(rig.attempts, [*rig.attempts[1:], None]):
        after = [e for e in journal if attempt.settled_mark < e["n"] <= (later.mark if later else len(journal) + 10**9)]
        changes = [e["action"] for e in after if e["parameters"].get("Bucket") != STATE_BUCKET]
        checks.that(f"nothing changes once run {attempt.number} is settled", not changes, changes)


def _refusals(checks: Checks, journal: list[dict[str, Any]]) -> None:
    """A delete that came too early was made again later, and then was in time."""
    for refused in (e for e in journal if e["refused"]):
        again = [e for e in journal if e["n"] > refused["n"] and not e["refused"] and 200 <= e["status"] < 300
                 and (e["service"], e["action"], e["parameters"]) == (refused["service"], refused["action"], refused["parameters"])]
        checks.that("what AWS refused went later", again, f"{refused['action']} {refused['code']} {refused['parameters']}")


def _deliveries(checks: Checks, rig: Rig, journal: list[dict[str, Any]]) -> None:
    """The handler is called at most once for one request; a request belongs to one attempt of one run."""
    invoked = [e for e in journal if (e["service"], e["action"]) == ("lambda", "Invoke") and 200 <= e["status"] < 300]
    # The journal's status is the handler's; a call whose planted failure came before it reached nobody.
    requests = Counter(e["parameters"].get("RequestId") for e in invoked)
    twice = {request: count for request, count in requests.items() if count > 1}
    checks.that("every request to the handler was delivered at most once", not twice and None not in requests, twice or requests)
    for logical, row in rig.stack.rows.items():
        if row["resourceType"].startswith("Custom::"):
            times = sum(e["parameters"].get("LogicalResourceId") == logical for e in invoked)
            checks.that(f"{logical} was delivered, and no more often than there were runs", 1 <= times <= len(rig.attempts), times)
