"""Comparisons for machines: JSON in the schema of docs/compare.md, and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from perflog._version import __version__
from perflog.cases.case import Case
from perflog.compare.columns import mark_beside, notes_of, other_ratio
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.rule import keys_of
from perflog.compare.sentences import opening
from perflog.escaping import csv_cell, json_text
from perflog.export.case_table import unknown_name

SCHEMA = "perflog/comparison/1"
_CSV_FIELDS = (
    "unit", "n_old", "n_new", "median_old", "median_new", "ratio", "other_ratio", "low", "high", "level", "p",
    "adjusted_p", "verdict", "notes",
)  # fmt: skip


def comparison_document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Comparisons that were made by the same options, as plain data in the schema of docs/compare.md."""
    options = comparisons[0].options
    made_by = {
        "estimator": options.estimator, "window": str(options.window), "convention": options.convention or None,
    }  # fmt: skip
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "options": made_by,
        "comparisons": [_comparison(comparison) for comparison in comparisons],
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    rule, mean = comparison.rule, comparison.mean
    return {
        "old": comparison.old,
        "new": comparison.new,
        "metric": rule.metric,
        "better": rule.better.value,
        "margin": rule.margin,
        "level": rule.level,
        "summary": opening(comparison),
        "warnings": list(comparison.warnings),
        "rows": [_row(row, rule.metric) for row in comparison.rows],
        "geometric_mean": {"value": mean.value, "rows": mean.n, "left_out": mean.left_out},
        "notes": list(comparison.notes),
        "not_compared": [
            {"side": u.side, "case": u.case.key, "label": u.case.label, "reason": u.reason} for u in comparison.unpaired
        ],
    }


def _row(row: CaseComparison, metric: str) -> dict[str, Any]:
    ratio = row.ratio
    return {
        "case": row.pair.old.key,
        "label": row.pair.old.label,
        "across": list(row.pair.across),
        "unit": row.unit,
        "old": _side(row.old, row.pair.old, metric),
        "new": _side(row.new, row.pair.new, metric),
        "ratio": ratio.value,
        "other_ratio": other_ratio(row, metric),
        "interval": None if ratio.low is None else {"low": ratio.low, "high": ratio.high, "level": ratio.level},
        "p": ratio.p,
        "adjusted_p": row.adjusted_p,
        "verdict": row.verdict.value,
        "reason": row.decision.reason or None,
        "runs_needed": row.decision.needs,
        "in_rounds": row.in_rounds,
        "notes": list(row.notes),
    }


def _side(values: Sequence[float], case: Case, metric: str) -> dict[str, Any]:
    runs = [
        {"file": run.log.name, "value": value if math.isfinite(value) else None}
        for run, value in zip(case.runs, values, strict=True)
    ]
    mark = mark_beside(case, metric)
    return {
        "version": case.key.get("framework_version"), "median": centre(values),
        "other": None if mark is None else mark.other, "n": len(values), "runs": runs,
    }  # fmt: skip


def to_json(comparisons: Sequence[Comparison]) -> str:
    """The document as indented JSON."""
    return json_text(comparison_document(comparisons)) + "\n"


def to_csv(comparisons: Sequence[Comparison], columns: Sequence[str] = ()) -> str:
    """A line per row of every comparison.

    Args:
        columns: these columns alone, in this order; empty: all.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    keys = keys_of([row.pair.old for comparison in comparisons for row in comparison.rows])
    known = ["old", "new", "metric", *keys, "label", *_CSV_FIELDS]
    for name in columns:
        if name not in known:
            raise unknown_name("columns", name, known)
    places = [known.index(name) for name in columns] or range(len(known))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(known[place]) for place in places])
    for comparison in comparisons:
        for row in comparison.rows:
            head = [comparison.old, comparison.new, comparison.rule.metric]
            case = row.pair.old
            cells = [
                *head,
                *(case.key.get(key, "") for key in keys),
                case.label,
                *_csv_cells(row, comparison.rule.metric),
            ]
            writer.writerow([csv_cell(cells[place]) for place in places])
    return out.getvalue()


def _csv_cells(row: CaseComparison, metric: str) -> list[Any]:
    ratio = row.ratio
    return [
        row.unit, ratio.n_old, ratio.n_new, centre(row.old), centre(row.new), ratio.value, other_ratio(row, metric),
        ratio.low, ratio.high, ratio.level, ratio.p, row.adjusted_p, row.verdict.value, "; ".join(notes_of(row)),
    ]  # fmt: skip
