"""ECS, EKS, Auto Scaling, load balancers and WAF."""

from __future__ import annotations

import json
from typing import Any

from . import Look, Refused, refuses


@refuses("ecs", "DeleteCluster")
def _ecs_cluster(look: Look, p: dict[str, Any]) -> None:
    if look("ecs").list_services(cluster=p["cluster"])["serviceArns"]:
        raise Refused("ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active.")


@refuses("ecs", "DeleteService")
def _ecs_service(look: Look, p: dict[str, Any]) -> None:
    found = look("ecs").describe_services(cluster=p.get("cluster", "default"), services=[p["service"]])["services"]
    if found and found[0]["desiredCount"] > 0 and not p.get("force"):
        raise Refused("InvalidParameterException", "The service cannot be stopped while it is scaled above 0.")


@refuses("ecs", "DeleteTaskDefinitions")
def _task_definitions(look: Look, p: dict[str, Any]) -> None:
    for ident in p.get("taskDefinitions", []):
        if look("ecs").describe_task_definition(taskDefinition=ident)["taskDefinition"].get("status") == "ACTIVE":
            raise Refused("InvalidParameterException", "The specified task definition is still in ACTIVE status.")


@refuses("eks", "DeleteCluster")
def _eks_cluster(look: Look, p: dict[str, Any]) -> None:
    if look("eks").list_nodegroups(clusterName=p["name"])["nodegroups"]:
        raise Refused("ResourceInUseException", "Cluster has nodegroups attached", 409)


@refuses("autoscaling", "DeleteLaunchConfiguration")
def _launch_configuration(look: Look, p: dict[str, Any]) -> None:
    groups = look("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    if any(g.get("LaunchConfigurationName") == p["LaunchConfigurationName"] for g in groups):
        raise Refused("ResourceInUse", "Cannot delete launch configuration because it is attached to AutoScalingGroup")


@refuses("autoscaling", "DeleteAutoScalingGroup")
def _group(look: Look, p: dict[str, Any]) -> None:
    name = p["AutoScalingGroupName"]
    found = look("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    force = str(p.get("ForceDelete")).lower() == "true"
    if found and (found[0].get("Instances") or found[0]["DesiredCapacity"] > 0) and not force:
        raise Refused(
            "ResourceInUse",
            "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.",
        )


@refuses("elbv2", "DeleteLoadBalancer")
def _load_balancer(look: Look, p: dict[str, Any]) -> None:
    arn = p["LoadBalancerArn"]
    attributes = look("elbv2").describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"]
    if {"Key": "deletion_protection.enabled", "Value": "true"} in attributes:
        raise Refused("OperationNotPermitted", f"Load balancer '{arn}' cannot be deleted because deletion protection is enabled")


@refuses("elbv2", "DeleteTargetGroup")
def _target_group(look: Look, p: dict[str, Any]) -> None:
    elb, arn = look("elbv2"), p["TargetGroupArn"]
    for balancer in elb.describe_load_balancers()["LoadBalancers"]:
        for listener in elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]:
            if arn in json.dumps(listener.get("DefaultActions", [])):
                raise Refused("ResourceInUse", f"Target group '{arn}' is currently in use by a listener or a rule")


@refuses("wafv2", "DeleteIPSet")
def _ip_set(look: Look, p: dict[str, Any]) -> None:
    waf = look("wafv2")
    found = waf.get_ip_set(Name=p["Name"], Scope=p["Scope"], Id=p["Id"])
    if found["LockToken"] != p["LockToken"]:
        raise Refused(
            "WAFOptimisticLockException",
            "AWS WAF couldn't save your changes because someone changed the resource after you started to edit it.",
        )
    for acl in waf.list_web_acls(Scope=p["Scope"])["WebACLs"]:
        body = waf.get_web_acl(Name=acl["Name"], Scope=p["Scope"], Id=acl["Id"])["WebACL"]
        if found["IPSet"]["ARN"] in json.dumps(body, default=str):
            raise Refused(
                "WAFAssociatedItemException",
                "AWS WAF couldn't perform the operation because your resource is being used by another resource.",
            )
