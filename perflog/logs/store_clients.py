"""Clients of stores: where the server is and who asks, by the environment and by the files of the clouds' own tools.

Credentials are taken from where the clouds' own tools take them, and go nowhere but into the client. Which server is
asked is told by the address that the user gave, and by the environment (``AWS_ENDPOINT_URL``).
"""

from __future__ import annotations

import configparser
import importlib
import os
import socket
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.extras import missing_extra
from perflog.logs.addresses import WEB, Address
from perflog.logs.store_faults import ANONYMOUS, NO_CREDENTIALS, StoreError

#: How often a request is made again that failed by the server's fault, and the environment variable that changes it.
RETRIES, _DEFAULT_RETRIES, _MOST_RETRIES = "PERFLOG_STORE_RETRIES", 5, 100
#: The waiting time before the first retry, which doubles from one to the next, and the longest.
_FIRST_WAIT, _LONGEST_WAIT = timedelta(milliseconds=200), timedelta(seconds=5)
#: After so long no retry begins.
_RETRY_FOR = timedelta(seconds=60)
_CONNECT, _SILENCE, _WHOLE = timedelta(seconds=5), timedelta(seconds=30), timedelta(hours=1)
#: Where an instance of a cloud is told its credentials, and seconds in which it answers.
_INSTANCE, _ANSWERS_IN = ("169.254.169.254", 80), 1.0
#: Environment variables of which one says whence credentials come without asking the instance.
_SAYS_WHO = {
    "s3": (
        "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_METADATA_ENDPOINT", "AWS_SKIP_SIGNATURE",
    ),
    "gs": (
        "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BEARER_TOKEN", "GOOGLE_SKIP_SIGNATURE",
    ),
    "az": (
        "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_TOKEN", "AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI", "AZURE_SKIP_SIGNATURE", "IDENTITY_ENDPOINT", "MSI_ENDPOINT",
    ),
}  # fmt: skip
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}


def library() -> Any:
    """The package obstore.

    Raises:
        PerflogError: where it is not installed, with the command that installs it.
    """
    try:
        importlib.import_module("obstore.store")
        return importlib.import_module("obstore")
    except ImportError as error:
        problem = missing_extra(error)
        if problem is None:
            raise
        raise problem from None


def client_of(address: Address) -> Any:
    """A client of the bucket, the container or the web server's file that an address names.

    Raises:
        UsageError: for an address or an environment that cannot be understood.
        StoreError: where no credentials are found.
    """
    stores = library().store
    options: dict[str, Any] = {"client_options": _connection(address), "retry_config": _retries()}
    if address.scheme in WEB:
        return stores.HTTPStore(address.whole.partition("#")[0], **options)
    if not address.host:
        raise UsageError(f"{str(address)!r}: expected the name of a bucket, such as {address.scheme}://bucket/logs/")
    options |= _credentials(address.scheme)
    kind = {"s3": stores.S3Store, "gs": stores.GCSStore, "az": stores.AzureStore}[address.scheme]
    try:
        return kind(address.host, **options)
    except Exception as error:  # its text may hold what the environment holds
        raise UsageError(_refused(address, str(error))) from None


def _refused(address: Address, text: str) -> str:
    if "Account must be specified" in text:
        return f"{address}: the storage account is not known: name it in AZURE_STORAGE_ACCOUNT_NAME"
    if "AccessKeyId" in text or "SecretAccessKey" in text:
        return f"{address}: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set both, or neither"
    return f"{address}: the settings of this store in the environment or its credentials' file cannot be used"


def _connection(address: Address) -> dict[str, Any]:
    """Time limits, and whether the connection may be a plain one: where the user named such a server."""
    ends = next((os.environ[name] for name in _ENDPOINTS.get(address.scheme, ()) if os.environ.get(name)), "")
    plain = address.scheme == "http" or ends.startswith("http://")
    return {"allow_http": plain, "connect_timeout": _CONNECT, "read_timeout": _SILENCE, "timeout": _WHOLE}


def _retries() -> dict[str, Any]:
    text = os.environ.get(RETRIES, "")
    if text and not (text.isascii() and text.isdigit() and int(text[:9]) <= _MOST_RETRIES):
        raise UsageError(f"{RETRIES}={text!r}: expected a whole number from 0 to {_MOST_RETRIES}")
    waits = {"init_backoff": _FIRST_WAIT, "max_backoff": _LONGEST_WAIT, "base": 2}
    return {"max_retries": int(text) if text else _DEFAULT_RETRIES, "retry_timeout": _RETRY_FOR, "backoff": waits}


def _credentials(scheme: str) -> dict[str, Any]:
    """What a client is told of who asks; nothing where it finds that itself.

    Raises:
        StoreError: where nothing tells it.
    """
    if os.environ.get(ANONYMOUS, "") not in ("", "0"):
        return {"skip_signature": True}
    if any(os.environ.get(name) for name in _SAYS_WHO[scheme]):
        return _aws_region() if scheme == "s3" else {}
    if scheme == "s3" and (of_profile := _aws_profile()):
        return of_profile
    if scheme == "gs" and _google_default().is_file():
        return {}
    if not _is_instance():
        raise StoreError(NO_CREDENTIALS, f"; for what everybody may read, set {ANONYMOUS}=1")
    return _aws_region() if scheme == "s3" else {}


def _google_default() -> Path:
    """Where ``gcloud auth application-default login`` puts its credentials."""
    return Path.home() / ".config/gcloud/application_default_credentials.json"


def _is_instance() -> bool:
    """Whether this machine is a cloud's, which is asked for its credentials; elsewhere nobody answers there."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    try:
        with socket.create_connection(_INSTANCE, _ANSWERS_IN):
            return True
    except OSError:
        return False


def _aws_profile() -> dict[str, Any]:
    """The keys and the region of the profile in force, as AWS's own tools read it; empty where there is none.

    Keys that a tool has to ask for (single sign-on, roles) are had through boto3, where it is installed.
    """
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    keys = _section(_aws_file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name)
    settings = _section(_aws_file("AWS_CONFIG_FILE", "config"), name if name == "default" else f"profile {name}")
    known = {**settings, **keys}
    if {"aws_access_key_id", "aws_secret_access_key"} <= known.keys():
        taken = {"access_key_id": "aws_access_key_id", "secret_access_key": "aws_secret_access_key",
                 "session_token": "aws_session_token"}  # fmt: skip
        return {option: known[key] for option, key in taken.items() if key in known} | _aws_region()
    if not known.keys() & {"sso_session", "sso_start_url", "role_arn", "credential_process"}:
        return {}
    try:
        provider = importlib.import_module("obstore.auth.boto3").Boto3CredentialProvider()
    except ImportError:
        raise UsageError(
            f"the AWS profile {name!r} has no keys of its own: pip install boto3 lets them be asked for, or put them "
            "in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ) from None
    except Exception:
        raise StoreError(NO_CREDENTIALS, f": boto3 gives none for the AWS profile {name!r}; log in again") from None
    return {"credential_provider": provider, **_aws_region()}


def _aws_region() -> dict[str, Any]:
    """The region of the profile, where the environment names none."""
    if os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        return {}
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    settings = _section(_aws_file("AWS_CONFIG_FILE", "config"), name if name == "default" else f"profile {name}")
    return {"region": settings["region"]} if "region" in settings else {}


def _aws_file(variable: str, name: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / ".aws" / name).expanduser()


def _section(file: Path, name: str) -> Mapping[str, str]:
    """A section of one of AWS's files; empty where there is none, or the file cannot be read."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(file, encoding="utf-8")
        return dict(parser[name]) if name in parser else {}
    except (OSError, configparser.Error, UnicodeDecodeError):
        return {}
