"""Breaks a rule in the copy, runs the tests that must notice, and mends it again."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

# A mutant that makes the tests hang is noticed by that.
TEST_SECONDS = 240
BUILD_SECONDS = 3600
# Every mutant is compiled once and its tests run once: what optimizing saves there it costs many times over here. A soak is
# as the checkout has it.
QUICK = [f"--config=profile.dev.package.{name}.opt-level=0" for name in ("ebb-core", "ebb-store")]


class Broken(Exception):
    """The mutant could not be tried, which says nothing about the tests."""


class Bench:
    """A copy of the checkout with its own target directory."""

    def __init__(self, tree: Path, target: Path) -> None:
        self.tree = tree
        self.environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never", "INSTA_UPDATE": "no"}
        self.unbroken: dict[str, str] = {}

    def check_unbroken(self, command: str) -> None:
        """A command that fails without any mutant, or tests nothing, proves nothing."""
        if command not in self.unbroken:
            self.unbroken[command] = self._unbroken(command)
        if why := self.unbroken[command]:
            raise Broken(why)

    def _unbroken(self, command: str) -> str:
        self._build(command)
        passed, output = self._cargo(command.split(), TEST_SECONDS)
        if not passed:
            return f"cargo {command} fails without any mutant: {_first_failure(output)}"
        ran = sum(int(n) for found in re.findall(r"^running (\d+) tests?$|^(\d+) seeds, ", output, re.MULTILINE) for n in found if n)
        return "" if ran else f"cargo {command} tests nothing"

    def noticed(self, mutant) -> str:
        """The test that failed, or nothing when all passed."""
        path = self.tree / mutant.file
        sound = path.read_text()
        path.write_text(mutant.applied(sound))
        try:
            self._build(mutant.command)
            passed, output = self._cargo(mutant.command.split(), TEST_SECONDS)
        finally:
            # With a new time, so that Cargo builds it again.
            path.write_text(sound)
        return "" if passed else _first_failure(output)

    def _build(self, command: str) -> None:
        passed, output = self._cargo(_building(command), BUILD_SECONDS)
        if not passed:
            errors = re.findall(r"^error.*(?:\n.*-->.*)?", output, re.MULTILINE)
            raise Broken("it does not compile: " + " ".join((errors or [output[-300:]])[0].split()))

    def _cargo(self, arguments: list[str], seconds: int) -> tuple[bool, str]:
        command = ["cargo", *(QUICK if arguments[0] == "test" else []), *arguments]
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


def _building(command: str) -> list[str]:
    """The command that builds what `command` runs: its package and target, without names of tests and arguments."""
    verb, *words = command.split()
    targets = {"--lib": 1, "--test": 2, "--bin": 2}
    end = next((at + targets[word] for at, word in enumerate(words) if word in targets), len(words))
    return [*(("test", "--no-run") if verb == "test" else ("build",)), *words[:end]]


def _first_failure(output: str) -> str:
    failed = re.findall(r"^test (.+?) \.\.\. FAILED$", output, re.MULTILINE)
    # A soak: the seed and what it broke.
    failed = failed or [" ".join(found) for found in re.findall(r"^(seed \d+) broke.*\n +[\d.]+ s +(.+)$", output, re.MULTILINE)]
    if not failed:
        return "test process ended: " + " ".join(output[-200:].split())
    return failed[0] + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")
