"""Logs read once for a page: cases, step times for its picture, and the log lines that each number stands on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perflog.errors import PerflogError
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.logs.find import LogFile, find_logs
from perflog.measurements.segment import Segment
from perflog.plot.trace import SeenTrace, Trace, seen_trace, trace_from
from perflog.report.extractions import Extractions
from perflog.runs.run import Run
from perflog.runs.sight import Sight
from perflog.settings.config import Settings

#: So many lines are shown from the start of what a number stands on, and as many from its end; and so long they may be.
SHOWN, LONGEST = 3, 300
RunKey = tuple[str, int]
#: What is seen of a run: the lines that count and how many they are, and the step times where it has them.
_Seen = tuple[tuple[tuple[int, ...], int], SeenTrace | None]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log: its number, and its text, in which nothing acts; ``skipped``: how many that count stand before
    it and are not shown.
    """

    number: int
    text: str
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class ReadLogs:
    """What was read.

    Attributes:
        extraction: all cases.
        traces: the step times of the runs that have them.
        used: by run, the numbers of the first and the last lines whose measurements count, and how many count.
    """

    extraction: Extraction
    traces: tuple[Trace, ...]
    used: Mapping[RunKey, tuple[tuple[int, ...], int]]


def key_of(run: Run) -> RunKey:
    """What a run is known by."""
    return run.log.name, run.first_line


def read_with_lines(
    logs: Sequence[str], settings: Settings, extractions: Extractions, most_traces: int | None = None
) -> ReadLogs:
    """Extract, and keep what a page shows beside the cases.

    Args:
        logs: paths of logs.
        settings: the options in force.
        extractions: how files are read, with progress.
        most_traces: where more runs have step times, none are kept; None: no limit.

    Raises:
        UsageError: when a path does not exist, or an option is not right.
    """
    known: list[Trace] = []
    used: dict[RunKey, tuple[tuple[int, ...], int]] = {}

    def take(run: Run, seen: _Seen) -> None:
        lines, trace = seen
        used[key_of(run)] = lines
        if trace is not None and (most_traces is None or len(known) <= most_traces):
            known.append(trace_from(run, trace))

    options, sight = settings.options(), Sight("lines", _Seen, _seen, take)
    extraction = extractions.seen(find_logs(logs), settings, options, sight)
    too_many = most_traces is not None and len(known) > most_traces
    return ReadLogs(extraction, () if too_many else tuple(known), used)


def _seen(run: Run, segment: Segment) -> _Seen:
    """What a page shows of a run beside its numbers."""
    return lines_used(run, segment), seen_trace(run, segment)


def lines_used(run: Run, segment: Segment) -> tuple[tuple[int, ...], int]:
    """The first and the last lines whose measurements a run's throughput stands on, and how many there are."""
    first, last = run.throughput.first_step, run.throughput.last_step
    if first is None or last is None:
        return (), 0
    heads: list[int] = []
    tails: list[int] = []
    count = 0
    for rows in segment.store.blocks():
        lines = rows[5][(rows[0] >= first) & (rows[1] <= last)]
        count += len(lines)
        heads += [int(line) for line in lines[: max(0, SHOWN - len(heads))]]
        tails = [*tails, *(int(line) for line in lines[-SHOWN:])][-SHOWN:]
    return tuple(sorted({*heads, *tails})), count


def lines_of(run: Run, used: Mapping[RunKey, tuple[tuple[int, ...], int]]) -> list[Line]:
    """The lines that a run's throughput stands on, read from its log again.

    Nothing where the log cannot be read twice (a pipe); why not, where it no longer can.
    """
    metric = run.throughput
    numbers, count = used.get(key_of(run), ((), 0))
    if not numbers and metric.value is not None and metric.first_line:
        numbers, count = tuple(sorted({metric.first_line, metric.last_line})), metric.used
    texts = _texts(run.log, numbers) if run.log.pipe is None else {}
    left_out = max(0, count - len(numbers))
    return [
        Line(number, texts[number], left_out if place == SHOWN and left_out else 0)
        for place, number in enumerate(numbers)
        if number in texts
    ]


def _texts(log: LogFile, numbers: Sequence[int]) -> dict[int, str]:
    """The lines of these numbers, which rise, as far as the log has them."""
    texts: dict[int, str] = {}
    if not numbers:
        return texts
    try:  # it was there a moment ago; where it is not any more, the page says so in place of its lines
        before = 0
        for block in _blocks(log):
            lines = block.count(b"\n")
            wanted = [number for number in numbers if before < number <= before + lines + 1]
            texts |= {number: text for number, text in _picked(block, before, wanted) if number not in texts}
            before += lines
            if before >= numbers[-1]:
                break
    except (OSError, UnreadableError, PerflogError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        first = next((number for number in numbers if number not in texts), numbers[0])
        texts[first] = visible(f"(the log could not be read again: {why})", lines=True)
    return texts


def _blocks(log: LogFile) -> Iterator[bytes]:
    for load in blocks_of(log):
        yield load()


def _picked(block: bytes, before: int, wanted: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The wanted lines of a block before which so many lines stand."""
    if not wanted:
        return
    lines = block.split(b"\n")
    for number in wanted:
        line = lines[number - before - 1]
        if line:
            yield number, _shown(line)


def _shown(line: bytes) -> str:
    text = visible(clean_block(line[: 4 * LONGEST]).decode("utf-8", "replace").rstrip("\r"), lines=True)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
