"""`StackBuilder`: rows of one stack's state, written the way cdkd writes them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from collections.abc import Iterable

from .exists import exists

if TYPE_CHECKING:
    from ..bed import Bed

VERSION = 11
STATE_BUCKET = "cdkd-state-000000000000"
Row = dict[str, Any]


class StackBuilder:
    """One stack: `add` records a row about something that was made, `write` puts the state into the bucket."""

    def __init__(self, bed: Bed, name: str, region: str = "us-east-1") -> None:
        self.bed, self.name, self.region = bed, name, region
        self.rows: dict[str, Row] = {}
        self.outputs: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        return self.bed.client(service, self.region)

    def named(self, logical: str) -> str:
        """A physical name for a resource, as cdkd makes them."""
        return f"{self.name}-{logical}"

    def add(self, logical: str, kind: str, physical: str, properties: dict[str, Any], *, needs: Iterable[str] = (),
            attributes: dict[str, Any] | None = None, by: str = "sdk", **fields: Any) -> str:
        """Record a row; answers its logical id. `fields` go into the row as they are (`deletionPolicy`, …)."""
        row: Row = {"physicalId": physical, "resourceType": kind, "properties": properties}
        if attributes:
            row["attributes"] = attributes
        row |= {"dependencies": list(needs), "provisionedBy": by, **fields}
        if logical in self.rows:
            raise ValueError(f"{self.name} already has a resource {logical}")
        self.rows[logical] = row
        return logical

    def physical(self, logical: str) -> str:
        return self.rows[logical]["physicalId"]

    def arn(self, logical: str) -> str:
        return self.rows[logical]["attributes"]["Arn"]

    def write(self, bucket: str = STATE_BUCKET, prefix: str = "cdkd", **fields: Any) -> str:
        """Write the stack's state; answers its key."""
        return put_state(self.bed, bucket, prefix, self.name, self.region, self.rows, **{"outputs": self.outputs, **fields})

    def survivors(self) -> list[str]:
        """The logical ids of what still exists, asked of each service."""
        return [logical for logical, row in self.rows.items() if exists(self.bed, row, self.region)]


def state_bucket(bed: Bed, name: str = STATE_BUCKET, versioned: bool = True) -> str:
    """Make the state bucket; answers its name."""
    s3 = bed.client("s3")
    s3.create_bucket(Bucket=name)
    if versioned:
        s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def put_state(bed: Bed, bucket: str, prefix: str, stack: str, region: str, rows: dict[str, Row], **fields: Any) -> str:
    """Write a stack's `state.json`; `fields` replace or add fields of the document. Answers its key."""
    document = {
        "version": VERSION,
        "stackName": stack,
        "region": region,
        "resources": rows,
        "outputs": {},
        "exportNames": [],
        "imports": [],
        "outputReads": [],
        "lastModified": int(time.time() * 1000),
        **fields,
    }
    key = f"{prefix}/{stack}/{region}/state.json"
    body = json.dumps(document, indent=2, ensure_ascii=False).encode()
    bed.client("s3").put_object(Bucket=bucket, Key=key, Body=body, ContentType="application/json")
    return key
