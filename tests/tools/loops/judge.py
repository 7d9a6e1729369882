"""Made logs, read by perflog, and what became of each."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import Catalog, load_catalog
from perflog.notes import mark_of
from perflog.settings.options import Options
from tests.tools.loops.draw import Draw
from tests.tools.loops.kinds import CLASSES
from tests.tools.loops.truth import Made

#: Logs that are read together.
TOGETHER = 500
#: Letters that spell no fact of a training in a path.
_LETTERS = "bcdghjkqvz"


def made(seed: int, index: int, kind: str | None = None) -> Made:
    """The log of a seed and an index, of a class drawn at random unless one is named."""
    draw = Draw(seed, index)
    chosen = kind or draw.one("class", tuple(CLASSES), [weight for weight, _ in CLASSES.values()])
    log = CLASSES[chosen][1](draw)
    text = log.text if draw.whether("a line feed at the end", 0.85) else log.text.removesuffix("\n")
    if draw.whether("lines end as on Windows", 0.03) and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return Made(chosen, text, log.truth, log.chosen)


@dataclass(frozen=True, slots=True)
class Judged:
    """What perflog said of a log.

    Attributes:
        verdict: ``right``, ``refused``, ``wrong``, ``marked`` (wrong, but with the truth beside it in its cell), ``silent``
            (a log that holds no number got none), ``invented``.
        given: the numbers, in words; ``reason``: why there is none.
        runs: how many runs have a number.
    """

    index: int
    log: Made
    verdict: str
    given: str
    reason: str
    runs: int


def judged(seed: int, indices: Iterable[int], kind: str | None = None, keep: Path | None = None) -> Iterator[Judged]:
    """Make logs, read them, and judge what was given."""
    catalog, batch = load_catalog(), list[int]()
    for index in indices:
        batch.append(index)
        if len(batch) == TOGETHER:
            yield from _together(catalog, seed, batch, kind, keep)
            batch = []
    yield from _together(catalog, seed, batch, kind, keep)


def judged_list(seed: int, kind: str | None, keep: Path | None, indices: Sequence[int]) -> list[Judged]:
    """The same for a process of its own."""
    return list(judged(seed, indices, kind, keep))


def _together(
    catalog: Catalog, seed: int, batch: Sequence[int], kind: str | None, keep: Path | None
) -> Iterator[Judged]:
    with tempfile.TemporaryDirectory(prefix="loops-") as folder:
        root, logs = Path(folder), dict[str, tuple[int, Made]]()
        for index in batch:
            log = made(seed, index, kind)
            for place in (root, keep) if keep else (root,):
                # a folder of its own: logs beside each other may count as repeats of one case
                path = place / spelled(index) / "log.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(log.text.encode())
            logs[spelled(index)] = index, log
        if logs:
            yield from _judged(extract_paths([root], Options(), catalog), logs)


def spelled(index: int) -> str:
    """A folder's name that tells nothing of a training."""
    return "x" + "".join(_LETTERS[int(digit)] for digit in str(index))


def _judged(extraction: Extraction, logs: Mapping[str, tuple[int, Made]]) -> Iterator[Judged]:
    given: dict[str, list[Given]] = {name: [] for name in logs}
    reasons: dict[str, str] = dict.fromkeys(logs, "")
    for run in extraction.runs:
        name, metric = Path(run.log.path).parent.name, run.throughput
        if metric.value is not None:
            mark = mark_of(run.notes)
            given[name].append(Given(metric.value, metric.unit, mark.other if mark else None))
        reasons[name] = reasons[name] or f"{run.parser}: {metric.reason}"
    for left_out in extraction.skipped:
        reasons[Path(left_out.log.path).parent.name] = left_out.reason
    for name, (index, log) in logs.items():
        numbers = given[name]
        words = ", ".join(map(str, numbers))
        yield Judged(index, log, verdict(log, numbers), words, reasons[name], len(numbers))


@dataclass(frozen=True, slots=True)
class Given:
    """A number that perflog gave, and the other one that stands with it in its cell."""

    value: float
    unit: str
    other: float | None = None

    def __str__(self) -> str:
        beside = f" (marked: {self.other:.6g})" if self.other is not None else ""
        return f"{self.value:.6g} {self.unit}{beside}"


def verdict(log: Made, given: Sequence[Given]) -> str:
    """What is to be said of the numbers that were given for a log."""
    if log.truth.holds == "no":
        return "invented" if given else "silent"
    if not given:
        return "refused"
    off = [one for one in given if not log.truth.allows(one.value, one.unit)]
    if not off:
        return "right"
    marked = all(one.other is not None and log.truth.allows(one.other, one.unit) for one in off)
    return "marked" if marked else "wrong"


@dataclass(slots=True)
class Tally:
    """What became of all logs.

    Attributes:
        counts: by class, then what became of its logs; ``refused`` and ``may refuse`` are told apart.
        bad: logs that got a number that is not true.
        must: of the logs whose lines leave one meaning alone, what became of them.
    """

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    bad: list[Judged] = field(default_factory=list)
    must: Counter[str] = field(default_factory=Counter)

    def add(self, one: Judged) -> None:
        counts = self.counts.setdefault(one.log.kind, Counter())
        counts["logs"] += 1
        counts["may refuse" if one.verdict == "refused" and one.log.truth.holds == "may" else one.verdict] += 1
        self.must[one.verdict] += one.log.truth.holds == "yes"
        counts["several runs"] += one.runs > 1
        if one.verdict in ("wrong", "invented"):
            self.bad.append(one)

    @property
    def logs(self) -> int:
        return sum(counts["logs"] for counts in self.counts.values())

    def table(self) -> Iterator[str]:
        """Markdown: a row a class."""
        yield f"| class | {' | '.join(COLUMNS)} |"
        yield "|---|" + "--:|" * len(COLUMNS)
        for kind, counts in [*sorted(self.counts.items()), ("all", sum(self.counts.values(), Counter[str]()))]:
            yield f"| {kind} | {' | '.join(str(counts[column] or '') for column in COLUMNS)} |"


#: ``refused`` holds a number by the rules of reading, ``may refuse`` leaves it open; ``silent`` holds none and got none.
COLUMNS = ("logs", "right", "marked", "refused", "may refuse", "wrong", "silent", "invented", "several runs")
