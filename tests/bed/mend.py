"""Answers of the emulator whose values a strict client cannot read, written as AWS writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone

from .wire import Reply


def _values_without_line_breaks(body: bytes) -> bytes:
    """`false` with a line break is no boolean."""
    return re.sub(rb">\s*([^<>\s][^<>]*?)\s*</", rb">\1</", body)


def _times_as_text(body: bytes) -> bytes:
    def text(found: re.Match[bytes]) -> bytes:
        return f">{datetime.fromtimestamp(float(found[1]), timezone.utc):%Y-%m-%dT%H:%M:%SZ}</".encode()

    return re.sub(rb">(1\d{9}\.\d+)</", text, body)


def _times_as_numbers(body: bytes) -> bytes:
    def number(found: re.Match[bytes]) -> bytes:
        return b": %d" % datetime.fromisoformat(found[1].decode()).timestamp()

    return re.sub(rb': "(20\d\d-\d\d-\d\dT[\d:.]+Z)"', number, body)


_MENDS: dict[str, Callable[[bytes], bytes]] = {
    "elasticache": _times_as_text,
    "emr": _times_as_numbers,
    "rds": _values_without_line_breaks,
}


def mend(service: str, reply: Reply) -> Reply:
    """The answer of a service, readable."""
    change = _MENDS.get(service)
    return Reply(reply.status, reply.headers, change(reply.body)) if change else reply
