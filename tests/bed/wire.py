"""What an AWS request says, read from its bytes, and how AWS says no.

The front door sees requests in six wire protocols. `Call.read` names the service (as boto3 names it), the action and the
parameters of any of them; `error_reply` answers an error the way the same protocol carries it. Nothing here does I/O.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from collections.abc import Mapping
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import botocore.session
import cbor2

# Signing names that differ from boto3's names of the services.
_NAMES = {
    "monitoring": "cloudwatch",
    "s3express": "s3",
    "elasticloadbalancing": "elbv2",
    "states": "stepfunctions",
    "cloudcontrolapi": "cloudcontrol",
    "elasticfilesystem": "efs",
    "elasticmapreduce": "emr",
    "es": "opensearch",
    "ses": "sesv2",
    "tagging": "resourcegroupstaggingapi",
    "bedrock-agentcore": "bedrock-agentcore-control",
}
# Actions that change nothing: the journal leaves them out.
_READS = re.compile(
    r"^(Get|List|Describe|Head|BatchGet|Query|Scan|Lookup|Search|Check|Simulate|Filter|Select|Validate|Test|"
    r"GenerateCredentialReport|Estimate|Preview|Detect|CreateSession$)"
)
_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/")


@dataclass
class Call:
    """One request: who sends it, what it asks for, and its bytes."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    access_key: str = "test"
    region: str = "us-east-1"
    token: str | None = None
    service: str = ""
    action: str = ""
    protocol: str = "rest-xml"
    uri_parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Call:
        call = cls(method, target, headers, body)
        call._read_signature()
        call._read_action()
        return call

    @cached_property
    def path(self) -> str:
        return urlsplit(self.target).path

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The request's parameters; what cannot be read is left out."""
        try:
            if self.protocol in ("query", "ec2"):
                text = self.body.decode() or urlsplit(self.target).query
                return {k: v[0] for k, v in parse_qs(text, keep_blank_values=True).items()}
            if self.protocol == "rpc-v2-cbor":
                return cbor2.loads(self.body) if self.body else {}
            read = json.loads(self.body) if self.body and self.protocol in ("json", "rest-json") else {}
            return {**(read if isinstance(read, dict) else {}), **self.uri_parameters}
        except (ValueError, cbor2.CBORDecodeError):
            return dict(self.uri_parameters)

    @property
    def mutates(self) -> bool:
        return bool(self.action) and not _READS.match(self.action)

    @property
    def agent(self) -> str:
        """Who calls: `rust` (the functions), `strict` (a state machine), `cloudcontrol`, or the first word of the agent."""
        agent = self.headers.get("User-Agent", "")
        for mark in ("ebb-strict", "ebb-cloudcontrol"):
            if mark in agent:
                return mark.removeprefix("ebb-")
        if "aws-sdk-rust" in agent:
            return "rust"
        return agent.split("/", 1)[0].lower() or "-"

    def contains(self, text: str) -> bool:
        """Whether the path, the query or the body holds `text`, as sent or decoded."""
        body = self.body.decode("utf-8", "replace")
        return text in self.target or text in unquote(self.target) or text in body or text in unquote(body)

    def _read_signature(self) -> None:
        found = _CREDENTIAL.search(self.headers.get("Authorization", ""))
        if not found and "X-Amz-Credential" in self.query:
            found = _CREDENTIAL.search(f"Credential={self.query['X-Amz-Credential']}/")
        signed = ""
        if found:
            self.access_key, self.region, signed = found.groups()
        self.token = self.headers.get("X-Amz-Security-Token") or self.query.get("X-Amz-Security-Token")
        self.service = _NAMES.get(signed, signed)
        if signed == "apigateway" and self.path.startswith("/v2/"):
            self.service = "apigatewayv2"

    def _read_action(self) -> None:
        target = self.headers.get("X-Amz-Target", "")
        if target:
            self.protocol, self.action = "json", target.rsplit(".", 1)[-1]
            if target.startswith("AWSStepFunctions."):
                self.service = "stepfunctions"
            return
        if self.headers.get("smithy-protocol") == "rpc-v2-cbor":
            self.protocol, self.action = "rpc-v2-cbor", self.path.rsplit("/", 1)[-1]
            return
        form = "x-www-form-urlencoded" in self.headers.get("Content-Type", "")
        if form or "Action" in self.query:
            self.protocol = "ec2" if self.service == "ec2" else "query"
            self.action = self.parameters.get("Action", "")
            return
        service = self.service or "s3"  # an unsigned request without a protocol of its own is one to a bucket
        routes = _routes(service)
        if routes is not None:
            self.service, self.protocol = service, routes.protocol
            self.action, self.uri_parameters = routes.match(self)


class _Routes:
    """The actions of a REST service, found by method, path and query."""

    def __init__(self, service: str) -> None:
        model = _session.get_service_model(service)
        self.protocol = "rest-xml" if model.protocol == "rest-xml" else "rest-json"
        self.entries: list[tuple[tuple[int, int], str, re.Pattern[str], dict[str, str], set[str], str]] = []
        for name in model.operation_names:
            http = model.operation_model(name).http
            uri, _, constants = http["requestUri"].partition("?")
            pattern = re.sub(r"\\\{(\w+)(\\\+)?\\\}", lambda m: f"(?P<{m[1]}>{'.+' if m[2] else '[^/]+'})", re.escape(uri))
            query = dict(parse_qsl(constants, keep_blank_values=True))
            # Parameters that one of them must have tell AbortMultipartUpload from DeleteObject.
            needed = {*query, *_required_in_query(model.operation_model(name).input_shape)}
            weight = (len(needed), len(re.sub(r"\{.*?\}", "", uri)))
            self.entries.append((weight, http["method"], re.compile(pattern.rstrip("/") + "/?$"), query, needed, name))
        # CopyObject and PutObject share a path: the plain one comes first among equals.
        self.entries.sort(key=lambda e: (-e[0][0], -e[0][1], "Copy" in e[5], e[5]))

    def match(self, call: Call) -> tuple[str, dict[str, str]]:
        for _, method, pattern, query, needed, name in self.entries:
            if method != call.method or any(call.query.get(k, None if v else "") != v for k, v in query.items() if v):
                continue
            if any(k not in call.query for k in needed):
                continue
            found = pattern.match(call.path)
            if found:
                if "x-amz-copy-source" in call.headers and name in ("PutObject", "UploadPart"):
                    name = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}[name]
                extra = {k: v for k, v in call.query.items() if not k.lower().startswith("x-amz") and k not in query and v}
                return name, {**extra, **{k: unquote(v) for k, v in found.groupdict().items()}}
        return f"{call.method} {call.path}", {}


def _required_in_query(shape: Any) -> list[str]:
    """The names that an operation's required parameters have in the query."""
    members = ((name, shape.members[name].serialization) for name in shape.required_members) if shape else ()
    return [how.get("name", name) for name, how in members if how.get("location") == "querystring"]


_session = botocore.session.get_session()
_known: dict[str, _Routes | None] = {}
_lock = threading.Lock()


def _routes(service: str) -> _Routes | None:
    with _lock:
        if service not in _known:
            try:
                _known[service] = _Routes(service)
            except Exception:  # a service botocore does not know: the request passes through without a name
                _known[service] = None
        return _known[service]


@dataclass(frozen=True)
class Reply:
    """An answer on its way to the client."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def error_code(self) -> str | None:
        """The error's name in this answer, whatever the protocol."""
        if self.status < 400:
            return None
        for key, value in self.headers:
            if key.lower() == "x-amzn-errortype":
                return value.split(":", 1)[0].rsplit("#", 1)[-1]
        found = re.search(rb"<Code>([^<]+)</Code>", self.body)
        if found:
            return found[1].decode()
        try:
            read = cbor2.loads(self.body) if b"__type" in self.body and self.body[:1] != b"{" else json.loads(self.body)
            return str(read.get("__type") or read.get("code") or read.get("Code")).rsplit("#", 1)[-1]
        except Exception:
            return str(self.status)


def json_reply(body: Any, status: int = 200, content_type: str = "application/x-amz-json-1.0") -> Reply:
    return Reply(status, [("Content-Type", content_type)], json.dumps(body, default=str).encode())


def error_reply(call: Call, code: str, message: str, status: int = 400) -> Reply:
    """An error as the protocol of `call` carries it."""
    request = str(uuid.uuid4())
    headers = [("x-amzn-RequestId", request)]
    if call.protocol in ("json", "rest-json"):
        kind = "application/x-amz-json-1.1" if call.protocol == "json" else "application/json"
        body = json.dumps({"__type": code, "message": message, "Message": message}).encode()
        return Reply(status, [("Content-Type", kind), ("x-amzn-ErrorType", code), *headers], body)
    if call.protocol == "rpc-v2-cbor":
        body = cbor2.dumps({"__type": code, "message": message})
        return Reply(status, [("Content-Type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor"), *headers], body)
    inner = f"<Code>{_xml(code)}</Code><Message>{_xml(message)}</Message>"
    if call.protocol == "ec2":
        text = f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>{request}</RequestID></Response>"
    elif call.service == "s3":
        text = f"<Error>{inner}<RequestId>{request}</RequestId></Error>"
    else:
        text = f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error><RequestId>{request}</RequestId></ErrorResponse>"
    kind = "application/xml" if call.service == "s3" else "text/xml"
    return Reply(status, [("Content-Type", kind), *headers], b'<?xml version="1.0" encoding="UTF-8"?>' + text.encode())


def _xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
