"""`App`: the deployed app, and what tests ask of it and of the state bucket."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from collections.abc import Callable

from bed import Bed, seed

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
ACCOUNT = "000000000000"
REGION = "us-east-1"
STATE_BUCKET = f"cdkd-state-{ACCOUNT}"
# Actions that the emulator asks for by another name than IAM's: the app has those that AWS asks for.
MISNAMED = {
    "budgets:DeleteBudget": "budgets:ModifyBudget",
    "lambda:CreateFunctionUrlConfig": "lambda:DeleteFunctionUrlConfig",
    "lambda:ListEventSourceMappings": "lambda:GetEventSourceMapping",
    "s3tables:GetNamespace": "s3tables:ListNamespaces",
}
FUNCTIONS = ("ebb-planner", "ebb-worker", "ebb-lock-keeper", "ebb-finalizer")


@dataclass
class App:
    """One deployed app. The stack's names in requests come from the tests."""

    bed: Bed
    outputs: dict[str, str]

    @staticmethod
    def deployed(bed: Bed, **parameters: str) -> App:
        """Deploy on `bed`, state bucket included; by default no parameter is given at all, as after a plain `make deploy`."""
        seed.state_bucket(bed)
        return App(bed, bed.deploy(ROOT / "infra/template.yaml", parameters, ARTIFACTS))

    @staticmethod
    def with_its_own_rights(bed: Bed, **parameters: str) -> App:
        """Deploy on a bed that evaluates policies, with what `MISNAMED` lists and no other right more than a plain deployment's."""
        statement = {"Effect": "Allow", "Action": sorted(MISNAMED), "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        extra = bed.client("iam").create_policy(PolicyName="extra", PolicyDocument=document)["Policy"]["Arn"]
        return App.deployed(bed, ExtraDeletePolicyArn=extra, **parameters)

    # ---- teardowns

    def start(self, request: Any, name: str | None = None) -> str:
        return self.bed.start(self.outputs["TeardownStateMachineArn"], request, name)

    def run(self, request: Any, name: str | None = None, timeout: float = 120) -> dict[str, Any]:
        """A teardown from start to end: its description, `output` and `cause` parsed. What it leaves is printed, for the test that fails."""
        found = self.bed.wait(self.start(request, name), timeout)
        if found["status"] != "SUCCEEDED" and isinstance(request, dict):
            rows = (self.record(str(request.get("stack")), found["executionArn"]) or {}).get("resources", {})
            for id, row in rows.items():
                if row["status"] not in ("deleted", "retained"):
                    print(f"{row['status']:8} {id} {row.get('code')}: {row.get('reason')}")
        return found

    def tear_down(self, stack: str, **options: Any) -> dict[str, Any]:
        """A confirmed teardown of `stack`."""
        return self.run({"stack": stack, "region": REGION, "confirm": stack, **options})

    def sweep(self, request: dict[str, Any], timeout: float = 180) -> dict[str, Any]:
        """A sweep from start to end: its description; of one that failed, `output` is what its Cause says."""
        found = self.bed.wait(self.bed.start(self.outputs["SweepStateMachineArn"], request), timeout)
        if found["status"] == "FAILED" and isinstance(found.get("cause"), dict):
            found["output"] = found["cause"]
        return found

    def news(self, execution: str, timeout: float = 60) -> dict[str, Any]:
        """What was told of an execution that is over: event and message."""
        def told() -> Any:
            ended = (self.bed.describe(e["executionArn"]) for e in self.bed.executions(self.outputs["AnnounceStateMachineArn"]))
            return next((one["output"] for one in ended if one["input"]["execution"] == execution and one["status"] == "SUCCEEDED"), None)

        return until(told, timeout)

    def drives(self, run_id: str) -> list[dict[str, Any]]:
        """The descriptions of a run's drives."""
        found = self.bed.executions(self.outputs["DriveStateMachineArn"])
        return [self.bed.describe(e["executionArn"]) for e in found if e["name"].startswith(f"{run_id}-")]

    # ---- the state bucket, read past the front door

    def read(self, key: str) -> bytes | None:
        s3 = self.bed.look("s3")
        try:
            return s3.get_object(Bucket=STATE_BUCKET, Key=key)["Body"].read()
        except s3.exceptions.NoSuchKey:
            return None

    def put(self, key: str, body: Any) -> bytes:
        """Write an object as somebody else; anything but bytes is JSON."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.bed.look("s3").put_object(Bucket=STATE_BUCKET, Key=key, Body=raw, ContentType="application/json")
        return raw

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.bed.look("s3").get_paginator("list_objects_v2").paginate(Bucket=STATE_BUCKET, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def versions(self, prefix: str = "") -> list[tuple[str, str, bool]]:
        """Every version of every object: key, version id and whether it is a delete marker. Equal lists: nothing was written."""
        pages = self.bed.look("s3").get_paginator("list_object_versions").paginate(Bucket=STATE_BUCKET, Prefix=prefix)
        return sorted(
            (item["Key"], item["VersionId"], kind == "DeleteMarkers")
            for page in pages for kind in ("Versions", "DeleteMarkers") for item in page.get(kind, [])
        )

    def state(self, stack: str) -> dict[str, Any] | None:
        return _json(self.read(f"cdkd/{stack}/{REGION}/state.json"))

    def lock(self, stack: str) -> dict[str, Any] | None:
        return _json(self.read(f"cdkd/{stack}/{REGION}/lock.json"))

    def record(self, stack: str, execution: str) -> dict[str, Any] | None:
        """The record of the run of that execution."""
        for key in self.keys(f"ebb/runs/cdkd/{stack}/{REGION}/"):
            if not key.endswith((".report.json", ".html")):
                record = _json(self.read(key))
                if record and record["run"]["execution"] == execution:
                    return record
        return None

    # ---- what happened

    def logs(self) -> list[str]:
        """What all functions have printed."""
        return [line for function in FUNCTIONS for line in self.bed.logs(function)]

    def changes(self, since: int) -> list[dict[str, Any]]:
        """The functions' calls that change something outside the state bucket."""
        return [e for e in self.bed.journal(agent="rust", since=since) if e["parameters"].get("Bucket") != STATE_BUCKET]


def error(found: dict[str, Any]) -> tuple[str, str]:
    """Status and error name of an execution, the Cause with it when they are not what a test expects."""
    return found["status"], found.get("error", "")


def outcome(found: dict[str, Any]) -> tuple[str, str]:
    """Status and result of an execution; error and cause when there is no result."""
    output = found.get("output")
    return found["status"], output["result"] if isinstance(output, dict) else f"{found.get('error')}: {found.get('cause')}"


def message(found: dict[str, Any]) -> str:
    """The message in the Cause of a failed execution, whose other members are checked on the way."""
    cause = found["cause"]
    assert isinstance(cause, dict), f"the Cause is no JSON object: {cause!r}"
    assert cause["result"] == found["error"] and cause["exitClass"] in (1, 2) and cause["todo"], cause
    return cause["message"]


def until(holds: Callable[[], Any], seconds: float, every: float = 0.1) -> Any:
    """Wait until `holds` answers something true, and answer that; an assertion error after `seconds`."""
    end = time.monotonic() + seconds
    while not (met := holds()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(every)
    return met


def began(entry: dict[str, Any]) -> float:
    """When the call of a journal entry reached the front door."""
    return entry["time"] - entry["ms"] / 1000


def _json(body: bytes | None) -> dict[str, Any] | None:
    return json.loads(body) if body else None
