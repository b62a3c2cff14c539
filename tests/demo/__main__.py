"""`python tests/demo [stuck|held|expired|stop]`: Ebb tears a stack down on an emulated AWS while you watch.

Exit status 0 only when everything that the scenario claims was found to hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from follow import COUNTED  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402
from screen import Screen  # noqa: E402
from stage import stage  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("scenario", nargs="?", default="", choices=sorted(SCENARIOS), metavar="SCENARIO",
                        help="what goes wrong: " + ", ".join(sorted(filter(None, SCENARIOS))) + "; left out: nothing")
    scenario = parser.parse_args().scenario
    screen = Screen()
    # Stopping a run is about time: what closes the lock and drains the steps takes as long as it does on AWS.
    with stage(screen, wait_scale=1 if scenario == "stop" else 0.1) as built:
        proof = SCENARIOS[scenario](built)
        took = time.monotonic() - screen.began
        screen.headline(f"All of it holds, {took:.0f} s in all" if not proof.failed else f"{proof.failed} of these do not hold")
        screen.table(("run", "ended", *COUNTED, "seconds", "waves"), built.runs)
    return 1 if proof.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
