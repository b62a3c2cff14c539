"""The strict Step Functions engine: moto's interpreter, with its tasks sent to the rest of the bed.

The emulator's own engine hides failures that a teardown must survive (a Map that goes on after an item failed, time-outs that
are ignored). This one does not. It runs as a process of its own: `python -m bed.strict TASKS_URL WAIT_SCALE` binds a free port, prints
`{"url": ...}` once it listens, and serves until it is killed. Only JSONPath is evaluated.

Adjusted from outside, the package stays as installed:
  * tasks call TASKS_URL, nested executions call this server, instead of moto's own port
  * the members of requests and answers have AWS's casing (moto leaves that to its host), timestamps are epoch milliseconds
  * a function that Lambda refuses to run fails its task with Lambda's own error name, `Lambda.TooManyRequestsException` and so on
  * an execution that was started without a name gets a UUID
  * one that is stopped inside a Map is aborted
  * a Wait state takes WAIT_SCALE times what it says, and so does a step's patience with its delete (`item.patienceMs`)
  * an execution that ends is an event: rules on status changes start their machines here (see `strict_events`)
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import socket
import sys
import time
import uuid
from typing import Any

from . import strict_events

ACCOUNT = "000000000000"
# Milliseconds: a step looks again after a second.
_TWO_LOOKS = 1500


def main() -> None:
    tasks_url, wait_scale = sys.argv[1], float(sys.argv[2])
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    os.environ["MOTO_PORT"] = str(port)
    os.environ["MOTO_ACCOUNT_ID"] = ACCOUNT
    _send_tasks_to(tasks_url, url, wait_scale)
    _run_executions()
    _restore_casing()
    _name_lambda_errors()
    _name_executions()
    _abort_what_is_stopped()
    _scale_waits(wait_scale)
    strict_events.publish_ends(tasks_url, url)
    _serve(listener, port, url)


def _send_tasks_to(tasks_url: str, own_url: str, wait_scale: float) -> None:
    """Give the interpreter our clients. Must run before the modules that import the function by name."""
    from moto.stepfunctions.parser.asl.utils import boto_client

    from .clients import make_client

    @functools.cache  # making a client costs more than most calls
    def made(region: str, service: str) -> Any:
        endpoint = own_url if service in ("stepfunctions", "sfn") else tasks_url
        client = make_client(
            service, endpoint, region=region, agent="ebb-strict", parameter_validation=False, inject_host_prefix=False,
            connect_timeout=60, read_timeout=3600,
        )
        if wait_scale != 1:
            client.meta.events.register("before-parameter-build.lambda.Invoke", functools.partial(_scale_patience, wait_scale))
        return client

    def client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        return made(region, service)

    boto_client.boto_client_for = client_for


def _run_executions() -> None:
    """By default moto leaves every execution RUNNING."""
    from moto.core.config import default_user_config

    default_user_config["stepfunctions"] = {"execute_state_machine": True}


def _restore_casing() -> None:
    import botocore.session
    from botocore import xform_name
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService

    session, models = botocore.session.get_session(), {}

    def shape(task: Any, service: str | None, action: str | None, which: str) -> Any:
        name = {"sfn": "stepfunctions"}.get(service or "", task._get_boto_service_name(service))
        name = {"sfn": "stepfunctions"}.get(name, name)
        if name not in models:
            models[name] = session.get_service_model(name)
        wanted = task._get_boto_service_action(action)
        operation = next((o for o in models[name].operation_names if xform_name(o) == wanted), None)
        return getattr(models[name].operation_model(operation), which) if operation else None

    def parameters(self: Any, parameters: dict[str, Any], boto_service_name: str | None = None,
                   service_action_name: str | None = None) -> None:
        found = shape(self, boto_service_name, service_action_name, "input_shape")
        if found is not None:
            self._to_boto_request(parameters, found)

    def response(self: Any, response: Any, boto_service_name: str | None = None,
                 service_action_name: str | None = None) -> None:
        found = shape(self, boto_service_name, service_action_name, "output_shape")
        if found is not None:
            self._from_boto_response(response, found)
        _milliseconds(response)

    StateTaskService._normalise_parameters = parameters
    StateTaskService._normalise_response = response


def _milliseconds(value: Any) -> None:
    """Turn every timestamp inside `value` into epoch milliseconds, as Step Functions reports them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        if isinstance(item, datetime.datetime):
            value[key] = int(item.timestamp() * 1000)
        else:
            _milliseconds(item)


def _name_lambda_errors() -> None:
    """For a task that names a function's ARN moto calls every refusal `Exception`."""
    from botocore.exceptions import ClientError
    from moto.stepfunctions.parser.api import HistoryEventType, LambdaFunctionFailedEventDetails
    from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
    from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_lambda import (
        StateTaskServiceLambda,
    )
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task_lambda import StateTaskLambda
    from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

    from_error = StateTaskLambda._from_error

    def named(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if not isinstance(ex, ClientError):
            return from_error(self, env=env, ex=ex)
        error, cause = StateTaskServiceLambda._error_cause_from_client_error(ex)
        return FailureEvent(
            env=env,
            error_name=CustomErrorName(error),
            event_type=HistoryEventType.LambdaFunctionFailed,
            event_details=EventDetails(
                lambdaFunctionFailedEventDetails=LambdaFunctionFailedEventDetails(error=error, cause=cause)
            ),
        )

    StateTaskLambda._from_error = named


def _name_executions() -> None:
    from moto.stepfunctions.parser.models import StepFunctionsParserBackend

    start = StepFunctionsParserBackend.start_execution

    def start_execution(self: Any, state_machine_arn: str, name: str | None = None, *rest: Any, **more: Any) -> Any:
        return start(self, state_machine_arn, name or str(uuid.uuid4()), *rest, **more)

    StepFunctionsParserBackend.start_execution = start_execution


def _abort_what_is_stopped() -> None:
    """A Map that is stopped is an error to moto, which then calls the execution failed."""
    from moto.stepfunctions.parser.asl.eval.environment import Environment
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped

    set_error = Environment.set_error

    def unless_stopped(self: Any, error: Any) -> None:
        if not isinstance(self.program_state(), ProgramStopped):
            set_error(self, error)

    Environment.set_error = unless_stopped


def _scale_waits(scale: float) -> None:
    """moto's own loop counts whole seconds and would wait for a fraction for ever."""
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

    def wait(self: Any, env: Any, wait_seconds: int) -> None:
        until = time.monotonic() + wait_seconds * scale
        while env.is_running() and (left := until - time.monotonic()) > 0:
            if env.program_state_event.wait(left) and env.is_running():
                time.sleep(min(left, 0.05))  # woken for another reason

    WaitFunction._wait_interval = wait


def _scale_patience(scale: float, params: dict[str, Any], **_: Any) -> None:
    """What is cut of a step's wait for its delete comes back as a wait of the machine, if the delete takes that long. It never does
    on the emulator, and the planner's clock is not scaled: what is pending it leaves alone in earnest. So every step looks twice."""
    payload = json.loads(params.get("Payload") or b"null")
    item = payload.get("item") if isinstance(payload, dict) else None
    if isinstance(item, dict) and "patienceMs" in item:
        item["patienceMs"] = max(round(item["patienceMs"] * scale), _TWO_LOOKS)
        params["Payload"] = json.dumps(payload).encode()


def _serve(listener: socket.socket, port: int, url: str) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from moto.server import MotoRequestHandler
    from werkzeug.serving import make_server

    app = DomainDispatcherApplication(create_backend_app)
    handler = type("Handler", (MotoRequestHandler,), {"log_request": lambda *_: None, "protocol_version": "HTTP/1.1"})
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=handler, fd=listener.fileno())
    server.daemon_threads = True
    print(json.dumps({"url": url}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
