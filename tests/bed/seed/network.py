"""A VPC and everything that has to leave it in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .builder import StackBuilder
from .compute import function, log_group, policy, role

_ZONES = ("a", "b")


@dataclass
class Network:
    """The logical ids of a network's parts."""

    vpc: str
    gateway: str
    attachment: str
    public: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    public_table: str = ""
    private_table: str = ""
    nat: str = ""
    groups: list[str] = field(default_factory=list)


def vpc_stack(stack: StackBuilder, id: str = "Vpc", cidr: str = "10.40", full: bool = True) -> Network:
    """A VPC with two public and two private subnets, gateways, routes and security groups; `full` adds a function, an endpoint
    and a flow log inside it."""
    ec2 = stack.client("ec2")
    vpc = ec2.create_vpc(CidrBlock=f"{cidr}.0.0/16")["Vpc"]["VpcId"]
    stack.add(id, "AWS::EC2::VPC", vpc, {"CidrBlock": f"{cidr}.0.0/16", "EnableDnsHostnames": True},
              attributes={"VpcId": vpc, "CidrBlock": f"{cidr}.0.0/16"})
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    stack.add(f"{id}Igw", "AWS::EC2::InternetGateway", gateway, {}, attributes={"InternetGatewayId": gateway})
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    stack.add(f"{id}GatewayAttachment", "AWS::EC2::VPCGatewayAttachment", f"{gateway}|{vpc}",
              {"InternetGatewayId": gateway, "VpcId": vpc}, needs=[f"{id}Igw", id])
    network = Network(id, f"{id}Igw", f"{id}GatewayAttachment")
    network.public_table = _route_table(stack, network, "Public")
    network.private_table = _route_table(stack, network, "Private")
    for number, zone in enumerate(_ZONES):
        network.public.append(_subnet(stack, network, "Public", zone, f"{cidr}.{number}.0/24"))
        network.private.append(_subnet(stack, network, "Private", zone, f"{cidr}.{number + 10}.0/24"))
    _route(stack, f"{id}PublicDefault", network.public_table, {"GatewayId": gateway}, [network.gateway, network.attachment])
    nat(stack, network)
    group_rules(stack, network)
    if full:
        vpc_function(stack, network)
        endpoint(stack, network)
        flow_log(stack, network)
    return network


def _route_table(stack: StackBuilder, network: Network, kind: str) -> str:
    vpc = stack.physical(network.vpc)
    table = stack.client("ec2").create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    return stack.add(f"{network.vpc}{kind}Routes", "AWS::EC2::RouteTable", table, {"VpcId": vpc}, needs=[network.vpc],
                     attributes={"RouteTableId": table})


def _subnet(stack: StackBuilder, network: Network, kind: str, zone: str, cidr: str) -> str:
    ec2, vpc = stack.client("ec2"), stack.physical(network.vpc)
    logical, table = f"{network.vpc}{kind}Subnet{zone.upper()}", f"{network.vpc}{kind}Routes"
    place = f"{stack.region}{zone}"
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=place)["Subnet"]["SubnetId"]
    stack.add(logical, "AWS::EC2::Subnet", subnet,
              {"VpcId": vpc, "CidrBlock": cidr, "AvailabilityZone": place, "MapPublicIpOnLaunch": kind == "Public"},
              needs=[network.vpc], attributes={"SubnetId": subnet, "AvailabilityZone": place})
    routes = stack.physical(table)
    association = ec2.associate_route_table(RouteTableId=routes, SubnetId=subnet)["AssociationId"]
    stack.add(f"{logical}Association", "AWS::EC2::SubnetRouteTableAssociation", association,
              {"RouteTableId": routes, "SubnetId": subnet}, needs=[table, logical])
    return logical


def _route(stack: StackBuilder, logical: str, table: str, target: dict[str, str], needs: list[str]) -> str:
    routes = stack.physical(table)
    stack.client("ec2").create_route(RouteTableId=routes, DestinationCidrBlock="0.0.0.0/0", **target)
    properties = {"RouteTableId": routes, "DestinationCidrBlock": "0.0.0.0/0", **target}
    return stack.add(logical, "AWS::EC2::Route", f"{routes}|0.0.0.0/0", properties, needs=[table, *needs])


def nat(stack: StackBuilder, network: Network) -> str:
    """An elastic address, a NAT gateway in the first public subnet, and the private subnets' way out through it."""
    ec2, id = stack.client("ec2"), network.vpc
    address = ec2.allocate_address(Domain="vpc")
    stack.add(f"{id}NatAddress", "AWS::EC2::EIP", f"{address['PublicIp']}|{address['AllocationId']}", {"Domain": "vpc"},
              needs=[network.attachment], attributes={"AllocationId": address["AllocationId"], "PublicIp": address["PublicIp"]})
    subnet = network.public[0]
    properties = {"SubnetId": stack.physical(subnet), "AllocationId": address["AllocationId"]}
    gateway = ec2.create_nat_gateway(**properties)["NatGateway"]["NatGatewayId"]
    network.nat = stack.add(f"{id}Nat", "AWS::EC2::NatGateway", gateway, properties, attributes={"NatGatewayId": gateway},
                            needs=[f"{id}NatAddress", subnet, f"{id}PublicDefault", f"{subnet}Association"])
    _route(stack, f"{id}PrivateDefault", network.private_table, {"NatGatewayId": gateway}, [network.nat])
    return network.nat


def group_rules(stack: StackBuilder, network: Network) -> None:
    """Two security groups that admit each other through rules of their own, one of them outgoing."""
    ec2, id, vpc = stack.client("ec2"), network.vpc, stack.physical(network.vpc)
    for name in ("App", "Cache"):
        group = ec2.create_security_group(GroupName=stack.named(f"{id}{name}"), Description=name, VpcId=vpc)["GroupId"]
        network.groups.append(stack.add(f"{id}{name}Group", "AWS::EC2::SecurityGroup", group,
                                        {"GroupDescription": name, "VpcId": vpc}, needs=[id], attributes={"GroupId": group}))
    app, cache = network.groups
    for logical, group, source, port in ((f"{id}CacheFromApp", cache, app, 6379), (f"{id}AppFromCache", app, cache, 8080)):
        _ingress(stack, logical, group, source, port)
    target = {"IpProtocol": "tcp", "FromPort": 5432, "ToPort": 5432}
    pair = [{"GroupId": stack.physical(cache)}]
    made = ec2.authorize_security_group_egress(GroupId=stack.physical(app), IpPermissions=[{**target, "UserIdGroupPairs": pair}])
    rule = made["SecurityGroupRules"][0]["SecurityGroupRuleId"]
    stack.add(f"{id}AppToCache", "AWS::EC2::SecurityGroupEgress", rule,
              {"GroupId": stack.physical(app), **target, "DestinationSecurityGroupId": stack.physical(cache)},
              needs=[app, cache], by="cc-api", attributes={"Id": rule})


def _ingress(stack: StackBuilder, logical: str, group: str, source: str, port: int) -> None:
    to, origin = stack.physical(group), stack.physical(source)
    rule = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port}
    stack.client("ec2").authorize_security_group_ingress(
        GroupId=to, IpPermissions=[{**rule, "UserIdGroupPairs": [{"GroupId": origin}]}]
    )
    stack.add(logical, "AWS::EC2::SecurityGroupIngress", f"{to}|tcp|{port}|{port}",
              {"GroupId": to, **rule, "SourceSecurityGroupId": origin}, needs=[group, source])


def vpc_function(stack: StackBuilder, network: Network, logical: str = "") -> str:
    """A function in the private subnets, with its role, its policy and its log group."""
    logical = logical or f"{network.vpc}Worker"
    role(stack, f"{logical}Role", managed=["arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"])
    policy(stack, f"{logical}Policy", f"{logical}Role")
    log_group(stack, f"{logical}Logs", f"/aws/lambda/{stack.named(logical)}")
    group = network.groups[0]
    config: dict[str, Any] = {
        "SubnetIds": [stack.physical(s) for s in network.private],
        "SecurityGroupIds": [stack.physical(group)],
    }
    routes = [f"{network.vpc}PrivateDefault", *(f"{s}Association" for s in network.private)]
    return function(stack, logical, f"{logical}Role", vpc=config,
                    needs=[f"{logical}Policy", f"{logical}Logs", group, *network.private, *routes])


def endpoint(stack: StackBuilder, network: Network) -> str:
    """A gateway endpoint for S3 on the private routes."""
    vpc, table = stack.physical(network.vpc), stack.physical(network.private_table)
    properties = {"VpcId": vpc, "ServiceName": f"com.amazonaws.{stack.region}.s3", "RouteTableIds": [table],
                  "VpcEndpointType": "Gateway"}
    made = stack.client("ec2").create_vpc_endpoint(**properties)["VpcEndpoint"]["VpcEndpointId"]
    return stack.add(f"{network.vpc}S3Endpoint", "AWS::EC2::VPCEndpoint", made, properties,
                     needs=[network.vpc, network.private_table], by="cc-api", attributes={"Id": made})


def flow_log(stack: StackBuilder, network: Network) -> str:
    """A flow log of the VPC into a log group."""
    id = network.vpc
    role(stack, f"{id}FlowRole", service="vpc-flow-logs.amazonaws.com")
    log_group(stack, f"{id}FlowLogs", f"/{stack.name}/flow")
    properties = {"ResourceType": "VPC", "TrafficType": "ALL", "LogGroupName": f"/{stack.name}/flow",
                  "DeliverLogsPermissionArn": stack.arn(f"{id}FlowRole")}
    made = stack.client("ec2").create_flow_logs(ResourceIds=[stack.physical(id)], **properties)["FlowLogIds"][0]
    return stack.add(f"{id}FlowLog", "AWS::EC2::FlowLog", made, {"ResourceId": stack.physical(id), **properties},
                     needs=[id, f"{id}FlowRole", f"{id}FlowLogs"], by="cc-api", attributes={"Id": made})
