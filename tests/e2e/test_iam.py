"""Teardowns in which every call is made with the rights of the app's roles and nothing but those, here and in another account."""

from __future__ import annotations

import json
from typing import Any
from collections.abc import Iterator

import pytest

from bed import Bed, seed

from app import ROOT, App, error, message, outcome

pytestmark = pytest.mark.timeout(300)
REQUEST = json.loads((ROOT / "events/cross-account.json").read_text())
ROLE = REQUEST["target"]["roleArn"]
OTHER = ROLE.split(":")[4]
STATE = f"cdkd-state-{OTHER}"


@pytest.fixture(scope="module")
def strict_rights() -> Iterator[App]:
    with Bed(iam=True) as bed:
        yield App.with_its_own_rights(bed, AllowedTargetRoles=ROLE)


class Elsewhere(seed.StackBuilder):
    """A stack in the other account."""

    def client(self, service: str) -> Any:
        return self.bed.client(service, self.region, OTHER)


@pytest.fixture(scope="module")
def target(strict_rights: App) -> Elsewhere:
    """The other account: its state bucket, the role from `infra/target-role.yaml`, and a stack."""
    bed = strict_rights.bed
    s3, cloudformation = bed.client("s3", account=OTHER), bed.client("cloudformation", account=OTHER)
    s3.create_bucket(Bucket=STATE)
    s3.put_bucket_versioning(Bucket=STATE, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=STATE, Key="target-role.yaml", Body=(ROOT / "infra/target-role.yaml").read_bytes())
    cloudformation.create_stack(
        StackName="ebb-target", TemplateURL=f"{bed.endpoint}/{STATE}/target-role.yaml", Capabilities=["CAPABILITY_NAMED_IAM"],
        Parameters=[{"ParameterKey": "AppAccount", "ParameterValue": "000000000000"},
                    {"ParameterKey": "ExternalId", "ParameterValue": REQUEST["target"]["externalId"]}],
    )
    stack = Elsewhere(bed, REQUEST["stack"], REQUEST["region"])
    seed.queue(stack, "Jobs")
    seed.queue_policy(stack, "JobsPolicy", "Jobs")
    seed.table(stack, "Carts")
    seed.parameter(stack, "First")
    seed.parameter(stack, "Second", needs=["First"])
    return stack


def rewritten(stack: Elsewhere) -> None:
    """Write the stack's state into the other account's bucket."""
    document = {"version": 11, "stackName": stack.name, "region": stack.region, "resources": stack.rows, "outputs": {}, "exportNames": [],
                "imports": [], "outputReads": [], "lastModified": 1}
    stack.client("s3").put_object(Bucket=STATE, Key=f"cdkd/{stack.name}/{stack.region}/state.json", Body=json.dumps(document).encode())


def denied(app: App, since: int) -> list[tuple[str, str, str]]:
    calls = app.bed.journal(agent="rust", since=since)
    return sorted({(e["service"], e["action"], e["code"]) for e in calls if e["status"] == 403})


def test_the_apps_own_policies_are_enough(strict_rights: App) -> None:
    stack = seed.mixed_stack(strict_rights.bed, 60, name="Rights")
    stack.write()
    mark = strict_rights.bed.mark()
    found = strict_rights.tear_down(stack.name)
    assert denied(strict_rights, mark) == [], "each denied call is a grant that a policy lacks"
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert stack.survivors() == []


def test_a_stack_of_another_account_is_torn_down_through_its_role(strict_rights: App, target: Elsewhere) -> None:
    rewritten(target)
    mark = strict_rights.bed.mark()
    found = strict_rights.run(REQUEST)
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    assert denied(strict_rights, mark) == []
    assert found["output"]["report"]["json"].startswith(f"s3://{STATE}/ebb/runs/")
    assert not target.client("sqs").list_queues().get("QueueUrls")
    assert target.client("dynamodb").list_tables()["TableNames"] == []
    assert target.client("ssm").describe_parameters()["Parameters"] == []
    keys = [o["Key"] for o in target.client("s3").list_objects_v2(Bucket=STATE, Prefix="cdkd/")["Contents"]]
    assert [key for key in keys if "/deployments/" not in key] == []


def test_without_its_external_id_the_role_is_not_to_be_had(strict_rights: App, target: Elsewhere) -> None:
    rewritten(target)
    found = strict_rights.run({**REQUEST, "target": {"roleArn": ROLE, "externalId": "somebody-else"}})
    assert error(found) == ("FAILED", "AccessDenied"), found
    assert "somebody-else" not in message(found)
    keys = [o["Key"] for o in target.client("s3").list_objects_v2(Bucket=STATE, Prefix=f"cdkd/{target.name}/")["Contents"]]
    assert [key for key in keys if "/deployments/" not in key] == [f"cdkd/{target.name}/{target.region}/state.json"]
