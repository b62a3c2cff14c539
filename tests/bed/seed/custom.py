"""Custom resources whose handler really runs.

What a custom resource manages is an SSM parameter named like its physical id; a handler that did its work has deleted it, so
`exists` can tell. The handler answers by a plain PUT to the ResponseURL, as CDK's do, in the way its `Mode` property says.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Iterable

from .builder import StackBuilder
from .compute import function, log_group, policy, role

MODES = {
    "put": "does its work, puts SUCCESS, returns null",
    "return": "does its work, returns the answer itself and puts nothing",
    "later": "returns null at once; does its work and puts SUCCESS `Seconds` later",
    "fail": "puts FAILED and does nothing",
    "crash": "raises an error",
    "silent": "never answers",
}

HANDLER = '''
import json, os, time, urllib.request
import boto3


def client(service):
    return boto3.client(service, endpoint_url=os.environ.get("AWS_ENDPOINT_URL"))


def respond(event, status, reason=""):
    body = json.dumps({"Status": status, "Reason": reason, "StackId": event["StackId"], "RequestId": event["RequestId"],
                       "LogicalResourceId": event["LogicalResourceId"], "PhysicalResourceId": event.get("PhysicalResourceId")})
    request = urllib.request.Request(event["ResponseURL"], body.encode(), {"content-type": ""}, method="PUT")
    urllib.request.urlopen(request, timeout=10).read()


def work(event):
    if event["RequestType"] != "Delete":
        return
    bucket = event["ResourceProperties"].get("BucketName")
    if bucket:
        s3 = client("s3")
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            for item in page.get("Versions", []) + page.get("DeleteMarkers", []):
                s3.delete_object(Bucket=bucket, Key=item["Key"], VersionId=item["VersionId"])
    ssm = client("ssm")
    try:
        ssm.delete_parameter(Name=event["PhysicalResourceId"])
    except ssm.exceptions.ParameterNotFound:
        pass  # a delivery that was not heard to the end comes again


def handler(event, context):
    if "Later" in event:
        time.sleep(event["Seconds"])
        work(event["Later"])
        return respond(event["Later"], "SUCCESS")
    properties = event["ResourceProperties"]
    mode = properties.get("Mode", "put")
    print(json.dumps({"request": event["RequestType"], "id": event["RequestId"], "mode": mode}))
    if mode == "later":
        later = {"Later": event, "Seconds": float(properties.get("Seconds", "2"))}
        client("lambda").invoke(FunctionName=context.function_name, InvocationType="Event", Payload=json.dumps(later))
    elif mode == "fail":
        respond(event, "FAILED", "the handler was told to fail")
    elif mode == "crash":
        raise RuntimeError("the handler was told to crash")
    elif mode == "return":
        work(event)
        return {"Status": "SUCCESS", "PhysicalResourceId": event["PhysicalResourceId"]}
    elif mode == "put":
        work(event)
        respond(event, "SUCCESS")
'''


def handler(stack: StackBuilder, logical: str = "Handler", vpc: dict[str, Any] | None = None, needs: Iterable[str] = ()) -> str:
    """The handler's function with its role, its policy and its log group. The policy depends on nothing that needs it: only the
    handler does, while it runs."""
    role(stack, f"{logical}Role", managed=["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"])
    policy(stack, f"{logical}Policy", f"{logical}Role", actions=["ssm:DeleteParameter", "s3:*", "lambda:InvokeFunction"])
    log_group(stack, f"{logical}Logs", f"/aws/lambda/{stack.named(logical)}")
    return function(stack, logical, f"{logical}Role", code=HANDLER, vpc=vpc, needs=needs)


def custom_resource(stack: StackBuilder, logical: str, handler_logical: str, mode: str = "put", kind: str = "Custom::Thing",
                    needs: Iterable[str] = (), **properties: Any) -> str:
    """A custom resource served by `handler_logical`; `mode` is one of `MODES`."""
    if mode not in MODES:
        raise ValueError(f"no such mode: {mode}")
    physical = f"/{stack.name}/custom/{logical}"
    stack.client("ssm").put_parameter(Name=physical, Type="String", Value="managed by a custom resource")
    recorded = {"ServiceToken": stack.arn(handler_logical), "Mode": mode, "Retries": 3, "Verbose": False, **properties}
    return stack.add(logical, kind, physical, recorded, needs=[handler_logical, *needs])
