"""Schedules that really fire, and events that start teardowns. On the emulator both start its own engine, so these beds run that one."""

from __future__ import annotations

import importlib.util
import json
import sys
from datetime import datetime, timedelta, timezone
from types import ModuleType
from typing import Any

import pytest

from bed import Bed, seed

import fleet
from app import ACCOUNT, ARTIFACTS, REGION, ROOT, App, until

pytestmark = pytest.mark.timeout(240)


def soon() -> str:
    return (datetime.now(timezone.utc) + timedelta(seconds=15)).strftime("at(%Y-%m-%dT%H:%M:%S)")


def deployed(bed: Bed, **parameters: str) -> App:
    return App(bed, bed.deploy(ROOT / "infra/template.yaml", parameters, ARTIFACTS))


def test_the_schedule_tears_the_stack_down() -> None:
    request = json.loads((ROOT / "events/scheduled.json").read_text())
    with Bed(strict=False) as bed:
        stack = seed.StackBuilder(bed, request["stack"], request["region"])
        seed.queue(stack, "Jobs")
        seed.parameter(stack, "First")
        seed.state_bucket(bed)
        stack.write()
        app = deployed(bed, ScheduleExpression=soon(), ScheduleInput=json.dumps(request))
        found = until(lambda: bed.executions(app.outputs["TeardownStateMachineArn"]), 90)
        assert bed.wait(found[0]["executionArn"])["status"] == "SUCCEEDED"
        assert stack.survivors() == []


def test_the_schedule_sweeps() -> None:
    request = json.loads((ROOT / "events/sweep-due.json").read_text())
    with Bed(strict=False) as bed:
        seed.state_bucket(bed)
        due = {"teardown-after": "2020-01-01"}
        stacks = [fleet.stack(bed, "Net", tags=due), fleet.stack(bed, "Web", tags=due, imports=["Net"]), fleet.stack(bed, "Stays")]
        app = deployed(bed, ScheduleExpression=soon(), ScheduleStarts="sweep", ScheduleInput=json.dumps(request), ScheduleWindowMinutes="1")
        schedule = bed.client("scheduler").get_schedule(Name="ebb-nightly")
        assert schedule["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 1}
        assert schedule["Target"]["DeadLetterConfig"]["Arn"].endswith(":ebb-undelivered")
        found = until(lambda: bed.executions(app.outputs["SweepStateMachineArn"]), 120)
        ended = bed.wait(found[0]["executionArn"], 120)
        assert ended["status"] == "SUCCEEDED" and ended["output"]["result"] == "Deleted", ended
        assert fleet.gone(stacks) == ["Net", "Web"]


def test_a_schedule_that_is_off_does_not_fire() -> None:
    with Bed(strict=False) as bed:
        seed.state_bucket(bed)
        deployed(bed, ScheduleExpression="rate(1 day)", ScheduleState="DISABLED", ScheduleTimezone="Europe/Berlin")
        schedule = bed.client("scheduler").get_schedule(Name="ebb-nightly")
        assert (schedule["State"], schedule["FlexibleTimeWindow"]["Mode"]) == ("DISABLED", "OFF")
    # The emulator forgets the zone, so that is the template's to say.
    properties = checker().template("template.yaml")["Resources"]["NightlySchedule"]["Properties"]
    assert properties["ScheduleExpressionTimezone"] == {"Ref": "ScheduleTimezone"}


def test_an_event_on_the_apps_bus_starts_a_teardown_in_the_name_of_its_account() -> None:
    with Bed(strict=False) as bed:
        seed.state_bucket(bed)
        one = fleet.stack(bed, "Asked")
        app = deployed(bed)
        detail = {"stack": one.name, "region": REGION, "confirm": one.name}
        answer = bed.client("events").put_events(Entries=[{
            "EventBusName": "ebb", "Source": "pipeline.orders", "DetailType": "Ebb Teardown Requested", "Detail": json.dumps(detail)}])
        assert answer["FailedEntryCount"] == 0
        found = until(lambda: bed.executions(app.outputs["TeardownStateMachineArn"]), 30)
        ended = bed.wait(found[0]["executionArn"])
        assert ended["input"] == {"requestedBy": ACCOUNT, "request": detail}
        assert ended["status"] == "SUCCEEDED" and one.survivors() == []


def checker() -> ModuleType:
    """`infra/check.py` as a module: it reads templates."""
    spec = importlib.util.spec_from_file_location("infra_check", ROOT / "infra/check.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["infra_check"] = module
    spec.loader.exec_module(module)
    return module


def test_the_bus_admits_requests_of_the_organization_and_listed_accounts_and_nothing_else() -> None:
    resources: dict[str, Any] = checker().template("template.yaml")["Resources"]
    condition, policy, otherwise = resources["EventBus"]["Properties"]["Policy"]["Fn::If"]
    assert (condition, otherwise) == ("AdmitsOthers", {"Ref": "AWS::NoValue"}), "by default nobody is admitted"
    statements = {branch["Fn::If"][0]: branch["Fn::If"][1] for branch in policy["Statement"]}
    assert set(statements) == {"HasEventOrganization", "HasEventAccounts"}
    for statement in statements.values():
        assert (statement["Effect"], statement["Action"]) == ("Allow", "events:PutEvents")
        assert statement["Resource"]["Fn::Sub"].endswith(":event-bus/${AWS::StackName}")
        assert statement["Condition"]["StringEquals"]["events:detail-type"] == "Ebb Teardown Requested", "nobody can send a result"
    organization, accounts = statements["HasEventOrganization"], statements["HasEventAccounts"]
    assert organization["Condition"]["StringEquals"]["aws:PrincipalOrgID"] == {"Ref": "EventOrganizationId"}
    assert accounts["Principal"] == {"AWS": {"Ref": "EventAccounts"}}
