"""A TensorBoard event file in, a text line for each of its records out.

A scalar becomes ``tfevents tag=loss step=100 value=0.41 wall_time=1714817472.5``, so that parser files can say what a
tag means. A record's line has the record's number: several scalars of one record are sub-lines, one without any
(graphs, images, histograms) is an empty line. Format: tensorflow/tensorboard, ``record_writer.py`` and ``event.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

from perflog.logs.streams import Stream, UnreadableError

#: A record: the length of its data, a checksum of the length, the data, and a checksum of them.
_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_HEADER = _LENGTH.size + _CHECKSUM.size
#: The data of an event begin with its first field, the time: number 1, eight bytes.
_TIME = b"\x09"
#: A record of scalars is no longer than this; longer ones hold images and graphs.
_LONGEST = 1 << 20
#: Fields of Event, Summary, Value and TensorProto.
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_VALUE = 1
_TAG, _SIMPLE_VALUE, _TENSOR = 1, 2, 8
_DTYPE, _CONTENT = 1, 4
#: The number types of tensors: their fields, and how one number is stored there and in ``tensor_content``.
_NUMBERS = {1: (5, "<f"), 2: (6, "<d"), 3: (7, "<i"), 9: (10, "<q")}
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5

Field = tuple[int, int | bytes]


def is_event_file(head: bytes) -> bool:
    """Whether a file begins with a record of an event: by the checksum of its length."""
    if len(head) < _HEADER + 1 or head[_HEADER : _HEADER + 1] != _TIME:
        return False
    return bool(_CHECKSUM.unpack_from(head, _LENGTH.size)[0] == masked_checksum(head[: _LENGTH.size]))


def text_of_events(records: Stream) -> Stream:
    """The scalars of an event file as text.

    Raises:
        UnreadableError: from its ``read``, after the lines of all records before the damage.
    """
    return Stream(_Events(records).read)


def masked_checksum(data: bytes) -> int:
    """CRC-32C, turned and shifted as TensorFlow stores it."""
    value, table = 0xFFFFFFFF, _table()
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


@lru_cache(maxsize=1)
def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


class _Events:
    def __init__(self, records: Stream) -> None:
        self._records = records
        self._line = b""

    def read(self, size: int) -> bytes:
        if not self._line:
            self._line = self._next()
        data, self._line = self._line[:size], self._line[size:]
        return data

    def _next(self) -> bytes:
        """The line of the next record; empty at the end."""
        header = self._exactly(_HEADER)
        if not header:
            return b""
        if len(header) < _HEADER or _CHECKSUM.unpack_from(header, 8)[0] != masked_checksum(header[:8]):
            raise _damaged("cut short" if len(header) < _HEADER else "the length of a record is another")
        length = _LENGTH.unpack_from(header)[0]
        if length > _LONGEST:
            self._skip(length + _CHECKSUM.size)
            return b"\n"
        data, checksum = self._exactly(length), self._exactly(_CHECKSUM.size)
        if len(checksum) < _CHECKSUM.size:
            raise _damaged("cut short")
        line = b"\r".join(_scalars(data))
        if line and _CHECKSUM.unpack(checksum)[0] != masked_checksum(data):
            raise _damaged("the checksum of a record is another")
        return line + b"\n"

    def _exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size and (data := self._records.read(size)):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def _skip(self, size: int) -> None:
        while size:
            data = self._records.read(min(size, _LONGEST))
            if not data:
                raise _damaged("cut short")
            size -= len(data)


def _damaged(why: str) -> UnreadableError:
    return UnreadableError(f"the TensorBoard records are damaged or cut short: {why}")


def _scalars(event: bytes) -> Iterator[bytes]:
    """A line for each scalar of an event; what cannot be understood is no scalar."""
    wall_time, step, summary = b"", 0, b""
    for number, value in _fields(event):
        if number == _WALL_TIME and isinstance(value, bytes) and len(value) == 8:
            wall_time = b"%.6f" % struct.unpack("<d", value)[0]
        elif number == _STEP and isinstance(value, int):
            step = value
        elif number == _SUMMARY and isinstance(value, bytes):
            summary = value
    for number, value in _fields(summary):
        if number == _VALUE and isinstance(value, bytes) and (scalar := _scalar(value)) is not None:
            tag, printed = scalar
            yield b"tfevents tag=%s step=%d value=%s wall_time=%s" % (tag, step, printed, wall_time)


def _scalar(value: bytes) -> tuple[bytes, bytes] | None:
    """(tag, number as text) of a summary's value; None when it holds none, or several."""
    tag, printed = b"", None
    for number, field in _fields(value):
        if number == _TAG and isinstance(field, bytes):
            tag = b" ".join(field.split())
        elif number == _SIMPLE_VALUE and isinstance(field, bytes) and len(field) == 4:
            printed = _printed("<f", field)
        elif number == _TENSOR and isinstance(field, bytes):
            printed = _number_of_tensor(field)
    return None if printed is None else (tag, printed)


def _number_of_tensor(tensor: bytes) -> bytes | None:
    fields = dict(_fields(tensor))
    dtype = fields.get(_DTYPE)
    if not isinstance(dtype, int) or dtype not in _NUMBERS:
        return None
    number, form = _NUMBERS[dtype]
    stored = fields.get(_CONTENT) or fields.get(number)
    if isinstance(stored, int):
        return b"%d" % (stored - (1 << 64) if stored >> 63 else stored)
    return _printed(form, stored) if stored is not None and len(stored) == struct.calcsize(form) else None


def _printed(form: str, stored: bytes) -> bytes:
    number = struct.unpack(form, stored)[0]
    return (f"{number:.9g}" if form == "<f" else repr(number)).encode()


def _fields(message: bytes) -> Iterator[Field]:
    """The fields of a protobuf message, up to its end or to what is no field."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind)
        if kind == _BYTES:
            size, place = _varint(message, place)
        if size is None or place + size > len(message):
            return
        yield number, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            break
    return value, place
