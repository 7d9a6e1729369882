"""A comparison told: as a table for people, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any

from perflog._version import __version__
from perflog.cases.case import Case
from perflog.compare.rows import METRICS, Comparison, Row, centre
from perflog.export.columns import Grid, number
from perflog.formats.vocabulary import CASE_KEYS
from perflog.settings.options import Options

SCHEMA = "perflog/comparison/1"
#: How many cases without partner are named to people.
MOST_UNPAIRED = 8
FORMATS = ("table", "markdown", "csv", "json")


def grid(comparison: Comparison, options: Options) -> Grid:
    """The rows as texts: case, n, both medians, ratio with interval, p adjusted, verdict; notes as footnotes."""
    notes: dict[str, int] = {}
    names = names_of([row.pair.old for row in comparison.rows])
    rows = []
    for row, name in zip(comparison.rows, names, strict=True):
        marks = [notes.setdefault(note, len(notes) + 1) for note in _notes(row)]
        rows.append([*_texts(row, name), ",".join(map(str, sorted(set(marks))))])
    unit = units_of([comparison])
    titles = ["case", "n", comparison.old, comparison.new, "ratio", "interval", "p", "adjusted p", "verdict", "notes"]
    right = [False, True, True, True, True, False, True, True, False, False]
    foot = [f"{at}. {note}" for note, at in notes.items()] + summary(comparison)
    return Grid(titles, rows, right, foot, caption(comparison, options, unit))


def units_of(comparisons: Sequence[Comparison]) -> str:
    return " and ".join(dict.fromkeys(row.unit for one in comparisons for row in one.rows if row.unit))


def _texts(row: Row, name: str) -> list[str]:
    found = row.ratio
    counts = f"{found.n_old}" if found.n_old == found.n_new else f"{found.n_old}/{found.n_new}"
    interval = f"[{found.low:.4f}, {found.high:.4f}] {100 * found.level:.4g}%" if found.low is not None and found.high is not None and found.level else ""
    return [
        name,
        counts,
        number(centre(row.old)) or "no value",
        number(centre(row.new)) or "no value",
        f"{found.value:.4f}" if found.value is not None else "",
        interval,
        _p(found.p),
        _p(row.adjusted),
        row.verdict.value,
    ]


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value >= 0.0001 else "<0.0001"


def _notes(row: Row) -> list[str]:
    return list(dict.fromkeys([row.judgement.reason, *row.notes] if row.judgement.reason else row.notes))


def names_of(cases: Sequence[Case]) -> list[str]:
    """Short names: what tells the cases apart, or all that is known of a single one."""
    keys = [k for k in dict.fromkeys((*CASE_KEYS, *(k for c in cases for k in c.key))) if k != "framework_version"]
    varying = [k for k in keys if len({str(c.key.get(k)) for c in cases}) > 1]
    labels = len({c.label for c in cases}) > 1 and len({tuple(str(c.key.get(k)) for k in varying) for c in cases}) < len(cases)
    return [" ".join([*(_word(k, c) for k in varying if k in c.key), *([c.label] if labels else [])]) or c.name for c in cases]


def _word(key: str, case: Case) -> str:
    value = case.key[key]
    if key == "batch_size":
        return f"bs{value}"
    if isinstance(value, int):
        return f"{value} {key.removesuffix('s') if value == 1 else key}"
    return str(value)


def caption(comparison: Comparison, options: Options, unit: str) -> str:
    """How the numbers were made."""
    what = f"{comparison.metric}{f' in {unit}' if unit else ''}, {METRICS[comparison.metric].value} is better"
    rule = f"margin {100 * comparison.margin:g} %, level {100 * comparison.level:g} %; estimator {options.estimator}; {options.window}"
    text = f"{what}; medians over n runs; ratio {comparison.new} / {comparison.old} (Hodges–Lehmann); {rule}"
    return f"{text}; convention {options.convention}." if options.convention else f"{text}."


def summary(comparison: Comparison) -> list[str]:
    """Lines under the table: the geometric mean with what it leaves out, notes on the sides, cases without partner."""
    mean = comparison.mean
    out = []
    if mean.value is not None and mean.n > 1:
        left = f", {mean.left_out} left out (no ratio or no partner)" if mean.left_out else ""
        out.append(f"geometric mean of {mean.n} ratios: {mean.value:.4f}{left}")
    out += comparison.notes
    names = names_of([one.case for one in comparison.unpaired]) if comparison.unpaired else []
    sides = {"old": comparison.old, "new": comparison.new}
    told = [f"not compared: {name} of {sides[one.side]}: {one.reason}" for one, name in zip(comparison.unpaired, names, strict=True)]
    if len(told) > MOST_UNPAIRED:
        told = [*told[:MOST_UNPAIRED], f"not compared: {len(told) - MOST_UNPAIRED} more (--format json lists them)"]
    return out + told


def document(comparisons: Sequence[Comparison], options: Options) -> dict[str, Any]:
    """Everything as plain data, in the schema of docs/compare.md."""
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "options": {"estimator": options.estimator, "window": str(options.window), "convention": options.convention or None},
        "comparisons": [_comparison(one) for one in comparisons],
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    return {
        "old": one.old,
        "new": one.new,
        "metric": one.metric,
        "better": METRICS[one.metric].value,
        "margin": one.margin,
        "level": one.level,
        "rows": [_row(row) for row in one.rows],
        "geometric_mean": {"value": one.mean.value, "rows": one.mean.n, "left_out": one.mean.left_out},
        "notes": one.notes,
        "not_compared": [{"side": u.side, "case": u.case.key, "label": u.case.label, "reason": u.reason} for u in one.unpaired],
    }


def _row(row: Row) -> dict[str, Any]:
    found = row.ratio
    return {
        "case": row.pair.old.key,
        "label": row.pair.old.label,
        "across": list(row.pair.across),
        "unit": row.unit,
        "old": _side(row.old, row.pair.old),
        "new": _side(row.new, row.pair.new),
        "ratio": found.value,
        "interval": None if found.low is None else {"low": found.low, "high": found.high, "level": found.level},
        "p": found.p,
        "adjusted_p": row.adjusted,
        "verdict": row.verdict.value,
        "reason": row.judgement.reason or None,
        "runs_needed": row.judgement.needs,
        "notes": row.notes,
    }


def _side(values: Sequence[float], case: Case) -> dict[str, Any]:
    runs = [{"file": run.log.name, "value": v if math.isfinite(v) else None} for run, v in zip(case.runs, values, strict=True)]
    return {"version": case.key.get("framework_version"), "median": centre(values), "n": len(values), "runs": runs}


def to_json(comparisons: Sequence[Comparison], options: Options) -> str:
    return json.dumps(document(comparisons, options), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def to_csv(comparisons: Sequence[Comparison]) -> str:
    """A line per row."""
    keys = list(dict.fromkeys(k for one in comparisons for row in one.rows for k in row.pair.old.key))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    fields = ["unit", "n_old", "n_new", "median_old", "median_new", "ratio", "low", "high", "level", "p", "adjusted_p", "verdict", "notes"]
    writer.writerow(["old", "new", "metric", *keys, *fields])
    for one in comparisons:
        for row in one.rows:
            found = row.ratio
            numbers = [found.n_old, found.n_new, centre(row.old), centre(row.new), found.value, found.low, found.high, found.level, found.p, row.adjusted]
            given = [row.pair.old.key.get(k, "") for k in keys]
            writer.writerow([one.old, one.new, one.metric, *given, row.unit, *numbers, row.verdict.value, "; ".join(_notes(row))])
    return out.getvalue()
