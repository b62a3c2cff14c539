"""`python tests/chaos [--rounds N] [--seed S] [SCENARIO]`: teardowns on an emulated AWS that does its worst.

Prints a table of what was done to them. Exit status 0 only when every check of every scenario held.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "chaos"), str(TESTS), str(TESTS / "e2e"), str(TESTS / "demo")]

from scenarios import SCENARIOS, Outcome, play  # noqa: E402
from screen import Screen  # noqa: E402

HEADS = ("scenario", "runs", "faults", "kills", "stops", "waves", "seconds", "checks passed")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("scenario", nargs="*", choices=[*SCENARIOS, []], metavar="SCENARIO", help="left out: all of " + ", ".join(SCENARIOS))
    parser.add_argument("--rounds", type=int, default=1, help="how often each is played, with other dice each time")
    parser.add_argument("--seed", type=int, default=None, help="the dice of an earlier run")
    parser.add_argument("--lanes", type=int, default=2, help="how many are played at the same time")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    screen = Screen()
    screen.line(f"chaos: seed {seed}. The same seed throws the same dice; processes race as they like, so a replay may need several goes.")

    def one(number: int, name: str) -> Outcome:
        return play(name, number, seed, lambda text: screen.line(f"  {time.monotonic() - screen.began:5.0f} s  {name} {number}: {text}"))

    with ThreadPoolExecutor(options.lanes) as lanes:
        played = [lanes.submit(one, number, name) for number in range(1, options.rounds + 1) for name in options.scenario or SCENARIOS]
        outcomes = [future.result() for future in played]
    screen.line()
    screen.table(HEADS, [_row(outcome) for outcome in outcomes])
    violations = [f"{outcome.scenario}: {text}" for outcome in outcomes for text in outcome.checks.violations]
    for violation in violations:
        screen.line(f"violation: {violation}")
    screen.line(f"chaos: {len(outcomes)} scenarios, {len(violations)} violations" + (f", seed {seed}" if violations else ""))
    return 1 if violations else 0


def _row(outcome: Outcome) -> tuple[str, ...]:
    rig = outcome.rig
    done = (len(rig.attempts), outcome.faults, rig.kills, rig.stops, rig.waves) if rig else (0, 0, 0, 0, 0)
    return (outcome.scenario, *map(str, done), f"{outcome.seconds:.0f}", str(outcome.checks))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
