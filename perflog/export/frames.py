"""An extraction as flat polars frames, for CSV, Parquet and Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perflog.escaping import csv_cell, decodable
from perflog.export.case_table import require_columns
from perflog.export.document import reason_code
from perflog.extraction import Extraction
from perflog.formats.vocabulary import INTEGERS
from perflog.notes import Note, mark_of, texts
from perflog.stats.quotient import QuotientInterval

if TYPE_CHECKING:
    import polars as pl


def case_frame(extraction: Extraction, columns: Sequence[str] = ()) -> pl.DataFrame:
    """One row per case: its key, and for throughput value, unit, n, interval, speedup, efficiency.

    Args:
        columns: these columns alone, in this order; empty: all.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    keys = list(dict.fromkeys(k for c in extraction.cases for k in c.key))
    rows = []
    for case in extraction.cases:
        summary = case.throughput
        row: dict[str, Any] = {k: _text_or_int(k, case.key.get(k)) for k in keys}
        row |= {
            "label": case.label, "throughput": _finite(summary.value), "unit": summary.unit, "n": summary.n,
            "runs": len(case.runs), "low": _finite(summary.low), "high": _finite(summary.high),
            "level": summary.level, **_mark(case.mark), "spread": _finite(summary.spread),
            "speedup": _finite(case.speedup), "other_speedup": _finite(case.other_speedup),
            **_bounds("speedup", case.speedup_interval), "efficiency": _finite(case.efficiency),
            **_bounds("efficiency", case.efficiency_interval), "aggregate": summary.aggregate,
            "estimator": case.estimator, "window": case.window, "reason": summary.reason,
            "reason_code": reason_code(summary.reason) or "", "notes": "; ".join(texts(case.notes)),
        }  # fmt: skip
        row |= {name: _finite(other.value) for name, other in case.metrics.items() if name != "throughput"}
        rows.append(row)
    frame = _frame(rows)
    require_columns(columns, frame.columns)
    return frame.select(columns) if columns else frame


def _bounds(name: str, interval: QuotientInterval | None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {f"{name}_low": low, f"{name}_high": high}


def _mark(mark: Note | None) -> dict[str, Any]:
    """The other number that a throughput may be, how far it is, how it is made, and whether the log leaves it open."""
    if mark is None:
        return {"other": None, "effect": None, "other_how": "", "undecided": False}
    return {"other": mark.other, "effect": mark.move, "other_how": mark.label, "undecided": mark.is_open}


def run_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per run: metadata, throughput with its window and source, every other metric."""
    keys = list(dict.fromkeys(k for r in extraction.runs for k in r.values))
    rows = []
    for run in extraction.runs:
        metric = run.throughput
        row: dict[str, Any] = {k: _text_or_int(k, run.values.get(k)) for k in keys}
        row |= {
            "label": run.label, "throughput": _finite(metric.value), "unit": metric.unit, **_mark(mark_of(run.notes)),
            "estimator": metric.estimator, "used": metric.used, "excluded": sum(metric.excluded.values()),
            "window": run.window, "reason": metric.reason,
            "reason_code": reason_code(metric.reason) or "", "file": run.log.name, "first_line": metric.first_line,
            "last_line": metric.last_line, "parser": run.parser, "notes": "; ".join(texts(run.notes)),
        }  # fmt: skip
        row |= {name: _finite(other.value) for name, other in run.metrics.items() if name != "throughput"}
        rows.append(row)
    return _frame(rows)


def skipped_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per file that is no training log: file, reason, the reason's code."""
    import polars as pl

    schema: dict[str, Any] = {"file": pl.String, "reason": pl.String, "reason_code": pl.String}
    rows = [
        {"file": s.log.name, "reason": s.reason, "reason_code": reason_code(s.reason, s.failed)}
        for s in extraction.skipped
    ]
    return pl.DataFrame(rows, schema=schema)


def to_csv(frame: pl.DataFrame) -> str:
    """A frame as CSV that a spreadsheet may open: no text in it is computed, and nothing in it acts."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    cells = {name: pl.Series([csv_cell(text) for text in frame[name]], dtype=pl.String) for name in texts}
    return frame.with_columns(**cells).rename({name: csv_cell(name) for name in frame.columns}).write_csv()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _text_or_int(key: str, value: object) -> object:
    return value if value is None or key in INTEGERS else str(value)


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    plain = [{decodable(name): _decodable(row.get(name)) for name in names} for row in rows]
    return pl.DataFrame(plain, infer_schema_length=None)


def _decodable(value: object) -> object:
    return decodable(value) if isinstance(value, str) else value
