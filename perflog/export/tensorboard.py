"""Cases in, TensorBoard's event files out: a TensorBoard run for each case, its metrics as scalars over its runs.

A scalar's step is the number of the run within its case, from 1, so that TensorBoard shows how far runs differ. Records
and events are laid out as in tensorflow/tensorboard (``record_writer.py``, ``event.proto``, ``summary.proto``); no
package is needed to write them. The same cases always give the same bytes: the time of every event is 0.
"""

from __future__ import annotations

import re
import struct
from collections import Counter

from perflog.cases.case import Case
from perflog.extraction import Extraction
from perflog.logs.loggers import masked_checksum

#: The name of each event file: TensorBoard reads files that have ``tfevents`` in their names.
FILE = "events.out.tfevents.0.perflog"
#: Fields by number and wire type, as Protocol Buffers write them.
_WALL_TIME, _STEP, _VERSION, _SUMMARY = b"\x09", b"\x10", b"\x1a", b"\x2a"
_VALUE, _TAG, _SIMPLE_VALUE = b"\x0a", b"\x0a", b"\x15"
_LONGEST_NAME = 150


def to_tensorboard(extraction: Extraction) -> dict[str, bytes]:
    """The event files of all cases that have a value, by their paths below the folder that TensorBoard is given.

    Args:
        extraction: its cases; a case whose runs have no value has no file.
    """
    files: dict[str, bytes] = {}
    named: Counter[str] = Counter()
    for case in extraction.cases:
        records = _events(case)
        if records:
            name = _folder(case)
            named[name] += 1
            own = name if named[name] == 1 else f"{name}~{named[name]}"  # a name holds no ~: no other case has this one
            files[f"{own}/{FILE}"] = _record(_version()) + records
    return files


def _folder(case: Case) -> str:
    """A case's name as the name of a folder: what its key says, in letters, digits, dots, hyphens and underscores."""
    facts = [str(value) if isinstance(value, str) else f"{key}{value}" for key, value in case.key.items()]
    name = re.sub(r"[^\w.-]+", "-", "_".join([*facts, case.label]), flags=re.ASCII).strip("-._")
    return name[:_LONGEST_NAME] or "case"


def _events(case: Case) -> bytes:
    """A record for each run that has a value: its metrics as scalars."""
    records = []
    for number, run in enumerate(case.runs, 1):
        values = {name: metric.value for name, metric in run.metrics.items() if metric.value is not None}
        if values:
            scalars = b"".join(_scalar(name, value) for name, value in values.items())
            event = _WALL_TIME + struct.pack("<d", 0.0) + _STEP + _varint(number) + _SUMMARY + _sized(scalars)
            records.append(_record(event))
    return b"".join(records)


def _version() -> bytes:
    """The first event of every file: which version of the format follows."""
    return _WALL_TIME + struct.pack("<d", 0.0) + _VERSION + _sized(b"brain.Event:2")


def _scalar(tag: str, value: float) -> bytes:
    """A value of a summary: ``tag`` and a float of four bytes, which is what TensorBoard keeps of a scalar."""
    return _VALUE + _sized(_TAG + _sized(tag.encode("utf-8", "replace")) + _SIMPLE_VALUE + struct.pack("<f", value))


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """A whole number from 0 on, seven bits a byte, the lowest first."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _record(data: bytes) -> bytes:
    """A record: the length of its data, a checksum of the length, the data, and a checksum of them."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, struct.pack("<I", masked_checksum(length)), data, struct.pack("<I", masked_checksum(data)))
    )
