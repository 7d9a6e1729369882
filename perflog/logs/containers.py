"""The bytes of a log, whatever container it is in: whole when it is small, else in blocks of whole lines.

A plain file is cut at line ends without reading it, so that blocks can be read in parallel. Compressed files, members
of archives, text of another encoding and what a collector wrapped are read in order, with one block in memory. How
deep a container may lie in another: an archive or a compressed file may hold compressed files; what these hold is
plain, or not read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from hashlib import blake2b
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.logs.archives import DATABASE, Member, archive_in, archive_of, is_store, members_of
from perflog.logs.blocks import Opened, blocks_of_stream, ranges_of_file, read_range
from perflog.logs.clean import COLLECTED
from perflog.logs.encodings import as_utf8, encoding_of
from perflog.logs.find import STANDARD_INPUT, LogFile, Pipe, is_kernels
from perflog.logs.loggers import is_event_file, text_of_events
from perflog.logs.streams import (
    HEAD,
    Budget,
    LimitError,
    Stream,
    UnreadableError,
    compression_of,
    decompressed,
    stream_of_descriptor,
)
from perflog.logs.unwrap import BEGINNING, SESSION, is_notebook, is_trace, unwrapped, wrapping_of

if TYPE_CHECKING:
    from perflog.logs.stored import StoredObject


# ----------------------------------------------------------------------------------------------------
# What is no regular file, in words: it is named and never read, but for a pipe that the user names.

#: What is never read: to read it may wait for ever, never end, or change what it is.
_KINDS = {
    stat.S_IFCHR: "a device or a terminal, which is not read",
    stat.S_IFBLK: "a device, which is not read",
    stat.S_IFSOCK: "a socket, which is not read",
    stat.S_IFIFO: "a pipe in a folder, which is not read: name the pipe itself to have it read",
}


def why_not_regular(path: str) -> str:
    """Why what was found at a path is not read: it is no regular file, or nothing that can be opened."""
    try:
        status = os.fstat(0) if path == STANDARD_INPUT else Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(path):
                return "the folder could not be read"
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link that leads to itself"
        if error.errno == errno.ENOENT and Path(path).is_symlink():
            return "a link to a file that is not there"
        return error.strerror or str(error)
    if is_kernels(path):
        return "a link to a file of the kernel's, which tells of processes and machines"
    return _KINDS.get(stat.S_IFMT(status.st_mode), "it was no regular file when it was found")


__all__ = [
    "BEGINNING", "BLOCK", "LONGEST_LINE", "Content", "LimitError", "Load", "UnreadableError", "blocks_of", "is_plain",
    "open_small", "read_archive",
]  # fmt: skip

BLOCK = 8 << 20
#: A line longer than this is cut after one of its ``\r``, or left out (a block must end somewhere).
LONGEST_LINE = 8 << 20
#: Reads one block; called in a worker thread. One of a plain file raises UnreadableError when the file has become
#: shorter meanwhile, or cannot be read any more.
Load = Callable[[], bytes]
#: What a member of an archive holds: all of it when it is small, else its blocks, or why it cannot be read.
Content = bytes | Iterator[Load] | UnreadableError
_CHUNK = 1 << 20


def open_small(log: LogFile, most: int, body: Callable[[], bytes] | None = None) -> bytes | None:
    """All bytes of a log, unpacked; None when they are more than ``most`` or a pipe's: ``blocks_of`` gives them.

    Args:
        body: gives the bytes of a store's object, where they were asked for before.

    Raises:
        UnreadableError: when the log cannot be read, or not to its end; its ``data`` are the bytes before (or none).
    """
    if log.text is not None:
        return log.text if len(log.text) <= most else None
    if log.member:
        for _, content in read_archive([log], most):
            if isinstance(content, UnreadableError):
                raise content
            return content if isinstance(content, bytes) else None
    if log.pipe is not None:
        return None
    if log.stored is not None:
        return _small_object(log, log.stored, most, body)
    descriptor, size = _opened(log)
    try:
        data = os.read(descriptor, (size if size <= most else BEGINNING) + 1)
        if not is_plain(data[:BEGINNING], log.place):
            os.lseek(descriptor, 0, os.SEEK_SET)
            return _whole(_text_of_file(log, stream_of_descriptor(descriptor)), most)
        if len(data) == size:
            return data
        stream = stream_of_descriptor(descriptor)  # it grows, or is none whose size is known
        stream.put_back(data)
        return _whole(stream, most) if size <= most else None
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    finally:
        os.close(descriptor)


def _small_object(log: LogFile, stored: StoredObject, most: int, body: Callable[[], bytes] | None) -> bytes | None:
    """What :func:`open_small` gives of a store's object."""
    if stored.size > most:
        return None
    data = stored.body() if body is None else body()
    if is_plain(data[:BEGINNING], log.place):
        return data
    return _whole(_text_of_file(log, Stream(BytesIO(data).read, Budget(len(data)))), most)


def read_into(log: LogFile, buffer: memoryview) -> int:
    """Read a small plain file to the front of a buffer: how many bytes; -1 when it is not plain, or does not fit.

    Reading 20,000 logs into one buffer takes a third of the time of reading each into memory of its own.

    Raises:
        UnreadableError: when the log cannot be read.
    """
    if log.text is not None or log.stored is not None:
        return -1
    descriptor, size = _opened(log)
    try:
        count = os.readv(descriptor, [buffer]) if size < len(buffer) else -1
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    finally:
        os.close(descriptor)
    return count if count == size and is_plain(bytes(buffer[: min(count, BEGINNING)]), log.place) else -1


def stamped_text(log: LogFile, most: int) -> bytes | None:
    """A small file's bytes where a collector put a stamp before its lines, which :func:`blocks_of` takes off.

    None where it did not, where the file cannot be read, and for what is no file of its own or larger than ``most``.
    """
    if log.text is not None or log.member or log.pipe is not None or log.stored is not None or log.size > most:
        return None
    with suppress(OSError, UnreadableError):
        descriptor, size = _opened(log)
        try:
            head = os.read(descriptor, BEGINNING)
            return head + os.read(descriptor, max(size - len(head), 0)) if COLLECTED.match(head) else None
        finally:
            os.close(descriptor)
    return None


def blocks_of(log: LogFile) -> Iterator[Load]:
    """The log's blocks in order; at a broken container the blocks before the damage come first.

    Raises:
        UnreadableError: at once, or when a container turns out to be broken.
    """
    if log.text is not None:
        yield from _loads(Stream(BytesIO(log.text).read))
        return
    if log.member:
        yield from _blocks_of_member(log)
        return
    if log.stored is not None:
        yield from _loads(_text_of_file(log, log.stored.stream()))
        return
    descriptor, size = _opened(log)
    try:
        stream = stream_of_descriptor(descriptor)
        if log.pipe is not None:
            yield from _loads(_text_of_file(log, stream))
        elif is_plain(stream.peek(BEGINNING), log.place):
            file = Opened.of(log.path, descriptor)
            for start, end in ranges_of_file(descriptor, size, BLOCK, LONGEST_LINE):
                yield partial(read_range, file, start, end)
        else:
            yield from _loads(_text_of_file(log, stream))
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    finally:
        os.close(descriptor)


def numbered_lines(log: LogFile, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The raw lines of these numbers, which rise, with them, as far as the log has them; no empty ones.

    Raises:
        UnreadableError: as :func:`blocks_of` does; OSError: where the log is gone.
    """
    before, place = 0, 0
    for load in blocks_of(log) if len(numbers) else ():
        if place == len(numbers):
            break
        block = load()
        end = before + block.count(b"\n")
        if numbers[place] <= end + 1:
            lines = block.split(b"\n")
            while place < len(numbers) and numbers[place] <= end + 1:
                if lines[numbers[place] - before - 1]:
                    yield numbers[place], lines[numbers[place] - before - 1]
                elif numbers[place] == end + 1:
                    break  # it begins with the next block
                place += 1
        before = end


def _blocks_of_member(log: LogFile) -> Iterator[Load]:
    for _, content in read_archive([log], -1):
        if isinstance(content, UnreadableError):
            raise content
        if not isinstance(content, bytes):
            yield from content


def read_archive(logs: Sequence[LogFile], most: int) -> Iterator[tuple[LogFile, Content]]:
    """Members of one archive with what they hold, each once, in the order of the archive: it is read once for all.

    A member of more than ``most`` bytes comes as an iterator of blocks, which must be used up, or is lost, before
    the next member is asked for. One that is cut short or damaged comes as an UnreadableError whose ``data`` are the
    bytes before; as blocks, it raises after them. Members that the archive no longer holds come last.
    """
    wanted = {log.member: log for log in logs}
    why = "the archive holds no such member any more"
    try:
        with closing(members_of(logs[0].path, logs[0].stored)) as members:
            for member in members:
                log = wanted.pop(member.name, None)
                if log is not None:
                    yield log, _content(member, log.place, most)
                if not wanted:
                    return
    except UnreadableError as error:
        why = str(error)
    for log in wanted.values():
        yield log, UnreadableError(why)


def _content(member: Member, name: str, most: int) -> Content:
    try:
        text = _text_of(member.open(), name, 1)
        data = _whole(text, most)
    except UnreadableError as error:
        return error
    return _loads(text) if data is None else data


def _opened(log: LogFile) -> tuple[int, int]:
    """An open file and its size; 0 for a pipe. It does not wait where a pipe has taken a file's place."""
    if log.size < 0:
        raise UnreadableError(why_not_regular(log.path))
    try:
        descriptor = _opened_pipe(log.path, log.pipe) if log.pipe else os.open(log.path, os.O_RDONLY | os.O_NONBLOCK)
        status = os.fstat(descriptor)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    if log.pipe is None and not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnreadableError("no regular file any more: something else has taken its place")
    return descriptor, status.st_size


def _opened_pipe(path: str, pipe: Pipe) -> int:
    """Standard input, or a pipe as soon as someone writes to it; raises OSError when it cannot be opened."""
    if pipe.taken:
        raise UnreadableError("a pipe, which can be read once only")
    pipe.taken = True
    return os.dup(0) if path == STANDARD_INPUT else os.open(path, os.O_RDONLY)


def is_plain(head: bytes, name: str) -> bool:
    """Whether a file holds nothing but a program's text, line for line, by its first ``BEGINNING`` bytes, or all.

    ``name``: the log's place.
    """
    return (
        not encoding_of(head)
        and compression_of(head) is None
        and not archive_of(head)
        and not is_event_file(head)
        and not is_notebook(head, name)
        and not head.startswith(DATABASE)
        and SESSION.match(head) is None
        and not is_trace(head)
        and wrapping_of(head) is None
    )


def _text_of_file(log: LogFile, stream: Stream) -> Stream:
    """The text of a pipe, or of a file that is no plain text: packed, in another encoding, wrapped by a collector."""
    archive, plain = archive_in(stream)
    is_file = log.pipe is None and log.stored is None
    if is_file and plain.peek(HEAD).startswith(DATABASE) and is_store(log.path):
        archive = "MLflow"
    if archive:
        pipes = f"a {archive} archive from a pipe, which is not read: name the file that holds it"
        raise UnreadableError(pipes if log.pipe is not None else _why_not_whole(log, archive))
    return _text_of(plain, log.place, 1)


def _why_not_whole(log: LogFile, kind: str) -> str:
    """Why an archive is not read as one log: `find_logs` names it so when it is damaged, empty or of another format."""
    count = 0
    try:
        for _ in members_of(log.path, log.stored):
            count += 1
    except UnreadableError as error:
        return f"{error} (after {count} of its files)" if count else str(error)
    if count:
        files = "1 file, which is not" if count == 1 else f"{count} files, none of which is"
        return f"a {kind} archive with {files} taken for a log"
    return f"the {kind} archive holds no files"


def _text_of(stream: Stream, name: str, layers: int) -> Stream:
    """The text that the stream of a log of this name holds, in at most so many layers of compression."""
    for _ in range(layers):
        compression = compression_of(stream.peek(HEAD))
        if compression is not None:
            stream = decompressed(stream, compression)
    head = stream.peek(HEAD)
    if compression_of(head) is not None:
        raise UnreadableError("a compressed file in a compressed file in another container: not read")
    if archive_of(head):
        raise UnreadableError("an archive in another container: not read")
    return _program_text(stream, name)


def _program_text(stream: Stream, name: str) -> Stream:
    """The text in UTF-8 or what was meant to be, without what collectors put around its lines."""
    if is_event_file(stream.peek(HEAD)):
        return text_of_events(stream)
    encoding = encoding_of(stream.peek(HEAD))
    text = as_utf8(stream, encoding) if encoding else stream
    if is_notebook(text.peek(BEGINNING), name):
        from perflog.logs.notebooks import text_of_notebook  # few folders hold one

        text = text_of_notebook(text)
    elif SESSION.match(text.peek(HEAD)) is not None:
        from perflog.logs.trackers import text_of_session

        text = text_of_session(text)
    wrapping = wrapping_of(text.peek(BEGINNING), name)
    return text if wrapping is None else unwrapped(text, wrapping)


def _whole(text: Stream, most: int) -> bytes | None:
    """All bytes of a text; None when they are more than ``most``: then the text is as it was."""
    parts: list[bytes] = []
    size = 0
    try:
        while size <= most and (data := text.read(_CHUNK)):
            parts.append(data)
            size += len(data)
    except LimitError:
        raise
    except UnreadableError as error:
        raise UnreadableError(str(error), b"".join(parts)) from None
    if size > most:
        text.put_back(b"".join(parts))
        return None
    return b"".join(parts)


def _loads(text: Stream) -> Iterator[Load]:
    for block in blocks_of_stream(text.read, BLOCK, LONGEST_LINE):
        yield partial(bytes, block)


# ----------------------------------------------------------------------------------------------------
# The same text in two files: a log given twice or copied, packed or plain.

#: Objects of a store up to so many bytes are asked for many at a time: each is in memory while it is hashed.
_SMALL = 4 << 20


TextHash = blake2b


def text_hash() -> TextHash:
    """What makes the hash of a text of its bytes, in their order."""
    return blake2b(digest_size=20)


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
