"""perflog's own parsers and path patterns, read and checked once and then kept in a file.

Reading 90 TOML files and checking their regexes takes ten times as long as reading what came out of it. The file is
written when perflog is installed (``matching/build_hook.py``) or else at the first use, in the user's cache folder.

It counts only where its key is that of the parsers' files as they are now, byte by byte, and of the modules that read
them: an edited parser is seen at once. A file that is damaged, or of another version, counts as none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from perflog._version import __version__
from perflog.formats import MODULES, PATHS, SIZE, hash_of_files, hash_of_modules
from perflog.formats.parser import Parser
from perflog.formats.paths import PathPattern, load_path_patterns

_HERE = Path(__file__).resolve().parent
#: Where the wheel has the file.
_INSTALLED = _HERE.parent / "data" / "formats.msgpack"


class OwnFormats(Struct, frozen=True):
    """perflog's own parsers, in the order of their names, and its path patterns, in the order of their file."""

    parsers: tuple[Parser, ...]
    paths: tuple[PathPattern, ...]


def own_formats(folder: Path) -> OwnFormats:
    """The parsers and path patterns in perflog's own folder, from the file that keeps them where there is one.

    Raises:
        ParserError: for a parser file that is not well formed.
    """
    key = key_of(folder)
    if key is None:
        return load_own_formats(folder)
    cache = _cache_file(folder)
    for file in (_INSTALLED, cache):
        kept = None if file is None else read_own_formats(file, key, folder)
        if kept is not None:
            return kept
    formats = load_own_formats(folder)
    if cache is not None and key_of(folder) == key and hash_of_modules() == MODULES:  # nothing was edited meanwhile
        _keep(formats, key, cache)
    return formats


def load_own_formats(folder: Path) -> OwnFormats:
    """The parsers and path patterns in a folder, read from their TOML files and checked.

    Raises:
        ParserError: for a file that is not well formed.
    """
    from perflog.formats.load import load_folder

    parsers = tuple(replace(parser, own=True) for parser in load_folder(folder))
    return OwnFormats(parsers, load_path_patterns(folder / PATHS, own=True))


def write_own_formats(folder: Path, file: Path) -> None:
    """Write the file that keeps a folder's parsers and path patterns, for an installation.

    Raises:
        ParserError: for a parser file that is not well formed.
        PerflogError: when the file cannot be written, or the folder not be read.
    """
    from perflog.errors import PerflogError
    from perflog.files import write_atomically

    key = key_of(folder)
    if key is None:
        raise PerflogError(f"cannot read the parsers in {str(folder)!r}")
    write_atomically(file, _content(load_own_formats(folder), key), parents=True)


def key_of(folder: Path) -> bytes | None:
    """What the kept file depends on, as a hash; None when some of it cannot be read, which its reader has to tell."""
    try:
        parsers = hash_of_files(str(folder), ".toml")
    except OSError:
        return None
    if MODULES is None:
        return None
    return blake2b(MODULES + parsers + __version__.encode(), digest_size=SIZE).digest()


def _cache_file(folder: Path) -> Path | None:
    """The user's file for this installation; None where the user has no home."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        caches = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    place = blake2b(os.fsencode(folder), digest_size=6).hexdigest()
    return caches / "perflog" / f"formats-{place}.msgpack"


def read_own_formats(file: Path, key: bytes, folder: Path) -> OwnFormats | None:
    """What a file keeps of a folder's formats; None when there is no such file, or it is of another key or damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    body = data[2 * SIZE :]
    if data[:SIZE] != key or data[SIZE : 2 * SIZE] != blake2b(body, digest_size=SIZE).digest():
        return None
    from msgspec import DecodeError, msgpack

    def read(_: type, name: str) -> Path:  # a path is all that msgpack does not know
        return folder / name

    try:
        return msgpack.Decoder(OwnFormats, dec_hook=read).decode(body)
    except DecodeError:
        return None


def _keep(formats: OwnFormats, key: bytes, file: Path) -> None:
    """Write the cache; where it cannot be written the formats are loaded again the next time."""
    from perflog.errors import PerflogError
    from perflog.files import write_atomically

    with suppress(PerflogError):
        write_atomically(file, _content(formats, key), parents=True)


def text_of(item: Path) -> str:
    """What msgspec writes of the one thing in parsers that is no plain data, as its ``enc_hook``: a file's name."""
    return item.name


def _content(formats: OwnFormats, key: bytes) -> bytes:
    """The file's bytes: key, hash of the rest, the rest."""
    from msgspec import msgpack

    body = msgpack.encode(formats, enc_hook=text_of)
    return key + blake2b(body, digest_size=SIZE).digest() + body
