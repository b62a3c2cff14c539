"""What a case of a type is made of, and how cases ask a service whether something is there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bed.seed.builder import StackBuilder
from bed.seed.exists import CHECKS, Check, listed, read

__all__ = ["Case", "listed", "made", "read", "record", "with_snapshot"]


@dataclass(frozen=True)
class Case:
    """One type on the emulator.

    `make` makes one through the service's API, records it in the stack as cdkd would, and answers its logical id. `service` and
    `there` say how the service is asked for it; types that `seed.exists` knows leave them out. `options` are the run's.
    `again`: what a second teardown comes to, when the resource is gone already. `calls`: whether AWS is called at all. `minutes`: how
    long ago its first step was, for what is only done to a resource that stays.
    """

    type: str
    make: Callable[[StackBuilder], str]
    service: str = ""
    there: Check | None = None
    options: dict[str, bool] = field(default_factory=dict)
    again: str = "deleted"
    calls: bool = True
    minutes: int = 0

    def __post_init__(self) -> None:
        if self.there:
            CHECKS[self.type] = (self.service, self.there)


def made(stack: StackBuilder, kind: str, physical: str, properties: dict[str, Any] | None = None, **fields: Any) -> str:
    """Record a resource under the last word of its type. It needs the rows that its properties name."""
    logical, said = kind.rpartition("::")[2], json.dumps(properties or {})
    while logical in stack.rows:
        logical += "X"
    needs = [other for other, row in stack.rows.items() if row["physicalId"] in said]
    return stack.add(logical, kind, physical, properties or {}, needs=needs, **fields)


def with_snapshot(found: bool, taken: Any) -> bool:
    """`found`, of a resource that may only go with a final snapshot."""
    assert found or taken, "it is gone without its final snapshot"
    return found


def record(kind: str, physical: str = "recorded") -> Case:
    """A type of which there is nothing but the record."""
    return Case(kind, lambda stack: made(stack, kind, physical), "sts", lambda *_: True, calls=False)
