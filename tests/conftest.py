"""Fixtures for every Python test: one bed per session, emptied for each test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bed import Bed


@pytest.fixture(scope="session")
def shared_bed() -> Iterator[Bed]:
    """A bed for the whole session. Tests that deploy or that look at the whole account take `bed` instead."""
    with Bed() as bed:
        yield bed


@pytest.fixture
def bed(shared_bed: Bed) -> Bed:
    """The shared bed, empty."""
    shared_bed.reset()
    return shared_bed
