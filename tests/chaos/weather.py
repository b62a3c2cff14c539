"""The faults that AWS has on a bad day, worded as each service words them, for the functions' calls only.

Rules for `Bed.plant`. Tests and state machines call AWS under another agent, so none of these meets them.
"""

from __future__ import annotations

from random import Random
from typing import Any

Rule = dict[str, Any]

RATE = 0.2
# What each service answers when it throttles and when it fails: code and status.
_FAULTS: dict[str, list[tuple[str, int]]] = {
    "s3": [("SlowDown", 503), ("InternalError", 500), ("ServiceUnavailable", 503)],
    "ec2": [("RequestLimitExceeded", 503), ("InternalError", 500), ("Unavailable", 503)],
    "iam": [("Throttling", 400), ("ServiceFailure", 500)],
    "sts": [("Throttling", 400), ("InternalFailure", 500)],
    "lambda": [("TooManyRequestsException", 429), ("ServiceException", 500)],
    "sqs": [("ThrottlingException", 400), ("InternalFailure", 500), ("ServiceUnavailable", 503)],
    "sns": [("Throttled", 429), ("InternalError", 500)],
    "dynamodb": [("ThrottlingException", 400), ("InternalServerError", 500)],
    "logs": [("ThrottlingException", 400), ("ServiceUnavailableException", 503)],
    "cloudwatch": [("ThrottlingException", 400), ("InternalServiceError", 500)],
    "events": [("ThrottlingException", 400), ("InternalException", 500)],
    "ssm": [("ThrottlingException", 400), ("InternalServerError", 500)],
    "secretsmanager": [("ThrottlingException", 400), ("InternalServiceError", 500)],
    "kms": [("ThrottlingException", 400), ("KMSInternalException", 500)],
    "stepfunctions": [("ThrottlingException", 400), ("ServiceUnavailable", 503)],
    "cloudcontrol": [("ThrottlingException", 400), ("ServiceInternalErrorException", 500)],
}
SERVICES = tuple(_FAULTS)
# A handler whose invocation failed with a 5xx may have been at work: the worker then waits for its answer as long as the address
# for it holds, which is an hour. That is right and no use here, so an invocation meets throttles only.
_NEVER_5XX = {"lambda": ["Invoke"]}


def storm(dice: Random, stack: str, rate: float = RATE) -> list[Rule]:
    """Every service fails the first call it gets and `rate` of the others, throttles and failures alike often; conditional writes of
    state and lock also meet the 409 of a race, which the emulator never answers by itself."""
    rules = []
    for service, faults in _FAULTS.items():
        rules.append({"service": service, "agent": "rust", "code": faults[0][0], "status": faults[0][1], "times": 1})
        for passed, (code, status) in enumerate(faults):
            # A rule meets only what those before it let pass.
            share = rate / len(faults)
            chance = share / (1 - share * passed)
            spare = _NEVER_5XX.get(service, []) if status >= 500 else []
            rules.append({"service": service, "agent": "rust", "code": code, "status": status, "spare": spare, "forever": True,
                          "probability": chance, "seed": dice.getrandbits(32)})
    race = {"service": "s3", "action": "PutObject", "agent": "rust", "code": "ConditionalRequestConflict", "status": 409}
    return rules + [{**race, "match": f"cdkd/{stack}/us-east-1/{name}.json", "times": 1} for name in ("state", "lock")]


def lost_replies(dice: Random, stack: str, rate: float = 0.35) -> list[Rule]:
    """The stack's state, lock and run record are written or deleted, and the answer never comes: the first time, and at `rate` then."""
    common = {"service": "s3", "agent": "rust", "forever": True, "after": True, "drop": True, "probability": rate}
    keys = (f"cdkd/{stack}/us-east-1/state.json", f"cdkd/{stack}/us-east-1/lock.json", f"ebb/runs/cdkd/{stack}/")
    calls = [{**common, "action": action, "match": key} for key in keys for action in ("PutObject", "DeleteObject")]
    return [rule for call in calls for rule in ({**call, "probability": 1, "forever": False}, {**call, "seed": dice.getrandbits(32)})]


def starving(times: int) -> list[Rule]:
    """Lambda refuses to run the keeper's renewals, so many of them; other calls of the same function pass."""
    return [{"service": "lambda", "action": "Invoke", "agent": "strict", "match": ["ebb-lock-keeper", '"renew"'], "times": times,
             "code": "TooManyRequestsException", "status": 429}]


def stuck(parameter: str) -> list[Rule]:
    """One parameter cannot be deleted for now."""
    return [{"service": "ssm", "action": "DeleteParameter", "agent": "rust", "match": parameter, "forever": True,
             "code": "ThrottlingException", "status": 400}]


def slow(milliseconds: int) -> list[Rule]:
    """The calls that delete things take their time, so that there is something to interrupt."""
    services = [service for service in SERVICES if service not in ("s3", "sts", "stepfunctions")]
    return [{"service": service, "agent": "rust", "forever": True, "delay_ms": milliseconds} for service in services]


def slow_bookkeeping(milliseconds: int) -> list[Rule]:
    """So do the writes of run records and reports, which planner and finalizer make."""
    return [{"service": "s3", "action": "PutObject", "agent": "rust", "match": "ebb/runs/", "forever": True, "delay_ms": milliseconds}]
