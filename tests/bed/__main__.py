"""`python -m bed up`: run a bed in the foreground until Ctrl-C, with the line that points a shell at it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

if not __package__:  # started as `python tests/bed`
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    sys.path.remove(str(Path(__file__).resolve().parent))
    __package__ = "bed"

from bed.bed import Bed  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(prog="bed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start a bed and stay in the foreground")
    up.add_argument("--iam", action="store_true", help="evaluate IAM policies")
    up.add_argument("--own-engine", action="store_true", help="run state machines on the emulator's own engine")
    up.add_argument("--wait-scale", type=float, default=1, help="how long Wait states take, 1 is what they say")
    options = parser.parse_args()
    with Bed(strict=not options.own_engine, iam=options.iam, wait_scale=options.wait_scale) as bed:
        print("export " + " ".join(f"{k}={v}" for k, v in bed.environment().items()), flush=True)
        print(f"# logs: {bed.directory}   stop: Ctrl-C", file=sys.stderr, flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
