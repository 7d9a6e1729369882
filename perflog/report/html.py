"""The HTML report: one page that holds everything, and behind each number the runs and log lines it stands on.

The page's text comes from templates (``templates/reports/page.*``) with escaping always on: what logs and
paths say is text there and never markup. It loads nothing, and says so to the browser (its CSP).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog._version import __version__
from perflog.cases.case import Case, Summary
from perflog.export.columns import number
from perflog.extraction import Extraction
from perflog.formats.vocabulary import Scalar
from perflog.report.grid import Field, Grid, Item, Projection
from perflog.report.grid import grid as placed
from perflog.report.markdown import Plan, Words, address, environment, method, plan, window_text, words
from perflog.report.svg import inline
from perflog.resources import folder
from perflog.runs.run import Metric, Run

#: What a page of perflog begins with: one may be written over.
BEGINNING = "<!DOCTYPE html>\n<!-- made by perflog"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the page: SVG as ``plot.picture`` makes it, and what it shows in words."""

    kind: str
    svg: bytes
    described: str


def page(extraction: Extraction, pictures: Sequence[Picture], commands: Sequence[str], base: Path, language: str) -> bytes:
    """The whole page, its links to logs relative to ``base``.

    Raises:
        UsageError: when there is no case, or the cases do not fit one table.
    """
    every, chosen = words(language), plan(extraction)
    names, places = case_names(extraction.cases), {id(case): at for at, case in enumerate(extraction.cases)}
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            beginning=BEGINNING,
            version=__version__,
            language={"en": "en", "zh": "zh-Hans"}[language],
            title=every["title"]["report"].format(title=chosen.subject),
            words=every["page"],
            counts={"cases": len(extraction.cases), "runs": len(extraction.runs), "skipped": len(extraction.skipped)},
            environment=environment(extraction, language),
            method=method(extraction, language),
            commands=commands,
            table=_table(extraction, chosen, places, language),
            pictures=[(p.kind, inline(p.svg, p.kind, p.described), p.described) for p in pictures],
            cases=[_case(at, case, names, places.get(id(case.base)), extraction, base, language) for at, case in enumerate(extraction.cases)],
            without=[(at, names[at], c.throughput.reason or "; ".join(c.notes)) for at, c in enumerate(extraction.cases) if c.throughput.value is None],
            skipped=[(s.log.name, s.reason) for s in extraction.skipped],
        )
    )
    return str(text).encode("utf-8", "backslashreplace")  # a path may hold bytes that are no text


def _environment() -> Any:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    loader = FileSystemLoader(folder("templates") / "reports")
    return SandboxedEnvironment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


# ---------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table: its text, the value it is sorted by, its case's place, and the notes it bears."""

    text: str
    value: str
    sort: str
    case: int | None
    marks: tuple[int, ...]


def _table(extraction: Extraction, chosen: Plan, places: dict[int, int], language: str) -> dict[str, Any]:
    """The report's table: the same cells as in Markdown, each with its case."""
    from perflog.report.style import load_style
    from perflog.report.table import TableWords, doubts, how

    cells = placed(extraction, Projection(tuple(map(Field, chosen.rows)), tuple(map(Field, chosen.columns)), chosen.values))
    texts = TableWords(load_style("plain"), language, cells, {}, escape=str)
    notes = doubts(cells)
    return {
        "key_columns": [(texts.title(name), all(isinstance(row[at], int | None) for row in cells.rows)) for at, name in enumerate(chosen.rows)],
        "groups": [" · ".join(_named(f, v) for f, v in zip(chosen.columns, column, strict=True)) for column in cells.columns] if chosen.columns else [],
        "titles": [texts.title(value) for value in chosen.values],
        "columns": len(cells.columns),
        "rows": [
            {"key_cells": [("–" if v is None else texts.shown(v), "" if v is None else str(v)) for v in row], "cells": _cells(cells, row, texts, places, notes)}
            for row in cells.rows
        ],
        "made": how(cells, extraction),
        "notes": notes,
    }


def _named(field: str, value: Scalar | None) -> str:
    return "?" if value is None else f"bs{value}" if field == "batch_size" else str(value)


def _cells(cells: Grid, row: tuple[Scalar | None, ...], texts: Any, places: dict[int, int], notes: list[str]) -> list[Cell]:
    made = []
    for column in cells.columns:
        item = cells.cells.get((row, column))
        for at, value in enumerate(cells.projection.values):
            found = item.numbers.get(value) if item is not None else None
            sort = repr(found.value) if found is not None and found.value is not None and math.isfinite(found.value) else ""
            marks = _marks(item, cells.projection.values, notes) if item is not None and not at else ()
            text = texts.cell(item, value) if sort else "–"
            made.append(Cell(text, value, sort, None if item is None else places[id(item.case)], marks))
    return made


def _marks(item: Item, values: Sequence[str], notes: list[str]) -> tuple[int, ...]:
    said = {*item.notes, *(item.numbers[v].reason for v in values if v in item.numbers and item.numbers[v].value is None)}
    return tuple(at for at, note in enumerate(notes, 1) if note in said)


# ---------------------------------------------------------------- where a number comes from


def case_names(cases: Sequence[Case]) -> list[str]:
    """The cases' short names; where several have the same, with what else they differ in."""
    named: dict[str, list[Case]] = {}
    for case in cases:
        named.setdefault(case.name, []).append(case)
    out = []
    for case in cases:
        same = named[case.name]
        differ = [k for k in dict.fromkeys(k for c in same for k in c.key) if len({str(c.key.get(k)) for c in same}) > 1]
        rest = [str(case.key.get(k, "?")) for k in differ] + [case.label] * (len({c.label for c in same}) > 1)
        out.append(f"{case.name} ({', '.join(rest)})" if rest else case.name)
    return out


def _case(at: int, case: Case, names: Sequence[str], base_at: int | None, extraction: Extraction, base: Path, language: str) -> dict[str, Any]:
    every = words(language)
    metrics = [_summary(s, every) for s in case.metrics.values()]
    for name, value in (("speedup", case.speedup), ("efficiency", case.efficiency)):
        if value is not None and base_at is not None:
            metrics.append({"key": name, "name": every["metrics"][name], "value": f"{value:.10g}", "unit": "", "n": case.throughput.n,
                            "interval": "", "spread": "", "reason": f"{every['page']['relative_to']} {names[base_at]}", "base": base_at})  # fmt: skip
    return {
        "at": at,
        "name": names[at],
        "key": [(every["environment"].get(k, k), v) for k, v in case.key.items()],
        "label": case.label,
        "aggregate": case.throughput.aggregate,
        "estimator": case.estimator,
        "window": window_text(extraction.options.window, language),
        "metrics": metrics,
        "notes": case.notes,
        "folders": _folders(case, base),
        "runs": [_run(run, base, every) for run in case.runs],
    }


def _folders(case: Case, base: Path) -> dict[str, list[tuple[str, str]]]:
    """A case's logs by folder: names and addresses."""
    out: dict[str, dict[str, str]] = {}
    for run in case.runs:
        folder, _, name = run.log.name.rpartition("/")
        out.setdefault(folder or ".", {})[name] = address(run.log.path, base)
    return {folder: list(logs.items()) for folder, logs in out.items()}


def _metric_name(name: str, every: Words) -> str:
    return every["metrics"].get(name, name)


def _summary(s: Summary, every: Words) -> dict[str, Any]:
    interval = f"[{number(s.low)}, {number(s.high)}] {100 * s.level:.4g}%" if s.low is not None and s.high is not None and s.level is not None else ""
    return {
        "key": s.name, "name": _metric_name(s.name, every), "value": _full(s.value), "unit": s.unit, "n": s.n, "interval": interval,
        "spread": "" if s.spread is None else f"{100 * s.spread:.2g}%", "reason": s.reason if s.value is None else "", "base": None,
    }  # fmt: skip


def _run(run: Run, base: Path, every: Words) -> dict[str, Any]:
    sources = every.get("sources", {})
    metadata: dict[str, list[str]] = {}
    for key, value in run.values.items():
        said = run.metadata.sources.get(key, "derived")
        metadata.setdefault(sources.get(said, said), []).append(f"{key}={value}")
    return {
        "log": run.log.name,
        "address": address(run.log.path, base),
        "first_line": run.first_line,
        "last_line": run.last_line,
        "lines": run.lines,
        "parser": run.parser,
        "metrics": [_metric(m, run.parser, every) for m in run.metrics.values()],
        "metadata": metadata,
        "notes": run.notes,
    }


def _metric(m: Metric, parser: str, every: Words) -> dict[str, Any]:
    why = every.get("excluded", {})
    steps = f"{m.first_step:g}–{m.last_step:g}" if m.first_step is not None and m.last_step is not None and m.used else ""
    return {
        "key": m.name, "name": _metric_name(m.name, every), "value": _full(m.value), "unit": m.unit, "estimator": m.estimator, "used": m.used,
        "excluded": [f"{count} {why.get(reason, reason)}" for reason, count in m.excluded.items()],
        "lines": f"{m.first_line}–{m.last_line}" if m.first_line else "", "steps": steps, "parser": m.parser if m.parser != parser else "",
        "reason": m.reason if m.value is None else "",
    }  # fmt: skip


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
