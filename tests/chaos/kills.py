"""Kills the processes of a function, by their ids, as a host that fails would.

A process counts as the function's when its executable is a `bootstrap` inside the bed's own directory and its environment names
the function: nothing outside the bed is ever looked at twice. Needs `/proc`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from random import Random
from collections.abc import Callable

from bed import Bed


def processes(bed: Bed, function: str) -> list[int]:
    """The ids of the processes that run `function` in `bed`."""
    home, wanted = os.path.realpath(bed.directory), f"AWS_LAMBDA_FUNCTION_NAME={function}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            executable = os.readlink(process / "exe").removesuffix(" (deleted)")
            if executable.startswith(home + os.sep) and executable.endswith("/bootstrap"):
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
    return found


class Killer:
    """A thread that kills processes of `function` at random moments, `most` of them, from when `begins` holds until it is called off."""

    def __init__(self, bed: Bed, dice: Random, function: str, most: int, pause: tuple[float, float],
                 begins: Callable[[], bool] = lambda: True) -> None:
        self.killed = 0
        self.function = function
        self._bed, self._dice, self._most, self._pause, self._begins = bed, dice, most, pause, begins
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._begins() and not self._over.wait(0.1):
            pass
        while self.killed < self._most and not self._over.is_set():
            if not processes(self._bed, self.function):
                self._over.wait(0.02)
                continue
            if self._over.wait(self._dice.uniform(*self._pause)):
                return
            if alive := processes(self._bed, self.function):
                try:
                    os.kill(self._dice.choice(alive), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    continue
