"""Cases as rows of text: shared by the terminal table and Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from perflog.cases.case import Case, short_labels
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS

_TITLES = {"framework_version": "version", "batch_size": "batch/device"}


@dataclass(slots=True)
class Grid:
    """A table of texts, with footnotes and a caption."""

    titles: list[str]
    rows: list[list[str]]
    right: list[bool]
    footnotes: list[str] = field(default_factory=list)
    caption: str = ""


_SPECIAL = re.compile(r"[\\|<>`*_\[\]]")


def escaped(text: object) -> str:
    """Text that means itself in a Markdown table and in HTML."""
    plain = str(text).replace("\r", " ").replace("\n", " ").replace("&", "&amp;")
    return _SPECIAL.sub(lambda found: {"<": "&lt;", ">": "&gt;"}.get(found[0], "\\" + found[0]), plain)


def number(value: float | None) -> str:
    """A rate as shown to people: two decimals, or four digits when it is small; empty for none."""
    if value is None:
        return ""
    return f"{value:.2f}" if abs(value) >= 10 or value == 0 else f"{value:.4g}"


def grid(extraction: Extraction) -> Grid:
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
        rows.append(_row(case, keys, [label] if show_label else [], others, marks))
    right = [k in ("batch_size", "nodes", "devices", "threads") for k in keys] + [False] * show_label
    right += [True, True, False, False, *([True] * len(others)), True, True, False]
    return Grid(titles, rows, right, [f"{n}. {note}" for note, n in notes.items()], caption(extraction))


def _row(case: Case, keys: list[str], label: list[str], others: list[str], marks: list[int]) -> list[str]:
    summary = case.throughput
    interval = ""
    if summary.low is not None and summary.high is not None and summary.level is not None:
        interval = f"[{number(summary.low)}, {number(summary.high)}] {100 * summary.level:.4g}%"
    row = [str(case.key.get(k, "")) for k in keys] + label
    row += [
        f"{summary.n}" if summary.n == len(case.runs) else f"{summary.n}/{len(case.runs)}",
        number(summary.value) or "no value",
        summary.unit,
        interval,
    ]
    for name in others:
        other = case.metrics.get(name)
        row.append(f"{number(other.value)} {other.unit}".strip() if other is not None and other.value is not None else "")
    row.append("" if case.speedup is None else f"{case.speedup:.2f}")
    row.append("" if case.efficiency is None else f"{100 * case.efficiency:.1f}%")
    row.append(",".join(str(m) for m in sorted(marks)))
    return row


def _told_apart(cases: list[Case], keys: list[str]) -> bool:
    return len({tuple(str(c.key.get(k, "")) for k in keys) for c in cases}) == len(cases)


def caption(extraction: Extraction) -> str:
    """How the numbers were made: stands under every table."""
    options = extraction.options
    runs = len(extraction.runs)
    window = str(options.window)
    text = f"{options.aggregate} over n runs; estimator {options.estimator}; {window}"
    if options.convention:
        text += f"; convention {options.convention}"
    if options.as_printed:
        text += " (values as printed)"
    return f"{text}; {runs} run{'s' if runs != 1 else ''}, {len(extraction.skipped)} file{'s' if len(extraction.skipped) != 1 else ''} skipped."
