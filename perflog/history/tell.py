"""The history as tables for people and as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from perflog._version import __version__
from perflog.cases.case import Summary
from perflog.export.columns import Grid, number
from perflog.history.campaigns import Entry
from perflog.history.doubts import Part, parts
from perflog.history.series import Point, Series
from perflog.settings.options import Options

FORMATS = ("table", "markdown", "csv", "json")
SCHEMA = "perflog/history/1"


def rule(options: Options) -> str:
    """How a campaign's numbers were made, in short."""
    text = f"{options.aggregate}; {options.estimator}; {options.window}"
    return f"{text}; convention {options.convention}" if options.convention else text


def day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


# ---------------------------------------------------------------- campaigns


def campaign_grid(entries: Sequence[Entry]) -> Grid:
    rows = [[e.label, day(e.date), str(e.cases), str(e.runs), ", ".join(e.frameworks), rule(e.options)] for e in entries]
    return Grid(["campaign", "date", "cases", "runs", "frameworks", "options"], rows, [False, False, True, True, False, False])


def campaign_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "campaign": e.label, "date": e.date.isoformat(), "saved_at": e.saved_at.isoformat(), "cases": e.cases, "runs": e.runs,
            "frameworks": list(e.frameworks), "options": rule(e.options),
        }
        for e in entries
    ]  # fmt: skip


# ---------------------------------------------------------------- series


def series_grid(one: Series, margin: float) -> Grid:
    """A series as a table; what changed along it stands below."""
    notes: dict[str, int] = {}
    made = parts(one, margin)
    versions = any(point.version for point in one.points)
    rows = []
    for part in made:
        for at, point in enumerate(part.points):
            said = _said(part, point, at == 0)
            marks = ",".join(str(notes.setdefault(note, len(notes) + 1)) for note in said)
            rows.append([point.campaign, day(point.date), *([point.version] if versions else []), *_cells(point.summary, point.runs), marks])
    titles = ["campaign", "date", *(["version"] if versions else []), "n", one.metric, "unit", "interval", "notes"]
    right = [False, False, *([False] if versions else []), True, True, False, False, False]
    rules = list(dict.fromkeys(point.rule for point in one.points))
    caption = f"{one.name}: median over n runs; {rules[0] if len(rules) == 1 else f'{len(rules)} rules, see the notes'}."
    footnotes = [f"{n}. {note}" for note, n in notes.items()] + [unseen for part in made[-1:] if (unseen := _unseen(part, len(made) > 1))]
    return Grid(titles, rows, right, footnotes, caption)


def _cells(summary: Summary, runs: int) -> list[str]:
    interval = ""
    if summary.low is not None and summary.high is not None and summary.level is not None:
        interval = f"[{number(summary.low)}, {number(summary.high)}] {100 * summary.level:.4g}%"
    n = f"{summary.n}" if summary.n == runs else f"{summary.n}/{runs}"
    return [n, number(summary.value) or "no value", summary.unit, interval]


def _said(part: Part, point: Point, first: bool) -> list[str]:
    said = []
    if first and part.broken:
        said.append(f"a new part, not compared with the one before it. Changed: {part.broken}")
    for shift in part.shifts:
        if shift.point is point:
            change = shift.change
            share = f", {100 * (change.ratio - 1):+.1f} %" if change.ratio is not None else ""
            said.append(f"a change of level: median {number(change.before)} before, {number(change.after)} from here{share}")
    outlook = part.outlook
    if outlook is not None and outlook.point is point and outlook.holds is not None:
        p = outlook.prediction
        within = "within" if outlook.holds else "outside"
        said.append(f"{within} [{number(p.low)}, {number(p.high)}], where the {p.n} values before it lead to expect it ({100 * p.level:g} %)")
    if point.summary.value is None:
        said.append(point.summary.reason or "no run has a value")
    return said


def _unseen(part: Part, several: bool) -> str:
    """What the last part is too short for."""
    expected = part.outlook.prediction.reason if part.outlook is not None else ""
    why = "; ".join(dict.fromkeys(filter(None, (part.unseen, expected))))
    return f"Not looked for{' in the last part' if several else ''}: {why}." if why else ""


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def document(found: Sequence[Series], margin: float) -> dict[str, Any]:
    """All series as plain data."""
    return {"schema": SCHEMA, "perflog": __version__, "margin": margin, "series": [_series(one, margin) for one in found]}


def _series(one: Series, margin: float) -> dict[str, Any]:
    return {"name": one.name, "case": one.key, "metric": one.metric, "parts": [_part(part) for part in parts(one, margin)]}


def _part(part: Part) -> dict[str, Any]:
    outlook = part.outlook
    prediction = None
    if outlook is not None:
        p = outlook.prediction
        prediction = {
            "campaign": outlook.point.campaign, "low": _finite(p.low), "high": _finite(p.high), "level": p.level, "n": p.n,
            "holds": outlook.holds, "reason": p.reason or None,
        }  # fmt: skip
    return {
        "changed": part.broken or None,
        "points": [_point(point) for point in part.points],
        "changes": [{"campaign": s.point.campaign, "before": s.change.before, "after": s.change.after, "ratio": s.change.ratio} for s in part.shifts],
        "no_changes_because": part.unseen or None,
        "prediction": prediction,
    }


def _point(point: Point) -> dict[str, Any]:
    s = point.summary
    interval = None if s.low is None else {"low": _finite(s.low), "high": _finite(s.high), "level": s.level, "of": "median"}
    return {
        "campaign": point.campaign, "date": point.date.isoformat(), "framework_version": point.version or None, "value": _finite(s.value),
        "unit": s.unit, "n": s.n, "runs": point.runs, "interval": interval, "rule": point.rule, "reason": s.reason or None,
    }  # fmt: skip


def series_rows(found: Sequence[Series], margin: float) -> list[dict[str, Any]]:
    """One row per point of every series; ``part`` counts from 1, ``change`` is the ratio where a level begins."""
    rows = []
    for one in found:
        for number_, part in enumerate(parts(one, margin), 1):
            began = {id(shift.point): shift.change.ratio for shift in part.shifts}
            for point in part.points:
                s = point.summary
                rows.append({
                    "series": one.name, "campaign": point.campaign, "date": point.date.isoformat(), "framework_version": point.version,
                    "metric": one.metric, "value": s.value, "unit": s.unit, "n": s.n, "runs": point.runs, "low": s.low, "high": s.high, "level": s.level,
                    "part": number_, "change": began.get(id(point)), "rule": point.rule, "reason": s.reason,
                })  # fmt: skip
    return rows


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: ", ".join(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows)
    return out.getvalue()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
