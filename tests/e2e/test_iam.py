"""A teardown in which every call is made with the rights of the app's roles, and nothing but those."""

from __future__ import annotations

import pytest

from bed import Bed, seed

from app import App, outcome

pytestmark = pytest.mark.timeout(240)


def test_the_apps_own_policies_are_enough() -> None:
    with Bed(iam=True) as bed:
        app = App.deployed(bed)
        stack = seed.mixed_stack(bed, 60, name="Rights")
        stack.write()
        found = app.tear_down(stack.name)
        denied = sorted({(e["service"], e["action"], e["code"]) for e in bed.journal(agent="rust") if e["status"] == 403})
        assert denied == [], "each denied call is a grant that a policy lacks"
        assert outcome(found) == ("SUCCEEDED", "Deleted")
        assert stack.survivors() == []
