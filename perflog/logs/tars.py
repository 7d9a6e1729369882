"""The members of a tar archive, read once from front to back."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from functools import partial

from perflog.logs.streams import HEAD, Stream, UnreadableError
from perflog.logs.zips import Member, readable_name

#: A tar header's long name or extended header is no longer in an archive that a person made.
_LONGEST_HEADER = 1 << 20
#: What the keys of a pax header begin with that describe a sparse file.
_SPARSE = "GNU.sparse."


def is_header(block: bytes) -> bool:
    """Whether a block of 512 bytes is the header of a member."""
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError:
        return False
    return True


def tar_members(stream: Stream) -> Iterator[Member]:
    """The regular files of a tar archive in its order, each to be read before the next is asked for.

    Raises:
        UnreadableError: when it is damaged, after the members before the damage.
    """
    extended: dict[str, str] = {}
    while (info := _next_header(stream)) is not None:
        if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            extended |= _extended(_header_data(stream, info))
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            extended["path"] = readable_name(_header_data(stream, info).rstrip(b"\x00"))
        elif info.isreg():
            size = _size(extended.get("size"), info.size)
            data = _Part(stream, size)
            if info.type == tarfile.GNUTYPE_SPARSE:
                raise UnreadableError(f"the tar archive holds a sparse file ({info.name}): not read from there on")
            sparse = any(key.startswith(_SPARSE) for key in extended)
            opened = _refuse_sparse if sparse else partial(Stream, data.read, stream.budget)
            name = extended.get("path") or readable_name(info.name.encode("utf-8", "surrogateescape"))
            yield Member(name, size, opened)
            data.skip()
            _skip(stream, -size % 512)
            extended = {}
        elif info.type in tarfile.SUPPORTED_TYPES and info.type not in (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK):
            extended = {}  # folders, links and devices have no data
        else:
            size = _size(None, info.size)
            _skip(stream, size + -size % 512)
    while stream.read(_LONGEST_HEADER):  # a compressed archive's checksum stands at the very end
        pass


def _refuse_sparse() -> Stream:
    raise UnreadableError("a sparse file of a tar archive is not read")


def _next_header(stream: Stream) -> tarfile.TarInfo | None:
    """The next header; None at the mark that ends the archive."""
    block = _exactly(stream, HEAD)
    if not block.strip(b"\x00"):
        return None
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError) as error:
        raise UnreadableError(f"the tar archive is damaged: {error}") from None


def _header_data(stream: Stream, info: tarfile.TarInfo) -> bytes:
    if info.size > _LONGEST_HEADER:
        raise UnreadableError("the tar archive is damaged: an extended header is longer than 1 MiB")
    data = _exactly(stream, info.size)
    _skip(stream, -info.size % 512)
    return data


def _extended(data: bytes) -> dict[str, str]:
    """What counts of a pax header's records: ``LENGTH KEY=VALUE`` and a line feed, LENGTH being that of all of it."""
    records: dict[str, str] = {}
    place, end = 0, len(data.rstrip(b"\x00"))
    while place < end:
        digits, _, _ = data[place : place + 8].partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) <= 7 else 0
        if not len(digits) + 1 < length <= len(data) - place:
            raise UnreadableError("the tar archive is damaged: an extended header is not well formed")
        key, _, value = data[place + len(digits) + 1 : place + length - 1].partition(b"=")
        if key in (b"path", b"size") or key.startswith(_SPARSE.encode()):
            records[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        place += length
    return records


def _size(text: str | None, size: int) -> int:
    if text is not None:
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise UnreadableError("the tar archive is damaged: a size is no number")
        size = int(text)
    if size < 0:
        raise UnreadableError("the tar archive is damaged: a size is negative")
    return size


class _Part:
    """The next ``size`` bytes of a stream."""

    def __init__(self, stream: Stream, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int) -> bytes:
        if not self._left:
            return b""
        data = self._stream.read(min(size, self._left))
        if not data:
            raise _cut_short()
        self._left -= len(data)
        return data

    def skip(self) -> None:
        while self.read(1 << 20):
            pass


def _exactly(stream: Stream, size: int) -> bytes:
    part = _Part(stream, size)
    parts: list[bytes] = []
    while data := part.read(size):
        parts.append(data)
    return b"".join(parts)


def _skip(stream: Stream, size: int) -> None:
    _Part(stream, size).skip()


def _cut_short() -> UnreadableError:
    return UnreadableError("the tar archive is cut short: it ends before the mark that ends an archive")
