"""The members of archives, in the order of the archive, each as a stream: tar's here, zip's in ``perflog.logs.zips``.

Archives are read once from front to back, members included: reading all members costs as much as reading the archive.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Generator, Iterator
from functools import partial

from perflog.logs.limits import MEMBERS, LimitError, UnreadableError, limit
from perflog.logs.streams import HEAD, Stream, compression_of, decompressed, stream_of_descriptor
from perflog.logs.zips import Member, readable_name, zip_members

__all__ = ["Member", "archive_in", "archive_of", "is_archive", "members_of"]

ZIP, TAR = "zip", "tar"
#: A tar header's long name or extended header is no longer in an archive that a person made.
_LONGEST_HEADER = 1 << 20
#: What the keys of a pax header begin with that describe a sparse file.
_SPARSE = "GNU.sparse."


def archive_of(head: bytes) -> str:
    """What kind of archive begins so; empty when none does."""
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return ZIP
    if head[257:262] == b"ustar" and len(head) >= HEAD:
        try:
            tarfile.TarInfo.frombuf(head[:HEAD], "utf-8", "surrogateescape")
        except tarfile.TarError:
            return ""
        return TAR
    return ""


def archive_in(stream: Stream) -> tuple[str, Stream]:
    """What kind of archive a file's bytes are (empty: none), and the stream of it, unpacked where it is compressed."""
    head = stream.peek(HEAD)
    compression = compression_of(head)
    if compression is None:
        return archive_of(head), stream
    plain = decompressed(stream, compression)
    return (TAR, plain) if archive_of(plain.peek(HEAD)) == TAR else ("", plain)


def is_archive(path: str) -> bool:
    """Whether a regular file is an archive. False for one that cannot be opened: reading it tells why."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        head = os.read(descriptor, HEAD)
        if compression_of(head) is None:  # nearly every file: no more than this
            return bool(archive_of(head))
        os.lseek(descriptor, 0, os.SEEK_SET)
        return bool(archive_in(stream_of_descriptor(descriptor))[0])
    except OSError:
        return False
    finally:
        os.close(descriptor)


def members_of(path: str) -> Generator[Member, None, None]:
    """The regular files of an archive in its order.

    Raises:
        UnreadableError: when it is damaged, after the members before the damage; when it is no archive.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    try:
        kind, stream = archive_in(stream_of_descriptor(descriptor))
        if not kind:
            raise UnreadableError("it is not an archive any more")
        yield from _named_apart(zip_members(descriptor) if kind == ZIP else _tar_members(stream))
    finally:
        os.close(descriptor)


def _named_apart(members: Iterator[Member]) -> Iterator[Member]:
    """The members, no two of one name; raises LimitError when they are more than an archive may have."""
    most = limit(MEMBERS)
    counts: dict[str, int] = {}
    for number, member in enumerate(members):
        if number == most:
            raise LimitError(
                f"the archive holds more than {most:,} files: those after them are not read. To have them read, set "
                f"{MEMBERS}={10 * most}"
            )
        name = member.name
        while name in counts:  # a member may be called `a.log (2)` itself
            counts[member.name] += 1
            name = f"{member.name} ({counts[member.name]})"
        counts[name] = 1
        yield member if name == member.name else Member(name, member.size, member.open)


def _tar_members(stream: Stream) -> Iterator[Member]:
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
