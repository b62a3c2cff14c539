"""Planted failures that fire by chance: how often, for whom, and the same again from the same seed."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from bed import Bed

pytestmark = pytest.mark.timeout(60)
RULE = {"service": "sqs", "agent": "boto3", "code": "ThrottlingException", "forever": True, "probability": 0.2, "seed": 7}


def misses(bed: Bed, calls: int) -> list[int]:
    """Which of so many calls failed."""
    sqs, failed = bed.client("sqs"), []
    for number in range(calls):
        try:
            sqs.list_queues()
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ThrottlingException"
            failed.append(number)
    return failed


def test_a_rule_with_a_probability_fires_about_that_often_and_the_same_again_from_its_seed(bed: Bed) -> None:
    bed.plant(RULE)
    first = misses(bed, 200)
    assert 20 <= len(first) <= 60
    assert len(bed.fired()) == len(first)
    bed.lift()
    bed.plant(RULE)
    assert misses(bed, 200) == first
    bed.lift()
    bed.plant({**RULE, "seed": 8})
    assert misses(bed, 200) != first


def test_a_call_that_one_rule_lets_pass_may_meet_the_next(bed: Bed) -> None:
    bed.plant({**RULE, "probability": 0.5}, {**RULE, "probability": 1})
    assert misses(bed, 30) == list(range(30))
    assert len({fired["id"] for fired in bed.fired()}) == 2


def test_a_delete_of_an_object_goes_by_its_name(bed: Bed) -> None:
    s3 = bed.client("s3")
    s3.create_bucket(Bucket="names")
    upload = s3.create_multipart_upload(Bucket="names", Key="big")["UploadId"]
    bed.plant({"action": "DeleteObject", "code": "SlowDown", "status": 503})
    s3.abort_multipart_upload(Bucket="names", Key="big", UploadId=upload)
    with pytest.raises(ClientError, match="SlowDown"):
        s3.delete_object(Bucket="names", Key="small")


def test_spared_actions_never_fail(bed: Bed) -> None:
    bed.plant({**RULE, "probability": 1, "spare": ["ListQueues"]})
    assert misses(bed, 10) == []
    with pytest.raises(ClientError):
        bed.client("sqs").create_queue(QueueName="throttled")


@pytest.mark.parametrize("probability", [0, -0.1, 1.5])
def test_a_probability_that_is_none_plants_nothing(bed: Bed, probability: float) -> None:
    with pytest.raises(Exception, match="400"):
        bed.plant({**RULE, "probability": probability})
    assert misses(bed, 3) == []
