"""`Bed`: a whole emulated AWS as a context manager, and what tests do with it.

    with Bed() as bed:
        outputs = bed.deploy("infra/template.yaml", {}, "target/debug")
        execution = bed.start(outputs["TeardownStateMachineArn"], {"stack": "Orders", "confirm": "Orders"}, "try-1")
        assert bed.wait(execution)["status"] == "SUCCEEDED"
        deleted = [e["parameters"] for e in bed.journal(action="DeleteSubnet", agent="rust")]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from .clients import ON_STRICT, make_client
from .deploy import deploy
from .mirror import mirror

ACCOUNT = "000000000000"
REGION = "us-east-1"
_TESTS = Path(__file__).resolve().parent.parent
_OVER = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


class Bed:
    """One running bed. `strict`: state machines run on the strict engine. `iam`: policies are evaluated, and functions have their
    role's rights only. `wait_scale`: Wait states take that many times what they say, and on the strict engine so do waits inside a
    step (`item.patienceMs`), down to two looks. The clock is not scaled: a look that is due in a minute is due in a minute."""

    def __init__(self, strict: bool = True, iam: bool = False, wait_scale: float = 1) -> None:
        self.strict, self.iam, self.wait_scale = strict, iam, wait_scale
        self.endpoint = self.emulator = ""
        self.strict_endpoint: str | None = None
        self.directory = Path()
        self._process: subprocess.Popen[str] | None = None
        self._clients: dict[tuple[str, str, str], Any] = {}

    # ---- up and down

    def __enter__(self) -> Bed:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        """Start the bed; returns once every part answers."""
        command = [sys.executable, "-P", "-m", "bed.supervisor", *(["--strict"] * self.strict), *(["--iam"] * self.iam),
                   "--wait-scale", str(self.wait_scale)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(_TESTS), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        try:
            line = self._process.stdout.readline() if self._process.stdout else ""
            if not line:
                raise RuntimeError("the test bed did not start (see above)")
        except BaseException:
            self.down()
            raise
        parts = json.loads(line)
        self.endpoint, self.emulator, self.strict_endpoint = parts["endpoint"], parts["emulator"], parts["strict"]
        self.directory = Path(parts["directory"])

    def down(self) -> None:
        """Stop everything; safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def reset(self) -> None:
        """Empty the account, the strict engine, the journal and the planted faults. What was deployed is gone too."""
        _http("POST", f"{self.emulator}/_ministack/reset")
        if self.strict_endpoint:
            _http("POST", f"{self.strict_endpoint}/moto-api/reset")
        _http("POST", f"{self.endpoint}/_bed/reset")

    # ---- clients and deployments

    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to work with the bed."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
        }

    def client(self, service: str, region: str = REGION, account: str = "") -> Any:
        """A boto3 client through the front door that never retries. `account`: another account, as its root."""
        key = (service, region, account)
        if key not in self._clients:
            self._clients[key] = make_client(service, self.endpoint, key=account or "test", region=region, read_timeout=900)
        return self._clients[key]

    def look(self, service: str, region: str = REGION) -> Any:
        """A client past the front door: what tests look with, whatever failures are planted."""
        endpoint = self.strict_endpoint if service in ON_STRICT and self.strict_endpoint else self.emulator
        key = (service, region, endpoint)
        if key not in self._clients:
            self._clients[key] = make_client(service, endpoint, region=region)
        return self._clients[key]

    def deploy(self, template: str | Path, parameters: dict[str, str] | None = None, artifacts_dir: str | Path | None = None,
               stack: str = "ebb") -> dict[str, str]:
        """Deploy a CloudFormation template as it is and mirror its state machines; answers the stack's outputs."""
        outputs = deploy(self, Path(template), parameters or {}, Path(artifacts_dir) if artifacts_dir else None, stack)
        self.mirror()
        return outputs

    def mirror(self) -> dict[str, str]:
        """Copy deployed state machines into the strict engine (`deploy` does it by itself); answers name → ARN."""
        return mirror(self.emulator, self.strict_endpoint) if self.strict_endpoint else {}

    def invoke(self, function: str, payload: Any = None) -> Any:
        """Invoke a function and answer its result; a function error is an exception that carries it."""
        answer = self.client("lambda").invoke(FunctionName=function, Payload=json.dumps(payload))
        body = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            raise RuntimeError(f"{function}: {json.dumps(body)}")
        return body

    def logs(self, function: str) -> list[str]:
        """What a function has printed, oldest first."""
        try:
            found = self.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{function}")["events"]
        except self.client("logs").exceptions.ResourceNotFoundException:
            return []
        return [event["message"].rstrip("\n") for event in sorted(found, key=lambda e: e["timestamp"])]

    # ---- executions

    def start(self, machine_arn: str, input: Any = None, name: str | None = None) -> str:
        """Start an execution; answers its ARN."""
        answer = self.client("stepfunctions").start_execution(
            stateMachineArn=machine_arn, name=name or f"bed-{uuid.uuid4().hex[:12]}", input=json.dumps(input or {})
        )
        return answer["executionArn"]

    def wait(self, execution_arn: str, timeout: float = 120) -> dict[str, Any]:
        """Wait for the end of an execution; answers its description, `output` and `cause` parsed when they are JSON."""
        until = time.monotonic() + timeout
        while (found := self.describe(execution_arn))["status"] not in _OVER:
            if time.monotonic() > until:
                raise TimeoutError(f"{execution_arn} is still {found['status']} after {timeout} s")
            time.sleep(0.1)
        return found

    def describe(self, execution_arn: str) -> dict[str, Any]:
        found = self.client("stepfunctions").describe_execution(executionArn=execution_arn)
        return {k: _parsed(v) if k in ("input", "output", "cause") else v for k, v in found.items()}

    def history(self, execution_arn: str) -> list[dict[str, Any]]:
        pages = self.client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=execution_arn)
        return [event for page in pages for event in page["events"]]

    def stop(self, execution_arn: str, error: str = "Stopped", cause: str = "by the test") -> None:
        self.client("stepfunctions").stop_execution(executionArn=execution_arn, error=error, cause=cause)

    def executions(self, machine_arn: str) -> list[dict[str, Any]]:
        """The executions of a machine, newest first."""
        pages = self.client("stepfunctions").get_paginator("list_executions").paginate(stateMachineArn=machine_arn)
        return [e for page in pages for e in page["executions"]]

    # ---- journal and faults

    def journal(self, service: str = "", action: str = "", agent: str = "", since: int = 0) -> list[dict[str, Any]]:
        """The calls that changed something, oldest first; `agent="rust"` keeps those of the functions."""
        wanted = {"service": service, "action": action, "agent": agent}
        entries = _http("GET", f"{self.endpoint}/_bed/journal?since={since}")
        return [e for e in entries if all(not v or e[k] == v for k, v in wanted.items())]

    def mark(self) -> int:
        """The journal's length now, for `journal(since=…)`."""
        return len(self.journal())

    def plant(self, *rules: dict[str, Any]) -> list[int]:
        """Plant failures (see `faults`); answers the rules' ids."""
        return _http("POST", f"{self.endpoint}/_bed/faults", list(rules))["planted"]

    def lift(self) -> None:
        """Remove the planted failures."""
        _http("DELETE", f"{self.endpoint}/_bed/faults")

    def fired(self) -> list[dict[str, Any]]:
        """Which planted failures met a call, oldest first."""
        return _http("GET", f"{self.endpoint}/_bed/fired")["fired"]

    def timings(self) -> list[dict[str, Any]]:
        """The calls of traced functions, in the order of their answers (see `timings`)."""
        return _http("GET", f"{self.endpoint}/_bed/timings")

    def cloudcontrol_seconds(self, seconds: float) -> None:
        """How long a Cloud Control request stays in progress."""
        _http("POST", f"{self.endpoint}/_bed/config", {"cloudcontrol_seconds": seconds})


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _http(method: str, url: str, body: Any = None) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode() if body is not None else None, method=method)
    with _opener.open(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
