"""Campaigns and series as text: tables for terminals and Markdown, JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from perflog._version import __version__
from perflog.cases.case import Summary
from perflog.escaping import json_text
from perflog.history.following import Outlook, Part, Point, Series, parts
from perflog.history.ledger import Event
from perflog.history.saving import Entry
from perflog.settings.options import Options
from perflog.show.text import TextTable, number, to_csv, to_markdown, to_terminal

FORMATS = ("table", "markdown", "csv", "json")
SCHEMA = "perflog/history/1"


def rule(options: Options) -> str:
    """How a campaign's numbers were made, in short."""
    text = f"{options.aggregate}; {options.estimator}; {options.window}"
    return f"{text}; convention {options.convention}" if options.convention else text


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _dates(moments: Sequence[datetime]) -> tuple[str, list[str]]:
    """A table's column of dates, its title first: with the time where two campaigns are of one day."""
    days = [_day(moment) for moment in moments]
    if len(set(days)) == len(days):
        return "date", days
    return "date (UTC)", [f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" for moment in moments]


def render_campaigns(entries: Sequence[Entry], form: str, width: int | None = None, colour: bool = False) -> str:
    """The campaigns as ``table``, ``markdown``, ``csv`` or ``json``; a table of none is empty.

    Args:
        width: how wide a table may be; None: as wide as its content.
        colour: whether a table has the colours of a terminal.
    """
    if form == "json":
        return json_text(campaigns_document(entries)) + "\n"
    if form == "csv":
        return _to_csv([campaign_row(entry) for entry in entries])
    return _tables([campaign_table(entries)], form, width, colour) if entries else ""


def render_series(
    followed: Sequence[Series], margin: float, form: str, width: int | None = None, colour: bool = False
) -> str:
    """Series as ``table``, ``markdown``, ``csv`` or ``json``, with what changed along each.

    Args:
        margin: changes of level up to this share do not matter.
        width, colour: as for :func:`render_campaigns`.
    """
    if form == "json":
        return json_text(series_document(followed, margin)) + "\n"
    if form == "csv":
        return _to_csv(point_rows(followed, margin))
    return _tables([series_table(series, margin) for series in followed], form, width, colour)


def campaigns_document(entries: Sequence[Entry]) -> dict[str, Any]:
    """Campaigns in the schema of docs/json.md."""
    return {"schema": SCHEMA, "campaigns": [campaign_row(entry) for entry in entries]}


def series_document(followed: Sequence[Series], margin: float) -> dict[str, Any]:
    """Series in the schema of docs/json.md; changes of level up to the margin do not matter."""
    data = [
        {
            "name": series.name, "case": dict(series.key), "metric": series.metric,
            "parts": [_part(part) for part in parts(series, margin)],
        }
        for series in followed
    ]  # fmt: skip
    return {"schema": SCHEMA, "perflog": __version__, "margin": margin, "series": data}


def _tables(tables: Sequence[TextTable], form: str, width: int | None, colour: bool) -> str:
    return "\n".join(
        to_markdown(table) if form == "markdown" else to_terminal(table, width, colour) for table in tables
    )


# ---------------------------------------------------------------- campaigns


def campaign_table(entries: Sequence[Entry]) -> TextTable:
    code = {
        title: values
        for title, values in (
            ("commit", [entry.code.short for entry in entries]),
            ("branch", [entry.code.branch or "" for entry in entries]),
        )
        if any(values)
    }  # fmt: skip
    date, dates = _dates([entry.date for entry in entries])
    titles = ["campaign", date, "cases", "runs", "frameworks", *code, "options"]
    rows = [
        [entry.label, dates[nth], str(entry.cases), str(entry.runs), ", ".join(entry.frameworks),
         *(values[nth] for values in code.values()), rule(entry.options)]
        for nth, entry in enumerate(entries)
    ]  # fmt: skip
    return TextTable(titles, rows, [False, False, True, True, False, *(False for _ in code), False])


def campaign_row(entry: Entry) -> dict[str, Any]:
    return {
        "campaign": entry.label,
        "date": entry.date.isoformat(),
        "saved_at": entry.saved_at.isoformat(),
        "cases": entry.cases,
        "runs": entry.runs,
        "frameworks": list(entry.frameworks),
        "commit": entry.code.commit,
        "branch": entry.code.branch,
        "options": rule(entry.options),
    }


# ---------------------------------------------------------------- events

LEDGER = "perflog/events/1"


def render_events(ledger: Sequence[Event], form: str, width: int | None = None, colour: bool = False) -> str:
    """The ledger as ``table``, ``markdown``, ``csv`` or ``json``; a table of none is empty.

    Args:
        width, colour: as for :func:`render_campaigns`.
    """
    rows = [event_row(event) for event in ledger]
    if form == "json":
        return json_text({"schema": LEDGER, "events": rows}) + "\n"
    if form == "csv":
        return _to_csv([row | {name: json_text(row[name]) for name in ("case", "facts")} for row in rows])
    titles = ["no.", "added", "what", "case", "campaign", "by", "text"]
    cells = [
        [str(event.number), _day(event.made_at), event.kind.value, event.name, event.campaign, event.author, event.text]
        for event in ledger
    ]
    table = TextTable(titles, cells, [True, *(False for _ in titles[1:])])
    return _tables([table], form, width, colour) if ledger else ""


def event_row(event: Event) -> dict[str, Any]:
    """An event of the ledger as plain data."""
    return {
        "number": event.number, "made_at": event.made_at.isoformat(), "kind": event.kind.value,
        "metric": event.metric or None, "name": event.name or None, "case": dict(event.key),
        "campaign": event.campaign, "date": event.date.isoformat(), "author": event.author or None,
        "text": event.text, "facts": dict(event.facts),
    }  # fmt: skip


# ---------------------------------------------------------------- series


def series_table(series: Series, margin: float) -> TextTable:
    """A series as a table; what changed along it is below."""
    along = parts(series, margin)
    versions = any(point.version for point in series.points)
    date, dates = _dates([point.date for part in along for point in part.points])
    days = iter(dates)
    notes: dict[str, int] = {}
    rows = []
    for part in along:
        for nth, point in enumerate(part.points):
            marks = [notes.setdefault(note, len(notes) + 1) for note in _notes(part, point, nth == 0)]
            version = [point.version] if versions else []
            cells = _cells(point.summary, point.runs)
            rows.append([point.campaign, next(days), *version, *cells, ",".join(map(str, marks))])
    titles = ["campaign", date, *(["version"] if versions else []), "n", series.metric, "unit", "interval", "notes"]
    right = [False, False, *([False] if versions else []), True, True, False, False, False]
    rules = list(dict.fromkeys(point.rule for point in series.points))
    how = rules[0] if len(rules) == 1 else f"{len(rules)} rules, see the notes"
    footnotes = [f"{mark}. {note}" for note, mark in notes.items()]
    last = along[-1]  # what it is too short for
    expected = last.outlook.prediction.reason if last.outlook is not None else ""
    if why := "; ".join(dict.fromkeys(filter(None, (last.unseen, expected)))):
        footnotes.append(f"Not looked for{' in the last part' if len(along) > 1 else ''}: {why}.")
    return TextTable(titles, rows, right, footnotes, f"{series.name}: median over n runs; {how}.")


def _cells(summary: Summary, runs: int) -> list[str]:
    interval = ""
    if summary.low is not None and summary.high is not None and summary.level is not None:
        interval = f"[{number(summary.low)}, {number(summary.high)}] {100 * summary.level:.4g}%"
    n = f"{summary.n}" if summary.n == runs else f"{summary.n}/{runs}"
    return [n, number(summary.value) or "no value", summary.unit, interval]


def _notes(part: Part, point: Point, first: bool) -> list[str]:
    """What is to be said of a point; ``first``: of its part."""
    notes = []
    if first and part.broken:
        notes.append(f"a new part, not compared with the one before it. Changed: {part.broken}")
    for change in (shift.change for shift in part.shifts if shift.point is point):
        share = f", {100 * (change.ratio - 1):+.1f} %" if change.ratio is not None else ""
        levels = f"median {number(change.before)} before, {number(change.after)} from here"
        notes.append(f"a change of level: {levels}{share}")
    if part.outlook is not None and part.outlook.point is point and part.outlook.holds is not None:
        prediction = part.outlook.prediction
        within = "within" if part.outlook.holds else "outside"
        interval = f"[{number(prediction.low)}, {number(prediction.high)}]"
        before = f"the {prediction.n} values before it lead to expect it ({100 * prediction.level:g} %)"
        notes.append(f"{within} {interval}, where {before}")
    if point.summary.value is None:
        notes.append(point.summary.reason or "no run has a value")
    return [*notes, point.throttling] if point.throttled else notes


# ---------------------------------------------------------------- plain data


def _part(part: Part) -> dict[str, Any]:
    return {
        "changed": part.broken or None,
        "points": [_point(point) for point in part.points],
        "changes": [
            {
                "campaign": shift.point.campaign, "before": shift.change.before, "after": shift.change.after,
                "ratio": shift.change.ratio,
            }
            for shift in part.shifts
        ],
        "no_changes_because": part.unseen or None,
        "prediction": _prediction(part.outlook) if part.outlook is not None else None,
    }  # fmt: skip


def _prediction(outlook: Outlook) -> dict[str, Any]:
    prediction = outlook.prediction
    return {
        "campaign": outlook.point.campaign,
        "low": _finite(prediction.low),
        "high": _finite(prediction.high),
        "level": prediction.level,
        "n": prediction.n,
        "holds": outlook.holds,
        "reason": prediction.reason or None,
    }


def _point(point: Point) -> dict[str, Any]:
    s = point.summary
    ends = {"low": _finite(s.low), "high": _finite(s.high), "level": s.level, "of": "median"}
    return {
        "campaign": point.campaign,
        "date": point.date.isoformat(),
        "framework_version": point.version or None,
        "value": _finite(s.value),
        "unit": s.unit,
        "n": s.n,
        "runs": point.runs,
        "interval": None if s.low is None else ends,
        "rule": point.rule,
        "reason": s.reason or None,
        "throttled": point.throttled,
        "slowed_by": list(point.slowed_by),
        "commit": point.code.commit,
        "branch": point.code.branch,
    }


def point_rows(followed: Sequence[Series], margin: float) -> list[dict[str, Any]]:
    """A row for each point of every series."""
    rows = []
    for series in followed:
        for nth, part in enumerate(parts(series, margin), 1):
            ratios = {id(shift.point): shift.change.ratio for shift in part.shifts}
            rows += [_point_row(series, point, nth, ratios.get(id(point))) for point in part.points]
    return rows


def _point_row(series: Series, point: Point, part: int, change: float | None) -> dict[str, Any]:
    """``part`` counts from 1; ``change`` is the ratio where a level begins."""
    s = point.summary
    return {
        "series": series.name, "campaign": point.campaign, "date": point.date.isoformat(),
        "framework_version": point.version, "metric": series.metric, "value": s.value, "unit": s.unit, "n": s.n,
        "runs": point.runs, "low": s.low, "high": s.high, "level": s.level, "part": part, "change": change,
        "rule": point.rule, "reason": s.reason, "throttled": point.throttled, "slowed_by": "; ".join(point.slowed_by),
        "commit": point.code.commit, "branch": point.code.branch,
    }  # fmt: skip


def _to_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of the same columns; a list in a cell has commas between its members. Nothing where there is no row."""
    cells = ([", ".join(v) if isinstance(v, list) else v for v in row.values()] for row in rows)
    return to_csv(list(rows[0]), cells) if rows else ""


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
