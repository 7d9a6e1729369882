"""The same text in two files: a log given twice or copied, packed or plain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from perflog.logs.containers import Load, blocks_of, read_archive
from perflog.logs.find import LogFile
from perflog.logs.streams import UnreadableError

#: Objects of a store up to so many bytes are asked for many at a time: each is in memory while it is hashed.
_SMALL = 4 << 20
TextHash = hashlib.blake2b


def text_hash() -> TextHash:
    """What makes the hash of a text of its bytes, in their order."""
    return hashlib.blake2b(digest_size=20)


def digests(logs: Sequence[LogFile]) -> dict[LogFile, bytes | None]:
    """A hash of each log's text, whatever it is packed in; None where it cannot be read to its end, or once more.

    An archive is read once for all of its members: with a look for each, many of them would take for ever.
    """
    hashes: dict[LogFile, bytes | None] = {}
    in_order = sorted(logs, key=lambda log: (log.path, not log.member))
    for (_, is_member), group in groupby(in_order, key=lambda log: (log.path, bool(log.member))):
        if is_member:
            hashes |= _of_members(list(group))
        else:
            hashes |= {log: _hash(blocks_of(log)) for log in group if not _is_small_object(log)}
    return hashes | _of_objects([log for log in in_order if _is_small_object(log)])


def _is_small_object(log: LogFile) -> bool:
    return log.stored is not None and not log.member and log.size <= _SMALL


def _of_objects(logs: Sequence[LogFile]) -> dict[LogFile, bytes | None]:
    """The same of a store's small objects, many at a time, since a server takes its time for each."""
    if not logs:
        return {}
    from concurrent.futures import ThreadPoolExecutor

    from perflog.logs.stored import THREADS

    with ThreadPoolExecutor(THREADS, thread_name_prefix="perflog-store") as pool:
        return dict(zip(logs, pool.map(lambda log: _hash(blocks_of(log)), logs), strict=True))


def _of_members(logs: Sequence[LogFile]) -> Iterator[tuple[LogFile, bytes | None]]:
    for log, content in read_archive(logs, -1):
        yield log, None if isinstance(content, bytes | UnreadableError) else _hash(content)


def _hash(loads: Iterable[Load]) -> bytes | None:
    content = text_hash()
    try:
        for load in loads:
            content.update(load())
    except UnreadableError:
        return None
    return content.digest()
