"""A run: one training, its metadata, the window taken, and its metrics with their sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from perflog.evidence.witness import Verdict
from perflog.formats.moments import Moment, moment_by_shape
from perflog.formats.parser import Pattern
from perflog.formats.vocabulary import Scalar
from perflog.lazy_regex import lazy_regex
from perflog.logs.find import LogFile
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.machine import Machine
from perflog.runs.metadata import Metadata

# ----------------------------------------------------------------------------------------------------
# When a run was under way, by the stamps at the heads of its lines.

#: The form of the stamps, and the seconds of the first and of the last one on that form's clock.
Clock = tuple[str, float, float]


def clock_of(reading: Reading, pattern: Pattern, first_line: int, last_line: int) -> Clock | None:
    """The stamps of the first and the last line of a run of which a sample was kept; None where they have none.

    Stamps of a collector of logs tell when lines arrived, not when they were printed.
    """
    inside = [
        (part, at)
        for part in reading.samples.get(pattern.key, ())
        for at, line in enumerate(part.line.tolist())
        if first_line <= line <= last_line
    ]
    if len(inside) < 2:
        return None
    from perflog.runs.corroborate import heads_of  # what reads kept runs alone needs no evidence

    ends = inside[0], inside[-1]
    texts, places = [part.text[at] for part, at in ends], [part.place[at] for part, at in ends]
    heads = heads_of(texts, places, pattern.literal.encode())
    first, last = map(moment_by_shape, heads)
    return None if not first or not last or not _comparable(first, last) else (first.form, first.seconds, last.seconds)


def _comparable(first: Moment, last: Moment) -> bool:
    return first.form == last.form and not first.collected and first.seconds < last.seconds


@dataclass(slots=True)
class Metric:
    """A number with everything it stands on.

    ``value`` is None when there is none, and ``reason`` says why. ``used`` and ``excluded`` count
    measurements (printed lines); ``first_line`` and ``last_line`` are those of the measurements used.
    """

    name: str
    value: float | None
    unit: str
    estimator: str
    used: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    first_line: int = 0
    last_line: int = 0
    first_step: float | None = None
    last_step: float | None = None
    reason: str = ""
    parser: str = ""
    time_per_step: float | None = None
    #: How far the digits that were printed bound the value: (low, high); None where they bound it closely.
    rounding: tuple[float, float] | None = None
    #: What the number counts, where programs define a metric of this name differently.
    definition: str = ""


@dataclass(slots=True)
class Run:
    """One training run found in one log."""

    log: LogFile
    parser: str
    framework: str
    metadata: Metadata
    label: str
    metrics: dict[str, Metric]
    notes: list[Note]
    window: str
    first_line: int
    last_line: int
    lines: int
    #: What else the log says of the throughput; two runs are compared without it.
    evidence: Verdict | None = field(default=None, compare=False)
    #: From the machine.json nearest to the log; two runs are compared without it.
    machine: Machine | None = field(default=None, compare=False)
    #: When it was under way, by its lines' stamps; two runs are compared without it.
    clock: Clock | None = field(default=None, compare=False)
    #: A hash of the log's text, where one was made while it was read; two runs are compared without it.
    digest: bytes | None = field(default=None, compare=False)

    @property
    def throughput(self) -> Metric:
        return self.metrics["throughput"]

    @property
    def value(self) -> float | None:
        """The number of the run: that of its throughput."""
        return self.throughput.value

    @property
    def values(self) -> Mapping[str, Scalar]:
        return self.metadata.values

    @property
    def metric_names(self) -> Collection[str]:
        """The names of its metrics."""
        return self.metrics.keys()

    def changed(self, **fields: Any) -> Run:
        """The run with other values of some fields."""
        return replace(self, **fields)


@dataclass(slots=True)
class Skipped:
    """A file that is no training log, and why.

    ``failed``: it could not be read, so that it may be a training's after all.
    """

    log: LogFile
    reason: str
    failed: bool = False


Outcome = list[Run] | Skipped
#: How many reasons that logs have no value for are named.
MOST_SKIPPED = 5
_NUMBER = lazy_regex("[0-9]+")


def lines_of_skipped(reasons: Iterable[tuple[str, str]], others: str) -> Iterator[str]:
    """A line for each of the first reasons that logs were left out for, and one for the ``others``.

    Args:
        reasons: by name, why each was. Reasons that differ in numbers alone are one, printed as the first log has it.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for log, why in reasons:
        alike.setdefault(_NUMBER.sub("#", why), []).append((log, why))
    groups = list(alike.values())
    for (log, why), *more in groups[:MOST_SKIPPED]:
        yield f"skipped {log}{f' and {len(more)} more like it' if more else ''}: {why}"
    if rest := sum(map(len, groups[MOST_SKIPPED:])):
        yield f"skipped {rest} more {others}"


#: How the note begins of a run whose devices are the ranks that print in its log.
COUNTED_BY_RANKS = "devices taken from the "
#: The parser of the line that `perflog run` ends a failed training's log with.
FAILURES = "perflog_run"
#: The parser of the line that perflog's own runners begin a log with, and the fact that it tells: the data, in words.
RUNNERS, DATA = "perflog_runner", "data"
