"""Cases as rows of text: shared by the terminal table and Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field

from perflog.cases.case import Case, short_labels
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS

_TITLES = {"framework_version": "version", "batch_size": "batch/device"}


@dataclass(slots=True)
class TextTable:
    """A table of texts for people.

    Attributes:
        titles: the headings of the columns.
        rows: the cells, as many as there are titles in each row.
        right: for every column, whether its cells stand to the right.
        footnotes: lines under the table.
        caption: how the numbers were made.
    """

    titles: list[str]
    rows: list[list[str]]
    right: list[bool]
    footnotes: list[str] = field(default_factory=list)
    caption: str = ""


def number(value: float | None) -> str:
    """A rate as shown to people: two decimals, or four digits when it is small; empty for none."""
    if value is None:
        return ""
    return f"{value:.2f}" if abs(value) >= 10 or value == 0 else f"{value:.4g}"


def case_table(extraction: Extraction) -> TextTable:
    """The table of cases: what tells them apart, the centre, its interval, speedup and efficiency."""
    cases = extraction.cases
    keys = [k for k in CASE_KEYS if any(k in c.key for c in cases)]
    for extra in dict.fromkeys(k for c in cases for k in c.key if k not in CASE_KEYS):
        if not _told_apart(cases, keys) and len({str(c.key.get(extra, "")) for c in cases}) > 1:
            keys.append(extra)
    labels = short_labels(cases)
    show_label = len(set(labels)) > 1 and not _told_apart(cases, keys)
    others = [n for n in dict.fromkeys(n for c in cases for n in c.metrics) if n in ("time_to_train", "accuracy")]
    titles = [_TITLES.get(k, k) for k in keys] + (["log"] if show_label else [])
    titles += ["n", "throughput", "unit", "interval", *others, "speedup", "efficiency", "notes"]
    notes: dict[str, int] = {}
    rows = []
    for case, label in zip(cases, labels, strict=True):
        marks = [notes.setdefault(note, len(notes) + 1) for note in case.notes]
        rows.append(_cells(case, keys, [label] if show_label else [], others, marks))
    right = [k in ("batch_size", "nodes", "devices", "threads") for k in keys] + [False] * show_label
    right += [True, True, False, False, *([True] * len(others)), True, True, False]
    footnotes = [*(f"{mark}. {note}" for note, mark in notes.items()), *extraction.notes]
    return TextTable(titles, rows, right, footnotes, caption(extraction))


def _cells(case: Case, keys: list[str], label: list[str], others: list[str], marks: list[int]) -> list[str]:
    summary = case.throughput
    interval = ""
    if summary.low is not None and summary.high is not None and summary.level is not None:
        interval = f"[{number(summary.low)}, {number(summary.high)}] {100 * summary.level:.4g}%"
    return [
        *(str(case.key.get(k, "")) for k in keys),
        *label,
        f"{summary.n}" if summary.n == len(case.runs) else f"{summary.n}/{len(case.runs)}",
        number(summary.value) or "no value",
        summary.unit,
        interval,
        *(_other(case, name) for name in others),
        "" if case.speedup is None else f"{case.speedup:.2f}",
        "" if case.efficiency is None else f"{100 * case.efficiency:.1f}%",
        ",".join(str(mark) for mark in sorted(marks)),
    ]


def _other(case: Case, name: str) -> str:
    """The value of a metric beside throughput, with its unit; empty for none."""
    summary = case.metrics.get(name)
    return "" if summary is None or summary.value is None else f"{number(summary.value)} {summary.unit}".strip()


def _told_apart(cases: list[Case], keys: list[str]) -> bool:
    return len({tuple(str(c.key.get(k, "")) for k in keys) for c in cases}) == len(cases)


def counted(count: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def caption(extraction: Extraction) -> str:
    """How the numbers were made: stands under every table."""
    options = extraction.options
    text = f"{options.aggregate} over n runs; estimator {options.estimator}; {options.window}"
    if options.convention:
        text += f"; convention {options.convention}"
    if options.as_printed:
        text += " (values as printed)"
    return f"{text}; {counted(len(extraction.runs), 'run')}, {counted(len(extraction.skipped), 'file')} skipped."
