"""When each call of a traced function began and ended, reads too: what a bench takes from the wall time of a run.

A function is traced when its configuration says so (`TracingConfig: Active`). Then the SDK sends its invocation's trace id with
every call (https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html), and calls without one are not noted.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from .wire import Call

_ROOT = re.compile(r"Root=([^;]+)")


class Timings:
    """A list of calls that several threads write."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def write(self, call: Call, began: float) -> None:
        root = _ROOT.search(call.headers.get("X-Amzn-Trace-Id", ""))
        if root:
            ended = time.time()
            entry = {"trace": root[1], "service": call.service, "action": call.action, "path": call.path, "began": began, "ended": ended}
            with self._lock:
                self._calls.append(entry)

    def read(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._calls)

    def clear(self) -> None:
        with self._lock:
            self._calls.clear()
