"""Compressed bytes in, plain bytes out, piece by piece: gzip, Zstandard, xz, bzip2, LZ4, deflate.

What a stream holds is told by its first bytes, never by the name of its file. Damage is reported after the last
byte before it, so that nothing that could be read is lost.
"""

from __future__ import annotations

import bz2
import importlib
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol, cast

from msgspec import Struct

from perflog.errors import REFUSED, UsageError

# ----------------------------------------------------------------------------------------------------
# What a packed file may cost: how much it may unpack to, and how many members an archive may have; how large a notebook
# may be.
#
# All other reading is streamed, so that the first two limits bound time and not memory. Logs of trainings compress 5 to
# 200 times; 30 KB can be made that unpack to gigabytes. Environment variables raise the limits, since neither a
# ``perflog.toml`` nor a README's recipe, which others may have written, must be able to.

#: The environment variables, and their defaults.
RATIO, MEMBERS, NOTEBOOK = "PERFLOG_UNPACK_RATIO", "PERFLOG_ARCHIVE_MEMBERS", "PERFLOG_NOTEBOOK_MIB"
_DEFAULTS = {RATIO: 1_000, MEMBERS: 200_000, NOTEBOOK: 128}
#: So many bytes every file may unpack to.
FREE = 100 << 20


class UnreadableError(Exception):
    """A file that cannot be read, or whose rest cannot; the text says why.

    ``data`` holds the bytes that could be read before, where the function that raises gives no others.
    """

    def __init__(self, reason: str, data: bytes = b"") -> None:
        super().__init__(reason)
        self.data = data


class LimitError(UnreadableError):
    """A file that is not read to its end because a limit ends it: nothing in it counts."""


class RefusedError(LimitError):
    """A file that the system read no further, though there is more of it: nothing in it counts."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"{REFUSED}{error.strerror or error}")


def limit(variable: str) -> int:
    """The limit of that environment variable, or its default.

    Raises:
        UsageError: when the variable holds no whole number above zero.
    """
    text = os.environ.get(variable, "")
    if not text:
        return _DEFAULTS[variable]
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text)):
        raise UsageError(f"{variable}={text!r}: expected a whole number above zero, such as {_DEFAULTS[variable]}")
    return int(text)


class Budget:
    """What one file may still unpack to, its archive's members and all layers of compression together."""

    def __init__(self, packed: int) -> None:
        self._packed = packed
        self._plain = 0

    def add_packed(self, size: int) -> None:
        """Say that so many more packed bytes came; for what has no size of its own, a pipe."""
        self._packed += size

    def spend(self, size: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            LimitError: when they are more than the file may unpack to.
        """
        self._plain += size
        if self._plain <= FREE:
            return
        ratio = limit(RATIO)
        if self._plain > FREE + ratio * self._packed:
            raise LimitError(
                f"the file unpacks to more than {FREE >> 20} MiB and {ratio:,} times its own size, which no log does: "
                f"it is not read. To have it read, set {RATIO}={10 * ratio}"
            )


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Reads at most so many bytes (not none); empty at the end.
Read = Callable[[int], bytes]
#: So much of a stream's beginning tells what it holds: a header of a tar archive is the longest.
HEAD = 512
#: Compressed bytes given to a decoder at once: few, since a decoder that meets damage keeps their text to itself.
_PIECE = 8 << 10
#: Plain bytes taken from a decoder at once, whatever a piece unpacks to: this keeps memory flat.
_MOST = 256 << 10
#: What an xz decoder may use; `xz -9` makes files that need 65 MiB.
_XZ_MEMORY = 256 << 20
#: The longest window of Zstandard, as a power of two.
_LONGEST_WINDOW = 31


class Stream:
    """Bytes in order; their beginning can be looked at before they are read.

    ``budget``: what the file that they come from may unpack to; None where nothing is unpacked.
    """

    def __init__(self, read: Read, budget: Budget | None = None) -> None:
        self._read = read
        self._head = b""
        self.budget = budget

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; empty at the end.

        Raises:
            UnreadableError: when all bytes before the damage have been given out; again at each further call.
        """
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._read(size)

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, or as many as there are before the end or the damage; they stay unread."""
        while len(self._head) < size:
            try:
                data = self._read(size - len(self._head))
            except UnreadableError:
                break  # raised again by the read that comes to it
            if not data:
                break
            self._head += data
        return self._head[:size]

    def put_back(self, data: bytes) -> None:
        """Make ``data`` the next bytes that are read."""
        self._head = data + self._head


def stream_of(pieces: Iterator[bytes], budget: Budget | None = None) -> Stream:
    """The bytes of pieces, which are made as they are asked for; the error that ends them is raised at each read."""
    rest, fault = memoryview(b""), cast("UnreadableError | None", None)

    def read(size: int) -> bytes:
        nonlocal rest, fault
        while not rest and fault is None:
            try:
                rest = memoryview(next(pieces))
            except StopIteration:
                return b""
            except UnreadableError as error:
                fault = error
        if not rest and fault is not None:
            raise fault
        data, rest = bytes(rest[:size]), rest[size:]
        return data

    return Stream(read, budget)


def stream_of_descriptor(descriptor: int) -> Stream:
    """The bytes of an open file or pipe, from where it stands."""
    try:
        status = os.fstat(descriptor)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    is_file = stat.S_ISREG(status.st_mode)
    budget = Budget(status.st_size if is_file else 0)

    def read(size: int) -> bytes:
        try:
            data = os.read(descriptor, size)
        except OSError as error:
            raise RefusedError(error) from None
        if not is_file:
            budget.add_packed(len(data))
        return data

    return Stream(read, budget)


class _Decoder(Protocol):
    """What the decoders of bz2, lzma and zstd have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Inflate:
    """zlib's decoder with the methods of the others; at damage it gives out the text before it (``data``)."""

    def __init__(self, bits: int) -> None:
        self._decoder = zlib.decompressobj(bits)
        self._filled = False

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._filled and not self._decoder.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        data = self._decoder.unconsumed_tail + data
        before = self._decoder.copy()
        try:
            text = self._decoder.decompress(data, max_length)
        except zlib.error as error:
            raise UnreadableError(str(error), _until_damage(before, data)) from None
        self._filled = len(text) == max_length  # zlib may hold more of it
        return text


def _until_damage(decoder: zlib._Decompress, data: bytes) -> bytes:
    """What ``data`` unpack to, given byte by byte until the decoder refuses one."""
    parts: list[bytes] = []
    with suppress(zlib.error):
        parts.extend(decoder.decompress(data[at : at + 1]) for at in range(len(data)))
    return b"".join(parts)


class Compression(Struct, frozen=True):
    """A way to compress: its name in messages, its decoder, and whether a file may hold several in a row."""

    name: str
    decoder: Callable[[], _Decoder]
    repeats: bool = True


def _zstd_decoder() -> _Decoder:
    """Also for what `zstd --long=31` makes: memory is used only as far as the text goes."""
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _LONGEST_WINDOW})


def _lz4_decoder() -> _Decoder:
    """A decoder of the package lz4, which the extra of that name installs."""
    try:
        frame = importlib.import_module("lz4.frame")
    except ImportError:
        raise UnreadableError("an LZ4 file, for which a package is missing: pip install 'perflog[lz4]'") from None
    decoder: _Decoder = frame.LZ4FrameDecompressor()
    return decoder


GZIP = Compression("gzip", lambda: _Inflate(31))
ZSTD = Compression("zstd", _zstd_decoder)
LZ4 = Compression("LZ4", _lz4_decoder)
XZ = Compression("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))
BZIP2 = Compression("bzip2", bz2.BZ2Decompressor)
#: What zip archives hold; it has no first bytes of its own.
DEFLATE = Compression("zip", lambda: _Inflate(-15), repeats=False)


def compression_of(head: bytes) -> Compression | None:
    """How a stream that begins so is compressed; None when it is not."""
    if head[:2] == b"\x1f\x8b":
        return GZIP
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F):
        return ZSTD  # the second: a frame to be skipped, as some compressors write first
    if head[:4] == b"\x04\x22\x4d\x18":
        return LZ4
    if head[:6] == b"\xfd7zXZ\x00":
        return XZ
    # a text may begin with BZh9: the block after it is looked at too (a first one, or none)
    if head[:3] == b"BZh" and head[3:4] in b"123456789" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return BZIP2
    return None


def decompressed(packed: Stream, compression: Compression) -> Stream:
    """The plain bytes of a compressed stream.

    Raises:
        LimitError: from its ``read``, when the file has unpacked to more than it may.
    """
    return Stream(_Decompressed(packed, compression).read, packed.budget)


class _Decompressed:
    def __init__(self, packed: Stream, compression: Compression) -> None:
        self._packed = packed
        self._compression = compression
        self._ended = False
        self._damage: UnreadableError | None = None
        try:
            self._decoder = compression.decoder()
        except UnreadableError as error:
            self._damage = error

    def read(self, size: int) -> bytes:
        while not self._ended:
            if self._damage is not None:
                raise self._damage
            try:
                data = self._next(min(size, _MOST))
                if self._packed.budget is not None:
                    self._packed.budget.spend(len(data))
            except LimitError as error:
                self._damage, data = error, b""
            except UnreadableError as error:
                self._damage, data = UnreadableError(str(error)), error.data
            if data:
                return data
        return b""

    def _next(self, size: int) -> bytes:
        """Some bytes, or none where the decoder wants more input or has come to an end."""
        if self._decoder.eof:
            self._begin_next_part()
            return b""
        piece = self._packed.read(_PIECE) if self._decoder.needs_input else b""
        if not piece and self._decoder.needs_input:
            raise self._damaged("they end too early")
        try:
            return self._decoder.decompress(piece, size)
        except UnreadableError as error:
            raise self._damaged(str(error), error.data) from None
        except (OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError, zstd.ZstdError) as error:
            raise self._damaged(str(error)) from None

    def _begin_next_part(self) -> None:
        """Several compressed parts may follow each other, with NUL bytes between (tapes, xz); nothing else may."""
        if not self._compression.repeats:
            self._ended = True
            return
        self._packed.put_back(self._decoder.unused_data or b"")  # LZ4's decoder gives None for none
        while (head := self._packed.peek(HEAD)) and not head.strip(b"\x00"):
            self._packed.read(HEAD)
        self._packed.put_back(self._packed.read(HEAD).lstrip(b"\x00"))  # raises where damage is next
        head = self._packed.peek(HEAD)
        if not head:
            self._ended = True
        elif compression_of(head) is self._compression:
            self._decoder = self._compression.decoder()
        else:
            name = self._compression.name
            raise UnreadableError(f"the {name} data are followed by bytes that are not {name}, which are not read")

    def _damaged(self, why: str, data: bytes = b"") -> UnreadableError:
        return UnreadableError(f"the {self._compression.name} data are damaged or cut short: {why}", data)


# ----------------------------------------------------------------------------------------------------
# Bytes at any place of a file or of a store's object: what zip archives need.


class RandomAccess(Protocol):
    """Something whose bytes can be read at any place."""

    @property
    def size(self) -> int:
        """How many bytes there are now."""

    def read_at(self, size: int, place: int) -> bytes:
        """At most ``size`` bytes from ``place`` on; fewer at the end.

        Raises:
            OSError: when a file cannot be read.
            UnreadableError: when an object cannot be had from its server.
        """


class OpenFile:
    """An open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read_at(self, size: int, place: int) -> bytes:
        return os.pread(self._descriptor, size, place)
