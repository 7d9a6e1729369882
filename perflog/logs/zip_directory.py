"""The directory at the end of a zip archive, entry by entry: it may have any number of them, and is never read whole.

Format: PKWARE's APPNOTE.TXT, 4.3.12 (entries), 4.3.14 to 4.3.16 (the records at the archive's end).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec import Struct

from perflog.logs.limits import UnreadableError
from perflog.logs.random_access import RandomAccess

_END, _END_MARK, _LONGEST_COMMENT = struct.Struct("<4s8xIIH"), b"PK\x05\x06", 0xFFFF
_LOCATOR, _LOCATOR_MARK = struct.Struct("<4s4xQ4x"), b"PK\x06\x07"
_LONG_END, _LONG_END_MARK = struct.Struct("<4s36xQQ"), b"PK\x06\x06"
_ENTRY, _ENTRY_MARK = struct.Struct("<4sxB2x2H4x3I3H8xI"), b"PK\x01\x02"
#: Sizes and places that do not fit in an entry stand in this part of its extra field.
_LONG, _IN_EXTRA = 1, 0xFFFFFFFF


class Listed(Struct, frozen=True):
    """What the directory says of a member.

    Attributes:
        name: as it is stored, in the encoding of ``system`` unless ``flags`` say that it is UTF-8.
        system: the number of the system that wrote the entry.
        size, packed, checksum: of its bytes, unpacked and packed, and their CRC-32.
        place: where its own header stands in the file.
    """

    name: bytes
    system: int
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    place: int


def listed_members(file: RandomAccess) -> Iterator[Listed]:
    """The entries of the directory in its order, folders too.

    Raises:
        UnreadableError: where the directory is missing or damaged, after the entries before the damage.
        OSError: when the file cannot be read.
    """
    start, end, before = _borders(file)
    while start < end:
        header = file.read_at(_ENTRY.size, start)
        if len(header) < _ENTRY.size or header[:4] != _ENTRY_MARK:
            raise UnreadableError("the directory at its end is damaged")
        _, system, flags, method, checksum, packed, size, name, extra, comment, place = _ENTRY.unpack(header)
        text = file.read_at(name + extra, start + _ENTRY.size)
        if len(text) < name + extra:
            raise UnreadableError("the directory at its end is damaged")
        size, packed, place = _long_numbers((size, packed, place), text[name:])
        stored_name = text[:name].partition(b"\x00")[0]
        yield Listed(stored_name, system, flags, method, checksum, packed, size, place + before)
        start += _ENTRY.size + name + extra + comment


def _borders(file: RandomAccess) -> tuple[int, int, int]:
    """Where the directory begins and ends, and how many bytes stand before the archive (a program that unpacks it)."""
    total = file.size
    low = max(0, total - _END.size - _LONGEST_COMMENT)
    tail = file.read_at(total - low, low)
    found = tail.rfind(_END_MARK)
    if found < 0 or len(tail) - found < _END.size:
        raise UnreadableError("the directory at its end is missing")
    end = low + found
    _, size, start, _ = _END.unpack_from(tail, found)
    locator = file.read_at(_LOCATOR.size, max(0, end - _LOCATOR.size))
    if len(locator) == _LOCATOR.size and locator[:4] == _LOCATOR_MARK:
        record_end = end - _LOCATOR.size
        record = file.read_at(_LONG_END.size, max(0, record_end - _LONG_END.size))
        if len(record) == _LONG_END.size and record[:4] == _LONG_END_MARK:
            _, size, start = _LONG_END.unpack(record)
            end = record_end - _LONG_END.size
    before = end - size - start
    if before < 0:
        raise UnreadableError("the directory at its end is damaged")
    return start + before, end, before


def _long_numbers(numbers: tuple[int, ...], extra: bytes) -> list[int]:
    """The numbers of an entry; those that do not fit in it stand in its extra field, in the same order."""
    whole = list(numbers)
    wanted = [place for place, number in enumerate(numbers) if number == _IN_EXTRA]
    while wanted and len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == _LONG:
            for place, start in zip(wanted, range(4, min(4 + length, len(extra)) - 7, 8), strict=False):
                (whole[place],) = struct.unpack_from("<Q", extra, start)
            break
        extra = extra[4 + length :]
    return whole
