"""Starts the parts of one bed and ends them, whatever happens to whoever asked for it.

`python -m bed.supervisor [--strict] [--iam] [--wait-scale N]` runs the front door in this process and the engines as children, prints one line of
JSON once all of it answers, and then waits for its standard input to close: a parent that dies, however it dies, closes it. On the way out every
child and grandchild is killed and the working directory removed. Killed itself, it takes the engines with it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from .door import Door

_SECONDS_TO_START = 60
_ATTEMPTS = 5
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TESTS = Path(__file__).resolve().parent.parent


class Supervisor:
    """One bed's processes and its working directory."""

    def __init__(self, strict: bool, iam: bool, wait_scale: float) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ebb-bed-"))
        self.strict, self.iam, self.wait_scale = strict, iam, wait_scale
        self.door = Door()
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self) -> dict[str, Any]:
        """Start everything; answers where it is."""
        self.door.start()
        strict = self._start_strict() if self.strict else None
        emulator = self._start_emulator()
        strict_url = self._strict_url(strict) if strict else None
        self.door.open(emulator, strict_url)
        return {"endpoint": self.door.url, "emulator": emulator, "strict": strict_url, "directory": str(self.directory)}

    def stop(self) -> None:
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()
        _kill_descendants()
        self.door.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start_emulator(self) -> str:
        """MiniStack binds a port by number, so: pick a free one, start, and see that it is ours that listens there."""
        for _ in range(_ATTEMPTS):
            port = _free_port()
            child = self._spawn("emulator", [sys.executable, "-P", "-m", "ministack"], self._emulator_environment(port))
            if _answers(child, port):
                return f"http://127.0.0.1:{port}"
            child.kill()
            child.wait()
            self._children.remove(child)
        raise RuntimeError(f"the emulator did not start:\n{self._log('emulator')}")

    def _emulator_environment(self, port: int) -> dict[str, str]:
        """Functions inherit the emulator's environment: it leads to the front door and holds nobody's credentials."""
        return {
            **_clean_environment(),
            "AWS_ENDPOINT_URL": self.door.url,
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "localhost",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
            "AUTH": "true" if self.iam else "false",
            "SFN_WAIT_SCALE": str(self.wait_scale),
            "DOCKER_HOST": "unix:///nowhere",
        }

    def _start_strict(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "bed.strict", self.door.url, str(self.wait_scale)]
        return self._spawn("strict", command, _clean_environment(), stdout=subprocess.PIPE)

    def _strict_url(self, child: subprocess.Popen[bytes]) -> str:
        line = child.stdout.readline() if child.stdout else b""
        if not line:
            raise RuntimeError(f"the strict engine did not start:\n{self._log('strict')}")
        return json.loads(line)["url"]

    def _spawn(self, name: str, command: list[str], env: dict[str, str], stdout: int | None = None) -> subprocess.Popen[bytes]:
        home = self.directory / "tmp"
        home.mkdir(exist_ok=True)
        env = {**env, "TMPDIR": str(home), "PYTHONPATH": str(_TESTS), "PYTHONDONTWRITEBYTECODE": "1"}
        with open(self.directory / f"{name}.log", "ab") as log:
            child = subprocess.Popen(
                command, env=env, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        self._children.append(child)
        return child

    def _log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")[-4000:]


def _clean_environment() -> dict[str, str]:
    """This environment without anything that names an account, a profile or a proxy."""
    drop = ("AWS_", "MINISTACK_", "MOTO_", "LAMBDA_", "LOCALSTACK_", "SFN_")
    proxies = {"http_proxy", "https_proxy", "all_proxy"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(drop) and k.lower() not in proxies}
    return {**kept, "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _answers(child: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until `child` serves on `port`; false when it gives up, or when somebody else got the port."""
    until = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < until and child.poll() is None:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"http://127.0.0.1:{port}/_ministack/health", timeout=5
            ):
                return child.poll() is None and _listens(child.pid, port)
        except OSError:
            time.sleep(0.03)
    return False


def _listens(pid: int, port: int) -> bool:
    """Whether process `pid` holds the listening socket of `port`."""
    if sys.platform != "linux":
        time.sleep(0.5)  # a process that lost the race for the port has ended by now
        return True
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listeners = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port}
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(descriptor) in listeners:
                return True
        except OSError:
            continue
    return False


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_descendants() -> None:
    """Kill what the engines left behind; this process adopts the orphans (see `main`)."""
    if sys.platform != "linux":
        return
    while True:
        found = [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent_of(stat) == os.getpid()]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue


def _parent_of(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def main() -> None:
    arguments = argparse.ArgumentParser(prog="bed.supervisor")
    arguments.add_argument("--strict", action="store_true")
    arguments.add_argument("--iam", action="store_true")
    arguments.add_argument("--wait-scale", type=float, default=1)
    options = arguments.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes our input
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    supervisor = Supervisor(options.strict, options.iam, options.wait_scale)
    try:
        print(json.dumps(supervisor.start()), flush=True)
        while sys.stdin.buffer.read(1):
            pass
    finally:
        supervisor.stop()


if __name__ == "__main__":
    main()
