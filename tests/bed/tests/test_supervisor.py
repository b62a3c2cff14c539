"""A bed leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bed import Bed

pytestmark = [pytest.mark.timeout(60), pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

_PROGRAM = """
import signal, time
from bed import Bed, seed
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in its background
bed = Bed(strict=False)
bed.up()
stack = seed.StackBuilder(bed, "Left")
seed.role(stack, "Role")
seed.function(stack, "Warm", "Role")
bed.invoke("Left-Warm")
print(bed.directory, flush=True)
time.sleep(60)
"""


def processes_of(directory: Path) -> list[int]:
    """The processes that were started for the bed in `directory`."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"TMPDIR={directory}/".encode() in environ.read_bytes():
                found.append(int(environ.parent.name))
        except OSError:
            continue
    return found


def wait_until_gone(directory: Path) -> None:
    until = time.monotonic() + 10
    while (processes_of(directory) or directory.exists()) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of(directory) == []
    assert not directory.exists()


def test_two_beds_stand_side_by_side(bed: Bed) -> None:
    with Bed(strict=False) as other:
        other.client("s3").create_bucket(Bucket="only-there")
        assert bed.client("s3").list_buckets()["Buckets"] == []
        directory = other.directory
        assert processes_of(directory)
    wait_until_gone(directory)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_its_owner(end: signal.Signals) -> None:
    tests = str(Path(__file__).resolve().parents[2])
    owner = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env={**os.environ, "PYTHONPATH": tests})
    assert owner.stdout
    directory = Path(owner.stdout.readline().strip())
    assert len(processes_of(directory)) >= 2  # the emulator and a warm function
    owner.send_signal(end)
    owner.wait()
    wait_until_gone(directory)


def test_a_killed_supervisor_takes_the_engines_with_it() -> None:
    bed = Bed(strict=False)
    bed.up()
    assert bed._process
    bed._process.kill()
    bed.down()
    until = time.monotonic() + 5
    while processes_of(bed.directory) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of(bed.directory) == []
    subprocess.run(["rm", "-rf", str(bed.directory)], check=True)


def test_credentials_of_the_caller_do_not_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    with Bed(strict=False) as bed:
        for pid in processes_of(bed.directory):
            environ = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"production" not in environ and b"secret" not in environ
