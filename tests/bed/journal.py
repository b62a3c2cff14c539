"""What happened at the front door: one entry for each call that changes something, in the order the answers went out."""

from __future__ import annotations

import threading
import time
from typing import Any

from .wire import Call, Reply

_TEXT = 200  # characters kept of a parameter
_COUNT = 16  # parameters kept of a call
_SECRET = ("SecretString", "SecretBinary", "Password")


class Journal:
    """A list of entries that several threads write."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def write(self, call: Call, reply: Reply | None, began: float, *, refused: bool = False, planted: int | None = None) -> None:
        """Note `call` and what it was answered; `reply` is missing when the connection was cut instead."""
        if not call.mutates:
            return
        now = time.time()
        entry = {
            "n": 0,
            "time": round(now, 4),
            "ms": round((now - began) * 1000, 1),
            "service": call.service,
            "action": call.action,
            "parameters": key_parameters(call),
            "status": reply.status if reply else 0,
            "code": reply.error_code if reply else None,
            "agent": call.agent,
            "key": call.access_key,
            "region": call.region,
            "refused": refused,
            "planted": planted,
        }
        with self._lock:
            entry["n"] = len(self._entries) + 1
            self._entries.append(entry)

    def read(self, since: int = 0) -> list[dict[str, Any]]:
        with self._lock:
            return self._entries[since:]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


def key_parameters(call: Call) -> dict[str, Any]:
    """The short parameters of a call: enough to see which resource it is about."""
    kept: dict[str, Any] = {}
    for name, value in call.parameters.items():
        if len(kept) == _COUNT or name in ("Action", "Version", *_SECRET):
            continue
        if isinstance(value, (bool, int, float)):
            kept[name] = value
        elif isinstance(value, str):
            kept[name] = value[:_TEXT]
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            kept[name] = [item[:_TEXT] for item in value[:_COUNT]]
    return kept
