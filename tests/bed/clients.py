"""boto3 clients for the parts of the bed, one per service, account and region."""

from __future__ import annotations

import threading
from typing import Any

import boto3
from botocore.config import Config

# Services that the emulator lacks and the strict engine's server has. Only state machines are always its.
ON_STRICT = frozenset({"application-autoscaling", "codecommit", "fsx", "redshift", "s3vectors", "stepfunctions"})

_create = threading.Lock()  # boto3's default session may not be shared while it creates a client


def make_client(service: str, endpoint: str, *, key: str = "test", region: str = "us-east-1", agent: str = "", **config: Any) -> Any:
    """A client that sends each call once and addresses buckets by path."""
    settings = Config(
        retries={"total_max_attempts": 1},
        s3={"addressing_style": "path"},
        s3_disable_express_session_auth=True,
        max_pool_connections=256,
        user_agent_extra=agent,
        **config,
    )
    with _create:
        return boto3.client(
            service, endpoint_url=endpoint, region_name=region, aws_access_key_id=key, aws_secret_access_key="test", config=settings
        )


class Clients:
    """The clients that look things up in the account and region of one request."""

    def __init__(self) -> None:
        self.emulator = ""
        self.strict: str | None = None
        self._made: dict[tuple[str, ...], Any] = {}
        self._accounts: dict[str, str] = {}
        self._lock = threading.Lock()

    def get(self, service: str, key: str, region: str, endpoint: str = "", agent: str = "") -> Any:
        """A client for `service` as the account that owns the access key `key`."""
        if not endpoint:
            endpoint = self.strict if service in ON_STRICT and self.strict else self.emulator
        account = self.account(key)
        known = (service, account, region, endpoint, agent)
        with self._lock:
            if known not in self._made:
                self._made[known] = make_client(service, endpoint, key=account, region=region, agent=agent)
            return self._made[known]

    def account(self, key: str) -> str:
        """The access key of the account that owns `key`: root keys stand for themselves, the emulator knows the others."""
        if key == "test" or (key.isdigit() and len(key) == 12):
            return key
        with self._lock:
            if key in self._accounts:
                return self._accounts[key]
        try:
            account = self.get("sts", "test", "us-east-1").get_access_key_info(AccessKeyId=key)["Account"]
        except Exception:
            account = "test"
        with self._lock:
            self._accounts[key] = account
        return account

    def forget(self) -> None:
        """Forget whose keys they are, for after a reset."""
        with self._lock:
            self._accounts.clear()
