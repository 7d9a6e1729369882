"""Machine-readable output: JSON in one versioned schema (docs/json.md), and flat frames for CSV and Parquet."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from perflog._version import __version__
from perflog.cases.case import Case, Summary
from perflog.extraction import Extraction
from perflog.runs.run import Metric, Run

if TYPE_CHECKING:
    import polars as pl

SCHEMA = "perflog/extraction/1"
#: JSON of up to so many runs is indented for the eye.
INDENTED_RUNS = 1000


def document(extraction: Extraction) -> dict[str, Any]:
    """The whole extraction as plain data."""
    return {**_head(extraction), "cases": [_case(case) for case in extraction.cases], "skipped": _skipped(extraction)}


def to_json(extraction: Extraction) -> str:
    """The document as JSON: indented, or with very many runs one case to a line (ten times as fast to write)."""
    if sum(len(case.runs) for case in extraction.cases) <= INDENTED_RUNS:
        return json.dumps(document(extraction), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    cases = ",\n".join(encode(_case(case)) for case in extraction.cases)
    return f'{encode(_head(extraction))[:-1]}, "cases": [\n{cases}\n],\n"skipped": {encode(_skipped(extraction))}}}\n'


def _head(extraction: Extraction) -> dict[str, Any]:
    options = extraction.options
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "options": {
            "warmup": str(options.window.warmup) if options.window.last is None else None,
            "steps": str(options.window.steps) if options.window.steps else None,
            "last": str(options.window.last) if options.window.last else None,
            "estimator": options.estimator,
            "aggregate": options.aggregate,
            "baseline": dict(options.baseline),
            "set": {**options.config_set, **options.set},
            "convention": options.convention or None,
            "values": "printed" if options.as_printed else "differenced",
        },
    }


def _skipped(extraction: Extraction) -> list[dict[str, Any]]:
    return [{"file": s.log.path, "member": s.log.member or None, "reason": s.reason} for s in extraction.skipped]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _case(case: Case) -> dict[str, Any]:
    return {
        "case": case.key,
        "label": case.label,
        "metrics": {name: _summary(s) for name, s in case.metrics.items()},
        "speedup": _finite(case.speedup),
        "efficiency": _finite(case.efficiency),
        "baseline": case.baseline or None,
        "estimator": case.estimator,
        "window": case.window,
        "notes": case.notes,
        "runs": [_run(run) for run in case.runs],
    }


def _summary(s: Summary) -> dict[str, Any]:
    interval = None
    if s.low is not None and s.high is not None:
        interval = {"low": _finite(s.low), "high": _finite(s.high), "level": s.level, "of": "median"}
    return {
        "value": _finite(s.value),
        "unit": s.unit,
        "aggregate": s.aggregate,
        "n": s.n,
        "interval": interval,
        "spread": _finite(s.spread),
        "reason": s.reason or None,
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "source": {
            "file": run.log.path,
            "member": run.log.member or None,
            "lines": run.lines,
            "first_line": run.first_line,
            "last_line": run.last_line,
        },
        "parser": run.parser,
        "metadata": {k: {"value": v, "source": run.metadata.sources.get(k, "derived")} for k, v in run.values.items()},
        "window": run.window,
        "metrics": {name: _metric(m) for name, m in run.metrics.items()},
        "notes": run.notes,
    }


def _metric(m: Metric) -> dict[str, Any]:
    return {
        "value": _finite(m.value),
        "unit": m.unit,
        "estimator": m.estimator,
        "used": m.used,
        "excluded": m.excluded,
        "first_line": m.first_line or None,
        "last_line": m.last_line or None,
        "first_step": _finite(m.first_step),
        "last_step": _finite(m.last_step),
        "parser": m.parser,
        "reason": m.reason or None,
    }


# ---------------------------------------------------------------- frames


def case_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per case: its key, and for throughput value, unit, n, interval, speedup, efficiency."""
    keys = list(dict.fromkeys(k for c in extraction.cases for k in c.key))
    rows = []
    for case in extraction.cases:
        t = case.throughput
        row: dict[str, Any] = {k: _text_or_int(k, case.key.get(k)) for k in keys}
        row |= {
            "label": case.label, "throughput": _finite(t.value), "unit": t.unit, "n": t.n, "runs": len(case.runs),
            "low": _finite(t.low), "high": _finite(t.high),
            "level": t.level, "spread": _finite(t.spread), "speedup": _finite(case.speedup), "efficiency": _finite(case.efficiency),
            "aggregate": t.aggregate, "estimator": case.estimator, "window": case.window, "reason": t.reason, "notes": "; ".join(case.notes),
        }  # fmt: skip
        for name, other in case.metrics.items():
            if name != "throughput":
                row[name] = _finite(other.value)
        rows.append(row)
    return _frame(rows)


def run_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per run: metadata, throughput with its window and source, every other metric."""
    keys = list(dict.fromkeys(k for r in extraction.runs for k in r.values))
    rows = []
    for run in extraction.runs:
        t = run.throughput
        row: dict[str, Any] = {k: _text_or_int(k, run.values.get(k)) for k in keys}
        row |= {
            "label": run.label, "throughput": _finite(t.value), "unit": t.unit, "estimator": t.estimator, "used": t.used, "excluded": sum(t.excluded.values()),
            "window": run.window, "reason": t.reason, "file": run.log.name, "first_line": t.first_line, "last_line": t.last_line, "parser": run.parser,
            "notes": "; ".join(run.notes),
        }  # fmt: skip
        for name, other in run.metrics.items():
            if name != "throughput":
                row[name] = _finite(other.value)
        rows.append(row)
    return _frame(rows)


def skipped_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per file that is no training log: file, reason."""
    import polars as pl

    schema: dict[str, Any] = {"file": pl.String, "reason": pl.String}
    return pl.DataFrame([{"file": s.log.name, "reason": s.reason} for s in extraction.skipped], schema=schema)


def _text_or_int(key: str, value: object) -> object:
    from perflog.formats.vocabulary import INTEGERS

    return value if value is None or key in INTEGERS else str(value)


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], infer_schema_length=None)
