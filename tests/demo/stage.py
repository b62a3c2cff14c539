"""The stage: an emulated AWS, Ebb deployed on it as a person deploys it, and a stack that somebody deployed with cdkd."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bed import Bed, seed

from progress import STATE_BUCKET, Place
from screen import Screen

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RESOURCES = 84


@dataclass
class Stage:
    """Everything a scenario works with."""

    screen: Screen
    bed: Bed
    outputs: dict[str, str]
    stack: seed.StackBuilder
    place: Place
    neighbour: seed.StackBuilder
    runs: list[tuple[str, ...]] = field(default_factory=list)

    def start(self, name: str, **options: Any) -> str:
        """Start a teardown with the input that `events/teardown.json` shows, for this stack; answers the execution's ARN."""
        request = json.loads((ROOT / "events/teardown.json").read_text())
        request |= {"stack": self.stack.name, "region": self.stack.region, "confirm": self.stack.name, **options}
        self.screen.headline("Starting the teardown, as the console does it: Step Functions, ebb-teardown, Start execution")
        self.screen.line(f"  input   {json.dumps(request)}")
        execution = self.bed.start(self.outputs["TeardownStateMachineArn"], request, name)
        self.screen.line(f"  runs as {execution}")
        return execution


    def plan(self, name: str) -> dict[str, Any]:
        """A dry run, with the input that `events/dry-run.json` shows: print the plan, answer the run's output."""
        request = json.loads((ROOT / "events/dry-run.json").read_text()) | {"stack": self.stack.name, "region": self.stack.region}
        self.screen.headline("Asking for the plan first: a dry run takes no lock and changes nothing")
        self.screen.line(f"  input   {json.dumps(request)}")
        output = self.bed.wait(self.bed.start(self.outputs["TeardownStateMachineArn"], request, name)).get("output") or {}
        where = output.get("report", {}).get("json", "")
        report = json.loads(self.place.read(where.removeprefix(f"s3://{STATE_BUCKET}/")) or b"{}")
        for number, level in enumerate(report.get("plan", {}).get("levels", []), 1):
            names = [id.partition("/")[2] for id in level]
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            self.screen.line(f"  level {number}  {len(names):3}  {', '.join(names[:8])}{more}")
        self.screen.line("  A teardown does not wait for a whole level: each resource goes as soon as nothing needs it any more.")
        return output


@contextmanager
def stage(screen: Screen, wait_scale: float) -> Iterator[Stage]:
    """Build the stage, and take it down again however the scenario ends. Waits take `wait_scale` times what they say."""
    screen.headline("An AWS on this machine: an emulator behind a front door that refuses what AWS refuses")
    began = time.monotonic()
    with Bed(wait_scale=wait_scale) as bed:
        screen.line(f"  {bed.endpoint}   no account, no Docker, no network   {time.monotonic() - began:.1f} s")
        if wait_scale != 1:
            screen.line(f"  deletes take no time here: waits are cut to {wait_scale:.0%} of what they say")
        screen.headline("Deploying Ebb with CloudFormation: infra/template.yaml, unchanged")
        began = time.monotonic()
        seed.state_bucket(bed)
        outputs = bed.deploy(ROOT / "infra/template.yaml", {}, TARGET / "debug")
        machines = [arn.rpartition(":")[2] for key, arn in outputs.items() if key.endswith("StateMachineArn")]
        screen.line(f"  4 functions, {len(machines)} state machines ({', '.join(machines)})   {time.monotonic() - began:.1f} s")

        screen.headline("A stack that was deployed with cdkd: real resources, and the state that cdkd wrote about them")
        began = time.monotonic()
        stack = seed.mixed_stack(bed, RESOURCES)
        stack.write()
        neighbour = _neighbour(bed)
        kinds = {row["resourceType"] for row in stack.rows.values()}
        screen.line(f"  {stack.name} in {stack.region}: {len(stack.rows)} resources of {len(kinds)} types   {time.monotonic() - began:.1f} s")
        screen.line(f"  s3://{STATE_BUCKET}/cdkd/{stack.name}/{stack.region}/state.json")
        yield Stage(screen, bed, outputs, stack, Place(bed, stack.name), neighbour)


def _neighbour(bed: Bed) -> seed.StackBuilder:
    """Another stack beside it, which nobody asked to tear down."""
    stack = seed.StackBuilder(bed, "Neighbour")
    seed.vpc_stack(stack, cidr="10.50", full=False)
    seed.table(stack, "Accounts")
    seed.bucket(stack, "Archive", objects=2)
    stack.write()
    return stack
