"""The members of archives, in the order of the archive, each as a stream: tar's in ``perflog.logs.tars``, zip's in
``perflog.logs.zips``, the runs of MLflow's database in ``perflog.logs.trackers``.

Archives are read once from front to back, members included: reading all members costs as much as reading the archive.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from perflog.logs.streams import (
    HEAD,
    MEMBERS,
    LimitError,
    OpenFile,
    RandomAccess,
    Stream,
    UnreadableError,
    compression_of,
    decompressed,
    limit,
    stream_of_descriptor,
)
from perflog.logs.zips import Member, zip_members

if TYPE_CHECKING:
    from perflog.logs.stored import StoredObject

__all__ = ["DATABASE", "Member", "archive_in", "archive_of", "is_archive", "is_store", "members_of"]

ZIP, TAR = "zip", "tar"
#: How an SQLite database begins, which may be MLflow's: it is opened by its path, so it must be a file of its own.
DATABASE = b"SQLite format 3\x00"


def archive_of(head: bytes) -> str:
    """What kind of archive begins so; empty when none does."""
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return ZIP
    if head[257:262] == b"ustar" and len(head) >= HEAD:
        from perflog.logs.tars import is_header  # few folders hold one: the library is imported where one stands

        return TAR if is_header(head[:HEAD]) else ""
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
        stream = stream_of_descriptor(descriptor)
        return is_store(path) if stream.peek(HEAD).startswith(DATABASE) else bool(archive_in(stream)[0])
    except UnreadableError:
        return False
    finally:
        os.close(descriptor)


def is_store(path: str) -> bool:
    """Whether an SQLite database is MLflow's and holds a metric."""
    from perflog.logs import trackers  # few folders hold one: SQLite is imported where one stands

    return trackers.is_store(path)


def members_of(path: str, stored: StoredObject | None = None) -> Generator[Member, None, None]:
    """The regular files of an archive in its order.

    Args:
        stored: the archive, where it is an object of a store.

    Raises:
        UnreadableError: when it is damaged, after the members before the damage; when it is no archive.
    """
    if stored is not None:
        yield from _members_in(stored.opened(), stored.stream())
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    try:
        stream = stream_of_descriptor(descriptor)
        if stream.peek(HEAD).startswith(DATABASE):
            yield from _named_apart(_runs_of(path))
        else:
            yield from _members_in(OpenFile(descriptor), stream)
    finally:
        os.close(descriptor)


def _members_in(file: RandomAccess, stream: Stream) -> Iterator[Member]:
    """The members of an archive whose bytes can be had at any place and in order."""
    kind, plain = archive_in(stream)
    if not kind:
        raise UnreadableError("it is not an archive any more")
    yield from _named_apart(zip_members(file) if kind == ZIP else _members_of_tar(plain))


def _runs_of(path: str) -> Iterator[Member]:
    from perflog.logs.trackers import runs_of

    return runs_of(path)


def _members_of_tar(stream: Stream) -> Iterator[Member]:
    from perflog.logs.tars import tar_members

    return tar_members(stream)


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
