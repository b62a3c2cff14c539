"""How each type is made on the emulated AWS, and how its service is asked whether it is still there: one small module per field."""

from __future__ import annotations

from . import api, containers, databases, edge, functions, iam, messaging, network, operations, s3
from .case import Case

MODULES = (api, containers, databases, edge, functions, iam, messaging, network, operations, s3)
CASES: dict[str, Case] = {case.type: case for module in MODULES for case in module.CASES}
# Types that no worker is asked for: proved with the whole machine.
ELSEWHERE = {"AWS::CloudFormation::Stack": "test_nested.py"}
