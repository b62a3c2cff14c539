"""Status changes of the strict engine's executions, as EventBridge delivers them.

The emulator's event bus refuses events in AWS's own name, so the engine asks the bus for its rules and does the last step by
itself: a rule on the default bus whose pattern matches the event starts the state machines it targets, here.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import uuid
from typing import Any

from .clients import make_client


def publish_ends(bus_url: str, own_url: str) -> None:
    """From now on the end of every execution is an event."""
    from moto.stepfunctions.parser.backend.execution import BaseExecutionWorkerCommunication

    terminated = BaseExecutionWorkerCommunication.terminated

    def terminated_and_told(self: Any) -> None:
        terminated(self)
        event = _event(self.execution)
        threading.Thread(target=_deliver, args=(event, bus_url, own_url), daemon=True).start()

    BaseExecutionWorkerCommunication.terminated = terminated_and_told


def _event(execution: Any) -> dict[str, Any]:
    machine = execution.state_machine.arn
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Step Functions Execution Status Change",
        "source": "aws.states",
        "account": machine.split(":")[4],
        "time": execution.stop_date.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": machine.split(":")[3],
        "resources": [execution.exec_arn],
        "detail": {
            "executionArn": execution.exec_arn,
            "stateMachineArn": machine,
            "name": execution.name,
            "status": str(execution.exec_status.value),
            "startDate": _milliseconds(execution.start_date),
            "stopDate": _milliseconds(execution.stop_date),
            "input": json.dumps(execution.input_data),
            "output": None,
        },
    }


def _milliseconds(date: Any) -> int | None:
    return int(date.timestamp() * 1000) if hasattr(date, "timestamp") else None


def _deliver(event: dict[str, Any], bus_url: str, own_url: str) -> None:
    try:
        bus = make_client("events", bus_url, region=event["region"], agent="ebb-strict")
        for rule in bus.list_rules()["Rules"]:
            pattern = rule.get("EventPattern", "")
            if rule["State"] != "ENABLED" or "aws.states" not in pattern:
                continue
            if not bus.test_event_pattern(EventPattern=pattern, Event=json.dumps(event))["Result"]:
                continue
            for target in bus.list_targets_by_rule(Rule=rule["Name"])["Targets"]:
                if ":stateMachine:" in target["Arn"]:
                    engine = make_client("stepfunctions", own_url, region=event["region"])
                    engine.start_execution(stateMachineArn=target["Arn"], name=event["id"], input=target_input(target, event))
    except Exception as error:  # an event that is lost must not end the engine
        print(f"an event was not delivered: {error}", file=sys.stderr, flush=True)


def target_input(target: dict[str, Any], event: dict[str, Any]) -> str:
    """What a rule's target receives for `event`."""
    if "Input" in target:
        return target["Input"]
    if "InputTransformer" not in target:
        return json.dumps(_at(event, target.get("InputPath", "$")))
    transformer = target["InputTransformer"]
    values = {name: _at(event, path) for name, path in transformer.get("InputPathsMap", {}).items()}
    template: str = transformer["InputTemplate"]

    def fill(found: re.Match[str]) -> str:
        value = values.get(found[1])
        inside_string = template[: found.start()].count('"') % 2 == 1
        return value if inside_string and isinstance(value, str) else json.dumps(value)

    return re.sub(r"<([\w-]+)>", fill, template)


def _at(event: Any, path: str) -> Any:
    for step in path.removeprefix("$").strip(".").split("."):
        event = event.get(step) if step and isinstance(event, dict) else event
    return event
