"""EC2: the order a network comes down in.

The emulator ignores some filters and answers with everything, so every look-up is narrowed here.
"""

from __future__ import annotations

import re
from typing import Any
from collections.abc import Iterable

from ..wire import Reply
from . import Look, Refused, answers, refuses, watches

_LIVE_NAT = ("pending", "available", "deleting")


def _has_dependencies(kind: str, ident: str) -> Refused:
    return Refused("DependencyViolation", f"The {kind} '{ident}' has dependencies and cannot be deleted.")


def _in_vpc(items: Iterable[dict[str, Any]], vpc: str) -> list[dict[str, Any]]:
    return [item for item in items if item.get("VpcId") == vpc]


def _nat_gateways(look: Look) -> list[dict[str, Any]]:
    return [n for n in look("ec2").describe_nat_gateways()["NatGateways"] if n["State"] in _LIVE_NAT]


def _instances(look: Look) -> list[dict[str, Any]]:
    found = look("ec2").describe_instances()["Reservations"]
    return [i for r in found for i in r["Instances"] if i["State"]["Name"] != "terminated"]


def _endpoints(look: Look) -> list[dict[str, Any]]:
    return [e for e in look("ec2").describe_vpc_endpoints()["VpcEndpoints"] if e.get("State", "available") != "deleted"]


def _functions_in_vpc(look: Look) -> list[dict[str, Any]]:
    return [f["VpcConfig"] for f in look("lambda").list_functions()["Functions"] if f.get("VpcConfig")]


@refuses("ec2", "DeleteVpc")
def _vpc(look: Look, p: dict[str, Any]) -> None:
    ec2, vpc = look("ec2"), p["VpcId"]
    tables = _in_vpc(ec2.describe_route_tables()["RouteTables"], vpc)
    if any(not any(a.get("Main") for a in t["Associations"]) for t in tables):
        raise _has_dependencies("vpc", vpc)
    interfaces = ec2.describe_network_interfaces()["NetworkInterfaces"]
    if _in_vpc(_endpoints(look), vpc) or _in_vpc(interfaces, vpc) or _in_vpc(_nat_gateways(look), vpc):
        raise _has_dependencies("vpc", vpc)


@refuses("ec2", "DeleteSubnet")
def _subnet(look: Look, p: dict[str, Any]) -> None:
    subnet = p["SubnetId"]
    inside = [n.get("SubnetId") for n in look("ec2").describe_network_interfaces()["NetworkInterfaces"]]
    inside += [n["SubnetId"] for n in _nat_gateways(look)]
    inside += [i.get("SubnetId") for i in _instances(look)]
    inside += [s for e in _endpoints(look) for s in e.get("SubnetIds", [])]
    # The emulator makes no interfaces for functions; on AWS theirs hold the subnet.
    inside += [s for config in _functions_in_vpc(look) for s in config.get("SubnetIds", [])]
    balancers = look("elbv2").describe_load_balancers()["LoadBalancers"]
    inside += [z.get("SubnetId") for b in balancers for z in b.get("AvailabilityZones", [])]
    if subnet in inside:
        raise _has_dependencies("subnet", subnet)


@refuses("ec2", "DeleteInternetGateway")
def _internet_gateway(look: Look, p: dict[str, Any]) -> None:
    ident = p["InternetGatewayId"]
    found = look("ec2").describe_internet_gateways(InternetGatewayIds=[ident])["InternetGateways"]
    if found and found[0].get("Attachments"):
        raise _has_dependencies("internetGateway", ident)


@refuses("ec2", "DetachInternetGateway")
def _detach_gateway(look: Look, p: dict[str, Any]) -> None:
    vpc = p["VpcId"]
    public = [n for n in _in_vpc(_nat_gateways(look), vpc) if n.get("ConnectivityType", "public") == "public"]
    if public:
        raise Refused(
            "DependencyViolation",
            f"Network {vpc} has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.",
        )


@watches("ec2", "CreateNatGateway")
def _nat_created(look: Look, p: dict[str, Any], body: bytes) -> None:
    found = re.search(rb"<natGatewayId>([^<]+)<", body)
    if found and p.get("AllocationId"):
        look.book.setdefault("nat_of_address", {})[p["AllocationId"]] = found[1].decode()


@refuses("ec2", "ReleaseAddress")
def _address(look: Look, p: dict[str, Any]) -> None:
    ident = p["AllocationId"]
    holder = look.book.get("nat_of_address", {}).get(ident)  # the emulator forgets which address a gateway holds
    for nat in _nat_gateways(look):
        held = [a.get("AllocationId") for a in nat.get("NatGatewayAddresses", [])]
        if nat["NatGatewayId"] == holder or ident in held:
            raise Refused("InvalidIPAddress.InUse", f"Address with allocation id {ident} is in use by {nat['NatGatewayId']}.")
    found = look("ec2").describe_addresses(AllocationIds=[ident])["Addresses"]
    if found and found[0].get("AssociationId"):
        raise Refused("InvalidIPAddress.InUse", f"Address with allocation id {ident} is in use.")


@refuses("ec2", "DeleteRouteTable")
def _route_table(look: Look, p: dict[str, Any]) -> None:
    ident = p["RouteTableId"]
    for table in look("ec2").describe_route_tables(RouteTableIds=[ident])["RouteTables"]:
        if table["RouteTableId"] == ident and table.get("Associations"):
            raise _has_dependencies("routeTable", ident)


@refuses("ec2", "DeleteSecurityGroup")
def _security_group(look: Look, p: dict[str, Any]) -> None:
    ec2, group = look("ec2"), p.get("GroupId")
    users: list[str] = []
    for other in ec2.describe_security_groups()["SecurityGroups"]:
        if other["GroupId"] != group:
            rules = other.get("IpPermissions", []) + other.get("IpPermissionsEgress", [])
            users += [pair.get("GroupId") for rule in rules for pair in rule.get("UserIdGroupPairs", [])]
    users += [g["GroupId"] for n in ec2.describe_network_interfaces()["NetworkInterfaces"] for g in n.get("Groups", [])]
    users += [g["GroupId"] for i in _instances(look) for g in i.get("SecurityGroups", [])]
    users += [g["GroupId"] for e in _endpoints(look) for g in e.get("Groups", [])]
    users += [g for config in _functions_in_vpc(look) for g in config.get("SecurityGroupIds", [])]
    users += [g for b in look("elbv2").describe_load_balancers()["LoadBalancers"] for g in b.get("SecurityGroups", [])]
    if group in users:
        raise Refused("DependencyViolation", f"resource {group} has a dependent object")


@refuses("ec2", "DeleteNetworkInterface")
def _network_interface(look: Look, p: dict[str, Any]) -> None:
    ident = p["NetworkInterfaceId"]
    for interface in look("ec2").describe_network_interfaces()["NetworkInterfaces"]:
        attached = interface.get("Status") == "in-use" or (interface.get("Attachment") or {}).get("AttachmentId")
        if interface["NetworkInterfaceId"] == ident and attached:
            raise Refused("InvalidParameterValue", f"Network interface '{ident}' is currently in use.")


@refuses("ec2", "DeleteNetworkAcl")
def _network_acl(look: Look, p: dict[str, Any]) -> None:
    for acl in look("ec2").describe_network_acls()["NetworkAcls"]:
        if acl["NetworkAclId"] != p["NetworkAclId"]:
            continue
        if acl.get("IsDefault"):
            raise Refused("InvalidParameterValue", "cannot delete default network ACL")
        if acl.get("Associations"):
            raise _has_dependencies("networkAcl", acl["NetworkAclId"])


@refuses("ec2", "DeleteSnapshot")
def _snapshot(look: Look, p: dict[str, Any]) -> None:
    ident = p["SnapshotId"]
    for image in look("ec2").describe_images(Owners=["self"])["Images"]:
        if any((m.get("Ebs") or {}).get("SnapshotId") == ident for m in image.get("BlockDeviceMappings", [])):
            raise Refused("InvalidSnapshot.InUse", f"The snapshot {ident} is currently in use by {image['ImageId']}")


@watches("ec2", "RunInstances")
def _instances_started(look: Look, p: dict[str, Any], body: bytes) -> None:
    if p.get("DisableApiTermination") == "true":
        protected = look.book.setdefault("protected_instances", set())
        protected.update(i.decode() for i in re.findall(rb"<instanceId>([^<]+)<", body))


@answers("ec2", "ModifyInstanceAttribute")
def _modify_instance(look: Look, p: dict[str, Any]) -> Reply | None:
    value = p.get("DisableApiTermination.Value")
    if value is None:
        return None
    protected = look.book.setdefault("protected_instances", set())
    (protected.add if value == "true" else protected.discard)(p["InstanceId"])
    body = b"<ModifyInstanceAttributeResponse><requestId>bed</requestId><return>true</return></ModifyInstanceAttributeResponse>"
    return Reply(200, [("Content-Type", "text/xml")], body)


@answers("ec2", "DescribeInstanceAttribute")
def _instance_attribute(look: Look, p: dict[str, Any]) -> Reply | None:
    if p.get("Attribute") != "disableApiTermination" or p["InstanceId"] not in look.book.get("protected_instances", ()):
        return None
    value = "<disableApiTermination><value>true</value></disableApiTermination>"
    body = f"<DescribeInstanceAttributeResponse><instanceId>{p['InstanceId']}</instanceId>{value}</DescribeInstanceAttributeResponse>"
    return Reply(200, [("Content-Type", "text/xml")], body.encode())


@refuses("ec2", "TerminateInstances")
def _terminate(look: Look, p: dict[str, Any]) -> None:
    for name, ident in p.items():
        if name.startswith("InstanceId") and ident in look.book.get("protected_instances", ()):
            raise Refused(
                "OperationNotPermitted",
                f"The instance '{ident}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
            )
