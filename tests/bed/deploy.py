"""Deploys the app into the bed as a person deploys it to AWS: zips in a bucket, then the template through CloudFormation, unchanged."""

from __future__ import annotations

import hashlib
import platform
import re
import time
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from .bed import Bed

ARTIFACTS = "ebb-bed-artifacts"
FUNCTIONS = ("planner", "worker", "lock-keeper", "finalizer")
_BIG = 51_200  # the largest template CloudFormation takes inline
_ARCHITECTURE = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"


def deploy(bed: Bed, template: Path, parameters: dict[str, str], artifacts: Path | None, stack: str) -> dict[str, str]:
    """Create or update `stack`; answers its outputs."""
    s3, cloudformation = bed.client("s3"), bed.client("cloudformation")
    s3.create_bucket(Bucket=ARTIFACTS)
    prefix = upload(s3, artifacts, template.parent) if artifacts else ""
    text = template.read_text()
    defaults = {"ArtifactBucket": ARTIFACTS, "ArtifactPrefix": prefix, "Architecture": _ARCHITECTURE}
    given = {**{k: v for k, v in defaults.items() if re.search(rf"^  {k}:", text, re.M)}, **parameters}
    if len(text.encode()) > _BIG:
        s3.put_object(Bucket=ARTIFACTS, Key=template.name, Body=text.encode())
        source = {"TemplateURL": f"{bed.endpoint}/{ARTIFACTS}/{template.name}"}
    else:
        source = {"TemplateBody": text}
    request: dict[str, Any] = {
        "StackName": stack,
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in given.items()],
        "Capabilities": ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        **source,
    }
    try:
        cloudformation.create_stack(**request)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AlreadyExistsException":
            raise
        _update(cloudformation, request)
    return _wait(cloudformation, stack)


def _update(cloudformation: Any, request: dict[str, Any]) -> None:
    try:
        cloudformation.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise


def upload(s3: Any, artifacts: Path, definitions: Path) -> str:
    """Put one zip per function, its executable named `bootstrap`, and the state machines' definitions into the bucket, under a
    prefix that is named after the content; answers the prefix."""
    bodies = {f"{name}.zip": zipped({"bootstrap": (artifacts / name).read_bytes()}) for name in FUNCTIONS}
    bodies |= {path.name: path.read_bytes() for path in sorted(definitions.glob("*.asl.json"))}
    content = hashlib.sha256()
    for body in bodies.values():
        content.update(body)
    prefix = f"{content.hexdigest()[:12]}/"
    for name, body in bodies.items():
        s3.put_object(Bucket=ARTIFACTS, Key=prefix + name, Body=body)
    return prefix


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of executable files, stored as they are: on this machine copying is quicker than deflating."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, body in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, body)
    return buffer.getvalue()


def _wait(cloudformation: Any, stack: str, seconds: float = 120) -> dict[str, str]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        if found["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}
        if not found["StackStatus"].endswith("_IN_PROGRESS"):
            events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
            failed = [f"{e['LogicalResourceId']}: {e.get('ResourceStatusReason')}" for e in events if "FAILED" in e["ResourceStatus"]]
            raise RuntimeError(f"{stack} is {found['StackStatus']}: " + "; ".join(failed or [found.get("StackStatusReason", "")]))
        time.sleep(0.1)
    raise TimeoutError(f"{stack} is not up after {seconds} s")
