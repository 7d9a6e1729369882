"""Records in, lines out: logs whose every line is a collector's record with a piece of the program's text in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from perflog.logs.prefixes import stands_on_most

#: Where collectors put the text, in the order in which they are looked for.
_TEXT_KEYS = ("log", "MESSAGE", "message", "textPayload")
#: Numbers that collectors write beside the text; a record with other numbers is the program's own.
_COLLECTORS_NUMBER = re.compile(r"time|stamp|pid|offset|line|seq|priority|severity|level|port|id$", re.IGNORECASE)
_CRI = re.compile(
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2}) "
    rb"std(?:out|err) (?P<part>[FP])(?::[^ ]*)? ?"
)
#: The share of a log's first lines that must be records.
_MOST = 0.6


class Piece(Struct, frozen=True):
    """The text in a record, without its line feed; ``whole`` is false where the next record goes on with the line."""

    text: bytes
    whole: bool = True


#: The piece in a line (without its line feed); None for a line that is no record.
Unpack = Callable[[bytes], Piece | None]


def unpacker_for(lines: Sequence[bytes]) -> Unpack | None:
    """How the records of a log that begins with these lines are read; None where most lines are no records."""
    filled = [line for line in lines if line.strip()]
    for unpack in (of_json, of_cri):
        if stands_on_most(_is_record(unpack), filled, _MOST):
            return unpack
    return None


def _is_record(unpack: Unpack) -> Callable[[bytes], bool]:
    return lambda line: unpack(line) is not None


def of_cri(line: bytes) -> Piece | None:
    """A record of the Kubernetes container runtime interface: ``TIME stdout F TEXT``; ``P`` is a part of a line."""
    found = _CRI.match(line)
    return None if found is None else Piece(line[found.end() :], found["part"] == b"F")


def of_json(line: bytes) -> Piece | None:
    """A JSON object in which a collector (docker, journald, CloudWatch, Cloud Logging) stored a program's text."""
    if not line.startswith(b"{"):
        return None
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    key = next((key for key in _TEXT_KEYS if key in record), None)
    if key is None or (key == "log" and "stream" not in record) or not all(map(_of_collector, record.items())):
        return None
    text = _bytes_of(record[key])
    if text is None:
        return None
    whole = key != "log" or text.endswith(b"\n")
    return Piece(text.removesuffix(b"\n").replace(b"\r\n", b"\n").replace(b"\n", b"\r"), whole)


def _of_collector(item: tuple[str, Any]) -> bool:
    key, value = item
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return not is_number or _COLLECTORS_NUMBER.search(key) is not None


def _bytes_of(value: Any) -> bytes | None:
    """A text, or an array of bytes, which journald writes for what is no plain text."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        return bytes(value)
    return None
