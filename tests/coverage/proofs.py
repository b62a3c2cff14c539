"""What proves that a type goes away: the log of the providers' tests, and the cases on the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What a test must have seen of a step, by road: any one of each set.
_NEEDED: dict[str, tuple[set[str], ...]] = {
    "native": ({"deleted"}, {"already gone"}),
    "cloudControl": ({"deleted"}, {"already gone"}),
    "handler": ({"deleted"}, {"already gone", "skipped HandlerFailed"}),
    "noCall": ({"deleted"},),
}


@dataclass(frozen=True)
class Replay:
    """Type, outcome and test of each step and look that the tests of the providers made."""

    seen: frozenset[tuple[str, str, str]]

    @classmethod
    def read(cls, log: Path) -> Replay:
        lines = (line.split("\t") for line in log.read_text().splitlines())
        # Services that answer nonsense prove nothing.
        return cls(frozenset((kind, outcome, test) for kind, outcome, test in lines if not test.startswith("hostile::")))

    def outcomes(self, name: str) -> set[str]:
        return {outcome for kind, outcome, _ in self.seen if _is(kind, name)}

    def tests(self, name: str) -> set[str]:
        return {test for kind, _, test in self.seen if _is(kind, name)}

    def proves(self, row: dict[str, Any]) -> bool:
        needed = _NEEDED.get(row["road"])
        return bool(needed) and all(any_of & self.outcomes(row["type"]) for any_of in needed)

    def lacks(self, row: dict[str, Any]) -> str:
        """What no test saw, of a type that is not proved."""
        needed = _NEEDED.get(row["road"])
        if needed is None:
            return f"the road {row['road']} cannot be replayed"
        missing = [" or ".join(sorted(any_of)) for any_of in needed if not any_of & self.outcomes(row["type"])]
        return f"no replay ends as {', none as '.join(missing)}"

    def saw_it_refuse(self, row: dict[str, Any]) -> bool:
        """Whether a test saw the type's look refuse for what it is meant to refuse for, if for anything."""
        wanted = {"protection": "refuses Protected", "data": "refuses DataGuard", None: None}[row["refuses"]]
        return wanted is None or wanted in self.outcomes(row["type"])


def _is(kind: str, name: str) -> bool:
    return kind == name or (name.endswith("::*") and kind.startswith(name[:-1]))


def on_the_emulator() -> set[str]:
    """The types that have a case of their own."""
    from type_cases import CASES, ELSEWHERE

    return {*CASES, *ELSEWHERE}
