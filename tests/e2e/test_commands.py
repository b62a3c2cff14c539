"""`make deploy` and `make undeploy`, run against the emulator with the AWS CLI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bed import Bed, seed

from app import ARTIFACTS, ROOT, App, outcome, until

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(not shutil.which("aws"), reason="the AWS CLI is not installed")]


def test_the_app_is_deployed_used_and_removed_by_hand(tmp_path: Path) -> None:
    with Bed(wait_scale=0.05) as bed:
        bed.client("s3").create_bucket(Bucket="code")
        environment = {**os.environ, **bed.environment(), "CARGO_TARGET_DIR": str(tmp_path)}

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

        # What `make deploy` does after cargo is done.
        packed = run(sys.executable, "-B", "infra/package.py", f"{ARTIFACTS}/{{}}", f"{tmp_path}/dist", "1")
        assert packed.returncode == 0 and "zips for" in packed.stdout, packed.stdout + packed.stderr
        done = run("infra/deploy", "code", "DenyStacks=Prod*,*-live", "MaxResources=40")
        assert done.returncode == 0, done.stdout + done.stderr
        teardown = done.stdout.strip().splitlines()[-1]
        bed.mirror()
        stack = bed.client("cloudformation").describe_stacks(StackName="ebb")["Stacks"][0]
        app = App(bed, {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]})
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
        assert bed.client("cloudformation").describe_stacks(StackName="ebb")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"

        assert outcome(bed.wait(execution)) == ("SUCCEEDED", "Deleted")
        keepers = app.outputs["KeeperStateMachineArn"]
        until(lambda: {e["status"] for e in bed.executions(keepers)} == {"SUCCEEDED"}, 60)
        removed = run("make", "undeploy")
        assert removed.returncode == 0, removed.stdout + removed.stderr
        left = [f["FunctionName"] for f in bed.client("lambda").list_functions()["Functions"]]
        assert left == []


@pytest.mark.parametrize("target", ["deploy", "selftest"])
def test_a_command_without_its_bucket_says_what_it_needs(target: str) -> None:
    script = {"deploy": ["infra/deploy", ""], "selftest": ["make", "selftest"]}[target]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0 and f"make {target} BUCKET=" in done.stderr
