"""What AWS refuses and the emulator lets through, one module per group of services.

A rule is a function registered with `@refuses(service, action)`. It looks at what is there and raises `Refused` with AWS's own
code and words. A look-up that fails is no refusal: then the emulator answers by itself.
A watcher, registered with `@watches`, sees a call that succeeded and remembers what the emulator forgets.
An answerer, registered with `@answers`, serves an action that the emulator does not have, or does first what the emulator leaves out.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from ..clients import Clients
from ..wire import Call, Reply


class Refused(Exception):
    """AWS says no."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


class Look:
    """What a rule may look at: clients for the request's account and region, and the book of what the watchers saw."""

    def __init__(self, clients: Clients, call: Call, book: dict[str, Any]) -> None:
        self._clients, self._call, self.book = clients, call, book

    @property
    def account(self) -> str:
        """The access key of the root of the request's account."""
        return self._clients.account(self._call.access_key)

    def __call__(self, service: str) -> Any:
        return self._clients.get(service, self._call.access_key, self._call.region)


Rule = Callable[[Look, dict[str, Any]], None]
Watcher = Callable[[Look, dict[str, Any], bytes], None]
Answerer = Callable[[Look, dict[str, Any]], Reply | None]
RULES: dict[tuple[str, str], Rule] = {}
WATCHERS: dict[tuple[str, str], Watcher] = {}
ANSWERERS: dict[tuple[str, str], Answerer] = {}


def refuses(service: str, *actions: str) -> Callable[[Rule], Rule]:
    """Register a rule for actions of a service."""

    def register(rule: Rule) -> Rule:
        for action in actions:
            RULES[service, action] = rule
        return rule

    return register


def watches(service: str, *actions: str) -> Callable[[Watcher], Watcher]:
    """Register a watcher for actions of a service."""

    def register(watcher: Watcher) -> Watcher:
        for action in actions:
            WATCHERS[service, action] = watcher
        return watcher

    return register


def answers(service: str, action: str) -> Callable[[Answerer], Answerer]:
    """Register an answerer for an action of a service."""

    def register(answerer: Answerer) -> Answerer:
        ANSWERERS[service, action] = answerer
        return answerer

    return register


def check(clients: Clients, call: Call, book: dict[str, Any]) -> None:
    """Raise `Refused` when AWS would refuse `call`."""
    rule = RULES.get((call.service, call.action))
    if rule is None:
        return
    try:
        rule(Look(clients, call, book), call.parameters)
    except Refused:
        raise
    except Exception:  # the thing is not there, or cannot be looked at: not ours to answer
        return


def answer(clients: Clients, call: Call, book: dict[str, Any]) -> Reply | None:
    """The answer to a call that the emulator cannot serve; none when it is the emulator's after all."""
    answerer = ANSWERERS.get((call.service, call.action))
    return answerer(Look(clients, call, book), call.parameters) if answerer else None


def watch(clients: Clients, call: Call, reply: Reply, book: dict[str, Any]) -> None:
    """Show a call that succeeded to its watcher."""
    watcher = WATCHERS.get((call.service, call.action))
    if watcher is not None and reply.status < 300:
        watcher(Look(clients, call, book), call.parameters, reply.body)


from . import compute, ec2, iam, logs, messaging, storage  # noqa: E402,F401  (they register themselves)
