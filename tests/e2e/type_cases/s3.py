"""S3: buckets of every kind."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder

from .case import Case, listed, made, read


def _bucket(stack: StackBuilder) -> str:
    return seed.bucket(stack, "Uploads", objects=3, versioned=True, auto_delete=True)


def _bucket_policy(stack: StackBuilder) -> str:
    seed.bucket(stack, "Uploads")
    return seed.bucket_policy(stack, "Policy", "Uploads")


def directory_bucket(stack: StackBuilder) -> str:
    s3, name = stack.client("s3"), f"{stack.name}--use1-az4--x-s3".lower()
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={
        "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
        "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
    })
    s3.put_object(Bucket=name, Key="folder/object", Body=b"data")
    return made(stack, "AWS::S3Express::DirectoryBucket", name, {"BucketName": name, "LocationName": "use1-az4"})


def _table_bucket(stack: StackBuilder) -> str:
    """A table bucket with a namespace and a table in it."""
    tables, name = stack.client("s3tables"), stack.named("Lake").lower()
    arn = tables.create_table_bucket(name=name)["arn"]
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    tables.create_table(tableBucketARN=arn, namespace="sales", name="orders", format="ICEBERG")
    return made(stack, "AWS::S3Tables::TableBucket", arn, {"TableBucketName": name})


def _namespace(stack: StackBuilder) -> str:
    tables = stack.client("s3tables")
    arn = tables.create_table_bucket(name=stack.named("Lake").lower())["arn"]
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    return made(stack, "AWS::S3Tables::Namespace", f"{arn}|sales", {"TableBucketARN": arn, "Namespace": "sales"})


def _table(stack: StackBuilder) -> str:
    tables = stack.client("s3tables")
    arn = tables.create_table_bucket(name=stack.named("Lake").lower())["arn"]
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    tables.create_table(tableBucketARN=arn, namespace="sales", name="orders", format="ICEBERG")
    properties = {"TableBucketARN": arn, "Namespace": "sales", "TableName": "orders", "OpenTableFormat": "ICEBERG"}
    return made(stack, "AWS::S3Tables::Table", f"{arn}|sales|orders", properties)


def _vector_bucket(stack: StackBuilder) -> str:
    """A vector bucket with an index."""
    vectors, name = stack.client("s3vectors"), stack.named("Vectors").lower()
    vectors.create_vector_bucket(vectorBucketName=name)
    vectors.create_index(vectorBucketName=name, indexName="words", dataType="float32", dimension=2, distanceMetric="cosine")
    return made(stack, "AWS::S3Vectors::VectorBucket", name, {"VectorBucketName": name})


def _namespace_exists(tables: Any, ident: str, _: dict[str, Any]) -> bool:
    arn, name = ident.split("|")
    return [name] in [found["namespace"] for found in tables.list_namespaces(tableBucketARN=arn)["namespaces"]]


def _table_exists(tables: Any, ident: str, _: dict[str, Any]) -> bool:
    arn, namespace, name = ident.split("|")
    return name in [found["name"] for found in tables.list_tables(tableBucketARN=arn, namespace=namespace)["tables"]]


CASES = [
    Case("AWS::S3::Bucket", _bucket),
    Case("AWS::S3::BucketPolicy", _bucket_policy),
    Case("AWS::S3Express::DirectoryBucket", directory_bucket, "s3", listed("list_buckets", "Buckets", "Name"),
         {"deleteData": True}),
    Case("AWS::S3Tables::Namespace", _namespace, "s3tables", _namespace_exists),
    Case("AWS::S3Tables::Table", _table, "s3tables", _table_exists, {"deleteData": True}),
    Case("AWS::S3Tables::TableBucket", _table_bucket, "s3tables", read("get_table_bucket", "tableBucketARN"), {"deleteData": True}),
    Case("AWS::S3Vectors::VectorBucket", _vector_bucket, "s3vectors", read("get_vector_bucket", "vectorBucketName"),
         {"deleteData": True}),
]
