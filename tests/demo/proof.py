"""What is checked at the end, asked of AWS's own APIs and not of Ebb."""

from __future__ import annotations

from typing import Any

from progress import STATE_BUCKET
from stage import TARGET, Stage


class Proof:
    """A list of claims, each printed with what was found. The demo fails when one does not hold."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.failed = 0
        stage.screen.headline("Checking, through AWS's APIs")

    def that(self, claim: str, holds: bool, found: Any = "") -> None:
        word = self.stage.screen.paint("yes", "green") if holds else self.stage.screen.paint("NO ", "red")
        self.stage.screen.line(f"  {word}  {claim}" + (f": {found}" if found and not holds else ""))
        self.failed += not holds

    # ---- claims that scenarios share

    def everything_is_gone(self) -> None:
        stage = self.stage
        survivors = stage.stack.survivors()
        self.that(f"none of the {len(stage.stack.rows)} resources exists any more", not survivors, survivors)
        left = [key for key in _keys(stage, f"cdkd/{stage.stack.name}/") if "/deployments/" not in key]
        self.that("state.json, lock.json and what belongs to them are gone from the state bucket", not left, left)

    def lock_is_released(self) -> None:
        self.that("the lock is released", self.stage.place.lock() is None)

    def neighbour_is_untouched(self) -> None:
        alive = self.stage.neighbour.survivors()
        missing = [name for name in self.stage.neighbour.rows if name not in alive]
        self.that(f"the {len(alive)} resources of the stack next to it are all there", not missing, missing)

    def no_delete_was_refused(self) -> None:
        refused = [f"{e['action']} {e['code']}" for e in self.stage.bed.journal(agent="rust") if e["refused"]]
        self.that("AWS refused none of the deletes: their order was right", not refused, refused)

    def nothing_was_changed(self, before: int) -> None:
        done = [e["action"] for e in self.stage.bed.journal(agent="rust", since=before) if 200 <= e["status"] < 300]
        self.that("no call of Ebb's changed anything", not done, done)

    # ---- the report

    def report(self, output: dict[str, Any], scenario: str) -> None:
        """Say where the report is and copy the page to where a person can open it."""
        report = output.get("report") or {}
        bodies = {kind: self.stage.place.read(_key(where)) for kind, where in report.items()}
        self.that("report.json and report.html are written", bool(bodies.get("json") and bodies.get("html")), report)
        if not bodies.get("html"):
            return
        copy = TARGET / "demo" / f"{scenario}.html"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(bodies["html"] or b"")
        for where in report.values():
            self.stage.screen.line(f"       s3://{STATE_BUCKET}/{_key(where)}")
        self.stage.screen.line(f"       copied to {copy}")


def _key(where: str) -> str:
    return where.removeprefix(f"s3://{STATE_BUCKET}/")


def _keys(stage: Stage, prefix: str) -> list[str]:
    pages = stage.bed.look("s3").get_paginator("list_objects_v2").paginate(Bucket=STATE_BUCKET, Prefix=prefix)
    return [item["Key"] for page in pages for item in page.get("Contents", [])]
