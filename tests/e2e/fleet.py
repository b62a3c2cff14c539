"""Fleets of small stacks, and who was chosen of them and why."""

from __future__ import annotations

import time
from typing import Any
from collections.abc import Iterable

from bed import Bed, seed

from app import REGION

HOUR = 3_600_000


def stack(bed: Bed, name: str, *, hours_old: float = 100, imports: Iterable[str] = (), reads: Iterable[str] = (),
          tags: dict[str, str] | None = None, **fields: Any) -> seed.StackBuilder:
    """A stack of a queue and a parameter, written; its state was last touched `hours_old` ago."""
    made = seed.StackBuilder(bed, name)
    seed.queue(made, "Jobs")
    seed.parameter(made, "First", needs=["Jobs"])
    made.rows["Jobs"]["properties"]["Tags"] = [{"Key": k, "Value": v} for k, v in (tags or {}).items()]
    made.write(
        lastModified=int(time.time() * 1000 - hours_old * HOUR),
        imports=[{"sourceStack": source, "sourceRegion": REGION, "exportName": "Url"} for source in imports],
        outputReads=[{"sourceStack": source, "sourceRegion": REGION, "outputName": "Url"} for source in reads],
        **{"outputs": {"Url": "x"}, "exportNames": ["Url"], **fields},
    )
    return made


def gone(stacks: Iterable[seed.StackBuilder]) -> list[str]:
    """The names of those of which nothing is left."""
    return [one.name for one in stacks if not one.survivors()]


def results(found: dict[str, Any]) -> dict[str, str]:
    """What came of each chosen stack, by name."""
    return {one["stack"]: one["result"] for one in found["output"]["stacks"]}


def left(found: dict[str, Any]) -> dict[str, str]:
    """Why the others were not chosen, by name; those that nobody named are left out."""
    return {one["stack"]: one["code"] for one in found["output"]["left"] if one["code"] != "NotNamed"}
