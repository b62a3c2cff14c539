"""Failures planted at run time: the front door answers an error, waits, or cuts the connection where a rule says so.

A rule is a JSON object:

| field | meaning |
| --- | --- |
| `service`, `action` | which calls, by boto3's name of the service and the API's name of the action; left out or `*`: any |
| `match` | text (or a list of texts, all of them) that the path, the query or the body must hold |
| `agent` | whose calls: `rust`, `strict`, `cloudcontrol`, `boto3`; left out: anyone's |
| `spare` | actions that the rule leaves alone |
| `code`, `message`, `status` | the error to answer; without a code and without `drop` the rule only delays |
| `times` (1), `forever` (false), `skip` (0) | how often it fires; how many matching calls pass first |
| `probability` (1), `seed` (0) | how likely it fires for a call it meets; equal seeds fire at the same of its calls, counted from the first |
| `delay_ms` (0) | wait before going on |
| `after` (false) | let the call take effect first, then fail: "done, but the answer was lost" |
| `drop` (false) | cut the connection instead of answering |
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field, fields
from typing import Any

from .wire import Call


@dataclass
class Fault:
    """One planted rule and how often it has met a call."""

    service: str = "*"
    action: str = "*"
    match: str | list[str] = field(default_factory=list)
    agent: str = "*"
    spare: list[str] = field(default_factory=list)
    code: str = ""
    message: str = "Planted by the test bed."
    status: int = 400
    times: int = 1
    forever: bool = False
    skip: int = 0
    probability: float = 1
    seed: int = 0
    delay_ms: int = 0
    after: bool = False
    drop: bool = False
    id: int = 0
    seen: int = 0
    fired: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise ValueError("the probability of a fault is above 0 and at most 1")
        self._dice = random.Random(self.seed)

    @classmethod
    def of(cls, rule: dict[str, Any]) -> Fault:
        unknown = set(rule) - {f.name for f in fields(cls)} | set(rule) & {"id", "seen", "fired"}
        if unknown:
            raise ValueError(f"a fault has no field {', '.join(sorted(unknown))}")
        return cls(**rule)

    def meets(self, call: Call) -> bool:
        texts = [self.match] if isinstance(self.match, str) else self.match
        return (
            self.service in ("*", call.service)
            and self.action in ("*", call.action)
            and self.agent in ("*", call.agent)
            and call.action not in self.spare
            and all(call.contains(text) for text in texts if text)
        )

    def falls(self) -> bool:
        """Throw the dice for one call."""
        return self.probability == 1 or self._dice.random() < self.probability


class Faults:
    """The planted rules and the record of what fired."""

    def __init__(self) -> None:
        self._rules: list[Fault] = []
        self._fired: list[dict[str, Any]] = []
        self._count = 0
        self._lock = threading.Lock()

    def plant(self, rules: list[dict[str, Any]]) -> list[int]:
        """Add rules; answers their ids. A rule with an unknown field plants nothing at all."""
        planted = [Fault.of(rule) for rule in rules]
        with self._lock:
            for fault in planted:
                self._count += 1
                fault.id = self._count
            self._rules.extend(planted)
        return [fault.id for fault in planted]

    def take(self, call: Call) -> Fault | None:
        """The first rule that fires for `call`, counted as fired."""
        if not self._rules:
            return None
        with self._lock:
            for fault in self._rules:
                if not (fault.forever or fault.fired < fault.times) or not fault.meets(call):
                    continue
                fault.seen += 1
                if fault.seen <= fault.skip or not fault.falls():
                    continue
                fault.fired += 1
                self._fired.append(
                    {"id": fault.id, "time": round(time.time(), 4), "service": call.service, "action": call.action,
                     "path": call.target[:300], "code": fault.code, "status": fault.status, "agent": call.agent}
                )
                return fault
        return None

    def fired(self) -> dict[str, Any]:
        with self._lock:
            return {
                "fired": list(self._fired),
                "rules": [{f.name: getattr(r, f.name) for f in fields(r)} for r in self._rules],
            }

    def lift(self) -> None:
        """Remove the rules; what fired stays on record."""
        with self._lock:
            self._rules.clear()

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()
            self._fired.clear()
