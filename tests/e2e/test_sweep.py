"""Sweeps: who is chosen and why the others are not, who goes first, what a stack that stays holds, and what is said in the end."""

from __future__ import annotations

import json
import time
from typing import Any
from collections.abc import Callable, Iterator

import pytest

from bed import Bed, seed

import fleet
from app import ACCOUNT, REGION, STATE_BUCKET, App, error, message, outcome, until

pytestmark = pytest.mark.timeout(240)
PAST, FUTURE = "2020-01-01", "2999-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def railed() -> Iterator[App]:
    """An app whose owner has set rails."""
    with Bed() as bed:
        yield App.deployed(bed, DenyStacks="*-live", MaxStacks="8", DenyTypes="AWS::RDS::*")


def asked(name: str, **select: Any) -> dict[str, Any]:
    return {"name": name, "confirm": name, "select": select}


def started(app: App, name: str) -> float:
    """When the first resource of a stack that is gone was begun."""
    keys = [key for key in app.keys(f"ebb/runs/cdkd/{name}/") if not key.endswith((".report.json", ".html"))]
    return min(row["startedAt"] for key in keys for row in json.loads(app.read(key) or b"")["resources"].values())


def ended(app: App, name: str) -> float:
    keys = [key for key in app.keys(f"ebb/runs/cdkd/{name}/") if not key.endswith((".report.json", ".html"))]
    return max(json.loads(app.read(key) or b"")["ended"]["at"] for key in keys)


@pytest.mark.parametrize("exporter_first", [True, False])
def test_an_importer_goes_before_its_exporter_however_they_are_listed(app: App, name: Callable[[str], str], exporter_first: bool) -> None:
    net, web, job = name("Net"), name("Web"), name("Job")
    stacks = [fleet.stack(app.bed, net), fleet.stack(app.bed, web, imports=[net]), fleet.stack(app.bed, job, reads=[net])]
    assert error(app.tear_down(net)) == ("FAILED", "ActiveImports"), "by itself it is refused"
    listed = [net, web, job] if exporter_first else [job, web, net]
    found = app.sweep(asked("pair", stacks=listed))
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert fleet.gone(stacks) == [net, web, job]
    assert ended(app, web) <= started(app, net) and ended(app, job) <= started(app, net)
    levels = {one["stack"]: one["level"] for one in found["output"]["stacks"]}
    assert levels == {web: 0, job: 0, net: 1}


def test_old_and_due_stacks_go_and_each_refusal_says_its_rail(railed: App) -> None:
    due = {"teardown-after": PAST}
    stacks = [fleet.stack(railed.bed, f"Preview-{n}", tags=due) for n in range(6)]
    live = fleet.stack(railed.bed, "Preview-live", tags=due)
    protected = fleet.stack(railed.bed, "Preview-kept", tags={**due, "ebb:protect": "true"})
    others = [
        fleet.stack(railed.bed, "Preview-young", tags=due, hours_old=1),
        fleet.stack(railed.bed, "Preview-later", tags={"teardown-after": FUTURE}),
        fleet.stack(railed.bed, "Preview-untagged"),
        fleet.stack(railed.bed, "Preview-out", tags=due),
    ]
    found = railed.sweep(asked("due", names=["Preview-*"], olderThan="72h", dueTag="teardown-after", exclude=["*-out"]))
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert fleet.gone([*stacks, live, protected, *others]) == [one.name for one in stacks]
    assert found["output"]["counts"] | {"left": 0} == {
        "chosen": 6, "deleted": 6, "looked": 0, "failed": 0, "held": 0, "waiting": 0, "left": 0}
    assert fleet.left(found) == {
        "Preview-live": "Refused", "Preview-kept": "Refused", "Preview-young": "TooYoung", "Preview-later": "NotDue",
        "Preview-untagged": "NotDue", "Preview-out": "Excluded"}
    reasons = {one["stack"]: one["reason"] for one in found["output"]["left"]}
    assert reasons["Preview-live"].startswith("DenyStacks: ") and reasons["Preview-live"].endswith("parameter DenyStacks")
    assert reasons["Preview-kept"].startswith("ProtectTag: ") and reasons["Preview-kept"].endswith("parameter ProtectTag")
    place = found["output"]["places"][0]
    selection = json.loads(railed.read(place["selection"].removeprefix(f"s3://{STATE_BUCKET}/")) or b"")
    assert {one["stack"] for one in selection["chosen"]} == {one.name for one in stacks}
    report = json.loads(railed.read(place["report"].removeprefix(f"s3://{STATE_BUCKET}/")) or b"")
    assert report["counts"]["deleted"] == 6


def test_a_stack_that_stays_holds_what_it_reads_and_nothing_else(app: App, name: Callable[[str], str]) -> None:
    net, web, other, other_web = name("Net"), name("Web"), name("Other"), name("OtherWeb")
    stacks = [fleet.stack(app.bed, net), fleet.stack(app.bed, web, imports=[net]),
              fleet.stack(app.bed, other), fleet.stack(app.bed, other_web, imports=[other])]
    body = app.put(f"cdkd/{web}/{REGION}/lock.json", {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    found = app.sweep(asked("held", stacks=[net, web, other, other_web]))
    assert error(found) == ("FAILED", "Partial"), found
    assert fleet.results(found) == {web: "LockHeld", net: "Held", other_web: "Deleted", other: "Deleted"}
    assert message(found) == "of 4 stacks: 2 deleted, 1 failed, 1 held by a stack that stayed"
    said = {one["stack"]: one.get("message", "") for one in found["output"]["stacks"]}
    assert "maria@build-7:1" in said[web] and web in said[net]
    unlock = json.loads(said[web][said[web].index("{"):])
    assert unlock == {"action": "force-unlock", "stack": web, "region": REGION, "bucket": STATE_BUCKET, "prefix": "cdkd"}, "whole: it is pasted"
    assert fleet.gone(stacks) == [other, other_web]
    assert app.read(f"cdkd/{web}/{REGION}/lock.json") == body and app.lock(net) is None


def test_a_sweep_waits_for_a_lock_as_long_as_it_says(app: App, name: Callable[[str], str]) -> None:
    one = fleet.stack(app.bed, name("Busy"))
    app.put(f"cdkd/{one.name}/{REGION}/lock.json", {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    execution = app.bed.start(app.outputs["SweepStateMachineArn"], asked("patient", stacks=[one.name]) | {"lockWait": 120})
    teardowns = app.outputs["TeardownStateMachineArn"]
    until(lambda: any(e["name"].endswith(one.name) and e["status"] == "RUNNING" for e in app.bed.executions(teardowns)), 30)
    app.bed.look("s3").delete_object(Bucket=STATE_BUCKET, Key=f"cdkd/{one.name}/{REGION}/lock.json")
    assert outcome(app.bed.wait(execution)) == ("SUCCEEDED", "Deleted")
    assert fleet.gone([one]) == [one.name]


def test_a_stack_that_is_deployed_again_while_it_waits_for_its_reader_stays(app: App, name: Callable[[str], str]) -> None:
    net = fleet.stack(app.bed, name("Net"))
    web = fleet.stack(app.bed, name("Web"), imports=[net.name])
    lock = f"cdkd/{web.name}/{REGION}/lock.json"
    app.put(lock, {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    request = asked("again", names=[net.name, web.name], olderThan="72h") | {"lockWait": 120}
    execution = app.bed.start(app.outputs["SweepStateMachineArn"], request)
    teardowns = app.outputs["TeardownStateMachineArn"]
    until(lambda: any(e["name"].endswith(web.name) and e["status"] == "RUNNING" for e in app.bed.executions(teardowns)), 30)
    state = app.read(net.write(outputs={"Url": "x"}, exportNames=["Url"], lastModified=int(time.time() * 1000)))
    app.bed.look("s3").delete_object(Bucket=STATE_BUCKET, Key=lock)
    found = app.bed.wait(execution)
    assert error(found) == ("FAILED", "Partial")
    rows = {one["stack"]: one for one in found["cause"]["stacks"]}
    assert (rows[web.name]["result"], rows[net.name]["result"]) == ("Deleted", "Refused")
    assert rows[net.name]["message"].startswith("the stack was deployed again, or torn down in part, after it was chosen: its state was written at 20")
    assert fleet.gone([net, web]) == [web.name] and app.read(f"cdkd/{net.name}/{REGION}/state.json") == state
    assert not any(e["name"].endswith(net.name) for e in app.bed.executions(teardowns))


def test_a_stack_that_is_deployed_while_its_teardown_waits_for_the_lock_stays(app: App, name: Callable[[str], str]) -> None:
    one = fleet.stack(app.bed, name("Fresh"))
    lock = f"cdkd/{one.name}/{REGION}/lock.json"
    app.put(lock, {"owner": "maria@build-7:1", "timestamp": 1, "expiresAt": 32503680000000})
    execution = app.bed.start(app.outputs["SweepStateMachineArn"], asked("fresh", stacks=[one.name], olderThan="72h") | {"lockWait": 120})
    teardowns = app.outputs["TeardownStateMachineArn"]

    def waits() -> bool:
        begun = [e["executionArn"] for e in app.bed.executions(teardowns) if e["name"].endswith(one.name)]
        return any(e["type"] == "WaitStateEntered" for arn in begun for e in app.bed.history(arn))

    until(waits, 30)
    state = app.read(one.write(outputs={"Url": "x"}, exportNames=["Url"], lastModified=int(time.time() * 1000)))
    app.bed.look("s3").delete_object(Bucket=STATE_BUCKET, Key=lock)
    found = app.bed.wait(execution)
    assert error(found) == ("FAILED", "Partial")
    [row] = found["cause"]["stacks"]
    assert row["result"] == "Refused" and row["message"].startswith("the stack was deployed again, or torn down in part, after it was chosen: ")
    assert one.survivors() == list(one.rows) and app.lock(one.name) is None
    assert app.read(f"cdkd/{one.name}/{REGION}/state.json") == state


def slow(app: App, stack: seed.StackBuilder, imports: list[str]) -> seed.StackBuilder:
    """The stack with a dozen deletes more, one after the other, each of which takes a second."""
    for number in range(12):
        seed.parameter(stack, f"Step{number:02}", needs=[f"Step{number - 1:02}" if number else "First"])
    stack.write(imports=[{"sourceStack": source, "sourceRegion": REGION, "exportName": "Url"} for source in imports], lastModified=1)
    app.bed.plant({"service": "ssm", "action": "DeleteParameter", "match": f"/{stack.name}/", "agent": "rust", "forever": True, "delay_ms": 1000})
    return stack


def test_a_stopped_sweep_begins_nothing_more_and_a_second_one_finishes_the_job(hasty: App, name: Callable[[str], str]) -> None:
    """The engine stops no teardown with the sweep: one is stopped by hand as the runbook says, the other goes on to its end."""
    bed = hasty.bed
    net = fleet.stack(bed, name("Net"))
    web, job = slow(hasty, fleet.stack(bed, name("Web")), [net.name]), slow(hasty, fleet.stack(bed, name("Job")), [])
    stacks = [net, web, job]
    whole = hasty.read(f"cdkd/{net.name}/{REGION}/state.json")
    request = asked("stopped", stacks=[one.name for one in stacks])
    sweep = bed.start(hasty.outputs["SweepStateMachineArn"], request)
    until(lambda: all(2 <= len(one.rows) - len(one.survivors()) for one in (web, job)), 90)
    bed.stop(sweep, "Enough", "stopped by hand")
    ended = bed.wait(sweep)
    assert ended["status"] == "ABORTED", ended

    teardowns = hasty.outputs["TeardownStateMachineArn"]
    runs = {stack.name: e["executionArn"] for e in bed.executions(teardowns) for stack in stacks if e["name"].endswith(f"-{stack.name}")}
    assert set(runs) == {web.name, job.name}, "the wave that was out"
    bed.stop(runs[job.name], "Enough", "stopped by hand")
    assert outcome(bed.wait(runs[web.name])) == ("SUCCEEDED", "Deleted"), "what runs on ends like any other"
    until(lambda: all(hasty.lock(one.name) is None for one in stacks), 90)

    record = hasty.record(job.name, runs[job.name])
    assert record and record["ended"]["result"] == "Interrupted"
    state = hasty.state(job.name)
    assert state and set(job.survivors()) <= set(state["resources"]) < set(job.rows), "trimmed: nothing that is there lost its record"
    assert hasty.read(f"cdkd/{net.name}/{REGION}/state.json") == whole and net.survivors() == list(net.rows), "whole"
    assert fleet.gone(stacks) == [web.name] and hasty.state(web.name) is None

    told = hasty.news(sweep)
    assert told["subject"] == "ebb: sweep stopped: Interrupted"
    assert (told["detail"]["outcome"], told["detail"]["name"]) == ("interrupted", "stopped")
    assert "the sweep was stopped: it begins no further stack" in told["text"] and "sweep again" in told["detail"]["todo"]
    assert hasty.keys(f"ebb/sweeps/cdkd/{told['detail']['sweepId']}.0/"), "the id leads to what the sweep wrote"
    assert hasty.news(runs[job.name])["subject"] == f"ebb: {job.name} in {REGION}: Interrupted"

    bed.lift()
    again = hasty.sweep(request)
    assert outcome(again) == ("SUCCEEDED", "Deleted")
    assert fleet.results(again) == {net.name: "Deleted", job.name: "Deleted"} and fleet.left(again) == {web.name: "StackNotFound"}
    assert fleet.gone(stacks) == [net.name, web.name, job.name]


def test_a_dry_run_answers_selection_order_and_plans_and_changes_nothing(app: App, name: Callable[[str], str]) -> None:
    net, web = name("Net"), name("Web")
    stacks = [fleet.stack(app.bed, net), fleet.stack(app.bed, web, imports=[net])]
    seed.bucket(stacks[1], "Photos", objects=1)
    stacks[1].write(imports=[{"sourceStack": net, "sourceRegion": REGION, "exportName": "Url"}], lastModified=1)
    objects, mark = app.versions("cdkd/"), app.bed.mark()
    found = app.sweep({"name": "look", "dryRun": True, "select": {"stacks": [net, web]}})
    assert outcome(found) == ("SUCCEEDED", "DryRun")
    assert app.versions("cdkd/") == objects and app.changes(mark) == []
    first, second = found["output"]["stacks"]
    assert (first["stack"], first["level"], first["plan"]["resources"], first["plan"]["guarded"]) == (web, 0, 3, 1)
    assert (second["stack"], second["after"], second["plan"]["resources"]) == (net, [web], 2)
    assert found["output"]["estimate"]["longestChainSeconds"] >= first["plan"]["seconds"] + second["plan"]["seconds"] > 0
    assert len(fleet.gone(stacks)) == 0


def test_too_many_are_refused_before_the_first(railed: App) -> None:
    stacks = [fleet.stack(railed.bed, f"Many-{n}") for n in range(9)]
    mark = railed.bed.mark()
    found = railed.sweep(asked("many", names=["Many-*"]))
    assert error(found) == ("FAILED", "Refused")
    assert message(found).startswith("MaxStacks: 9 stacks were chosen, at most 8 are allowed")
    assert found["cause"]["selections"][0].startswith(f"s3://{STATE_BUCKET}/ebb/sweeps/")
    assert railed.changes(mark) == [] and fleet.gone(stacks) == []
    limited = railed.sweep({"name": "many", "confirm": "many", "select": {"names": ["Many-*"], "limit": 8}})
    assert outcome(limited) == ("SUCCEEDED", "Deleted")
    assert len(fleet.gone(stacks)) == 8 and list(fleet.left(limited).values()) == ["OverLimit"]


def test_a_place_over_which_the_planner_fails_is_told_with_its_account_and_the_log_group(hasty: App) -> None:
    rule = {"service": "lambda", "action": "Invoke", "agent": "strict", "code": "KMSDisabledException", "status": 502, "forever": True}
    hasty.bed.plant(*({**rule, "match": f'"action":{space}"select"'} for space in ("", " ")))
    found = hasty.sweep(asked("unread", names=["Nobody-*"], regions=[REGION]))
    assert error(found) == ("FAILED", "Error")
    (place,) = found["output"]["places"]
    assert (place["account"], place["regions"], place["error"]) == (ACCOUNT, [REGION], "Lambda.KMSDisabledException")
    said = "the planner failed while it read the place, with Lambda.KMSDisabledException; look into the log group /aws/lambda/ebb-planner"
    assert place["message"] == said and message(found) == f"nothing could be read in account {ACCOUNT}, region {REGION}, prefix cdkd: {said}"
    assert f"Not read:\n  account {ACCOUNT}, region {REGION}, prefix cdkd: Lambda.KMSDisabledException - " in hasty.news(found["executionArn"])["text"]


BAD: dict[str, tuple[Any, str]] = {
    "the console's default input": ({"Comment": "Insert your JSON here"}, "names no sweep"),
    "a teardown's input": ({"stack": "A", "confirm": "A"}, "`stack` is no field of a request"),
    "no confirm": ({"name": "a", "select": {"names": ["*"]}}, "`confirm` is missing: write a there"),
    "a stack's name as confirm": ({"name": "a", "select": {"stacks": ["B"]}, "confirm": "B"}, "`confirm` is not the sweep's name"),
    "everything by mistake": ({"name": "a", "confirm": "a", "select": {"regions": ["us-east-1"]}}, "`select` chooses every stack"),
    "an age without a unit": ({"name": "a", "confirm": "a", "select": {"olderThan": "72"}}, "`select.olderThan` must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_field_and_changes_nothing(app: App, case: str) -> None:
    request, said = BAD[case]
    objects, mark = app.versions("ebb/sweeps/"), app.bed.mark()
    found = app.sweep(request)
    assert error(found) == ("FAILED", "InvalidRequest") and said in message(found), found
    assert app.versions("ebb/sweeps/") == objects and app.changes(mark) == []


def test_every_end_is_told_on_the_bus_and_to_the_topic(name: Callable[[str], str]) -> None:
    with Bed(wait_scale=0.02) as bed:
        sns, sqs, events = bed.client("sns"), bed.client("sqs"), bed.client("events")
        topic = sns.create_topic(Name="results")["TopicArn"]
        app = App.deployed(bed, ResultTopicArn=topic)

        def queue(title: str) -> tuple[str, str]:
            url = sqs.create_queue(QueueName=title)["QueueUrl"]
            return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

        def received(url: str, most: int) -> list[dict[str, Any]]:
            bodies: list[dict[str, Any]] = []

            def more() -> bool:
                for one in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
                    bodies.append(json.loads(one["Body"]))
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
                return len(bodies) >= most

            until(more, 30)
            return bodies

        (heard, heard_arn), (mail, mail_arn) = queue("heard"), queue("mail")
        pattern = json.dumps({"source": ["ebb"], "detail-type": ["Ebb Teardown Ended", "Ebb Sweep Ended"]})
        events.put_rule(Name="heard", EventBusName="ebb", EventPattern=pattern)
        events.put_targets(Rule="heard", EventBusName="ebb", Targets=[{"Id": "queue", "Arn": heard_arn}])
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=mail_arn)

        one, missing = fleet.stack(bed, name("One")), name("Missing")
        assert outcome(app.sweep(asked("told", stacks=[one.name]))) == ("SUCCEEDED", "Deleted")
        assert error(app.tear_down(missing)) == ("FAILED", "StackNotFound")
        told = {event["detail"]["execution"]: event for event in received(heard, 3)}
        by_type = {(e["detail-type"], e["detail"]["result"], e["detail"]["outcome"]): e["detail"] for e in told.values()}
        assert set(by_type) == {("Ebb Sweep Ended", "Deleted", "completed"), ("Ebb Teardown Ended", "Deleted", "completed"),
                                ("Ebb Teardown Ended", "StackNotFound", "refused")}
        clean = by_type["Ebb Teardown Ended", "Deleted", "completed"]
        assert clean["message"] == "destroyed: 2 deleted"
        assert (clean["version"], clean["stack"], clean["region"], clean["counts"]["deleted"]) == (1, one.name, REGION, 2)
        swept = by_type["Ebb Sweep Ended", "Deleted", "completed"]
        assert (swept["name"], swept["message"]) == ("told", "1 stack torn down")
        subjects = sorted(letter["Subject"] for letter in received(mail, 3))
        assert subjects == sorted(
            ["ebb: sweep told: Deleted", f"ebb: {one.name} in {REGION}: Deleted", f"ebb: {missing} in {REGION}: StackNotFound"])
