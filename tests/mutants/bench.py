"""Breaks a rule in the copy, runs the tests that must notice, and mends it again."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

# A mutant that makes the tests hang is noticed by that.
TEST_SECONDS = 240
BUILD_SECONDS = 3600


class Broken(Exception):
    """The mutant could not be tried, which says nothing about the tests."""


class Bench:
    """A copy of the checkout with its own target directory."""

    def __init__(self, tree: Path, target: Path) -> None:
        self.tree = tree
        self.environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never", "INSTA_UPDATE": "no"}
        self.unbroken: dict[str, str] = {}

    def check_unbroken(self, test: str) -> None:
        """A test that fails without any mutant, or runs nothing, proves nothing."""
        if test not in self.unbroken:
            self.unbroken[test] = self._unbroken(test)
        if why := self.unbroken[test]:
            raise Broken(why)

    def _unbroken(self, test: str) -> str:
        self._build(test)
        passed, output = self._run(test)
        ran = sum(int(n) for n in re.findall(r"^running (\d+) tests?$", output, re.MULTILINE))
        if not passed:
            return f"cargo test {test} fails without any mutant: {_first_failure(output)}"
        return "" if ran else f"cargo test {test} runs no test"

    def noticed(self, mutant) -> str:
        """The test that failed, or nothing when all passed."""
        path = self.tree / mutant.file
        sound = path.read_text()
        path.write_text(mutant.applied(sound))
        try:
            self._build(mutant.test)
            passed, output = self._run(mutant.test)
        finally:
            # With a new time, so that Cargo builds it again.
            path.write_text(sound)
        return "" if passed else _first_failure(output)

    def _build(self, test: str) -> None:
        passed, output = self._cargo(["test", "--no-run", *_options(test)], BUILD_SECONDS)
        if not passed:
            errors = re.findall(r"^error.*(?:\n.*-->.*)?", output, re.MULTILINE)
            raise Broken("it does not compile: " + " ".join((errors or [output[-300:]])[0].split()))

    def _run(self, test: str) -> tuple[bool, str]:
        return self._cargo(["test", *test.split()], TEST_SECONDS)

    def _cargo(self, arguments: list[str], seconds: int) -> tuple[bool, str]:
        command = ["cargo", *arguments]
        with subprocess.Popen(
            command, cwd=self.tree, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return False, f"test of {seconds} s ... FAILED"
            except BaseException:
                os.killpg(process.pid, 9)
                raise
        return process.returncode == 0, output


def _options(test: str) -> list[str]:
    """What to build: package and target, without the names of tests."""
    words = test.split()
    for last, word in enumerate(words):
        if word == "--lib":
            return words[: last + 1]
        if word in ("--test", "--bin"):
            return words[: last + 2]
    return words


def _first_failure(output: str) -> str:
    failed = re.findall(r"^test (.+?) \.\.\. FAILED$", output, re.MULTILINE)
    if not failed:
        return "test process ended: " + " ".join(output[-200:].split())
    return failed[0] + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")
