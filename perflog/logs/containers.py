"""The bytes of a log in blocks of whole lines, whatever container they are in.

A plain file is cut at line ends without reading it, so that blocks can be read in parallel; compressed files
and UTF-16 text are read in order.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, cast

from perflog.logs.find import LogFile

BLOCK = 8 << 20
#: A line longer than this is cut (a block must end somewhere).
LONGEST_LINE = 64 << 20

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: Reads one block; called in a worker thread.
Load = Callable[[], bytes]


class UnreadableError(Exception):
    """A file that cannot be read, or whose rest cannot; the text says why."""


def read_small(log: LogFile) -> tuple[bytes, str]:
    """All bytes of a log, and what is wrong with its container (empty when nothing is).

    Raises:
        UnreadableError: when not even a part can be read.
    """
    if log.size < 0:
        raise UnreadableError("not a regular file, or not permitted")
    if log.member or log.path.endswith(".zip"):
        return _drain(_zip_blocks(log))
    try:
        with open(log.path, "rb") as file:  # noqa: PTH123 - 20,000 logs: Path objects cost
            data = file.read()
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    if data[:2] == _GZIP or data[:4] == _ZSTD or data[:2] in _UTF16:
        return _drain(_decoded(io.BytesIO(data), data[:4]))
    return data, ""


def _drain(blocks: Iterator[bytes]) -> tuple[bytes, str]:
    parts: list[bytes] = []
    try:
        parts.extend(blocks)
    except UnreadableError as error:
        if not parts:
            raise
        return b"".join(parts), str(error)
    return b"".join(parts), ""


def blocks_of(log: LogFile) -> Iterator[Load]:
    """The log's blocks in order. Raises UnreadableError, at once or when a container turns out to be broken."""
    if log.member or log.path.endswith(".zip"):
        yield from (_given(block) for block in _zip_blocks(log))
        return
    try:
        file = open(log.path, "rb")  # noqa: SIM115, PTH123
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    with file:
        magic = file.read(4)
        file.seek(0)
        if magic[:2] == _GZIP or magic == _ZSTD or magic[:2] in _UTF16:
            yield from (_given(block) for block in _decoded(file, magic))
            return
        yield from _cut(log.path, file.fileno(), os.fstat(file.fileno()).st_size)


def _given(block: bytes) -> Load:
    return lambda: block


def _cut(path: str, descriptor: int, size: int) -> Iterator[Load]:
    start = 0
    while start < size:
        end = _line_end(descriptor, start + BLOCK, start + LONGEST_LINE, size)

        def load(start: int = start, end: int = end) -> bytes:
            with open(path, "rb", buffering=0) as part:  # noqa: PTH123 - of its own: threads share no position
                return os.pread(part.fileno(), end - start, start)

        yield load
        start = end


def _line_end(descriptor: int, at: int, limit: int, size: int) -> int:
    """The first line end at or after ``at``: a line feed, or for one endless progress bar a ``\\r``."""
    carriage = 0
    while at < size:
        chunk = os.pread(descriptor, 1 << 16, at)
        found = chunk.find(b"\n")
        if found >= 0:
            return at + found + 1
        if not carriage and b"\r" in chunk:
            carriage = at + chunk.find(b"\r") + 1
        at += len(chunk)
        if at >= limit:
            return carriage or at
    return size


def _decoded(file: IO[bytes], magic: bytes) -> Iterator[bytes]:
    if magic[:2] == _GZIP:
        yield from _lines(gzip.GzipFile(fileobj=file), "gzip")
    elif magic == _ZSTD:
        yield from _zstd(file)
    else:
        yield from _utf16(file)


def _lines(stream: gzip.GzipFile | zipfile.ZipExtFile, container: str) -> Iterator[bytes]:
    """Blocks of whole lines from a stream; what could be read comes before the error."""
    rest = b""
    while True:
        try:
            data = stream.read1(1 << 20)  # small reads: what precedes the damage is not lost
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            if rest:
                yield rest
            raise UnreadableError(f"the {container} data are damaged or cut short: {error}") from None
        if not data:
            if rest:
                yield rest
            return
        data = rest + data
        if len(data) < BLOCK:
            rest = data
            continue
        at = data.rfind(b"\n") + 1
        if not at and len(data) < LONGEST_LINE:
            rest = data
            continue
        at = at or len(data)
        yield data[:at]
        rest = data[at:]


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Zstandard, through polars (the standard library has it from Python 3.14 on only)."""
    import polars as pl

    source = file.name if isinstance(getattr(file, "name", None), str) else file
    try:
        lines = pl.read_lines(source, name="line") if not isinstance(source, str) else pl.read_lines(source, name="line", glob=False)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise UnreadableError(f"the zstd data are damaged or cut short: {str(error).splitlines()[0]}") from None
    for part in lines.iter_slices(200_000):
        yield ("\n".join(part.to_series().to_list()) + "\n").encode()


def _utf16(file: IO[bytes]) -> Iterator[bytes]:
    text = io.TextIOWrapper(file, encoding="utf-16", errors="replace", newline="")
    while data := text.read(BLOCK // 2):
        yield (data + text.readline()).encode()


def _zip_blocks(log: LogFile) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(log.path) as archive, archive.open(log.member or archive.namelist()[0]) as stream:
            magic = stream.read(4)
        with zipfile.ZipFile(log.path) as archive, archive.open(log.member or archive.namelist()[0]) as stream:
            if magic[:2] == _GZIP:
                yield from _lines(gzip.GzipFile(fileobj=stream), "gzip")
            else:
                yield from _lines(cast(zipfile.ZipExtFile, stream), "zip")
    except (OSError, zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError, IndexError) as error:
        raise UnreadableError(f"the zip archive cannot be read: {error}") from None
