"""The logs that are mutated, with what each says unharmed (see :mod:`tests.tools.fuzz`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perflog.extraction import Extraction, extract_logs
from perflog.logs.find import find_logs
from perflog.notes import texts
from perflog.runs.run import Run
from perflog.settings.options import Options
from tests.support import CORPUS, FIXTURES, catalog, options
from tests.tools.loops.judge import made, spelled

#: Longer logs are cut: many small ones find more.
LONGEST = 120_000
#: The sizes at which the beginnings of logs are tried, in bytes, and how many records are enough for one.
BEGINNINGS = (3_000, 8_000, 20_000, 60_000)
ENOUGH_RECORDS = 30
#: So many logs of nobody's program are made, by this seed.
MADE, MADE_SEED = 100, 26
_NO_LOGS = (".toml", ".md", ".csv", ".png", ".svg", ".py", ".json", ".gz", ".zip", ".zst", ".tar", ".html")
_UNREAD = re.compile(r"([0-9]+) lines? holds? .* could not be read")
#: What is said of a log whose text another one of the same call has.
SAME_TEXT = "same text"
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
        records: how many measurements its throughputs stand on.
    """

    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    fault: str = ""
    bounds: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    unread: int = 0
    records: int = 0


@dataclass(frozen=True, slots=True)
class Seed:
    """A log to be mutated: its path below a folder, its bytes, and what it says with each of :data:`GIVEN`."""

    path: str
    data: bytes
    said: Sequence[Said]


class Places:
    """Folders that hold one log each, and stay for the next batch: making them anew takes as long as reading a log.

    The folders' names are letters alone, so that nothing is read from them.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers: dict[str, int] = {}
        self._files: dict[tuple[str, int], tuple[Path, Path]] = {}

    def written(self, logs: Iterable[tuple[str, bytes]]) -> list[Path]:
        """Write logs, each under its path below a folder of its own, over those of the call before; these folders."""
        used: Counter[str] = Counter()
        folders = []
        for path, data in logs:
            folder, file = self._place(path, used[path])
            file.write_bytes(data)
            folders.append(folder)
            used[path] += 1
        return folders

    def _place(self, path: str, number: int) -> tuple[Path, Path]:
        """(the folder, the file) of the log that is the ``number``-th of this path."""
        place = self._files.get((path, number))
        if place is None:
            folder = self._root / letters(self._numbers.setdefault(path, len(self._numbers))) / letters(number)
            file = folder / path
            file.parent.mkdir(parents=True)
            place = self._files[path, number] = folder, file
        return place


def kind_of(text: str) -> str:
    """A note or a reason without what differs from log to log of one kind."""
    return re.sub(r"[-+]?[0-9][-+0-9.,eE]*|\b(?:nan|inf)\b", "0", re.sub(r"'[^']*'|/\S+", "…", text))


def said_of(runs: Sequence[Run], reason: str = "", fault: str = "") -> Said:
    """What was said of one log: of its runs, or why it has none."""
    values: dict[str, list[float]] = {}
    bounds: dict[str, list[tuple[float, float]]] = {}
    kinds = {kind_of(reason)} if reason else set()
    for run in runs:
        metric = run.throughput
        if metric.value is not None:
            values.setdefault(metric.unit, []).append(metric.value)
            bounds.setdefault(metric.unit, []).append(metric.rounding or (metric.value, metric.value))
        kinds.update(kind_of(text) for text in (metric.reason, *texts(run.notes)) if text)
    unread = sum(int(count[1]) for run in runs for note in texts(run.notes) if (count := _UNREAD.match(note)))
    records = sum(run.throughput.used for run in runs if run.throughput.value is not None)
    return Said(values, frozenset(kinds), fault, bounds, unread, records)


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
    """By path, the logs of fixtures and of the corpus, where it is, the first :data:`LONGEST` bytes of each; and logs of
    programs that no format describes.
    """
    found = {}
    for root, name in ((FIXTURES, "logs"), (CORPUS, "corpus")):
        for file in sorted(root.rglob("*")) if root.is_dir() else ():
            if not file.is_file() or file.suffix in _NO_LOGS:
                continue
            data = file.read_bytes()[:LONGEST]
            if data and b"\x00" not in data[:100]:
                found[f"{name}/{file.relative_to(root)}"] = data
    return found | {f"made/{spelled(index)}.log": made(MADE_SEED, index).text.encode() for index in range(MADE)}


def whole_seeds(places: Places, every: Mapping[str, bytes]) -> list[Seed]:
    """All logs with what each says unharmed."""
    return _seeds(places, list(every.items()))


def short_seeds(places: Places, whole: Sequence[Seed]) -> list[Seed]:
    """The beginnings of logs: the shortest with as many runs' units and about as many records as are needed.

    A log without a number gives its first few lines.
    """
    short, waiting = [], list(whole)
    for size in BEGINNINGS:
        tried = _seeds(places, [(seed.path, beginning(seed.data, size)) for seed in waiting])
        pairs = list(zip(waiting, tried, strict=True))
        short += [_with_values_of(seed, begun) for seed, begun in pairs if says_enough(seed, begun)]
        waiting = [seed for seed, begun in pairs if not says_enough(seed, begun)]
    return short + waiting


def _with_values_of(whole: Seed, begun: Seed) -> Seed:
    """A beginning that may say what the whole log says too: of a run that was refused for what it prints later."""
    said = [
        replace(own, values={unit: [*own.values[unit], *numbers] for unit, numbers in all_of.values.items()})
        for all_of, own in zip(whole.said, begun.said, strict=True)
    ]
    return replace(begun, said=said)


def beginning(data: bytes, size: int) -> bytes:
    """The whole lines among the first ``size`` bytes; all of them where no line ends there."""
    if len(data) <= size:
        return data
    end = max(data.rfind(b"\n", 0, size), data.rfind(b"\r", 0, size)) + 1
    return data[: end or size]


def says_enough(whole: Seed, begun: Seed) -> bool:
    """Whether a beginning has a number wherever the whole log has one, of enough records or of all that there are."""
    return all(
        set(own.values) == set(all_of.values) and own.records >= min(ENOUGH_RECORDS, all_of.records)
        for all_of, own in zip(whole.said, begun.said, strict=True)
    )


def _seeds(places: Places, named: Sequence[tuple[str, bytes]]) -> list[Seed]:
    """Logs with what each says with each of :data:`GIVEN`."""
    folders = places.written(named)
    told = [list(_told(folders, options_of(given))) for given in GIVEN]
    return [Seed(path, data, said) for (path, data), *said in zip(named, *told, strict=True)]


def _told(folders: Sequence[Path], chosen: Options) -> Iterator[Said]:
    """What is said of the log of each folder; one whose text another has is asked by itself."""
    said = by_folder(extracted(folders, chosen), folders)
    for folder in folders:
        shared = any(SAME_TEXT in kind for kind in said[folder].kinds)
        yield by_folder(extracted([folder], chosen), [folder])[folder] if shared else said[folder]


def letters(number: int) -> str:
    """A name for a folder that tells nothing: four letters, no digit."""
    return "".join("bcdfghjkmp"[int(digit)] for digit in f"{number:04d}")
