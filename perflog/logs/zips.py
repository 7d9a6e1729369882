"""The members of a zip archive, each as a stream.

The archive's directory, which stands at its end, names them; of an archive that is cut off, the members' own headers
tell what is there.
"""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise

from msgspec import Struct

from perflog.logs.streams import (
    BZIP2,
    DEFLATE,
    MEMBERS,
    XZ,
    ZSTD,
    Budget,
    Compression,
    LimitError,
    RandomAccess,
    RefusedError,
    Stream,
    UnreadableError,
    decompressed,
    limit,
)

# ----------------------------------------------------------------------------------------------------
# The directory at the end of a zip archive, entry by entry: it may have any number of them, and is never read whole.
#
# Format: PKWARE's APPNOTE.TXT, 4.3.12 (entries), 4.3.14 to 4.3.16 (the records at the archive's end).

_END, _END_MARK, _LONGEST_COMMENT = struct.Struct("<4s8xIIH"), b"PK\x05\x06", 0xFFFF
_LOCATOR, _LOCATOR_MARK = struct.Struct("<4s4xQ4x"), b"PK\x06\x07"
_LONG_END, _LONG_END_MARK = struct.Struct("<4s36xQQ"), b"PK\x06\x06"
_ENTRY, _ENTRY_MARK = struct.Struct("<4sxB2x2H4x3I3H8xI"), b"PK\x01\x02"
#: Sizes and places that do not fit in an entry stand in this part of its extra field.
_LONG, _ELSEWHERE = 1, 0xFFFFFFFF


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
    wanted = [place for place, number in enumerate(numbers) if number == _ELSEWHERE]
    while wanted and len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == _LONG:
            for place, start in zip(wanted, range(4, min(4 + length, len(extra)) - 7, 8), strict=False):
                (whole[place],) = struct.unpack_from("<Q", extra, start)
            break
        extra = extra[4 + length :]
    return whole


#: Zip's numbers of the ways to compress that are read; 0 is none.
_METHODS: dict[int, Compression] = {8: DEFLATE, 12: BZIP2, 93: ZSTD, 95: XZ}
_ENCRYPTED, _SIZES_BEHIND = 0x1, 0x8
_LOCAL_HEADER = struct.Struct("<4s2xHHxxxxIIIHH")
_LOCAL, _DESCRIPTOR = b"PK\x03\x04", b"PK\x07\x08"
#: The system that wrote an entry: this one parts folders by backslashes.
_DOS = 0
#: Where sizes do not fit in a header, they stand in its extra field.
_IN_EXTRA = 0xFFFFFFFF
#: The sizes and the checksum behind packed data: a mark, the checksum, and two sizes of 4 or 8 bytes.
_LONGEST_SIZES = 24
_PIECE, _CHUNK = 64 << 10, 1 << 20


class Member(Struct, frozen=True):
    """A file in an archive. ``name`` is different for each: a second one of a name has ``(2)`` behind it.

    ``open`` gives its bytes as they are in the archive; a tar's member can be opened until the next one is asked for.
    It raises UnreadableError for what cannot be read.
    """

    name: str
    size: int
    open: Callable[[], Stream]


class _Entry(Struct, frozen=True):
    """Where a member's packed bytes lie, how they are packed, and what they unpack to, as far as that is known."""

    start: int
    end: int
    flags: int
    method: int
    size: int | None
    checksum: int | None


def zip_members(file: RandomAccess) -> Iterator[Member]:
    """The regular files of a zip archive; the directory is read twice, to see first that it is whole.

    Raises:
        UnreadableError: when the directory is missing or damaged, after the members that could be found without it.
        LimitError: when members lie in one another, as they do in no archive but one made to take for ever.
    """
    budget = Budget(file.size)
    try:
        spans = [_least_span(member) for member in islice(listed_members(file), limit(MEMBERS))]
    except (OSError, UnreadableError) as error:
        yield from _members_in_order(file, budget)
        raise UnreadableError(f"the zip archive cannot be read: {error}") from None
    spans.sort()
    if any(end > start for (_, end), (start, _) in pairwise(spans)):
        raise LimitError("the files of the zip archive lie in one another, as no program packs them: it is not read")
    for member in listed_members(file):
        name = _name(member.name, member.system)
        if not name.endswith("/"):
            yield Member(name, member.size, partial(_open_listed, file, member, budget))


def _least_span(member: Listed) -> tuple[int, int]:
    """Where a member's header begins, and where its packed bytes end at the earliest."""
    return member.place, member.place + _LOCAL_HEADER.size + len(member.name) + member.packed


def readable_name(name: bytes) -> str:
    """A member's name. One that is no UTF-8 is read as GB 2312, as Chinese systems write it, else kept byte by byte."""
    for encoding in ("utf-8", "gb2312"):
        try:
            return name.decode(encoding)
        except UnicodeDecodeError:
            continue
    return name.decode("utf-8", "surrogateescape")


def _name(name: bytes, system: int) -> str:
    text = readable_name(name)
    if not text.isascii() and any(0xDC80 <= ord(char) <= 0xDCFF for char in text):
        text = name.decode("cp437")  # what zip's names are in where nothing else is said
    return text.replace("\\", "/") if system == _DOS else text


def _open_listed(file: RandomAccess, member: Listed, budget: Budget) -> Stream:
    try:
        header = file.read_at(_LOCAL_HEADER.size, member.place)
    except OverflowError:  # a place that no file has
        header = b""
    if len(header) < _LOCAL_HEADER.size or header[:4] != _LOCAL:
        raise UnreadableError("the zip data are damaged or cut short: the member is not where the directory says")
    name_length, extra_length = _LOCAL_HEADER.unpack(header)[-2:]
    start = member.place + _LOCAL_HEADER.size + name_length + extra_length
    end = start + member.packed
    return _opened(file, _Entry(start, end, member.flags, member.method, member.size, member.checksum), budget)


def _members_in_order(file: RandomAccess, budget: Budget) -> Iterator[Member]:
    """The members by their own headers, up to the first place where none stands."""
    place, total = 0, file.size
    while len(header := file.read_at(_LOCAL_HEADER.size, place)) == _LOCAL_HEADER.size and header[:4] == _LOCAL:
        _, flags, method, checksum, packed, size, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        name = file.read_at(name_length, place + _LOCAL_HEADER.size)
        start = place + _LOCAL_HEADER.size + name_length + extra_length
        known = not flags & _SIZES_BEHIND and packed != _IN_EXTRA
        end = start + packed if known else _end_of_packed(file, start, method, budget)
        if end is None:
            return
        entry = _Entry(start, min(end, total), flags, method, size if known else None, checksum if known else None)
        if not name.endswith((b"/", b"\\")):
            opened = partial(_opened, file, entry, budget)
            yield Member(_name(name, _DOS), size if known else end - start, opened)
        place = end if known else _after_sizes(file, end)


def _end_of_packed(file: RandomAccess, start: int, method: int, budget: Budget) -> int | None:
    """Where packed data whose length is not told in their header end; None for what does not tell its own end."""
    if method not in _METHODS:
        return None
    decoder, place = _METHODS[method].decoder(), start
    try:
        while not decoder.eof:
            data = file.read_at(_PIECE, place) if decoder.needs_input else b""
            if not data and decoder.needs_input:
                return place
            place += len(data)
            budget.spend(len(decoder.decompress(data, _CHUNK)))
    except LimitError:
        raise
    except (OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError, zlib.error, UnreadableError):
        return place
    return place - len(decoder.unused_data)


def _after_sizes(file: RandomAccess, end: int) -> int:
    """Where the next header stands behind packed data and the sizes and checksum that follow them."""
    behind = file.read_at(_LONGEST_SIZES + 4, end)
    lengths = (16, 24) if behind[:4] == _DESCRIPTOR else (12, 20)
    return end + next((length for length in lengths if behind[length : length + 2] == b"PK"), lengths[0])


def _opened(file: RandomAccess, entry: _Entry, budget: Budget) -> Stream:
    if entry.flags & _ENCRYPTED:
        raise UnreadableError("the member is encrypted")
    if entry.method and entry.method not in _METHODS:
        raise UnreadableError(f"the member is compressed by zip's method {entry.method}, which is not supported")
    packed = _range(file, entry.start, entry.end, budget)
    plain = decompressed(packed, _METHODS[entry.method]) if entry.method else packed
    return _checked(plain, entry)


def _range(file: RandomAccess, start: int, end: int, budget: Budget) -> Stream:
    def read(size: int) -> bytes:
        nonlocal start
        try:
            data = file.read_at(min(size, end - start), start)
        except OSError as error:
            raise RefusedError(error) from None
        start += len(data)
        return data

    return Stream(read, budget)


def _checked(plain: Stream, entry: _Entry) -> Stream:
    """The same bytes; at their end, length and checksum are compared with those that the archive tells."""
    length, checksum = 0, 0

    def read(size: int) -> bytes:
        nonlocal length, checksum
        data = plain.read(size)
        length, checksum = length + len(data), zlib.crc32(data, checksum)
        if not data and entry.size not in (None, length):
            raise UnreadableError(f"the zip data are damaged or cut short: {length} bytes of {entry.size}")
        if not data and entry.checksum not in (None, checksum):
            raise UnreadableError("the zip data are damaged or cut short: the checksum is another")
        return data

    return Stream(read, plain.budget)
