"""Fixtures of the end-to-end tests: the app, deployed once per session with its own template on a bed of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from bed import Bed, seed

import stopped
from app import App


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for minutes is looked at last."""
    items.sort(key=lambda item: item.path.name == "test_stop.py")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many types went away, when they were asked to."""
    went = [report for report in terminalreporter.stats.get("passed", []) if report.when == "call" and "::test_it_goes[" in report.nodeid]
    if went:
        terminalreporter.write_line(f"{len(went)} types went away on the emulator")


@pytest.fixture(scope="session", autouse=True)
def stops(request: pytest.FixtureRequest) -> dict[str, Future[stopped.Stopped]]:
    """The stopped runs, begun before the first test when any test asks for them."""
    wanted = any(item.path.name == "test_stop.py" for item in request.session.items)
    work = (stopped.by_the_keeper, stopped.by_the_rule, stopped.on_the_emulators_own_engine) if wanted else ()
    return {one.__name__: stopped.beside(one) for one in work}


@pytest.fixture(scope="session")
def app() -> Iterator[App]:
    """The app on the strict engine, waits as long as they say. Tests share it, so each names its stack by `name`."""
    with Bed() as bed:
        yield App.deployed(bed)


@pytest.fixture(scope="session")
def hasty() -> Iterator[App]:
    """The same with waits cut to a fiftieth, for tests that wait for a keeper and claim nothing about time."""
    with Bed(wait_scale=0.02) as bed:
        yield App.deployed(bed)


_numbers = itertools.count(1)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Stack names that no other test has."""
    return lambda text="Stack": f"{text}{next(_numbers):03}"


@pytest.fixture(autouse=True)
def _no_planted_failures(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test has planted goes with it."""
    yield
    for fixture in ("app", "hasty"):
        if fixture in request.fixturenames:
            request.getfixturevalue(fixture).bed.lift()


@pytest.fixture
def small(name: Callable[[str], str]) -> Callable[..., seed.StackBuilder]:
    """Makes a small stack, written: a queue with a policy, a table, a role with a policy, parameters that need each other."""

    def make(app: App, title: str = "", **fields: object) -> seed.StackBuilder:
        stack = seed.StackBuilder(app.bed, title or name("Small"))
        seed.queue(stack, "Jobs")
        seed.queue_policy(stack, "JobsPolicy", "Jobs")
        seed.table(stack, "Carts")
        seed.role(stack, "Role")
        seed.policy(stack, "Policy", "Role")
        seed.parameter(stack, "First")
        seed.parameter(stack, "Second", needs=["First"])
        stack.write(**fields)
        return stack

    return make
