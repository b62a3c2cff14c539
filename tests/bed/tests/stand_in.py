"""Stand-ins for the app's functions: one program that speaks the Lambda runtime API and answers by a small script.

They let the template and the state machines run without a build. The program reads what to answer to each `action` from the
parameter `/stand-in` of SSM, so a test can change it at any time: `{"check": {...}, "plan": [{...}, {...}], ...}`; of a list the
answers come one after the other, the last one again and again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from bed import Bed
from bed.deploy import FUNCTIONS

_PROGRAM = """#!{python}
import json, os, sys, urllib.request
sys.path[:0] = {path}
import boto3

api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
ssm = boto3.client("ssm", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def answer(event):
    script = json.loads(ssm.get_parameter(Name="/stand-in")["Parameter"]["Value"])
    given = script[event["action"]]
    if isinstance(given, list):
        given = given[min(event.get("step", 0), len(given) - 1)]
    return {{**given, "id": event["item"]["id"], "step": event["item"]["step"]}} if event["action"] == "step" else given


while True:
    with urllib.request.urlopen(api + "next") as got:
        request, event = got.headers["Lambda-Runtime-Aws-Request-Id"], json.loads(got.read())
    try:
        where, body = "/response", answer(event)
    except Exception as error:
        where, body = "/error", {{"errorType": type(error).__name__, "errorMessage": str(error)}}
    urllib.request.urlopen(urllib.request.Request(api + request + where, json.dumps(body).encode(), method="POST")).read()
"""


def write_functions(directory: Path) -> Path:
    """Write the stand-ins where a build would put the functions."""
    program = _PROGRAM.format(python=sys.executable, path=repr([p for p in sys.path if "site-packages" in p]))
    for name in FUNCTIONS:
        path = directory / name
        path.write_text(program)
        os.chmod(path, 0o755)
    return directory


def say(bed: Bed, script: dict[str, Any]) -> None:
    """Set what the stand-ins answer."""
    bed.client("ssm").put_parameter(Name="/stand-in", Type="String", Value=json.dumps(script), Overwrite=True)
