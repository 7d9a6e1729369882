"""What went wrong at a store, in plain words.

The sentences are made from the kind of an error and from the server's own codes, never from its text, which may hold a
signed address.
"""

from __future__ import annotations

import re

from perflog.logs.limits import LimitError

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
