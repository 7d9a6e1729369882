"""What tells one perflog from another: whatever of the installation a log's numbers depend on, as a hash."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from perflog import resources
from perflog._version import LOADED_AT, __version__
from perflog.cache.place import VARIABLE
from perflog.files import LONGEST_FACTS, read_limited
from perflog.formats import ACCELERATORS
from perflog.formats.catalog import Catalog, fingerprint
from perflog.logs.find import LogFile
from perflog.runs.machine import Machine
from perflog.settings.options import Options

#: Bytes of a hash.
SIZE = 16
_PACKAGE = Path(__file__).resolve().parents[1]
#: The files that decide on numbers: modules, the compiled scanner and its source.
_ENDINGS = (".py", ".c", ".h", ".so", ".dylib", ".pyd")
#: Libraries that compute, and whose other versions may give another last digit.
_LIBRARIES = ("numpy", "polars", "msgspec")
_OWN_VARIABLES = "PERFLOG_"
#: Variables that change no number: where the cache is, and with how many threads logs are read.
_NO_MATTER = frozenset({VARIABLE, "PERFLOG_THREADS"})


def program_hash() -> bytes | None:
    """The hash of perflog's own modules, of its libraries' versions and of the variables that change what it does.

    None where that cannot be told: a file cannot be read, or was changed after this process had loaded perflog, which
    may run what stood there before.
    """
    files = files_hash()
    if files is None:
        return None
    try:
        circumstances = repr(_circumstances()).encode("utf-8", "surrogateescape")
    except OSError:
        return None
    return blake2b(files + circumstances, digest_size=SIZE).digest()


def files_hash() -> bytes | None:
    """The hash of perflog's own files; None as :func:`program_hash` gives it."""
    content = blake2b(digest_size=SIZE)
    try:
        for path in sorted(_files()):
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - 400 files for each command
                status = os.fstat(file.fileno())
                data = file.read()
            if max(status.st_mtime_ns, status.st_ctime_ns) > LOADED_AT:
                return None
            content.update(b"%s %d " % (os.fsencode(path), len(data)))
            content.update(data)
    except OSError:
        return None
    return content.digest()


def _files() -> Iterator[str]:
    """All files of the installation that decide on numbers, but for the parsers, which a catalogue holds.

    Raises:
        OSError: when a folder cannot be read.
    """
    yield str(resources.folder("parsers") / ACCELERATORS)
    pending = [str(_PACKAGE)]
    while pending:
        with os.scandir(pending.pop()) as listing:
            for entry in listing:
                if entry.name.endswith(_ENDINGS):
                    yield entry.path
                elif entry.is_dir() and entry.name != "__pycache__":
                    pending.append(entry.path)


def _circumstances() -> tuple[object, ...]:
    """The versions and variables, as plain values.

    Raises:
        OSError: when a library's folder cannot be read.
    """
    own = {
        name: value for name, value in os.environ.items() if name.startswith(_OWN_VARIABLES) and name not in _NO_MATTER
    }
    return __version__, sys.version, [_version_of(name) for name in _LIBRARIES], sorted(own.items())


def _version_of(library: str) -> tuple[object, ...]:
    """What tells a library's version: the names of its metadata's folders, and its own file.

    ``importlib.metadata`` reads the version, and takes a tenth of the time that a second extraction may take.
    """
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        return ()
    place = Path(spec.origin)
    status = place.stat()
    folders = sorted(name for name in os.listdir(place.parents[1]) if name.startswith(f"{library}-"))  # noqa: PTH208
    return status.st_size, status.st_mtime_ns, folders


# ----------------------------------------------------------------------------------------------------
# What a log's outcome depends on beside its content, as hashes: the program, parsers, options, and files beside it.

#: A file of facts beside logs that is read when the cases are made.
_SCALING = "scaling.json"


def surroundings_of(options: Options, catalog: Catalog) -> bytes | None:
    """The hash of all that every log of an extraction depends on; None where that cannot be told."""
    program = program_hash()
    try:
        working_folder = os.getcwd()  # noqa: PTH109 - a text
    except OSError:
        return None
    if program is None:
        return None
    return hash_of(program, fingerprint(catalog), repr(options), working_folder)


def of_one_log(options: Options) -> Options:
    """The options that decide on the outcome of a log: without those that are about the cases of all logs."""
    return replace(options, aggregate="median", baseline={})


def hash_of(*values: object) -> bytes:
    """The hash of plain values."""
    return blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def hash_of_machine(machine: Machine | None) -> bytes:
    """The hash of what a ``machine.json`` says."""
    if machine is None:
        return b""
    facts = json.dumps(machine.facts, sort_keys=False)
    return hash_of(machine.file, facts, machine.folders, machine.problem)


def one_of_each_folder(logs: Sequence[LogFile]) -> list[str]:
    """The path of one log in each folder, in the order of the folders."""
    return list({log.path.rpartition("/")[0]: log.path for log in logs}.values())


def scaling_beside(logs: Sequence[LogFile]) -> list[tuple[str, str]]:
    """The files of MLPerf's factors in the folders of logs, each with a hash of its content, or why it has none."""
    contents: list[tuple[str, str]] = []
    for path in one_of_each_folder(logs):
        file = os.path.join(os.path.dirname(path), _SCALING)  # noqa: PTH118, PTH120
        if not os.path.lexists(file):
            continue
        try:
            content = hash_of(read_limited(Path(file), LONGEST_FACTS)).hex()
        except OSError as error:
            content = str(error)
        contents.append((file, content))
    return contents
