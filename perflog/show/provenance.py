"""Where each number of a page comes from: a case with its runs, their logs, and the lines that they stand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from perflog.cases.case import Case, Summary
from perflog.errors import PerflogError
from perflog.escaping import visible
from perflog.evidence.witness import Witness
from perflog.extraction import Extraction
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, numbered_lines
from perflog.logs.find import LogFile, find_logs
from perflog.measurements.segment import Segment
from perflog.runs.run import Metric, Run
from perflog.runs.sight import Sight
from perflog.settings.config import Settings
from perflog.show.contents import address, slug
from perflog.show.extractions import Extractions
from perflog.show.links import link_to
from perflog.show.steps import SeenTrace, Trace, seen_trace, trace_from
from perflog.show.text import interval, two_digits
from perflog.show.words import Words, in_language, window_text, words
from perflog.show.words import shown as said

# ----------------------------------------------------------------------------------------------------
# Logs read once for a page: cases, step times for its picture, and the log lines that each number stands on.

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

    sight = Sight("lines", _Seen, lambda its: (lines_used(its.run, its.segment), seen_trace(its)), take)
    extraction = extractions.seen(find_logs(logs), settings, settings.options(), sight)
    too_many = most_traces is not None and len(known) > most_traces
    return ReadLogs(extraction, () if too_many else tuple(known), used)


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
    texts = texts_of_lines(run.log, numbers) if run.log.pipe is None else {}
    left_out = max(0, count - len(numbers))
    return [
        Line(number, texts[number], left_out if place == SHOWN and left_out else 0)
        for place, number in enumerate(numbers)
        if number in texts
    ]


def texts_of_lines(log: LogFile, numbers: Sequence[int]) -> dict[int, str]:
    """The lines of these numbers, which rise, as far as the log has them."""
    texts: dict[int, str] = {}
    try:  # it was there a moment ago; where it is not any more, the page says so in place of its lines
        for number, line in numbered_lines(log, numbers):
            texts[number] = _shown(line)
    except (OSError, UnreadableError, PerflogError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        first = next((number for number in numbers if number not in texts), numbers[0])
        texts[first] = visible(f"(the log could not be read again: {why})", lines=True)
    return texts


def _shown(line: bytes) -> str:
    text = visible(clean_block(line[: 4 * LONGEST]).decode("utf-8", "replace").rstrip("\r"), lines=True)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


@dataclass(frozen=True, slots=True)
class Named:
    """The cases of a page.

    Attributes:
        names, ids: their short names and their addresses in the page, by the ids of the objects; no two names are the
            same unless nothing known tells the cases apart.
    """

    names: Mapping[int, str]
    ids: Mapping[int, str]

    def id_of(self, case: Case | None) -> str:
        """The address of a case in the page; empty for one that is not in it."""
        return "" if case is None else self.ids.get(id(case), "")


def named(cases: Sequence[Case]) -> Named:
    """The names and addresses of cases.

    An address is made of what is known of the case alone, so that it leads to the same case when logs are added.
    """
    by_name: dict[str, list[Case]] = {}
    for case in cases:
        by_name.setdefault(case.name, []).append(case)
    counts: Counter[str] = Counter()
    names, ids = {}, {}
    for case in cases:
        same = by_name[case.name]
        keys = dict.fromkeys(key for other in same for key in other.key)
        differing = [key for key in keys if len({str(other.key.get(key)) for other in same}) > 1]
        rest = [str(case.key.get(k, "?")) for k in differing] + [case.label] * (len({c.label for c in same}) > 1)
        names[id(case)] = f"{case.name} ({', '.join(rest)})" if rest else case.name
        known = repr((sorted((key, str(value)) for key, value in case.key.items()), case.label))
        name = f"case-{slug(case.name)[:60]}-{sha256(known.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
        counts[name] += 1
        ids[id(case)] = name if counts[name] == 1 else f"{name}-{counts[name]}"
    return Named(names, ids)


def case_details(case: Case, shown: Named, read: ReadLogs, base: Path, language: str, view: str = "") -> dict[str, Any]:
    """Everything that a page says of a case, for its template; addresses of logs are relative to ``base``.

    Args:
        view: the address of a page of runs over time; empty for none.
    """
    texts, base_id = words("reports", language), shown.id_of(case.base)
    metrics = [_summary(summary, texts, language) for summary in case.metrics.values()]
    quotients = (
        ("speedup", case.speedup, case.speedup_interval), ("efficiency", case.efficiency, case.efficiency_interval),
    )  # fmt: skip
    for name, value, ends in quotients:
        if value is not None and case.base is not None and base_id:
            reason = f"{texts['page']['relative_to']} {shown.names[id(case.base)]}"
            if case.no_interval and name == "speedup":
                reason += "; " + said(case.no_interval, language)
            metrics.append({
                "key": name, "name": texts["metrics"][name], "value": f"{value:.10g}", "unit": "",
                "n": case.throughput.n, "interval": interval(ends.low, ends.high, ends.level) if ends else "",
                "spread": "", "reason": reason, "base": base_id,
            })  # fmt: skip
    folders: dict[str, dict[str, str]] = {}
    for run in case.runs:
        folder, _, name = run.log.name.rpartition("/")
        folders.setdefault(folder or ".", {})[name] = address(run.log.path, base)
    return {
        "id": shown.id_of(case),
        "name": shown.names[id(case)],
        "key": [(texts["environment"].get(k, k), v) for k, v in case.key.items()],
        "label": case.label,
        "aggregate": case.throughput.aggregate,
        "estimator": case.estimator,
        "window": window_text(read.extraction.options.window, language),
        "metrics": metrics,
        "notes": in_language([note.text for note in case.notes], language),
        "folders": [(folder, list(logs.items())) for folder, logs in folders.items()],
        "runs": [
            {**_run(run, read, base, texts, language), "view": link_to(view, [run.log.name]) if view else ""}
            for run in case.runs
        ],
        "view": link_to(view, [run.log.name for run in case.runs]) if view else "",
    }


def _summary(summary: Summary, texts: Words, language: str) -> dict[str, Any]:
    return {
        "key": summary.name, "name": texts["metrics"].get(summary.name, summary.name), "value": _full(summary.value),
        "unit": summary.unit, "n": summary.n, "interval": interval(summary.low, summary.high, summary.level),
        "spread": "" if summary.spread is None else f"{two_digits(100 * summary.spread)}%",
        "reason": said(summary.reason, language) if summary.value is None else "", "base": "",
    }  # fmt: skip


def _run(run: Run, read: ReadLogs, base: Path, texts: Words, language: str) -> dict[str, Any]:
    sources = texts.get("sources", {})
    metadata: dict[str, list[str]] = {}
    for key, value in run.values.items():
        source = run.metadata.sources.get(key, "derived")
        metadata.setdefault(sources.get(source, source), []).append(f"{key}={value}")
    return {
        "log": run.log.name,
        "address": address(run.log.path, base),
        "first_line": run.first_line,
        "last_line": run.last_line,
        "of_lines": texts["page"]["of_lines"].format(lines=run.lines),
        "parser": run.parser,
        "used": lines_of(run, read.used),
        "metrics": [_metric(metric, run.parser, texts, language) for metric in run.metrics.values()],
        "metadata": list(metadata.items()),
        "evidence": [] if run.evidence is None else [_witness(witness, texts) for witness in run.evidence.witnesses],
        "notes": in_language([note.text for note in run.notes], language),
    }


def _witness(witness: Witness, texts: Words) -> dict[str, Any]:
    first, last = witness.lines
    return {
        "name": witness.name,
        "about": texts.get("abouts", {}).get(witness.about, witness.about),
        "measured": f"{witness.measured:.5g}", "told": f"{witness.told:.5g}", "unit": witness.unit,
        "agreement": witness.agreement, "agreement_shown": texts["agreements"][witness.agreement],
        "lines": f"{first}–{last}" if first != last else str(first),
    }  # fmt: skip


def _metric(metric: Metric, parser: str, texts: Words, language: str) -> dict[str, Any]:
    why = texts.get("excluded", {})
    steps = ""
    if metric.first_step is not None and metric.last_step is not None and metric.used:
        steps = f"{metric.first_step:g}–{metric.last_step:g}"
    return {
        "key": metric.name, "name": texts["metrics"].get(metric.name, metric.name), "value": _full(metric.value),
        "unit": metric.unit, "estimator": metric.estimator, "used": metric.used,
        "excluded": [f"{count} {why.get(reason, reason)}" for reason, count in metric.excluded.items()],
        "lines": f"{metric.first_line}–{metric.last_line}" if metric.first_line else "", "steps": steps,
        "parser": metric.parser if metric.parser != parser else "",
        "rounding": "" if metric.rounding is None else "–".join(f"{bound:.4g}" for bound in metric.rounding),
        "reason": said(metric.reason, language) if metric.value is None else "",
    }  # fmt: skip


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
