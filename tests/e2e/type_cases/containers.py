"""ECS, ECR, load balancers, Auto Scaling, Cloud Map, EMR, CodeBuild, CodeCommit and AgentCore."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder
from bed.seed.exists import Check

from .case import Case, listed, made, read, record
from .network import subnets, vpc


def _cluster(stack: StackBuilder) -> str:
    name = stack.named("Cluster")
    arn = stack.client("ecs").create_cluster(clusterName=name)["cluster"]["clusterArn"]
    return made(stack, "AWS::ECS::Cluster", name, {"ClusterName": name}, attributes={"Arn": arn})


def _task_definition(stack: StackBuilder) -> str:
    family = stack.named("Task")
    container = {"name": "app", "image": "nginx", "memory": 128}
    found = stack.client("ecs").register_task_definition(family=family, containerDefinitions=[container])
    return made(stack, "AWS::ECS::TaskDefinition", found["taskDefinition"]["taskDefinitionArn"], {"Family": family})


def _service(stack: StackBuilder) -> str:
    """A service that is scaled above nothing."""
    cluster, task = stack.physical(_cluster(stack)), stack.physical(_task_definition(stack))
    name = stack.named("Service")
    found = stack.client("ecs").create_service(cluster=cluster, serviceName=name, taskDefinition=task, desiredCount=1)
    properties = {"Cluster": cluster, "ServiceName": name, "TaskDefinition": task, "DesiredCount": 1}
    return made(stack, "AWS::ECS::Service", found["service"]["serviceArn"], properties)


def _cluster_exists(ecs: Any, ident: str, _: dict[str, Any]) -> bool:
    return any(c["status"] == "ACTIVE" for c in ecs.describe_clusters(clusters=[ident])["clusters"])


def _service_exists(ecs: Any, ident: str, properties: dict[str, Any]) -> bool:
    found = ecs.describe_services(cluster=properties["Cluster"], services=[ident])["services"]
    return any(service["status"] != "INACTIVE" for service in found)


def _task_definition_exists(ecs: Any, ident: str, _: dict[str, Any]) -> bool:
    return ecs.describe_task_definition(taskDefinition=ident)["taskDefinition"]["status"] == "ACTIVE"


def repository(stack: StackBuilder, image: bool = False) -> str:
    """A repository; `image` puts one into it."""
    ecr, name = stack.client("ecr"), stack.named("images").lower()
    ecr.create_repository(repositoryName=name)
    if image:
        ecr.put_image(repositoryName=name, imageManifest='{"schemaVersion": 2, "layers": []}', imageTag="latest")
    return made(stack, "AWS::ECR::Repository", name, {"RepositoryName": name})


def balancer(stack: StackBuilder, protected: bool = False) -> str:
    """A load balancer; `protected` turns its deletion protection on."""
    elb, inside = stack.client("elbv2"), subnets(stack)
    found = elb.create_load_balancer(Name=stack.name.replace("_", "-")[:32], Subnets=inside, Type="application")
    arn = found["LoadBalancers"][0]["LoadBalancerArn"]
    attributes = [{"Key": "deletion_protection.enabled", "Value": str(protected).lower()}]
    elb.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=attributes)
    return made(stack, "AWS::ElasticLoadBalancingV2::LoadBalancer", arn, {"Subnets": inside, "LoadBalancerAttributes": attributes})


def _target_group(stack: StackBuilder) -> str:
    inside = stack.physical("VPC" if "VPC" in stack.rows else vpc(stack))
    properties = {"Protocol": "HTTP", "Port": 80, "VpcId": inside}
    found = stack.client("elbv2").create_target_group(Name=stack.name.replace("_", "-")[:32], **properties)
    return made(stack, "AWS::ElasticLoadBalancingV2::TargetGroup", found["TargetGroups"][0]["TargetGroupArn"], properties)


def _listener(stack: StackBuilder) -> str:
    on, to = stack.physical(balancer(stack)), stack.physical(_target_group(stack))
    properties = {"LoadBalancerArn": on, "Protocol": "HTTP", "Port": 80, "DefaultActions": [{"Type": "forward", "TargetGroupArn": to}]}
    found = stack.client("elbv2").create_listener(**properties)
    return made(stack, "AWS::ElasticLoadBalancingV2::Listener", found["Listeners"][0]["ListenerArn"], properties)


def _elb(operation: str, parameter: str, rows: str) -> Check:
    return lambda client, ident, _: getattr(client, operation)(**{parameter: [ident]})[rows]


def _scaling_group(stack: StackBuilder) -> str:
    """A group with an instance."""
    client, name, inside = stack.client("autoscaling"), stack.named("Group"), subnets(stack)
    client.create_launch_configuration(LaunchConfigurationName=name, ImageId="ami-12345678", InstanceType="t3.micro")
    client.create_auto_scaling_group(AutoScalingGroupName=name, LaunchConfigurationName=name, MinSize=1, MaxSize=1,
                                     DesiredCapacity=1, VPCZoneIdentifier=",".join(inside))
    return made(stack, "AWS::AutoScaling::AutoScalingGroup", name, {"AutoScalingGroupName": name, "MinSize": "1", "MaxSize": "1"})


def _namespace(kind: str, operation: str, **fields: Any) -> Case:
    def make(stack: StackBuilder) -> str:
        client, name = stack.client("servicediscovery"), f"{stack.name}.local".lower()
        inside = {"Vpc": stack.physical(vpc(stack))} if "private" in operation else {}
        started = getattr(client, operation)(Name=name, **inside, **fields)["OperationId"]
        found = client.get_operation(OperationId=started)["Operation"]["Targets"]["NAMESPACE"]
        return made(stack, kind, found, {"Name": name, **inside})

    return Case(kind, make, "servicediscovery", read("get_namespace", "Id"))


def _discovery_service(stack: StackBuilder) -> str:
    """A service with an instance that nobody recorded."""
    client, name = stack.client("servicediscovery"), stack.named("Space")
    started = client.create_http_namespace(Name=name)["OperationId"]
    space = client.get_operation(OperationId=started)["Operation"]["Targets"]["NAMESPACE"]
    found = client.create_service(Name="orders", NamespaceId=space)["Service"]["Id"]
    client.register_instance(ServiceId=found, InstanceId="one", Attributes={"AWS_INSTANCE_IPV4": "10.0.0.1"})
    return made(stack, "AWS::ServiceDiscovery::Service", found, {"Name": "orders", "NamespaceId": space})


def emr_cluster(stack: StackBuilder, protected: bool = False, fleets: bool = False) -> str:
    """A cluster of instance groups or fleets; `protected` turns its termination protection on."""
    sizes: dict[str, Any] = {"InstanceGroups": [
        {"Name": name, "InstanceRole": name, "InstanceType": "m5.xlarge", "InstanceCount": 1} for name in ("MASTER", "CORE")]}
    if fleets:
        sizes = {"InstanceFleets": [
            {"Name": name, "InstanceFleetType": name, "TargetOnDemandCapacity": 1,
             "InstanceTypeConfigs": [{"InstanceType": "m5.xlarge"}]} for name in ("MASTER", "CORE")]}
    found = stack.client("emr").run_job_flow(
        Name=stack.named("Jobs"), ReleaseLabel="emr-7.0.0", JobFlowRole="EMR_EC2_DefaultRole", ServiceRole="EMR_DefaultRole",
        Instances={**sizes, "KeepJobFlowAliveWhenNoSteps": True, "TerminationProtected": protected})["JobFlowId"]
    return made(stack, "AWS::EMR::Cluster", found, {"Name": stack.named("Jobs"), "Instances": {"TerminationProtected": protected}})


def _emr_exists(emr: Any, ident: str, _: dict[str, Any]) -> bool:
    state = emr.describe_cluster(ClusterId=ident)["Cluster"]["Status"]["State"]
    return not state.startswith("TERMINATED")


def _instance_group(stack: StackBuilder) -> str:
    cluster = stack.physical(emr_cluster(stack))
    groups = [{"Name": "more", "InstanceRole": "TASK", "InstanceType": "m5.xlarge", "InstanceCount": 2}]
    found = stack.client("emr").add_instance_groups(JobFlowId=cluster, InstanceGroups=groups)["InstanceGroupIds"][0]
    return made(stack, "AWS::EMR::InstanceGroupConfig", found, {"JobFlowId": cluster, "InstanceRole": "TASK", "InstanceCount": 2})


def _instance_group_has_instances(emr: Any, ident: str, properties: dict[str, Any]) -> bool:
    found = emr.list_instance_groups(ClusterId=properties["JobFlowId"])["InstanceGroups"]
    return any(group["Id"] == ident and group["RequestedInstanceCount"] > 0 for group in found)


def _instance_fleet(stack: StackBuilder) -> str:
    emr, cluster = stack.client("emr"), stack.physical(emr_cluster(stack, fleets=True))
    fleet = {"Name": "more", "InstanceFleetType": "TASK", "TargetOnDemandCapacity": 2,
             "InstanceTypeConfigs": [{"InstanceType": "m5.xlarge"}]}
    found = emr.add_instance_fleet(ClusterId=cluster, InstanceFleet=fleet)["InstanceFleetId"]
    return made(stack, "AWS::EMR::InstanceFleetConfig", found, {"ClusterId": cluster, "InstanceFleetType": "TASK"})


def _instance_fleet_has_instances(emr: Any, ident: str, properties: dict[str, Any]) -> bool:
    found = emr.list_instance_fleets(ClusterId=properties["ClusterId"])["InstanceFleets"]
    return any(fleet["Id"] == ident and fleet["TargetOnDemandCapacity"] > 0 for fleet in found)


def _project(stack: StackBuilder) -> str:
    name = stack.named("Build")
    seed.role(stack, "Role", service="codebuild.amazonaws.com")
    stack.client("codebuild").create_project(
        name=name, source={"type": "NO_SOURCE", "buildspec": "version: 0.2"}, artifacts={"type": "NO_ARTIFACTS"},
        environment={"type": "LINUX_CONTAINER", "image": "aws/codebuild/standard:7.0", "computeType": "BUILD_GENERAL1_SMALL"},
        serviceRole=stack.arn("Role"))
    return made(stack, "AWS::CodeBuild::Project", name, {"Name": name})


def _project_exists(client: Any, ident: str, _: dict[str, Any]) -> bool:
    return bool(client.batch_get_projects(names=[ident])["projects"])


def _code(stack: StackBuilder) -> str:
    name = stack.named("Code")
    stack.client("codecommit").create_repository(repositoryName=name)
    return made(stack, "AWS::CodeCommit::Repository", name, {"RepositoryName": name})


def _runtime(stack: StackBuilder) -> str:
    seed.role(stack, "Role", service="bedrock-agentcore.amazonaws.com")
    name = f"agent_{stack.name}".lower()
    found = stack.client("bedrock-agentcore-control").create_agent_runtime(
        agentRuntimeName=name, roleArn=stack.arn("Role"), networkConfiguration={"networkMode": "PUBLIC"},
        agentRuntimeArtifact={"containerConfiguration": {"containerUri": "000000000000.dkr.ecr.us-east-1.amazonaws.com/a:1"}})
    return made(stack, "AWS::BedrockAgentCore::Runtime", found["agentRuntimeId"], {"AgentRuntimeName": name})


CASES = [
    Case("AWS::AutoScaling::AutoScalingGroup", _scaling_group, "autoscaling",
         listed("describe_auto_scaling_groups", "AutoScalingGroups", "AutoScalingGroupName")),
    record("AWS::BedrockAgentCore::Browser", "arn:aws:bedrock-agentcore:us-east-1:aws:browser/aws.browser.v1"),
    record("AWS::BedrockAgentCore::CodeInterpreter", "arn:aws:bedrock-agentcore:us-east-1:aws:code-interpreter/aws.codeinterpreter.v1"),
    Case("AWS::BedrockAgentCore::Runtime", _runtime, "bedrock-agentcore-control", read("get_agent_runtime", "agentRuntimeId")),
    Case("AWS::CodeBuild::Project", _project, "codebuild", _project_exists),
    Case("AWS::CodeCommit::Repository", _code, "codecommit", read("get_repository", "repositoryName")),
    Case("AWS::ECR::Repository", lambda stack: repository(stack, image=True), "ecr",
         lambda ecr, ident, _: ecr.describe_repositories(repositoryNames=[ident]), {"deleteData": True}),
    Case("AWS::ECS::Cluster", _cluster, "ecs", _cluster_exists),
    Case("AWS::ECS::Service", _service, "ecs", _service_exists),
    Case("AWS::ECS::TaskDefinition", _task_definition, "ecs", _task_definition_exists),
    Case("AWS::EMR::Cluster", emr_cluster, "emr", _emr_exists),
    Case("AWS::EMR::InstanceFleetConfig", _instance_fleet, "emr", _instance_fleet_has_instances),
    Case("AWS::EMR::InstanceGroupConfig", _instance_group, "emr", _instance_group_has_instances),
    Case("AWS::ElasticLoadBalancingV2::Listener", _listener, "elbv2", _elb("describe_listeners", "ListenerArns", "Listeners")),
    Case("AWS::ElasticLoadBalancingV2::LoadBalancer", balancer, "elbv2", _elb("describe_load_balancers", "LoadBalancerArns", "LoadBalancers")),
    Case("AWS::ElasticLoadBalancingV2::TargetGroup", _target_group, "elbv2", _elb("describe_target_groups", "TargetGroupArns", "TargetGroups")),
    _namespace("AWS::ServiceDiscovery::HttpNamespace", "create_http_namespace"),
    _namespace("AWS::ServiceDiscovery::PrivateDnsNamespace", "create_private_dns_namespace"),
    _namespace("AWS::ServiceDiscovery::PublicDnsNamespace", "create_public_dns_namespace"),
    Case("AWS::ServiceDiscovery::Service", _discovery_service, "servicediscovery", read("get_service", "Id"),
         {"deleteData": True}, minutes=6),
]
