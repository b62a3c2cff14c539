"""`make types`: how each type of the catalogue goes away and what proves it, and the page `docs/supported-types.md`.

Roads come from the code (`--bin types`). A type is proved by replay when the tests of the providers saw its step end as its road can
end (`EBB_STEPS_LOG`), and on the emulator when `tests/e2e` has a case of it, which fails when the type does not go.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
sys.path[:0] = [str(TESTS), str(TESTS / "e2e"), str(Path(__file__).resolve().parent)]

from proofs import Replay, on_the_emulator  # noqa: E402

ROADS = {"native": "native", "cloudControl": "Cloud Control", "handler": "handler", "noCall": "no call", "planner": "planner"}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "steps"
        rows = roads()
        tests = subprocess.run(["cargo", "test", "--quiet", "--package", "ebb-providers"], cwd=ROOT,
                               env={**os.environ, "EBB_STEPS_LOG": str(log)}, stdout=subprocess.PIPE, text=True)
        if tests.returncode:
            print(tests.stdout, "the tests of ebb-providers fail: what they saw proves nothing", sep="\n", file=sys.stderr)
            return 1
        replay = Replay.read(log)
    emulator = on_the_emulator()
    unproved, astray = [], []
    for row in rows:
        name, road = row["type"], row["road"]
        proofs = [said for said, holds in (("emulator", name in emulator), ("replay", replay.proves(row))) if holds]
        print(f"{name:48} {ROADS.get(road, road):14} {', '.join(proofs) or 'UNPROVED':17} {len(replay.tests(name)):4} tests  {row['why']}")
        if not proofs:
            unproved.append(f"{name}: {replay.lacks(row)}, and tests/e2e/type_cases has no case of it")
        elif not replay.saw_it_refuse(row):
            unproved.append(f"{name}: no test saw its look refuse for its {row['refuses']}")
        if road != row["meant"]:
            astray.append(f"{name}: its road is {road}, meant is {row['meant']} (functions/providers/catalogue_rows.json)")
    if unproved or astray:
        print("", *unproved, *astray, sep="\n")
    print(summary(rows, len(unproved)))
    return 1 if unproved or astray else 0


def roads() -> list[dict[str, Any]]:
    """The rows of the catalogue with their roads; writes the page on the way."""
    command = ["cargo", "run", "--quiet", "--package", "ebb-providers", "--bin", "types", "--", "docs/supported-types.md"]
    found = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in found.stdout.splitlines()]


def summary(rows: list[dict[str, Any]], unproved: int) -> str:
    """One line whose middle numbers add up to the first."""
    count = {road: sum(row["road"] == road for row in rows) for road in ("native", "cloudControl")}
    others = len(rows) - sum(count.values())
    return (f"{len(rows)} types, {count['native']} native, {count['cloudControl']} Cloud Control, "
            f"{others} no call or handler, {unproved} unproved")


if __name__ == "__main__":
    sys.exit(main())
