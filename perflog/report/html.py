"""The HTML report: one page that holds everything, and behind each number the runs and log lines it stands on.

The page's text comes from templates (``templates/reports/page.*``) with escaping always on: what logs and
paths say is text there and never markup. It loads nothing, and says so to the browser (its CSP).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog._version import __version__
from perflog.cases.case import Case, Summary
from perflog.escaping import visible
from perflog.evidence.witness import Witness
from perflog.export.columns import number
from perflog.extraction import Extraction
from perflog.formats.vocabulary import Scalar
from perflog.plot.picture import Picture
from perflog.report.grid import Field, Grid, Item, Key, Projection
from perflog.report.grid import grid as placed
from perflog.report.markdown import (
    Contents,
    Words,
    address,
    contents,
    environment,
    method,
    window_text,
    words,
)
from perflog.report.svg import inline
from perflog.resources import folder
from perflog.runs.run import Metric, Run

if TYPE_CHECKING:
    from perflog.report.table import TableWords

#: What a page of perflog begins with: one may be written over.
BEGINNING = "<!DOCTYPE html>\n<!-- made by perflog"


def page(
    extraction: Extraction, pictures: Sequence[Picture], commands: Sequence[str], base: Path, language: str
) -> bytes:
    """The whole page, its links to logs relative to ``base``.

    Raises:
        UsageError: when there is no case, or the cases do not fit one table.
    """
    texts, chosen = words(language), contents(extraction)
    names = case_names(extraction.cases)
    places = {id(case): place for place, case in enumerate(extraction.cases)}
    cases = [
        _case(place, names, places.get(id(case.base)), extraction, base, language)
        for place, case in enumerate(extraction.cases)
    ]
    counts = {"cases": len(extraction.cases), "runs": len(extraction.runs), "skipped": len(extraction.skipped)}
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            beginning=BEGINNING,
            version=__version__,
            language={"en": "en", "zh": "zh-Hans"}[language],
            title=texts["title"]["report"].format(title=chosen.subject),
            words=texts["page"],
            counts=counts,
            environment=environment(extraction, language),
            method=method(extraction, language),
            commands=commands,
            table=_table(extraction, chosen, places, language),
            pictures=[(p.kind, inline(p.data, p.kind, p.described), p.described) for p in pictures],
            cases=cases,
            without=_without_value(extraction, names),
            skipped=[(s.log.name, s.reason) for s in extraction.skipped],
        )
    )
    return str(text).encode("utf-8", "backslashreplace")  # a path may hold bytes that are no text


def _without_value(extraction: Extraction, names: Sequence[str]) -> list[tuple[int, str, str]]:
    """The cases without a value: place, name, and the reason."""
    return [
        (place, names[place], case.throughput.reason or "; ".join(case.notes))
        for place, case in enumerate(extraction.cases)
        if case.throughput.value is None
    ]


def _environment() -> Any:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    loader = FileSystemLoader(folder("templates") / "reports")
    return SandboxedEnvironment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen
    )


def _seen(value: Any) -> Any:
    """A value of the page; what cannot be seen in a text, or acts, is made visible."""
    return visible(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


# ---------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table: its text, the value it is sorted by, its case's place, and the notes it bears."""

    text: str
    value: str
    sort: str
    case: int | None
    marks: tuple[int, ...]


def _table(extraction: Extraction, chosen: Contents, places: dict[int, int], language: str) -> dict[str, Any]:
    """The report's table: the same cells as in Markdown, each with its case."""
    from perflog.report.style import load_style
    from perflog.report.table import TableWords, doubts, how

    shown = Projection(tuple(map(Field, chosen.rows)), tuple(map(Field, chosen.columns)), chosen.values)
    grid = placed(extraction, shown)
    texts = TableWords(load_style("plain"), language, grid, {}, escape=str)
    notes = doubts(grid)
    key_columns = [
        (texts.title(name), all(isinstance(row[place], int | None) for row in grid.rows))
        for place, name in enumerate(chosen.rows)
    ]
    groups = [" · ".join(_named(f, v) for f, v in zip(chosen.columns, column, strict=True)) for column in grid.columns]
    rows = [
        {
            "key_cells": [("–" if v is None else texts.shown(v), "" if v is None else str(v)) for v in row],
            "cells": _cells(grid, row, texts, places, notes),
        }
        for row in grid.rows
    ]
    return {
        "key_columns": key_columns,
        "groups": groups if chosen.columns else [],
        "titles": [texts.title(value) for value in chosen.values],
        "columns": len(grid.columns),
        "rows": rows,
        "made": how(grid, extraction),
        "notes": notes,
    }


def _named(field: str, value: Scalar | None) -> str:
    return "?" if value is None else f"bs{value}" if field == "batch_size" else str(value)


def _cells(grid: Grid, row: Key, texts: TableWords, places: dict[int, int], notes: list[str]) -> list[Cell]:
    cells = []
    values = grid.projection.values
    for column in grid.columns:
        item = grid.cells.get((row, column))
        for value in values:
            number = item.numbers.get(value) if item is not None else None
            finite = number is not None and number.value is not None and math.isfinite(number.value)
            sort = repr(number.value) if number is not None and finite else ""
            marks = _marks(item, values, notes) if item is not None and value == values[0] else ()
            text = texts.cell(item, value) if sort else "–"
            cells.append(Cell(text, value, sort, None if item is None else places[id(item.case)], marks))
    return cells


def _marks(item: Item, values: Sequence[str], notes: list[str]) -> tuple[int, ...]:
    """The numbers of the notes that an item bears: its own, and the reasons for values that it lacks."""
    missing = (item.numbers[v].reason for v in values if v in item.numbers and item.numbers[v].value is None)
    own = {*item.notes, *missing}
    return tuple(mark for mark, note in enumerate(notes, 1) if note in own)


# ---------------------------------------------------------------- where a number comes from


def case_names(cases: Sequence[Case]) -> list[str]:
    """The cases' short names; where several have the same, with what else they differ in."""
    named: dict[str, list[Case]] = {}
    for case in cases:
        named.setdefault(case.name, []).append(case)
    names = []
    for case in cases:
        same = named[case.name]
        keys = dict.fromkeys(k for c in same for k in c.key)
        differing = [k for k in keys if len({str(c.key.get(k)) for c in same}) > 1]
        rest = [str(case.key.get(k, "?")) for k in differing] + [case.label] * (len({c.label for c in same}) > 1)
        names.append(f"{case.name} ({', '.join(rest)})" if rest else case.name)
    return names


def _case(
    place: int, names: Sequence[str], base_place: int | None, extraction: Extraction, base: Path, language: str
) -> dict[str, Any]:
    texts, case = words(language), extraction.cases[place]
    metrics = [_summary(summary, texts) for summary in case.metrics.values()]
    for name, value in (("speedup", case.speedup), ("efficiency", case.efficiency)):
        if value is not None and base_place is not None:
            reason = f"{texts['page']['relative_to']} {names[base_place]}"
            metrics.append({
                "key": name, "name": texts["metrics"][name], "value": f"{value:.10g}", "unit": "",
                "n": case.throughput.n, "interval": "", "spread": "", "reason": reason, "base": base_place,
            })  # fmt: skip
    return {
        "at": place,
        "name": names[place],
        "key": [(texts["environment"].get(k, k), v) for k, v in case.key.items()],
        "label": case.label,
        "aggregate": case.throughput.aggregate,
        "estimator": case.estimator,
        "window": window_text(extraction.options.window, language),
        "metrics": metrics,
        "notes": case.notes,
        "folders": _folders(case, base),
        "runs": [_run(run, base, texts) for run in case.runs],
    }


def _folders(case: Case, base: Path) -> dict[str, list[tuple[str, str]]]:
    """A case's logs by folder: names and addresses."""
    folders: dict[str, dict[str, str]] = {}
    for run in case.runs:
        folder, _, name = run.log.name.rpartition("/")
        folders.setdefault(folder or ".", {})[name] = address(run.log.path, base)
    return {folder: list(logs.items()) for folder, logs in folders.items()}


def _metric_name(name: str, texts: Words) -> str:
    return texts["metrics"].get(name, name)


def _summary(summary: Summary, texts: Words) -> dict[str, Any]:
    interval = ""
    if summary.low is not None and summary.high is not None and summary.level is not None:
        interval = f"[{number(summary.low)}, {number(summary.high)}] {100 * summary.level:.4g}%"
    return {
        "key": summary.name, "name": _metric_name(summary.name, texts), "value": _full(summary.value),
        "unit": summary.unit, "n": summary.n, "interval": interval,
        "spread": "" if summary.spread is None else f"{100 * summary.spread:.2g}%",
        "reason": summary.reason if summary.value is None else "", "base": None,
    }  # fmt: skip


def _run(run: Run, base: Path, texts: Words) -> dict[str, Any]:
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
        "lines": run.lines,
        "parser": run.parser,
        "metrics": [_metric(metric, run.parser, texts) for metric in run.metrics.values()],
        "metadata": metadata,
        "evidence": [] if run.evidence is None else [_witness(witness, texts) for witness in run.evidence.witnesses],
        "notes": run.notes,
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


def _metric(metric: Metric, parser: str, texts: Words) -> dict[str, Any]:
    why = texts.get("excluded", {})
    steps = ""
    if metric.first_step is not None and metric.last_step is not None and metric.used:
        steps = f"{metric.first_step:g}–{metric.last_step:g}"
    return {
        "key": metric.name, "name": _metric_name(metric.name, texts), "value": _full(metric.value),
        "unit": metric.unit, "estimator": metric.estimator, "used": metric.used,
        "excluded": [f"{count} {why.get(reason, reason)}" for reason, count in metric.excluded.items()],
        "lines": f"{metric.first_line}–{metric.last_line}" if metric.first_line else "", "steps": steps,
        "parser": metric.parser if metric.parser != parser else "",
        "rounding": "" if metric.rounding is None else "–".join(f"{bound:.4g}" for bound in metric.rounding),
        "reason": metric.reason if metric.value is None else "",
    }  # fmt: skip


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
