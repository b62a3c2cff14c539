"""Databases, caches, file systems and the Glue catalogue."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, listed, made, read, with_snapshot
from .network import subnet, subnets

_PASSWORD = {"MasterUsername": "owner", "MasterUserPassword": "Not-a-secret-1"}
_ENGINES = {"RDS": "aurora-mysql", "DocDB": "docdb", "Neptune": "neptune"}


def _global_table(stack: StackBuilder) -> str:
    name = stack.named("Carts")
    stack.client("dynamodb").create_table(TableName=name, KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                                          AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                                          BillingMode="PAY_PER_REQUEST")
    return made(stack, "AWS::DynamoDB::GlobalTable", name, {"TableName": name, "Replicas": [{"Region": stack.region}]})


def _subnet_group(family: str) -> Case:
    kind = f"AWS::{family}::DBSubnetGroup"

    def make(stack: StackBuilder) -> str:
        name, inside = stack.named("group").lower(), subnets(stack)
        stack.client("rds").create_db_subnet_group(DBSubnetGroupName=name, DBSubnetGroupDescription="d", SubnetIds=inside)
        return made(stack, kind, name, {"DBSubnetGroupName": name, "SubnetIds": inside})

    return Case(kind, make, "rds", read("describe_db_subnet_groups", "DBSubnetGroupName"))


def cluster(stack: StackBuilder, family: str, protected: bool = False, policy: str = "") -> str:
    """A cluster whose policy asks for a final snapshot, where the emulator can take one; `protected` turns its protection on."""
    name = stack.named(family).lower()
    what = {"DBClusterIdentifier": name, "Engine": _ENGINES[family], "DeletionProtection": protected}
    stack.client("rds").create_db_cluster(**what, **_PASSWORD)
    policy = policy or ("Delete" if family == "DocDB" else "Snapshot")
    return made(stack, f"AWS::{family}::DBCluster", name, what, deletionPolicy=policy)


def _cluster(family: str) -> Case:
    """A cluster, whose final snapshot must be there when the cluster is gone."""

    def there(rds: Any, ident: str, _: dict[str, Any]) -> bool:
        found = ident in [c["DBClusterIdentifier"] for c in rds.describe_db_clusters()["DBClusters"]]
        taken = [s for s in rds.describe_db_cluster_snapshots()["DBClusterSnapshots"] if s["DBClusterIdentifier"] == ident]
        return with_snapshot(found, taken or family == "DocDB")

    return Case(f"AWS::{family}::DBCluster", lambda stack: cluster(stack, family), "rds", there)


def _member(family: str) -> Case:
    kind = f"AWS::{family}::DBInstance"

    def make(stack: StackBuilder) -> str:
        inside, name = stack.physical(cluster(stack, family, policy="Delete")), stack.named("member").lower()
        what = {"DBInstanceIdentifier": name, "DBClusterIdentifier": inside, "DBInstanceClass": "db.r5.large"}
        stack.client("rds").create_db_instance(**what, Engine=_ENGINES[family])
        return made(stack, kind, name, what)

    return Case(kind, make, "rds", _instance_exists)


def instance(stack: StackBuilder, protected: bool = False) -> str:
    """An instance on its own; `protected` turns its deletion protection on. Without a policy it goes with a final snapshot."""
    name = stack.named("db").lower()
    what = {"DBInstanceIdentifier": name, "Engine": "mysql", "DBInstanceClass": "db.t3.micro", "AllocatedStorage": 20,
            "DeletionProtection": protected}
    stack.client("rds").create_db_instance(**what, **_PASSWORD)
    return made(stack, "AWS::RDS::DBInstance", name, what)


def _instance_exists(rds: Any, ident: str, properties: dict[str, Any]) -> bool:
    found = ident in [i["DBInstanceIdentifier"] for i in rds.describe_db_instances()["DBInstances"]]
    taken = [s for s in rds.describe_db_snapshots()["DBSnapshots"] if s["DBInstanceIdentifier"] == ident]
    return with_snapshot(found, taken or "DBClusterIdentifier" in properties)


def _proxy(stack: StackBuilder) -> str:
    name, inside = stack.named("proxy").lower(), subnets(stack)
    seed.role(stack, "Role", service="rds.amazonaws.com")
    seed.secret(stack, "Password")
    auth = [{"AuthScheme": "SECRETS", "SecretArn": stack.physical("Password")}]
    stack.client("rds").create_db_proxy(DBProxyName=name, EngineFamily="MYSQL", Auth=auth, RoleArn=stack.arn("Role"), VpcSubnetIds=inside)
    return made(stack, "AWS::RDS::DBProxy", name, {"DBProxyName": name, "EngineFamily": "MYSQL"})


def _proxy_endpoint(stack: StackBuilder) -> str:
    proxy, name = stack.physical(_proxy(stack)), stack.named("endpoint").lower()
    inside = [row["physicalId"] for row in stack.rows.values() if row["resourceType"] == "AWS::EC2::Subnet"]
    stack.client("rds").create_db_proxy_endpoint(DBProxyName=proxy, DBProxyEndpointName=name, VpcSubnetIds=inside)
    return made(stack, "AWS::RDS::DBProxyEndpoint", name, {"DBProxyName": proxy, "DBProxyEndpointName": name})


def _proxy_targets(stack: StackBuilder) -> str:
    proxy, member = stack.physical(_proxy(stack)), stack.physical(instance(stack))
    stack.client("rds").register_db_proxy_targets(DBProxyName=proxy, TargetGroupName="default", DBInstanceIdentifiers=[member])
    arn = f"arn:aws:rds:{stack.region}:000000000000:target-group:{proxy}"
    properties = {"DBProxyName": proxy, "TargetGroupName": "default", "DBInstanceIdentifiers": [member]}
    return made(stack, "AWS::RDS::DBProxyTargetGroup", arn, properties)


def _proxy_has_targets(rds: Any, _: str, properties: dict[str, Any]) -> bool:
    return bool(rds.describe_db_proxy_targets(DBProxyName=properties["DBProxyName"], TargetGroupName="default")["Targets"])


def _cache_subnets(stack: StackBuilder) -> str:
    name, inside = stack.named("cache").lower(), subnets(stack)
    stack.client("elasticache").create_cache_subnet_group(CacheSubnetGroupName=name, CacheSubnetGroupDescription="d", SubnetIds=inside)
    return made(stack, "AWS::ElastiCache::SubnetGroup", name, {"CacheSubnetGroupName": name, "SubnetIds": inside})


def _cache(stack: StackBuilder) -> str:
    name = stack.named("cache").lower()[-40:]
    what = {"Engine": "redis", "CacheNodeType": "cache.t3.micro", "NumCacheNodes": 1}
    stack.client("elasticache").create_cache_cluster(CacheClusterId=name, **what)
    return made(stack, "AWS::ElastiCache::CacheCluster", name, {"ClusterName": name, **what}, deletionPolicy="Snapshot")


def _cache_exists(elasticache: Any, ident: str, _: dict[str, Any]) -> bool:
    found = [c["CacheClusterId"] for c in elasticache.describe_cache_clusters()["CacheClusters"]]
    return with_snapshot(ident in found, [s for s in elasticache.describe_snapshots()["Snapshots"] if s.get("CacheClusterId") == ident])


def _replication_group(stack: StackBuilder) -> str:
    name = stack.named("rg").lower()[-40:]
    what = {"ReplicationGroupDescription": "d", "Engine": "redis", "CacheNodeType": "cache.t3.micro"}
    stack.client("elasticache").create_replication_group(ReplicationGroupId=name, **what)
    return made(stack, "AWS::ElastiCache::ReplicationGroup", name, {"ReplicationGroupId": name, **what}, deletionPolicy="Snapshot")


def _replication_group_exists(elasticache: Any, ident: str, _: dict[str, Any]) -> bool:
    found = [g["ReplicationGroupId"] for g in elasticache.describe_replication_groups()["ReplicationGroups"]]
    of = [s.get("ReplicationGroupId") or s.get("CacheClusterId", "") for s in elasticache.describe_snapshots()["Snapshots"]]
    taken = [source for source in of if source.startswith(ident)]  # the group's, or one of its member's
    return with_snapshot(ident in found, taken)


def _warehouse(stack: StackBuilder) -> str:
    name = stack.named("dw").lower()
    what = {"ClusterIdentifier": name, "NodeType": "ra3.large", "ClusterType": "single-node", "DBName": "dw"}
    stack.client("redshift").create_cluster(**what, **_PASSWORD)
    return made(stack, "AWS::Redshift::Cluster", name, what, deletionPolicy="Snapshot")


def _warehouse_exists(redshift: Any, ident: str, _: dict[str, Any]) -> bool:
    found = ident in [c["ClusterIdentifier"] for c in redshift.describe_clusters()["Clusters"]]
    taken = [s for s in redshift.describe_cluster_snapshots()["Snapshots"] if s["ClusterIdentifier"] == ident]
    return with_snapshot(found, taken)


def _files(stack: StackBuilder) -> str:
    found = stack.client("efs").create_file_system(CreationToken=stack.name)["FileSystemId"]
    return made(stack, "AWS::EFS::FileSystem", found, {"Encrypted": False})


def _mount_target(stack: StackBuilder) -> str:
    files, inside = stack.physical(_files(stack)), stack.physical(subnet(stack))
    found = stack.client("efs").create_mount_target(FileSystemId=files, SubnetId=inside)["MountTargetId"]
    return made(stack, "AWS::EFS::MountTarget", found, {"FileSystemId": files, "SubnetId": inside})


def _access_point(stack: StackBuilder) -> str:
    files = stack.physical(_files(stack))
    found = stack.client("efs").create_access_point(ClientToken=stack.name, FileSystemId=files)["AccessPointId"]
    return made(stack, "AWS::EFS::AccessPoint", found, {"FileSystemId": files})


def _shared_files(stack: StackBuilder) -> str:
    found = stack.client("fsx").create_file_system(FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=["subnet-12345678"])
    return made(stack, "AWS::FSx::FileSystem", found["FileSystem"]["FileSystemId"], {"FileSystemType": "LUSTRE", "StorageCapacity": 1200})


def _database(stack: StackBuilder) -> str:
    name = stack.named("db").lower()
    stack.client("glue").create_database(DatabaseInput={"Name": name})
    return made(stack, "AWS::Glue::Database", name, {"CatalogId": "000000000000", "DatabaseInput": {"Name": name}})


def glue_database(stack: StackBuilder) -> str:
    """A database with a table that nobody recorded."""
    logical = _database(stack)
    stack.client("glue").create_table(DatabaseName=stack.physical(logical), TableInput={"Name": "orders"})
    return logical


def _glue_table(stack: StackBuilder) -> str:
    database = stack.physical(_database(stack))
    stack.client("glue").create_table(DatabaseName=database, TableInput={"Name": "orders"})
    return made(stack, "AWS::Glue::Table", f"{database}|orders", {"DatabaseName": database, "TableInput": {"Name": "orders"}})


def _glue_table_exists(glue: Any, ident: str, _: dict[str, Any]) -> Any:
    database, name = ident.split("|")
    return glue.get_table(DatabaseName=database, Name=name)


def _glue(kind: str, operation: str, parameter: str = "Name", found_by: str = "Name", **fields: Any) -> Case:
    """A thing of Glue that has a name, found again by `get_…` of the same kind."""

    def make(stack: StackBuilder) -> str:
        name = stack.named("Thing")
        getattr(stack.client("glue"), f"create_{operation}")(**{parameter: name}, **fields)
        return made(stack, kind, name, {"Name": name})

    return Case(kind, make, "glue", read(f"get_{operation}", found_by))


def _connection(stack: StackBuilder) -> str:
    name = stack.named("Jdbc")
    url = {"JDBC_CONNECTION_URL": "jdbc:mysql://h/d", "USERNAME": "u", "PASSWORD": "p"}
    stack.client("glue").create_connection(ConnectionInput={"Name": name, "ConnectionType": "JDBC", "ConnectionProperties": url})
    return made(stack, "AWS::Glue::Connection", name, {"CatalogId": "000000000000", "ConnectionInput": {"Name": name}})


def _crawler(stack: StackBuilder) -> str:
    seed.role(stack, "Role", service="glue.amazonaws.com")
    name, targets = stack.named("Crawler"), {"S3Targets": [{"Path": "s3://lake/"}]}
    stack.client("glue").create_crawler(Name=name, Role=stack.arn("Role"), Targets=targets)
    return made(stack, "AWS::Glue::Crawler", name, {"Name": name, "Role": stack.arn("Role"), "Targets": targets})


def _trigger(stack: StackBuilder) -> str:
    name = stack.named("Trigger")
    stack.client("glue").create_trigger(Name=name, Type="ON_DEMAND", Actions=[{"JobName": "job"}])
    return made(stack, "AWS::Glue::Trigger", name, {"Name": name, "Type": "ON_DEMAND"})


_ROLE = "arn:aws:iam::000000000000:role/glue"

CASES = [
    *(_subnet_group(family) for family in _ENGINES),
    *(_cluster(family) for family in _ENGINES),
    *(_member(family) for family in ("DocDB", "Neptune")),
    Case("AWS::DynamoDB::GlobalTable", _global_table, "dynamodb", read("describe_table", "TableName")),
    Case("AWS::DynamoDB::Table", lambda stack: seed.table(stack, "Carts")),
    Case("AWS::EFS::AccessPoint", _access_point, "efs", listed("describe_access_points", "AccessPoints", "AccessPointId")),
    Case("AWS::EFS::FileSystem", _files, "efs", read("describe_file_systems", "FileSystemId")),
    Case("AWS::EFS::MountTarget", _mount_target, "efs", read("describe_mount_targets", "MountTargetId")),
    Case("AWS::ElastiCache::CacheCluster", _cache, "elasticache", _cache_exists),
    Case("AWS::ElastiCache::ReplicationGroup", _replication_group, "elasticache", _replication_group_exists),
    Case("AWS::ElastiCache::SubnetGroup", _cache_subnets, "elasticache", read("describe_cache_subnet_groups", "CacheSubnetGroupName")),
    Case("AWS::FSx::FileSystem", _shared_files, "fsx",
         lambda fsx, ident, _: ident in [f["FileSystemId"] for f in fsx.describe_file_systems()["FileSystems"]]),
    Case("AWS::Glue::Connection", _connection, "glue", read("get_connection", "Name")),
    Case("AWS::Glue::Crawler", _crawler, "glue", read("get_crawler", "Name")),
    Case("AWS::Glue::Database", glue_database, "glue", read("get_database", "Name"), {"deleteData": True}),
    _glue("AWS::Glue::Job", "job", found_by="JobName", Role=_ROLE, Command={"Name": "glueetl", "ScriptLocation": "s3://lake/job.py"}),
    _glue("AWS::Glue::SecurityConfiguration", "security_configuration", EncryptionConfiguration={}),
    Case("AWS::Glue::Table", _glue_table, "glue", _glue_table_exists),
    Case("AWS::Glue::Trigger", _trigger, "glue", read("get_trigger", "Name")),
    _glue("AWS::Glue::Workflow", "workflow"),
    Case("AWS::RDS::DBInstance", instance, "rds", _instance_exists),
    Case("AWS::RDS::DBProxy", _proxy, "rds", read("describe_db_proxies", "DBProxyName")),
    Case("AWS::RDS::DBProxyEndpoint", _proxy_endpoint, "rds", read("describe_db_proxy_endpoints", "DBProxyEndpointName")),
    Case("AWS::RDS::DBProxyTargetGroup", _proxy_targets, "rds", _proxy_has_targets),
    Case("AWS::Redshift::Cluster", _warehouse, "redshift", _warehouse_exists),
]
