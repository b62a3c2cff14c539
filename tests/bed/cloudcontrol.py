"""Cloud Control against the resources that are really there.

The emulator keeps a separate book for Cloud Control and its DeleteResource touches nothing; here a delete goes through the front
door to the resource's own service, so the door's rules, faults and journal hold for it too. Requests run in the background:
a call answers IN_PROGRESS, and a later look at the request finds SUCCESS, or FAILED with a handler's error code.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from typing import Any

from botocore.exceptions import ClientError

from .clients import Clients
from .cloudcontrol_types import KINDS, Kind
from .rules import Refused
from .wire import Call

_HANDLER_CODES = {
    "DeleteConflict": "ResourceConflict",
    "ResourceInUseException": "ResourceConflict",
    "AccessDenied": "AccessDenied",
    "AccessDeniedException": "AccessDenied",
    "UnauthorizedOperation": "AccessDenied",
    "Throttling": "Throttling",
    "ThrottlingException": "Throttling",
    "RequestLimitExceeded": "Throttling",
    "ValidationError": "InvalidRequest",
    "ValidationException": "InvalidRequest",
    "InternalFailure": "ServiceInternalError",
}
_ABSENT = re.compile(r"NotFound|NonExistent|DoesNotExist|NoSuch|^404$")


def is_absent(error: Exception) -> bool:
    """Whether `error` says that the thing is not there."""
    if isinstance(error, ClientError):
        return bool(_ABSENT.search(error.response["Error"]["Code"]))
    return isinstance(error, (LookupError, StopIteration))


class CloudControl:
    """The requests made so far, and how each kind of call is answered."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.door = ""
        self.seconds = 0.4  # how long a request is in progress
        self._requests: dict[str, dict[str, Any]] = {}
        self._by_token: dict[str, str] = {}
        self._lock = threading.Lock()

    def answer(self, call: Call) -> dict[str, Any]:
        """The answer to a Cloud Control call; raises `Refused` for an error."""
        p, action = call.parameters, call.action
        if action == "ListResourceRequests":
            return self._list_requests(p.get("ResourceRequestStatusFilter") or {})
        if action in ("GetResourceRequestStatus", "CancelResourceRequest"):
            return self._request(p.get("RequestToken", ""), cancel=action == "CancelResourceRequest")
        kind = KINDS.get(p.get("TypeName", ""))
        if kind is None or action not in ("ListResources", "GetResource", "DeleteResource", "UpdateResource"):
            raise Refused("UnsupportedActionException", f"Resource type {p.get('TypeName')} does not support {action} action")
        if action == "ListResources":
            found = kind.list(self._client(kind, call))
            described = [{"Identifier": i, "Properties": json.dumps({"Identifier": i})} for i in found]
            return {"TypeName": p["TypeName"], "ResourceDescriptions": described}
        if action == "GetResource":
            return self._get(kind, call)
        return self._begin(kind, call)

    def clear(self) -> None:
        with self._lock:
            self._requests.clear()
            self._by_token.clear()

    def _client(self, kind: Kind, call: Call, through_door: bool = False) -> Any:
        endpoint = self.door if through_door else ""
        return self.clients.get(kind.service, call.access_key, call.region, endpoint, "ebb-cloudcontrol")

    def _get(self, kind: Kind, call: Call) -> dict[str, Any]:
        name, ident = call.parameters["TypeName"], call.parameters["Identifier"]
        try:
            read = kind.read(self._client(kind, call), ident)
        except Exception as error:
            if is_absent(error):
                message = f"Resource of type '{name}' with identifier '{ident}' was not found."
                raise Refused("ResourceNotFoundException", message) from error
            raise Refused("GeneralServiceException", str(error)[:300]) from error
        return {"TypeName": name, "ResourceDescription": {"Identifier": ident, "Properties": json.dumps(read, default=str)}}

    def _request(self, token: str, cancel: bool) -> dict[str, Any]:
        with self._lock:
            event = self._requests.get(token)
            if event is None:
                raise Refused("RequestTokenNotFoundException", f"Request with token {token} was not found")
            if cancel:
                if event["OperationStatus"] != "IN_PROGRESS":
                    raise Refused("ConcurrentModificationException", "The request is not in progress")
                event["OperationStatus"] = "CANCEL_COMPLETE"
            return {"ProgressEvent": dict(event)}

    def _list_requests(self, wanted: dict[str, list[str]]) -> dict[str, Any]:
        with self._lock:
            found = [
                dict(event)
                for event in self._requests.values()
                if event["Operation"] in wanted.get("Operations", [event["Operation"]])
                and event["OperationStatus"] in wanted.get("OperationStatuses", [event["OperationStatus"]])
            ]
        return {"ResourceRequestStatusSummaries": found[::-1]}

    def _begin(self, kind: Kind, call: Call) -> dict[str, Any]:
        p = call.parameters
        name, ident, token = p["TypeName"], p["Identifier"], p.get("ClientToken")
        operation = call.action.removesuffix("Resource").upper()
        with self._lock:
            known = self._requests.get(self._by_token.get(token or "", ""))
            if known:
                if (known["TypeName"], known["Identifier"], known["Operation"]) != (name, ident, operation):
                    raise Refused("ClientTokenConflictException", "The client token was used for another request")
                return {"ProgressEvent": dict(known)}
            for event in self._requests.values():
                if (event["TypeName"], event["Identifier"], event["OperationStatus"]) == (name, ident, "IN_PROGRESS"):
                    raise Refused("ConcurrentOperationException", f"Another operation is in progress on {name} {ident}")
            request = str(uuid.uuid4())
            event = {
                "TypeName": name,
                "Identifier": ident,
                "RequestToken": request,
                "Operation": operation,
                "OperationStatus": "IN_PROGRESS",
                "EventTime": time.time(),
            }
            self._requests[request] = event
            if token:
                self._by_token[token] = request
            answer = {"ProgressEvent": dict(event)}
        threading.Thread(target=self._run, args=(kind, call, event), daemon=True).start()
        return answer

    def _run(self, kind: Kind, call: Call, event: dict[str, Any]) -> None:
        time.sleep(self.seconds)
        if event["OperationStatus"] != "IN_PROGRESS":
            return
        outcome: dict[str, Any] = {"OperationStatus": "SUCCESS"}
        try:
            client = self._client(kind, call, through_door=True)
            kind.read(client, event["Identifier"])
            if call.action == "DeleteResource":
                kind.delete(client, event["Identifier"])
            else:
                self._update(kind, client, event["Identifier"], call.parameters["PatchDocument"])
        except Exception as error:
            code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
            handler = "NotFound" if is_absent(error) else _HANDLER_CODES.get(code, "GeneralServiceException")
            outcome = {"OperationStatus": "FAILED", "ErrorCode": handler, "StatusMessage": str(error)[:300]}
        with self._lock:
            event.update(outcome, EventTime=time.time())

    @staticmethod
    def _update(kind: Kind, client: Any, ident: str, patch: str) -> None:
        for step in json.loads(patch):
            change = kind.update.get(step["path"])
            if change is None or step["op"] not in ("add", "replace"):
                raise ValueError(f"the test bed cannot {step['op']} {step['path']}")
            change(client, ident, step["value"])
