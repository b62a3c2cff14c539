"""Databases, backups, directory and table buckets."""

from __future__ import annotations

from typing import Any

from ..wire import Reply
from . import Look, Refused, answers, refuses


@refuses("rds", "DeleteDBSubnetGroup")
def _subnet_group(look: Look, p: dict[str, Any]) -> None:
    for instance in look("rds").describe_db_instances()["DBInstances"]:
        if (instance.get("DBSubnetGroup") or {}).get("DBSubnetGroupName") == p["DBSubnetGroupName"]:
            raise Refused(
                "InvalidDBSubnetGroupStateFault",
                "Cannot delete the subnet group because at least one database instance is still using it.",
            )


@refuses("rds", "DeleteDBInstance")
def _instance(look: Look, p: dict[str, Any]) -> None:
    found = look("rds").describe_db_instances(DBInstanceIdentifier=p["DBInstanceIdentifier"])["DBInstances"]
    without = str(p.get("SkipFinalSnapshot")).lower() != "true" and not p.get("FinalDBSnapshotIdentifier")
    if found and not found[0].get("DBClusterIdentifier") and without:
        raise Refused("InvalidParameterCombination", "FinalDBSnapshotIdentifier is required unless SkipFinalSnapshot is specified.")


@answers("rds", "DeleteDBCluster")
def _final_cluster_snapshot(look: Look, p: dict[str, Any]) -> None:
    """Take the final snapshot of a cluster that can go: the emulator takes those of instances only (and none of DocumentDB's)."""
    name = p.get("FinalDBSnapshotIdentifier")
    found = look("rds").describe_db_clusters()["DBClusters"]
    cluster = next((c for c in found if c["DBClusterIdentifier"] == p["DBClusterIdentifier"]), None)
    if not name or not cluster or cluster["Engine"] == "docdb":
        return
    if not cluster.get("DeletionProtection") and not cluster["DBClusterMembers"]:
        look("rds").create_db_cluster_snapshot(DBClusterIdentifier=p["DBClusterIdentifier"], DBClusterSnapshotIdentifier=name)


@answers("elasticache", "DeleteCacheCluster")
def _final_cache_snapshot(look: Look, p: dict[str, Any]) -> None:
    if p.get("FinalSnapshotIdentifier"):
        look("elasticache").create_snapshot(CacheClusterId=p["CacheClusterId"], SnapshotName=p["FinalSnapshotIdentifier"])


@answers("s3", "CreateSession")
def _session(look: Look, _: dict[str, Any]) -> Reply:
    """What a client asks for before it works with a directory bucket; the session has all rights."""
    keys = f"<AccessKeyId>{look.account}</AccessKeyId><SecretAccessKey>test</SecretAccessKey><SessionToken>session</SessionToken>"
    until = "<Expiration>2099-01-01T00:00:00Z</Expiration>"
    body = f"<CreateSessionResult><Credentials>{keys}{until}</Credentials></CreateSessionResult>"
    return Reply(200, [("Content-Type", "application/xml")], body.encode())


@refuses("backup", "DeleteBackupPlan")
def _backup_plan(look: Look, p: dict[str, Any]) -> None:
    if look("backup").list_backup_selections(BackupPlanId=p["backupPlanId"])["BackupSelectionsList"]:
        raise Refused("InvalidRequestException", "Related backup plan selections must be deleted prior to backup plan deletion")


@refuses("s3tables", "DeleteTableBucket")
def _table_bucket(look: Look, p: dict[str, Any]) -> None:
    if look("s3tables").list_namespaces(tableBucketARN=p["tableBucketARN"])["namespaces"]:
        raise Refused("ConflictException", "The bucket that you tried to delete is not empty.", 409)
