"""The front door: one address for everything, which makes the emulator honest where it is not.

A request is read (wire), may meet a planted failure (faults), may be refused as AWS refuses it (rules), is answered here when it
is for Cloud Control, and else goes to the emulator or, for Step Functions and the services that the emulator lacks, to the strict
engine. Calls that change something are noted (journal), and when those of traced functions began and ended (timings). The door's own pages are under `/_bed/`:

    GET /_bed/journal[?since=N]     POST /_bed/faults [rules]    DELETE /_bed/faults    GET /_bed/fired
    GET /_bed/timings
    POST /_bed/reset                POST /_bed/config {"cloudcontrol_seconds": 0.4}    GET /_bed/health
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from . import rules
from .clients import ON_STRICT, Clients
from .cloudcontrol import CloudControl
from .faults import Faults
from .journal import Journal
from .mend import mend
from .timings import Timings
from .wire import Call, Reply, error_reply, json_reply

_HOP_BY_HOP = {"expect", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection"}
_UPSTREAM_SECONDS = 3700  # longer than any function or long poll


class Cut(Exception):
    """The connection is closed without an answer."""


class Door:
    """The front door's server and everything it remembers."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.timings = Timings()
        self.faults = Faults()
        self.clients = Clients()
        self.cloudcontrol = CloudControl(self.clients)
        self.book: dict[str, Any] = {}
        self._connections = threading.local()
        handler = type("Handler", (_Handler,), {"door": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.cloudcontrol.door = self.url

    def open(self, emulator: str, strict: str | None = None) -> None:
        """Say where requests go; until then they are answered 503."""
        self.clients.emulator, self.clients.strict = emulator, strict

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        self.journal.clear()
        self.timings.clear()
        self.faults.clear()
        self.cloudcontrol.clear()
        self.clients.forget()
        self.book.clear()

    def answer(self, call: Call) -> Reply:
        """Answer one request."""
        if call.path.startswith("/_bed/"):
            return self._own_page(call)
        if not self.clients.emulator:
            return Reply(503, [("Content-Type", "text/plain")], b"the test bed is starting")
        began = time.time()
        try:
            return self._answer(call, began)
        finally:
            self.timings.write(call, began)

    def _answer(self, call: Call, began: float) -> Reply:
        fault = self.faults.take(call)
        if fault and fault.delay_ms:
            time.sleep(fault.delay_ms / 1000)
        fails = fault is not None and (bool(fault.code) or fault.drop)
        if fault and fails and not fault.after:
            return self._fail(call, fault, began)
        refused = False
        try:
            reply = self._serve(call)
        except rules.Refused as no:
            refused, reply = True, error_reply(call, no.code, no.message, no.status)
        if fault and fails:
            self.journal.write(call, reply, began, refused=refused)
            return self._fail(call, fault, time.time())
        self.journal.write(call, reply, began, refused=refused, planted=fault.id if fault else None)
        return reply

    def _fail(self, call: Call, fault: Any, began: float) -> Reply:
        reply = None if fault.drop else error_reply(call, fault.code, fault.message, fault.status)
        self.journal.write(call, reply, began, planted=fault.id)
        if reply is None:
            raise Cut
        return reply

    def _serve(self, call: Call) -> Reply:
        if call.service == "cloudcontrol" and call.protocol == "json":
            return json_reply(self.cloudcontrol.answer(call))
        rules.check(self.clients, call, self.book)
        reply = rules.answer(self.clients, call, self.book) or mend(call.service, self._forward(call))
        rules.watch(self.clients, call, reply, self.book)
        return reply

    def _forward(self, call: Call) -> Reply:
        if call.service not in ON_STRICT or not self.clients.strict:
            return self._send(call, self.clients.emulator)
        reply = self._send(call, self.clients.strict)
        if reply.error_code == "ExecutionDoesNotExist":  # perhaps a schedule started it, in the emulator's own engine
            return self._send(call, self.clients.emulator)
        return reply

    def _send(self, call: Call, url: str) -> Reply:
        to = urlsplit(url)
        headers = {k: v for k, v in call.headers.items() if k.lower() not in _HOP_BY_HOP and k.lower() != "content-length"}
        headers["Content-Length"] = str(len(call.body))
        kept: dict[str, http.client.HTTPConnection] = self._connections.__dict__
        for fresh in (False, True):
            if fresh or to.netloc not in kept:
                kept[to.netloc] = http.client.HTTPConnection(to.hostname or "", to.port, timeout=_UPSTREAM_SECONDS)
                kept[to.netloc].connect()
                kept[to.netloc].sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                fresh = True
            connection = kept[to.netloc]
            try:
                connection.request(call.method, call.target, call.body, headers)
                response = connection.getresponse()
                return Reply(response.status, response.getheaders(), response.read())
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()
                kept.pop(to.netloc, None)
                if fresh:
                    raise
        raise AssertionError("unreachable")

    def _own_page(self, call: Call) -> Reply:
        page = (call.method, call.path.removeprefix("/_bed/"))
        if page == ("GET", "journal"):
            return json_reply(self.journal.read(int(call.query.get("since", 0))))
        if page == ("GET", "timings"):
            return json_reply(self.timings.read())
        if page == ("GET", "fired"):
            return json_reply(self.faults.fired())
        if page == ("GET", "health"):
            return json_reply({"emulator": self.clients.emulator, "strict": self.clients.strict})
        if page == ("POST", "faults"):
            try:
                return json_reply({"planted": self.faults.plant(json.loads(call.body))})
            except (ValueError, TypeError) as error:
                return json_reply({"error": str(error)}, 400)
        if page == ("DELETE", "faults"):
            self.faults.lift()
            return json_reply({})
        if page == ("POST", "reset"):
            self.reset()
            return json_reply({})
        if page == ("POST", "config"):
            self.cloudcontrol.seconds = float(json.loads(call.body)["cloudcontrol_seconds"])
            return json_reply({})
        return json_reply({"error": f"no page {call.method} {call.path}"}, 404)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that was killed does not wait for its answer
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    door: Door
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle_expect_100(self) -> bool:
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionResetError, BrokenPipeError):
            self.close_connection = True

    def _handle(self) -> None:
        body = self._body()
        try:
            call = Call.read(self.command, self.path, self.headers, body)
            self._send(self.door.answer(call))
        except Cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        except (OSError, http.client.HTTPException) as error:
            self._send(Reply(502, [("Content-Type", "text/plain")], f"the emulator does not answer: {error}".encode()))

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = _handle

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(chunks)

    def _send(self, reply: Reply) -> None:
        self.send_response_only(reply.status)
        length = str(len(reply.body))
        for name, value in reply.headers:
            if name.lower() == "content-length":
                length = value if self.command == "HEAD" else length
            elif name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        bodiless = self.command == "HEAD" or reply.status in (204, 304)
        if reply.status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        if not bodiless:
            self.wfile.write(reply.body)
        self.wfile.flush()
