"""How each type is made on the emulated AWS, and how its service is asked whether it is still there: one small module per field."""

from __future__ import annotations

from . import api, containers, databases, edge, functions, iam, messaging, network, operations, s3
from .case import Case

MODULES = (api, containers, databases, edge, functions, iam, messaging, network, operations, s3)
CASES: dict[str, Case] = {case.type: case for module in MODULES for case in module.CASES}
# Types that no worker is asked for: proved with the whole machine.
ELSEWHERE = {"AWS::CloudFormation::Stack": "test_trees.py"}
# Types that no emulator can make or delete: proved by the replays of `ebb-providers` alone.
REPLAYED = {
    "AWS::BedrockAgentCore::Evaluator": "the emulators have no evaluators",
    "AWS::CloudFront::CloudFrontOriginAccessIdentity": "the emulators have no origin access identities",
    "AWS::CloudWatch::AnomalyDetector": "the emulators have no anomaly detectors",
    "AWS::DLM::LifecyclePolicy": "the emulators do not have the service",
    "AWS::EC2::SubnetNetworkAclAssociation": "the emulator forgets which subnet an association is of",
    "AWS::Lambda::MicrovmImage": "the emulator makes images and cannot delete them",
}
