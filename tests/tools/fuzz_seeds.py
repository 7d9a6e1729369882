"""The logs that are mutated, with what each says unharmed (see :mod:`tests.tools.fuzz`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflog.errors import PerflogError
from perflog.extraction import Extraction, extract_logs
from perflog.logs.find import find_logs
from perflog.runs.run import Run
from perflog.settings.options import Options
from tests.support import CORPUS, FIXTURES, catalog, options

#: Longer logs are cut: many small ones find more.
LONGEST = 120_000
_NO_LOGS = (".toml", ".md", ".csv", ".png", ".svg", ".py", ".json", ".gz", ".zip", ".zst", ".tar", ".html")
_UNREAD = re.compile(r"([0-9]+) lines? holds? .* could not be read")
#: What is given to all logs of a batch: nothing, or what most logs that have no number without it lack.
GIVEN: Sequence[Mapping[str, str]] = ({}, {"devices": "1", "batch_size": "32"})


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of a log.

    Attributes:
        values: its throughputs, by unit.
        kinds: its notes and reasons, without their numbers.
        bounds: of each value, between which numbers its rounding leaves it; the value itself where that is not said.
        unread: how many lines its notes name as looking like measured ones and not readable.
        fault: the reason of a log whose reading failed; empty where none did.
    """

    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    fault: str = ""
    bounds: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Seed:
    """A log to be mutated: its path below a folder, its bytes, and what it says with each of :data:`GIVEN`."""

    path: str
    data: bytes
    said: Sequence[Said]


def kind_of(text: str) -> str:
    """A note or a reason without what differs from log to log of one kind."""
    return re.sub(r"[-+]?[0-9][-+0-9.,eE]*|\b(?:nan|inf)\b", "0", re.sub(r"'[^']*'|/\S+", "…", text))


def said_of(runs: Sequence[Run], reason: str = "", fault: str = "") -> Said:
    values: dict[str, list[float]] = {}
    bounds: dict[str, list[tuple[float, float]]] = {}
    kinds = {kind_of(reason)} if reason else set()
    for run in runs:
        metric = run.throughput
        if metric.value is not None:
            values.setdefault(metric.unit, []).append(metric.value)
            bounds.setdefault(metric.unit, []).append(metric.rounding or (metric.value, metric.value))
        kinds.update(kind_of(text) for text in (metric.reason, *run.notes) if text)
    unread = sum(int(count[1]) for run in runs for note in run.notes if (count := _UNREAD.match(note)))
    return Said(values, frozenset(kinds), fault, bounds, unread)


def options_of(given: Mapping[str, str]) -> Options:
    return options(set=dict(given)) if given else options()


def extracted(folders: Sequence[Path], chosen: Options) -> Extraction:
    """The whole way that ``perflog extract`` goes, with a catalogue that is loaded once."""
    return extract_logs(find_logs(folders), chosen, catalog())


def by_folder(extraction: Extraction, folders: Sequence[Path]) -> dict[Path, Said]:
    """What was said of the one log in each folder."""
    runs: dict[str, list[Run]] = {}
    for run in extraction.runs:
        runs.setdefault(run.log.given, []).append(run)
    skipped = {log.log.given: log for log in extraction.skipped}
    said = {}
    for folder in folders:
        key = str(folder)
        left_out = skipped.get(key)
        reason = left_out.reason if left_out is not None else ""
        fault = reason if left_out is not None and left_out.failed else ""
        said[folder] = said_of(runs.get(key, ()), reason, fault)
    return said


def logs() -> dict[str, bytes]:
    """By path, the logs of fixtures and of the corpus, where it is; the first :data:`LONGEST` bytes of each."""
    found = {}
    for root, name in ((FIXTURES, "logs"), (CORPUS, "corpus")):
        for file in sorted(root.rglob("*")) if root.is_dir() else ():
            if not file.is_file() or file.suffix in _NO_LOGS:
                continue
            data = file.read_bytes()[:LONGEST]
            if data and b"\x00" not in data[:100]:
                found[f"{name}/{file.relative_to(root)}"] = data
    return found


def seeds(scratch: Path) -> list[Seed]:
    """All logs with what each says unharmed; each is read from a folder of its own below ``scratch``."""
    found = []
    chosen = [options_of(given) for given in GIVEN]
    for place, (path, data) in enumerate(logs().items()):
        folder = scratch / letters(place)
        file = folder / path
        file.parent.mkdir(parents=True)
        file.write_bytes(data)
        try:
            said = [by_folder(extracted([folder], each), [folder])[folder] for each in chosen]
        except PerflogError as error:
            raise AssertionError(f"{path}: {error}") from error
        found.append(Seed(path, data, said))
    return found


def letters(number: int) -> str:
    """A name for a folder that tells nothing: four letters, no digit."""
    return "".join("bcdfghjkmp"[int(digit)] for digit in f"{number:04d}")
