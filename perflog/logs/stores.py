"""A store asked for its objects: listed page by page, read whole or by ranges; each error in plain words."""

from __future__ import annotations

import configparser
import importlib
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from perflog.errors import UsageError
from perflog.extras import missing_extra
from perflog.logs.addresses import WEB, Address, is_below
from perflog.logs.streams import LimitError

# ----------------------------------------------------------------------------------------------------
# What went wrong at a store, in plain words.
#
# The sentences are made from the kind of an error and from the server's own codes, never from its text, which may
# hold a signed address.

#: What :class:`StoreError` is about.
GONE, DENIED, CHANGED, NO_BUCKET, BUSY, DOWN, CUT, NO_CREDENTIALS, NAME, NO_RANGES, OTHER = (
    "gone", "denied", "changed", "no-bucket", "busy", "down", "cut", "no-credentials", "name", "no-ranges", "other",
)  # fmt: skip
#: Kinds that tell of the server, and not of one object.
OUTAGES = frozenset({BUSY, DOWN, CUT})
_STATUS = re.compile(r"status code: (\d{3})")
#: S3's and Azure's codes of errors; they are words, and hold nothing secret.
_CODE = re.compile(r"<Code>([A-Za-z]{1,40})</Code>")
_NAME = re.compile(r'Path "([^"\n]{1,1024})"')
_RETRIES = re.compile(r"after (\d+) retries")
#: What tells a kind in any error, in one with the server's answer, and in one without; the first that is found counts.
_ALWAYS = (
    (NO_CREDENTIALS, re.compile(r"169\.254\.169\.254|metadata\.google")),
    (NAME, re.compile(r'Error parsing Path "|parse path: Path "|contained empty path segment|with invalid path')),
    (NO_RANGES, re.compile(r"non-partial response")),
)
_ANSWERED = (
    (NO_BUCKET, re.compile(r"<Code>(NoSuchBucket|ContainerNotFound)</Code>")),
    (GONE, re.compile(r"status code: 404")),
    (BUSY, re.compile(r"status code: 429|<Code>(SlowDown|ServerBusy|TooManyRequests)</Code>")),
    (DENIED, re.compile(r"status code: 40[13]")),
    (DOWN, re.compile(r"status code: 5")),
)
_UNANSWERED = (
    (CUT, re.compile(r"response body error")),
    (DOWN, re.compile(r"error sending request|HTTP error")),
    (NO_CREDENTIALS, re.compile(r"token request|[Cc]redential|WebIdentity|OAuth")),
)
#: What each kind of error is called by obstore.
_KINDS = {
    "PermissionDeniedError": DENIED, "UnauthenticatedError": DENIED, "PreconditionError": CHANGED,
    "InvalidPathError": NAME, "NotSupportedError": NO_RANGES,
}  # fmt: skip
_WORDS = {
    GONE: "there is no such object",
    DENIED: "the server denies the permission to read it",
    CHANGED: "the object was written anew after it was found: run the command again",
    NO_BUCKET: "the server knows no such bucket or container",
    BUSY: "the server asks for fewer requests",
    DOWN: "the server could not be reached, or did not answer",
    CUT: "the connection was cut before the object's end",
    NO_CREDENTIALS: "no credentials were found, or they could not be used",
    NAME: "the name cannot be addressed",
    NO_RANGES: "the server gives whole files only, and no parts of them",
    OTHER: "the server refused the request",
}
ANONYMOUS = "PERFLOG_ANONYMOUS"


class StoreError(LimitError):
    """An object that could not be had from its server, or not to its end: nothing of it counts.

    Attributes:
        kind: what went wrong, one of the constants of this module.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{_WORDS[kind]}{detail}")
        self.kind = kind

    @property
    def is_outage(self) -> bool:
        """Whether the server failed, and not the request."""
        return self.kind in OUTAGES


def fault_of(error: Exception) -> StoreError:
    """The error that stands for one of obstore's."""
    text = str(error)
    status, code = _first(_STATUS, text), _first(_CODE, text)
    kind = _kind(error, text, status)
    if kind == NAME:
        name = _first(_NAME, text)
        return StoreError(
            kind, f": {name!r} has an empty part, one of dots alone or a control character" if name else ""
        )
    if kind == NO_CREDENTIALS:
        return StoreError(kind, f"; for what everybody may read, set {ANONYMOUS}=1")
    details = [f"HTTP status {status}"] if status else []
    details += [code] if code else []
    retries = _first(_RETRIES, text)
    details += [f"after {retries} {'retry' if retries == '1' else 'retries'}"] if retries else []
    told = f" ({', '.join(details)})" if details else ""
    if "Received redirect without LOCATION" in text:
        return StoreError(OTHER, ": the bucket lies in another region; name it in AWS_REGION")
    if "Content-Length Header missing" in text:
        return StoreError(OTHER, ": it does not say how long the file is")
    return StoreError(kind, told)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return str(found[1]) if found else ""


def _kind(error: Exception, text: str, status: str) -> str:
    for kind, told in (*_ALWAYS, *(_ANSWERED if status else _UNANSWERED)):
        if told.search(text):
            return str(kind)
    return GONE if isinstance(error, FileNotFoundError) else str(_KINDS.get(type(error).__name__, OTHER))


# ----------------------------------------------------------------------------------------------------
# Clients of stores: where the server is and who asks, by the environment and by the files of the clouds' own tools.
#
# Credentials are taken from where the clouds' own tools take them, and go nowhere but into the client. Which server is
# asked is told by the address that the user gave, and by the environment (``AWS_ENDPOINT_URL``).

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


#: So many objects are listed at once; a server gives no more.
PAGE = 1_000
#: Files of facts about the logs beside and below them.
FACTS = ("machine.json", "scaling.json")
#: After so many outages in a row a server is asked no more.
_MOST_OUTAGES = 64


@dataclass(frozen=True, slots=True)
class Version:
    """Which bytes an object held when it was found."""

    size: int
    tag: str
    modified: datetime | None

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Version:
        """The version that a store's answer tells."""
        return cls(int(meta["size"]), _tag(str(meta.get("e_tag") or "")), meta.get("last_modified"))

    def is_of(self, meta: Mapping[str, Any]) -> bool:
        """Whether an answer tells of the same bytes."""
        other = Version.of(meta)
        if self.tag and other.tag:
            return (self.size, self.tag) == (other.size, other.tag)
        return (self.size, self.modified) == (other.size, other.modified)

    @property
    def conditions(self) -> dict[str, Any]:
        """What a request says so that no other version answers it; a weak tag never holds there (RFC 9110, 13.1.1)."""
        return {"if_match": self.tag} if self.tag and not self.tag.startswith("W/") else {}


def _tag(text: str) -> str:
    """An entity tag as headers have it, in quotes: Azure's listings leave them out."""
    return text if not text or text.endswith('"') else f'"{text}"'


class Store:
    """A bucket, a container or a web server's file. Threads may share it."""

    def __init__(self, address: Address) -> None:
        """Make ready to ask the store that an address names; nothing is asked yet.

        Raises:
            UsageError: for an address or an environment that cannot be understood.
            StoreError: where no credentials are found.
        """
        self._client = client_of(address)
        self._library = library()
        self._outages = 0
        self._lock = Lock()
        self._address = address
        self._listed: list[str] = []
        self._facts: set[str] = set()

    def content_beside(self, folder: str, name: str) -> bytes | None:
        """What an object of facts holds that stands beside logs; None where there is none, or none may be read.

        What was listed is not asked for again, so that many folders cost no requests.

        Args:
            folder: the folder's address in this store.
            name: one of :data:`FACTS`.

        Raises:
            StoreError: when the server fails.
        """
        if self._address.scheme in WEB:
            return None
        key = Address(f"{folder}/{name}").key
        if any(is_below(key, listed) or not listed for listed in self._listed) and key not in self._facts:
            return None
        try:
            return self.read(key)
        except StoreError as error:
            if error.is_outage:
                raise
            return None

    def pages(self, folder: str) -> Iterator[list[tuple[str, Version]]]:
        """The keys of the objects below a folder and their versions, page by page.

        Raises:
            StoreError: when a page cannot be had.
        """
        listing = self._asked(lambda: self._library.list(self._client, folder or None, chunk_size=PAGE))
        while page := self._asked(lambda: next(listing, None)):
            self._facts.update(meta["path"] for meta in page if meta["path"].rpartition("/")[2] in FACTS)
            yield [(str(meta["path"]), Version.of(meta)) for meta in page]
        self._listed.append(folder)

    def version(self, key: str, whole: bool = False) -> Version:
        """The version of an object as it is now.

        Args:
            whole: ask by a request for the object, of which nothing is taken: a signature may allow nothing else.

        Raises:
            StoreError: when it cannot be told.
        """
        if whole:
            return Version.of(self._asked(lambda: self._library.get(self._client, key)).meta)
        return Version.of(self._asked(lambda: self._library.head(self._client, key)))

    def read(self, key: str, version: Version | None = None, span: tuple[int, int] | None = None) -> bytes:
        """The bytes of an object, or those of a range of it (start, end).

        Args:
            version: of which they must be; None: any.

        Raises:
            StoreError: when they cannot be had, all of them and of that version.
        """
        options: dict[str, Any] = {} if version is None else version.conditions
        if span is not None:
            options["range"] = span

        def ask() -> bytes:
            answer = self._library.get(self._client, key, options=options)
            if version is not None and not version.is_of(answer.meta):
                raise StoreError(CHANGED)
            return bytes(answer.bytes())

        data: bytes = self._asked(ask)
        size = None if version is None else version.size
        wanted = size if span is None else span[1] - span[0]
        if wanted is not None and len(data) != wanted:
            raise StoreError(CUT)
        return data

    def parts(self, key: str, version: Version) -> Iterator[bytes]:
        """The bytes of an object in order, by one request: for servers that give no ranges.

        Raises:
            StoreError: when they cannot be had, all of them and of that version.
        """
        answer = self._asked(lambda: self._library.get(self._client, key))
        if not version.is_of(answer.meta):
            raise StoreError(CHANGED)
        stream, size = answer.stream(min_chunk_size=1 << 20), 0
        while (data := self._asked(lambda: next(stream, None))) is not None:
            size += len(data)
            yield bytes(data)
        if size != version.size:
            raise StoreError(CUT)

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What a request gives; raises StoreError where it fails, and where too many failed before it."""
        if self._outages >= _MOST_OUTAGES:
            raise StoreError(DOWN, f" for {_MOST_OUTAGES} requests in a row: it is asked no more")
        try:
            answer = ask()
        except StoreError:
            raise
        except (self._library.exceptions.BaseError, FileNotFoundError, OSError, ValueError) as error:
            fault = fault_of(error)
            with self._lock:
                self._outages = self._outages + 1 if fault.kind in OUTAGES else 0
            raise fault from None
        if self._outages:
            with self._lock:
                self._outages = 0
        return answer
