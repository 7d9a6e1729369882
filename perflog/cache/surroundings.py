"""What a log's outcome depends on beside its content, as hashes: the program, parsers, options, and files beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from perflog.cache.program import SIZE, program_hash
from perflog.files import LONGEST_FACTS, read_limited
from perflog.formats.catalog import Catalog
from perflog.formats.fingerprint import fingerprint
from perflog.logs.find import LogFile
from perflog.runs.machine import Machine
from perflog.settings.options import Options

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
