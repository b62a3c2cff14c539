"""`make deploy` and `make undeploy`, run against the emulator with the AWS CLI."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bed import Bed, seed

from app import ARTIFACTS, ROOT, App, error, message, outcome, until

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(not shutil.which("aws"), reason="the AWS CLI is not installed")]


Run = Callable[..., subprocess.CompletedProcess[str]]


def at_hand(bed: Bed, directory: Path) -> Run:
    """Runs commands as a person does, with the zips that `make build` would have made."""
    environment = {**os.environ, **bed.environment(), "CARGO_TARGET_DIR": str(directory)}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    # What `make deploy` does after cargo is done.
    packed = run(sys.executable, "-B", "infra/package.py", f"{ARTIFACTS}/{{}}", f"{directory}/dist", "1")
    assert packed.returncode == 0 and "zips for" in packed.stdout, packed.stdout + packed.stderr
    return run


def outputs(bed: Bed) -> dict[str, str]:
    bed.mirror()
    stack = bed.client("cloudformation").describe_stacks(StackName="ebb")["Stacks"][0]
    return {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]}


def test_the_app_is_deployed_used_and_removed_by_hand(tmp_path: Path) -> None:
    with Bed(wait_scale=0.05) as bed:
        bed.client("s3").create_bucket(Bucket="code")
        run = at_hand(bed, tmp_path)
        done = run("infra/deploy", "code", "DenyStacks=Prod*,*-live", "MaxResources=40")
        assert done.returncode == 0, done.stdout + done.stderr
        teardown = done.stdout.strip().splitlines()[-1]
        app = App(bed, outputs(bed))
        assert teardown == app.outputs["TeardownStateMachineArn"]
        seed.state_bucket(bed)
        shop = seed.StackBuilder(bed, "Shop")
        seed.parameter(shop, "First")
        seed.parameter(shop, "Second", needs=["First"])
        shop.write()

        bed.plant({"service": "ssm", "action": "DeleteParameter", "agent": "rust", "times": 1, "delay_ms": 15_000})
        execution = app.start({"stack": "Shop", "region": "us-east-1", "confirm": "Shop"}, "running")
        until(lambda: app.lock("Shop"), 30)
        refused = run("make", "undeploy")
        assert refused.returncode != 0 and "running: ebb-teardown running" in refused.stderr, refused.stderr
        assert "running: ebb-keeper running" in refused.stderr, "a keeper counts too"
        assert bed.client("cloudformation").describe_stacks(StackName="ebb")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"

        assert outcome(bed.wait(execution)) == ("SUCCEEDED", "Deleted")
        keepers = app.outputs["KeeperStateMachineArn"]
        until(lambda: {e["status"] for e in bed.executions(keepers)} == {"SUCCEEDED"}, 60)
        news = app.outputs["AnnounceStateMachineArn"]
        until(lambda: {e["status"] for e in bed.executions(news)} == {"SUCCEEDED"}, 60)
        removed = run("make", "undeploy")
        assert removed.returncode == 0, removed.stdout + removed.stderr
        left = [f["FunctionName"] for f in bed.client("lambda").list_functions()["Functions"]]
        assert left == []


def commands(heading: str, page: str = "README.md") -> list[str]:
    """The shell commands of a page's section, as they stand there."""
    section = (ROOT / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.M | re.S)
    lines = [line for language, block in blocks if not language for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if not line.startswith("#")]


def test_the_readmes_ways_to_start_are_commands_that_run(tmp_path: Path) -> None:
    ways = commands("Start a teardown")
    assert [way.split()[0] for way in ways] == ["aws", "infra/deploy", "infra/deploy", "aws", "infra/deploy", "infra/deploy", "aws"]
    with Bed() as bed:
        for bucket in ("my-code-bucket", "my-bucket-there"):
            bed.client("s3").create_bucket(Bucket=bucket)
        run = at_hand(bed, tmp_path)
        assert run("infra/deploy", "my-code-bucket").returncode == 0
        app = App(bed, outputs(bed))
        seed.state_bucket(bed)
        request = json.loads((ROOT / "events/teardown.json").read_text())
        stack = seed.StackBuilder(bed, request["stack"], request["region"])
        seed.queue(stack, "Jobs")
        stack.write()

        started, nightly, sweeps, target, roles, admits, asks = ways
        done = run("bash", "-c", started)
        assert done.returncode == 0, done.stderr
        assert outcome(bed.wait(json.loads(done.stdout)["executionArn"])) == ("SUCCEEDED", "Deleted")
        assert stack.survivors() == []

        schedules = bed.client("scheduler")
        for way, machine in ((nightly, "ebb-teardown"), (sweeps, "ebb-sweep")):
            done = run("bash", "-c", way)
            assert done.returncode == 0, done.stdout + done.stderr
            schedule = schedules.get_schedule(Name="ebb-nightly")
            assert schedule["ScheduleExpression"] == "cron(0 22 ? * MON-FRI *)" and schedule["Target"]["Arn"].endswith(machine)
            json.loads(schedule["Target"]["Input"])
        for way in (target, roles, admits):
            done = run("bash", "-c", way)
            assert done.returncode == 0, done.stdout + done.stderr
        planner = bed.client("lambda").get_function_configuration(FunctionName="ebb-planner")["Environment"]["Variables"]
        assert planner["EBB_ALLOWED_TARGET_ROLES"] == "arn:aws:iam::210987654321:role/ebb-target", "what is left out keeps its value"

        # The same event, to the bus that is here.
        events = (ROOT / "events/requested.json").read_text().replace("123456789012", "000000000000")
        (tmp_path / "requested.json").write_text(events)
        done = run("bash", "-c", asks.replace("events/requested.json", str(tmp_path / "requested.json")))
        assert done.returncode == 0 and json.loads(done.stdout)["FailedEntryCount"] == 0, done.stdout + done.stderr


def test_the_runbooks_pause_refuses_what_is_new_and_keeps_every_other_parameter(tmp_path: Path) -> None:
    running, pause = commands("Stop", "docs/runbook.md")
    assert "update-stack --stack-name ebb" in pause and "ParameterValue=true" in pause
    with Bed(wait_scale=0.05) as bed:
        bed.client("s3").create_bucket(Bucket="code")
        run = at_hand(bed, tmp_path)
        done = run("infra/deploy", "code", "DenyStacks=Prod*,*-live", "MaxResources=40", "AllowedRegions=us-east-1,eu-west-1")
        assert done.returncode == 0, done.stdout + done.stderr
        app = App(bed, outputs(bed))
        seed.state_bucket(bed)
        shop = seed.StackBuilder(bed, "Shop")
        seed.queue(shop, "Jobs")
        shop.write()

        def parameters() -> dict[str, str]:
            stack = bed.client("cloudformation").describe_stacks(StackName="ebb")["Stacks"][0]
            return {p["ParameterKey"]: p["ParameterValue"] for p in stack["Parameters"]}

        def switched(value: str) -> None:
            done = run("bash", "-c", pause.replace("ParameterValue=true", f"ParameterValue={value}"))
            assert done.returncode == 0, done.stdout + done.stderr
            until(lambda: parameters()["Paused"] == value, 60)
            bed.mirror()

        before = parameters()
        assert (before["Paused"], before["DenyStacks"], before["MaxResources"]) == ("false", "Prod*,*-live", "40")
        switched("true")
        assert parameters() == {**before, "Paused": "true"}
        for found in (app.tear_down("Shop"), app.sweep({"name": "all", "confirm": "all", "select": {"names": ["*"]}})):
            assert error(found) == ("FAILED", "Refused") and message(found).startswith("Paused: "), found
        assert shop.survivors() == ["Jobs"]

        switched("false")
        assert parameters() == before
        assert error(app.tear_down("Prod1")) == ("FAILED", "Refused"), "the rails are as they were"
        assert outcome(app.tear_down("Shop")) == ("SUCCEEDED", "Deleted")
        listed = run("bash", "-c", running.replace("<ebb-teardown>", app.outputs["TeardownStateMachineArn"]))
        assert listed.returncode == 0 and json.loads(listed.stdout)["executions"] == [], listed.stdout + listed.stderr


@pytest.mark.parametrize("target", ["deploy", "selftest"])
def test_a_command_without_its_bucket_says_what_it_needs(target: str) -> None:
    script = {"deploy": ["infra/deploy", ""], "selftest": ["make", "selftest"]}[target]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0 and f"make {target} BUCKET=" in done.stderr
