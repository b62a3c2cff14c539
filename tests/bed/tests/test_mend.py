"""Answers of the emulator are made readable, and nothing else of them is changed."""

from __future__ import annotations

from bed.mend import mend
from bed.wire import Reply


def mended(service: str, body: str) -> str:
    return mend(service, Reply(200, [], body.encode())).body.decode()


def test_values_of_databases_have_no_line_breaks() -> None:
    broken = "<A>\n  <Enabled>\n   false\n  </Enabled><Name>two words</Name><None></None>\n</A>"
    assert mended("rds", broken) == "<A>\n  <Enabled>false</Enabled><Name>two words</Name><None></None>\n</A>"


def test_times_are_what_the_protocol_says() -> None:
    assert mended("elasticache", "<CreateTime>1796066960.47</CreateTime><Port>6379</Port>") == (
        "<CreateTime>2026-11-30T19:29:20Z</CreateTime><Port>6379</Port>")
    assert mended("emr", '{"Created": "2026-11-30T19:29:20.000Z", "Name": "2026"}') == '{"Created": 1796066960, "Name": "2026"}'


def test_other_services_are_left_alone() -> None:
    assert mended("sqs", "<A> false </A>") == "<A> false </A>"
