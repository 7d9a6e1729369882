"""Records in, lines out: logs whose every line is a collector's record with a piece of the program's text in it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from perflog.logs.clean import LOST
from perflog.logs.prefixes import stands_on_most

#: Where collectors put the text, in the order in which they are looked for.
_TEXT_KEYS = ("log", "MESSAGE", "message", "textPayload")
#: Numbers that collectors write beside the text; a record with other numbers is the program's own.
_COLLECTORS_NUMBER = re.compile(r"time|stamp|pid|offset|line|seq|priority|severity|level|port|id$", re.IGNORECASE)
_CRI = re.compile(
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2}) "
    rb"(?P<stream>std(?:out|err)) (?P<part>[FP])(?::[^ ]*)? ?"
)
#: What is left of a character's bytes on either side of a cut: it has four at most.
_CUT_BEFORE, _CUT_AFTER = re.compile(b"(?:%s){1,3}\\Z" % LOST), re.compile(b"\\A(?:%s){1,3}" % LOST)
#: So many pieces on either side of a cut tell which character it cut; and the kinds of those that bars are drawn with.
_NEAR, _SYMBOLS = 8, ("So", "Po")
#: The share of a log's first lines that must be records.
_MOST = 0.6


class Piece(Struct, frozen=True):
    """The text in a record, without its line feed.

    ``whole`` is false where the next record of the same ``stream`` goes on with the line.
    """

    text: bytes
    whole: bool = True
    stream: str = ""


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
    return None if found is None else Piece(line[found.end() :], found["part"] == b"F", found["stream"].decode())


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
    stream = str(record.get("stream", "")) if key == "log" else ""
    return Piece(text.removesuffix(b"\n").replace(b"\r\n", b"\n").replace(b"\n", b"\r"), whole, stream)


def put_together(pieces: Sequence[bytes]) -> bytes:
    """The text of consecutive pieces of one line, with the characters that lie across two of them.

    Docker cuts a line at 16 kB, and writes U+FFFD for each byte of a character that it cut. Which one it was, the
    pieces near by tell, for a bar is drawn again and again; where they do not, nobody knows.
    """
    whole = list(pieces)
    for number in range(1, len(whole)):
        if whole[number - 1].endswith(LOST) and whole[number].startswith(LOST):
            before, after = _CUT_BEFORE.sub(b"", whole[number - 1]), _CUT_AFTER.sub(b"", whole[number])
            near = b"".join(whole[max(0, number - _NEAR) : number + _NEAR]).decode("utf-8", "ignore")
            symbol = _symbol_between(
                before[-4:].decode("utf-8", "ignore")[-1:], after[:4].decode("utf-8", "ignore")[:1], near
            )
            if symbol:
                whole[number - 1 : number + 1] = before + symbol.encode(), after
    return b"".join(whole)


def _symbol_between(left: str, right: str, near: str) -> str:
    """What stands between two characters most often where it is no letter, no digit and no mark of a number."""
    if not left or not right or (left.isdigit() and right.isdigit()):
        return ""
    found: list[str] = re.findall(f"(?<={re.escape(left)})[^\\x00-\\x7f\ufffd](?={re.escape(right)})", near)
    symbols = Counter[str](one for one in found if unicodedata.category(one) in _SYMBOLS)
    if not symbols:
        return next((one for one in (left, right) if ord(one) > 127 and unicodedata.category(one) == "So"), "")
    return symbols.most_common(1)[0][0]


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
