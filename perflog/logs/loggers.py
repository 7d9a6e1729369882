"""Files that loggers write in, a text line for each of their records out, so that parser files can say what they mean.

TensorBoard's event files: a scalar becomes ``tfevents tag=loss step=100 value=0.41 wall_time=1714817472.5``. A record's
line has the record's number: several scalars of one record are sub-lines, one without any (graphs, images, histograms)
is an empty line. Format: tensorflow/tensorboard, ``record_writer.py`` and ``event.proto``.

Tables (CSV, tabs between columns): the columns stand in any order, by the header; a row becomes
``csv epoch=0 step=49 loss=0.4``, epoch and step first, empty fields left out. A line of an MLflow metric file becomes
``mlflow time_ms=1714817472123 loss=0.4 step=49``, with the metric's name, which is that of its file; of a metric of the
system the name alone. Each line keeps its place in the file.
"""

from __future__ import annotations

import csv
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from perflog.logs.streams import Stream, UnreadableError, stream_of

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
    return stream_of(_lines(records))


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


def _lines(records: Stream) -> Iterator[bytes]:
    """The line of each record."""
    while header := _exactly(records, _HEADER):
        if len(header) < _HEADER or _CHECKSUM.unpack_from(header, 8)[0] != masked_checksum(header[:8]):
            raise _damaged("cut short" if len(header) < _HEADER else "the length of a record is another")
        length = _LENGTH.unpack_from(header)[0]
        if length > _LONGEST:
            _skip(records, length + _CHECKSUM.size)
            yield b"\n"
            continue
        data, checksum = _exactly(records, length), _exactly(records, _CHECKSUM.size)
        if len(checksum) < _CHECKSUM.size:
            raise _damaged("cut short")
        line = b"\r".join(_scalars(data))
        if line and _CHECKSUM.unpack(checksum)[0] != masked_checksum(data):
            raise _damaged("the checksum of a record is another")
        yield line + b"\n"


def _exactly(records: Stream, size: int) -> bytes:
    parts: list[bytes] = []
    while size and (data := records.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _skip(records: Stream, size: int) -> None:
    while size:
        data = records.read(min(size, _LONGEST))
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


# ----------------------------------------------------------------------------------------------------
# Tables.

#: A column's name: what loggers call their metrics.
_NAME = re.compile(r"[A-Za-z_][\w./|@()%:\- ]*")
#: A row begins with these columns, in this order.
_FIRST = ("epoch", "step", "time")
#: A training's table has one of these columns: those of loggers for reinforcement learning last.
_KNOWN = frozenset({"epoch", "step", "Epoch", "time/iterations", "time/episodes", "misc/nupdates", "nupdates"})
_FIELD = re.compile(r"[-+]?(?:[0-9][0-9.eE+-]*|nan|inf|True|False)?", re.IGNORECASE)
_MLFLOW = re.compile(rb"([0-9]{13}) ([-+0-9.eE]+|nan|inf|-inf|NaN|Infinity)(?: ([0-9]+))?\r?")
#: MLflow takes no longer names of metrics.
_LONGEST_NAME = 250
#: How metrics of the system begin: their steps count samples of a monitor, which no reader is to take for a training's.
_OF_SYSTEM = "system/"
#: Where the store keeps a metric: below the folder of its run, whose name has 32 hexadecimal digits.
_METRIC = re.compile(r"(?:.*/)?[0-9a-f]{32}/metrics/(?P<metric>.+)", re.DOTALL)
#: So many columns a table has at least; so many of its first lines are looked at.
_FEWEST, _LOOKED_AT = 3, 20

#: One line (without its line feed) as it is given on.
Render = Callable[[bytes], bytes]


def renderer_for(lines: Sequence[bytes], name: str) -> Render | None:
    """How a table is rendered that begins with these lines, of which the last may be unfinished; None for no table.

    ``name``: the log's place, empty where it has none.
    """
    filled = [line for line in (lines[:-1] or lines)[:_LOOKED_AT] if line.strip()]
    if filled and all(_MLFLOW.fullmatch(line) for line in filled):
        return _of_mlflow(name)
    between = "\t" if filled and b"\t" in filled[0] and b"," not in filled[0] else ","
    columns = _columns(filled[0], between) if len(filled) > 1 else []
    if columns and all(_row(line, len(columns), between) for line in filled[1:]):
        return _of_csv(columns, between)
    return None


def _columns(header: bytes, between: str) -> list[str]:
    """A header's names; none where it is no header of a training's table."""
    with suppress(UnicodeDecodeError, csv.Error, StopIteration):
        names = [name.strip() for name in next(csv.reader([header.decode()], delimiter=between))]
        known = not _KNOWN.isdisjoint(names)
        if known and len(names) >= _FEWEST and all(map(_NAME.fullmatch, names)) and len(set(names)) == len(names):
            return names
    return []


def _row(line: bytes, count: int, between: str) -> list[str]:
    """A row's fields; none where it is no row of so many numbers."""
    with suppress(UnicodeDecodeError, csv.Error, StopIteration):
        fields = [field.strip() for field in next(csv.reader([line.decode()], delimiter=between))]
        if len(fields) == count and all(map(_FIELD.fullmatch, fields)):
            return fields
    return []


def _of_csv(columns: Sequence[str], between: str) -> Render:
    order = sorted(range(len(columns)), key=lambda n: (_FIRST.index(columns[n]) if columns[n] in _FIRST else 9, n))
    names = [re.sub(r"\s", "_", name) for name in columns]

    def render(line: bytes) -> bytes:
        fields = _row(line, len(columns), between)
        if not fields:
            return line
        return " ".join(["csv", *(f"{names[n]}={fields[n]}" for n in order if fields[n])]).encode()

    return render


def _of_mlflow(name: str) -> Render:
    stored = _METRIC.fullmatch(name)
    metric = re.sub(r"[\s=]", "_", stored["metric"] if stored else name.rpartition("/")[2])
    named = (metric if metric not in ("", "-") and len(metric) <= _LONGEST_NAME else "value").encode("utf-8", "replace")
    of_system = metric.startswith(_OF_SYSTEM)

    def render(line: bytes) -> bytes:
        found = _MLFLOW.fullmatch(line)
        if found is None:
            return line
        if of_system:
            return b"mlflow metric of the system, no step: " + named
        step = b" step=" + found[3] if found[3] else b""
        return b"mlflow time_ms=%s %s=%s%s" % (found[1], named, found[2], step)

    return render
