"""EC2: networks, instances and volumes."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, made, with_snapshot


def vpc(stack: StackBuilder) -> str:
    found = stack.client("ec2").create_vpc(CidrBlock="10.60.0.0/16")["Vpc"]["VpcId"]
    return made(stack, "AWS::EC2::VPC", found, {"CidrBlock": "10.60.0.0/16"})


def subnet(stack: StackBuilder, zone: str = "a") -> str:
    """A subnet in a VPC of the stack."""
    inside = stack.physical("VPC" if "VPC" in stack.rows else vpc(stack))
    properties = {"VpcId": inside, "CidrBlock": f"10.60.{ord(zone) - ord('a')}.0/24", "AvailabilityZone": f"{stack.region}{zone}"}
    found = stack.client("ec2").create_subnet(**properties)["Subnet"]["SubnetId"]
    return made(stack, "AWS::EC2::Subnet", found, properties)


def subnets(stack: StackBuilder) -> list[str]:
    """The ids of two subnets in two zones."""
    return [stack.physical(subnet(stack, zone)) for zone in "ab"]


def security_group(stack: StackBuilder) -> str:
    inside = stack.physical("VPC" if "VPC" in stack.rows else vpc(stack))
    found = stack.client("ec2").create_security_group(GroupName=stack.named("Group"), Description="d", VpcId=inside)["GroupId"]
    return made(stack, "AWS::EC2::SecurityGroup", found, {"GroupDescription": "d", "VpcId": inside})


def instance(stack: StackBuilder, protected: bool = False) -> str:
    """An instance; `protected` disables its termination."""
    inside = stack.physical(subnet(stack))
    found = stack.client("ec2").run_instances(
        ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=inside, InstanceType="t3.micro", DisableApiTermination=protected
    )["Instances"][0]["InstanceId"]
    return made(stack, "AWS::EC2::Instance", found, {"SubnetId": inside, "DisableApiTermination": protected})


def _instance_exists(ec2: Any, ident: str, _: dict[str, Any]) -> bool:
    found = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]]
    return any(i["InstanceId"] == ident and i["State"]["Name"] != "terminated" for i in found)


def _volume(stack: StackBuilder) -> str:
    found = stack.client("ec2").create_volume(AvailabilityZone=f"{stack.region}a", Size=1)["VolumeId"]
    return made(stack, "AWS::EC2::Volume", found, {"Size": 1}, deletionPolicy="Snapshot")


def _volume_exists(ec2: Any, ident: str, _: dict[str, Any]) -> bool:
    snapshots = [s for s in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"] if s["VolumeId"] == ident]
    return with_snapshot(ident in [v["VolumeId"] for v in ec2.describe_volumes()["Volumes"]], snapshots)


def _acl(stack: StackBuilder) -> str:
    inside = stack.physical(vpc(stack))
    found = stack.client("ec2").create_network_acl(VpcId=inside)["NetworkAcl"]["NetworkAclId"]
    return made(stack, "AWS::EC2::NetworkAcl", found, {"VpcId": inside})


def _acl_entry(stack: StackBuilder) -> str:
    acl = stack.physical(_acl(stack))
    rule = {"NetworkAclId": acl, "RuleNumber": 100, "Protocol": "6", "RuleAction": "allow", "Egress": False, "CidrBlock": "10.0.0.0/8"}
    stack.client("ec2").create_network_acl_entry(**rule, PortRange={"From": 443, "To": 443})
    return made(stack, "AWS::EC2::NetworkAclEntry", f"{acl}|100|false", rule)


def _acls(ec2: Any, ident: str) -> list[dict[str, Any]]:
    return [acl for acl in ec2.describe_network_acls()["NetworkAcls"] if acl["NetworkAclId"] == ident]


def _acl_entry_exists(ec2: Any, ident: str, _: dict[str, Any]) -> bool:
    acl, number, egress = ident.split("|")
    entries = [e for found in _acls(ec2, acl) for e in found["Entries"]]
    return any(str(e["RuleNumber"]) == number and e["Egress"] == (egress == "true") for e in entries)


def _of_a_network(kind: str, only: str = "") -> Case:
    """A part of the seeded network that nothing else stands on."""

    def make(stack: StackBuilder) -> str:
        network = seed.vpc_stack(stack, full=False)
        return next(logical for logical, row in stack.rows.items() if row["resourceType"] == kind and only in logical and network)

    return Case(kind, make)


def _gateway(stack: StackBuilder) -> str:
    found = stack.client("ec2").create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    return made(stack, "AWS::EC2::InternetGateway", found)


def _attachment(stack: StackBuilder) -> str:
    gateway, inside = stack.physical(_gateway(stack)), stack.physical(vpc(stack))
    stack.client("ec2").attach_internet_gateway(InternetGatewayId=gateway, VpcId=inside)
    properties = {"InternetGatewayId": gateway, "VpcId": inside}
    return made(stack, "AWS::EC2::VPCGatewayAttachment", f"{gateway}|{inside}", properties)


def _address(stack: StackBuilder) -> str:
    """An address that its row gives to an instance."""
    ec2, inside = stack.client("ec2"), stack.physical(instance(stack))
    address = ec2.allocate_address(Domain="vpc")
    ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=inside)
    properties = {"Domain": "vpc", "InstanceId": inside}
    return made(stack, "AWS::EC2::EIP", f"{address['PublicIp']}|{address['AllocationId']}", properties)


def _route_table(stack: StackBuilder) -> str:
    inside = stack.physical(vpc(stack))
    found = stack.client("ec2").create_route_table(VpcId=inside)["RouteTable"]["RouteTableId"]
    return made(stack, "AWS::EC2::RouteTable", found, {"VpcId": inside})


CASES = [
    Case("AWS::EC2::EIP", _address),
    Case("AWS::EC2::Instance", instance, "ec2", _instance_exists),
    Case("AWS::EC2::InternetGateway", _gateway),
    _of_a_network("AWS::EC2::NatGateway"),
    Case("AWS::EC2::NetworkAcl", _acl, "ec2", lambda ec2, ident, _: _acls(ec2, ident)),
    Case("AWS::EC2::NetworkAclEntry", _acl_entry, "ec2", _acl_entry_exists),
    _of_a_network("AWS::EC2::Route", "PrivateDefault"),
    Case("AWS::EC2::RouteTable", _route_table),
    Case("AWS::EC2::SecurityGroup", security_group),
    _of_a_network("AWS::EC2::SecurityGroupIngress"),
    Case("AWS::EC2::Subnet", subnet),
    _of_a_network("AWS::EC2::SubnetRouteTableAssociation"),
    Case("AWS::EC2::VPC", vpc),
    Case("AWS::EC2::VPCGatewayAttachment", _attachment),
    Case("AWS::EC2::Volume", _volume, "ec2", _volume_exists),
]
