"""Teardowns in which every call is made with the rights of the app's roles and nothing but those, here and in another account."""

from __future__ import annotations

import json
from typing import Any
from collections.abc import Iterator

import pytest

from bed import Bed, seed
from bed.strict_events import target_input

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


# ---- requests by event: EventBridge says who asks


def delivered(app: App, account: str, detail: dict[str, Any]) -> dict[str, Any]:
    """A teardown as the rule starts it for an event that `account` sent, from start to end."""
    (target,) = app.bed.client("events").list_targets_by_rule(Rule="ebb-requested", EventBusName="ebb")["Targets"]
    assert target["Arn"] == app.outputs["TeardownStateMachineArn"]
    event = {
        "version": "0", "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718", "detail-type": "Ebb Teardown Requested", "source": "pipeline.orders",
        "account": account, "time": "2026-11-30T12:00:00Z", "region": "us-east-1", "resources": [], "detail": detail,
    }
    return app.run(json.loads(target_input(target, event)))


def test_an_account_asks_for_its_own_stack_and_for_nobody_elses(strict_rights: App, target: Elsewhere) -> None:
    rewritten(target)
    home = seed.StackBuilder(strict_rights.bed, "AtHome")
    seed.queue(home, "Jobs")
    home.write()
    before = [entry["Key"] for entry in target.client("s3").list_objects_v2(Bucket=STATE)["Contents"]]
    mark = strict_rights.bed.mark()
    for account, request in (
        ("310987654321", REQUEST),
        ("000000000000", REQUEST),
        (OTHER, {"stack": home.name, "region": home.region, "confirm": home.name}),
    ):
        found = delivered(strict_rights, account, request)
        assert error(found) == ("FAILED", "Refused"), found
        assert message(found).startswith("TrustedRequesters: ") and account in message(found)
    assert [e for e in strict_rights.bed.journal(agent="rust", since=mark) if e["service"] not in ("sts", "logs")] == []
    assert [entry["Key"] for entry in target.client("s3").list_objects_v2(Bucket=STATE)["Contents"]] == before
    assert home.survivors() == ["Jobs"]

    forged = delivered(strict_rights, "310987654321", {**REQUEST, "requestedBy": OTHER})
    assert error(forged) == ("FAILED", "InvalidRequest") and "`requestedBy`" in message(forged)
    assert outcome(delivered(strict_rights, OTHER, REQUEST)) == ("SUCCEEDED", "Deleted")


# ---- what is missing is named, and what is done stays in its account


def remade(target: Elsewhere) -> None:
    """The stack again, with its resources."""
    target.rows.clear()
    seed.queue(target, "Jobs")
    seed.parameter(target, "First")
    rewritten(target)


def test_a_missing_permission_is_named(strict_rights: App, target: Elsewhere) -> None:
    remade(target)
    iam = target.client("iam")
    deny = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "sqs:DeleteQueue", "Resource": "*"}]}
    iam.put_role_policy(RoleName="ebb-target", PolicyName="deny", PolicyDocument=json.dumps(deny))
    try:
        found = strict_rights.run(REQUEST)
    finally:
        iam.delete_role_policy(RoleName="ebb-target", PolicyName="deny")
    assert error(found) == ("FAILED", "Partial"), found
    key = found["cause"]["report"]["json"].removeprefix(f"s3://{STATE}/").replace(".report.json", ".json")
    record = json.loads(target.client("s3").get_object(Bucket=STATE, Key=key)["Body"].read())
    row = record["resources"][f"{target.name}/Jobs"]
    assert row["code"] == "Denied" and "sqs:DeleteQueue" in row["reason"], row
    assert outcome(strict_rights.run(REQUEST)) == ("SUCCEEDED", "Deleted"), "once it is granted the next run goes on"


def test_a_sweep_works_in_the_accounts_of_its_roster_and_only_there(strict_rights: App, target: Elsewhere) -> None:
    remade(target)
    home = seed.StackBuilder(strict_rights.bed, target.name)
    seed.queue(home, "Jobs")
    home.write()
    objects = strict_rights.versions()
    mark = strict_rights.bed.mark()
    entry = {"account": OTHER, "roleArn": ROLE, "externalId": REQUEST["target"]["externalId"], "regions": [target.region]}
    found = strict_rights.sweep({"name": "roster", "confirm": "roster", "select": {"names": ["*"]}, "accounts": [entry]})
    assert denied(strict_rights, mark) == []
    assert outcome(found) == ("SUCCEEDED", "Deleted")
    (place,) = found["output"]["places"]
    assert place["account"] == OTHER and place["report"].startswith(f"s3://{STATE}/ebb/sweeps/")
    assert strict_rights.versions() == objects, "nothing was written at home"
    assert home.survivors() == ["Jobs"]
    assert not target.client("sqs").list_queues().get("QueueUrls")


def test_an_account_that_cannot_be_reached_does_not_hide_the_others(strict_rights: App, target: Elsewhere) -> None:
    remade(target)
    good = {"account": OTHER, "roleArn": ROLE, "externalId": REQUEST["target"]["externalId"], "regions": [target.region]}
    bad = {**good, "externalId": "somebody-else", "regions": ["eu-central-1"]}
    found = strict_rights.sweep({"name": "roster", "confirm": "roster", "select": {"names": ["*"]}, "accounts": [bad, good]})
    assert error(found) == ("FAILED", "Partial"), found
    assert message(found) == "of 1 stack: 1 deleted, 1 place could not be read"
    unread, read = found["output"]["places"]
    assert (unread["error"], unread["account"], unread["regions"], read["error"]) == ("AccessDenied", OTHER, ["eu-central-1"], None)
    assert "sts:AssumeRole" in unread["message"], unread
    told = strict_rights.news(found["executionArn"])
    assert f"Not read:\n  account {OTHER}, region eu-central-1, prefix cdkd: AccessDenied - " in told["text"]
    assert f"Gone:\n  {target.name} in {target.region} of account {OTHER}: Deleted\n" in told["text"]
    assert list(found["output"]["counts"].values())[:2] == [1, 1] and "somebody-else" not in json.dumps(found["cause"])
