"""The progress of a run, read where Ebb itself keeps it: the run record and the lock in the state bucket."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bed import Bed

STATE_BUCKET = "cdkd-state-000000000000"
SETTLED = ("deleted", "retained", "skipped", "failed", "blocked")


@dataclass
class Place:
    """Where the objects of one stack are."""

    bed: Bed
    stack: str
    region: str = "us-east-1"
    prefix: str = "cdkd"

    def key(self, name: str) -> str:
        return f"{self.prefix}/{self.stack}/{self.region}/{name}"

    def read(self, key: str) -> bytes | None:
        """The object, looked for past the front door so that looking leaves no trace; `None` when there is none."""
        s3 = self.bed.look("s3")
        try:
            return s3.get_object(Bucket=STATE_BUCKET, Key=key)["Body"].read()
        except s3.exceptions.NoSuchKey:
            return None

    def lock(self) -> dict[str, Any] | None:
        """The stack's lock."""
        body = self.read(self.key("lock.json"))
        return json.loads(body) if body else None

    def state(self) -> dict[str, Any] | None:
        """The stack's state."""
        body = self.read(self.key("state.json"))
        return json.loads(body) if body else None

    def record(self, execution: str) -> dict[str, Any] | None:
        """The record of the run that is named after `execution`."""
        found = self.bed.look("s3").list_objects_v2(Bucket=STATE_BUCKET, Prefix=f"ebb/runs/{self.key('')}")
        for key in (item["Key"] for item in found.get("Contents", [])):
            if key.endswith(".report.json") or not key.endswith(".json"):
                continue
            record = json.loads(self.read(key) or b"{}")
            if record.get("run", {}).get("execution") == execution:
                return record
        return None


def took(resource: dict[str, Any]) -> float:
    """Seconds from a resource's first step to its end."""
    return max(0, resource.get("endedAt", 0) - resource.get("startedAt", resource.get("endedAt", 0))) / 1000


def standing(record: dict[str, Any]) -> dict[str, int]:
    """How many resources stand where."""
    counts: dict[str, int] = {}
    for resource in record["resources"].values():
        counts[resource["status"]] = counts.get(resource["status"], 0) + 1
    return counts
