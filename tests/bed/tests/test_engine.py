"""What the state machines need from the strict engine."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from bed import Bed, seed
from bed.clients import make_client

pytestmark = pytest.mark.timeout(60)

CODE = """
import os
import boto3


def handler(event, context):
    if event.get("op") == "describe":
        client = boto3.client("stepfunctions", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
        found = client.describe_execution(executionArn=event["execution"])
        return {"status": found["status"], "input": found["input"], "started": found["startDate"].timestamp()}
    if event.get("op") == "crash" and event["retry"] < event["until"]:
        raise RuntimeError("not yet")
    return event
"""


@pytest.fixture
def stack(bed: Bed) -> seed.StackBuilder:
    made = seed.StackBuilder(bed, "Engine")
    seed.role(made, "Role")
    seed.function(made, "Echo", "Role", code=CODE)
    return made


def machine(stack: seed.StackBuilder, name: str, definition: dict[str, Any]) -> str:
    return stack.client("stepfunctions").create_state_machine(
        name=name, definition=json.dumps(definition), roleArn=stack.arn("Role")
    )["stateMachineArn"]


def one(state: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": "One", "States": {"One": {**state, "End": True}, **others}}


def echo(stack: seed.StackBuilder, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": stack.arn("Echo"), "Parameters": parameters, **more}


def run(bed: Bed, arn: str, input: Any = None, name: str | None = None) -> dict[str, Any]:
    return bed.wait(bed.start(arn, input, name), 30)


def test_a_function_is_called_by_its_arn_and_sees_its_execution(bed: Bed, stack: seed.StackBuilder) -> None:
    arn = machine(stack, "describe", one(echo(stack, {"op": "describe", "execution.$": "$$.Execution.Id"})))
    execution = bed.start(arn, {"stack": "Orders"}, "by-hand")
    found = bed.wait(execution)
    assert execution.endswith(":execution:describe:by-hand")
    assert found["output"]["status"] == "RUNNING"
    assert json.loads(found["output"]["input"]) == {"stack": "Orders"}
    assert found["output"]["started"] == pytest.approx(bed.describe(execution)["startDate"].timestamp(), abs=0.001)
    assert [e["action"] for e in bed.journal(agent="strict")] == ["Invoke"]


def test_a_retried_task_knows_how_often(bed: Bed, stack: seed.StackBuilder) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 3, "BackoffRate": 1}]
    task = echo(stack, {"op": "crash", "until": 2, "retry.$": "$$.State.RetryCount"}, Retry=retry)
    assert run(bed, machine(stack, "retried", one(task)))["output"]["retry"] == 2


def test_what_lambda_refuses_has_lambdas_name(bed: Bed, stack: seed.StackBuilder) -> None:
    bed.plant({"service": "lambda", "action": "Invoke", "agent": "strict", "code": "TooManyRequestsException", "status": 429})
    retry = [{"ErrorEquals": ["Lambda.TooManyRequestsException"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    assert run(bed, machine(stack, "throttled", one(echo(stack, {}, Retry=retry))))["status"] == "SUCCEEDED"
    assert len(bed.fired()) == 1


def test_a_map_gives_each_item_and_turns_a_crash_into_a_result(bed: Bed, stack: seed.StackBuilder) -> None:
    crashed = {"Type": "Pass", "Parameters": {"id.$": "$.item.id", "code": "WorkerCrashed"}, "End": True}
    step = echo(stack, {"op.$": "$.item.op", "id.$": "$.item.id", "retry": 0, "until": 1}, End=True,
                Catch=[{"ErrorEquals": ["States.ALL"], "ResultPath": "$.crash", "Next": "Crashed"}])
    wave = {"Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 4, "ResultPath": "$.results",
            "ItemSelector": {"run.$": "$.run", "item.$": "$$.Map.Item.Value"},
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "Step", "States": {"Step": step, "Crashed": crashed}}}
    items = [{"id": "a", "op": "crash"}, {"id": "b", "op": "echo"}]
    found = run(bed, machine(stack, "wave", one(wave)), {"run": {}, "items": items})
    assert [r.get("code") for r in found["output"]["results"]] == ["WorkerCrashed", None]
    assert [r["id"] for r in found["output"]["results"]] == ["a", "b"]


def test_a_nested_execution_is_named_and_its_output_comes_back(bed: Bed, stack: seed.StackBuilder) -> None:
    child = machine(stack, "child", {"StartAt": "End", "States": {"End": {"Type": "Succeed", "OutputPath": "$.plan"}}})
    nested = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "ResultPath": "$.answer",
              "Parameters": {"StateMachineArn": child, "Name.$": "States.Format('{}-{}', $.runId, $.drive)",
                             "Input": {"drive.$": "States.MathAdd($.drive, 1)", "plan": {"next": "again"}}}}
    found = run(bed, machine(stack, "parent", one(nested)), {"runId": "r1", "drive": 1})
    assert found["output"]["answer"]["Output"] == {"next": "again"}
    assert [e["name"] for e in bed.executions(child)] == ["r1-1"]
    kept = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution",
            "Parameters": {"StateMachineArn": child, "Name.$": "$$.Execution.Name", "Input": {"plan": {}, "execution.$": "$$.Execution.Id"}}}
    found = run(bed, machine(stack, "starter", one(kept)), name="nightly-7")
    assert found["output"]["ExecutionArn"].endswith(":execution:child:nightly-7")


def test_failing_by_path_and_waiting_by_path(bed: Bed, stack: seed.StackBuilder) -> None:
    fail = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "SecondsPath": "$.seconds", "Next": "Fail"},
                                         "Fail": {"Type": "Fail", "ErrorPath": "$.error", "CausePath": "$.cause"}}}
    began = time.monotonic()
    found = run(bed, machine(stack, "failing", fail), {"seconds": 1, "error": "LockHeld", "cause": '{"message": "held"}'})
    assert (found["status"], found["error"], found["cause"]) == ("FAILED", "LockHeld", {"message": "held"})
    assert time.monotonic() - began > 1


def test_an_execution_that_is_stopped_inside_a_map_is_aborted(bed: Bed, stack: seed.StackBuilder) -> None:
    waits = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 30, "Next": "After"}, "After": echo(stack, {}, End=True)}}
    item = {"StartAt": "Inner", "States": {"Inner": {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": waits, "End": True}}}
    execution = bed.start(machine(stack, "maps", one({"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": item})), {"items": [{"items": [1, 2]}]})
    time.sleep(0.5)
    bed.stop(execution, "Enough", "by hand")
    assert bed.wait(execution, 20)["status"] == "ABORTED"
    assert bed.journal(agent="strict", action="Invoke") == [], "nothing of it goes on"


def test_waits_in_a_step_are_scaled_like_those_of_the_machine() -> None:
    with Bed(wait_scale=0.1) as hasty:
        stack = seed.StackBuilder(hasty, "Engine")
        seed.role(stack, "Role")
        seed.function(stack, "Echo", "Role", code=CODE)
        arn = machine(stack, "patient", one(echo(stack, {"item.$": "$.item", "note": "ü"})))
        for patience, scaled in ((24_999, 2_500), (3_000, 1_500), (0, 1_500)):
            item = {"id": "Orders/Queue", "patienceMs": patience, "memo": {"patienceMs": 7}}
            execution = hasty.start(arn, {"item": item})
            assert hasty.wait(execution, 30)["output"] == {"item": {**item, "patienceMs": scaled}, "note": "ü"}
            scheduled = next(e for e in hasty.history(execution) if e["type"] == "LambdaFunctionScheduled")
            assert json.loads(scheduled["lambdaFunctionScheduledEventDetails"]["input"])["item"] == item


def test_a_stopped_execution_starts_what_the_rule_says(bed: Bed, stack: seed.StackBuilder) -> None:
    slow = machine(stack, "slow", one({"Type": "Wait", "Seconds": 30}))
    keeper = machine(stack, "keeper", one({"Type": "Pass"}))
    events = bed.client("events")
    events.put_rule(Name="over", EventPattern=json.dumps({
        "source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"],
        "detail": {"status": ["ABORTED", "FAILED", "TIMED_OUT"], "stateMachineArn": [slow]}}))
    events.put_targets(Rule="over", Targets=[{
        "Id": "keeper", "Arn": keeper, "RoleArn": stack.arn("Role"),
        "InputTransformer": {"InputPathsMap": {"e": "$.detail.executionArn"}, "InputTemplate": '{"execution": <e>}'}}])
    execution = bed.start(slow)
    bed.stop(execution)
    assert bed.describe(execution)["status"] == "ABORTED"
    until = time.monotonic() + 5
    while not (started := bed.executions(keeper)) and time.monotonic() < until:
        time.sleep(0.1)
    assert [bed.describe(e["executionArn"])["input"] for e in started] == [{"execution": execution}]


def test_executions_of_the_emulators_own_engine_are_seen_too(bed: Bed, stack: seed.StackBuilder) -> None:
    definition = json.dumps(one({"Type": "Pass"}))
    own = make_client("stepfunctions", bed.emulator)
    arn = own.create_state_machine(name="scheduled", definition=definition, roleArn=stack.arn("Role"))["stateMachineArn"]
    assert bed.mirror() == {"scheduled": arn}
    started = own.start_execution(stateMachineArn=arn, name="by-schedule")["executionArn"]
    assert bed.wait(started, 5)["status"] == "SUCCEEDED"
    assert bed.executions(arn) == []  # but the list is the strict engine's
    assert run(bed, arn, name="by-hand")["status"] == "SUCCEEDED"
