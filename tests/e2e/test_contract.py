"""The checks that a state bucket must pass, run by the program that `make selftest` runs."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from app import ARTIFACTS, STATE_BUCKET, App

pytestmark = pytest.mark.timeout(120)


def test_the_emulators_bucket_passes_every_check(app: App) -> None:
    done = subprocess.run([ARTIFACTS / "selftest", STATE_BUCKET], env={**os.environ, **app.bed.environment()}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"^(\d+) passed, 0 failed$", done.stdout, re.M)
    assert passed and int(passed[1]) >= 10, done.stdout
    assert app.keys("ebb/selftest/") == [], "it cleans up"


def test_a_bucket_that_is_not_there_fails(app: App) -> None:
    done = subprocess.run([ARTIFACTS / "selftest", "no-such-bucket-anywhere"], env={**os.environ, **app.bed.environment()}, capture_output=True, text=True)
    assert done.returncode == 1 and "no-such-bucket-anywhere" in done.stderr
