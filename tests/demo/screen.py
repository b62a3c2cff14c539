"""What the demo prints: headlines, aligned lines, tables and, on a terminal, a few lines at the bottom that change in place."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Screen:
    """One terminal or one pipe. `live` lines are redrawn on a terminal and left out elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.colours = self.terminal and "NO_COLOR" not in os.environ
        self.began = time.monotonic()
        self._live = 0

    def paint(self, text: str, style: str) -> str:
        return f"\033[{_STYLES[style]}m{text}\033[0m" if self.colours and style else text

    def headline(self, text: str) -> None:
        """What begins now."""
        self.line()
        self.line(self.paint(text, "bold"))

    def line(self, text: str = "") -> None:
        """A line that stays."""
        self._erase()
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def live(self, lines: Iterable[str]) -> None:
        """Lines that the next output replaces."""
        if not self.terminal:
            return
        self._erase()
        width = shutil.get_terminal_size().columns - 1
        shown = [line[:width] for line in lines]
        sys.stdout.write("".join(self.paint(line, "dim") + "\n" for line in shown))
        sys.stdout.flush()
        self._live = len(shown)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table with aligned columns: numbers to the right, the rest to the left."""
        body = [list(row) for row in rows]
        widths = [max(len(row[n]) for row in [list(heads), *body]) for n in range(len(heads))]
        numeric = [all(row[n].replace(".", "").isdigit() for row in body) for n in range(len(heads))]

        def laid_out(row: Sequence[str]) -> str:
            cells = [cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric)]
            return ("  " + "   ".join(cells)).rstrip()

        self.line(self.paint(laid_out(heads), "dim"))
        for row in body:
            self.line(laid_out(row))

    def _erase(self) -> None:
        if self._live:
            sys.stdout.write(f"\033[{self._live}A\033[J")
            self._live = 0
