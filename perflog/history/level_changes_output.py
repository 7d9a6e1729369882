"""Changed cases of a history as text: a table for terminals and Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from perflog._version import __version__
from perflog.cases.case import BETTER
from perflog.escaping import csv_cell, json_text
from perflog.escaping import markdown as escaped
from perflog.export.columns import TextTable, counted, number
from perflog.export.text import to_markdown, to_terminal
from perflog.history.doubts import Outlook
from perflog.history.following import Series
from perflog.history.level_changes import LevelChange, Regressions

FORMATS = ("table", "markdown", "csv", "json")
SCHEMA = "perflog/regressions/1"
#: So many cases are named in the first lines and below the table.
MOST_NAMED = 5


def render_regressions(found: Regressions, form: str, width: int | None = None, colour: bool = False) -> str:
    """Changed cases as ``table``, ``markdown``, ``csv`` or ``json``.

    Args:
        width: how wide a table may be; None: as wide as its content.
        colour: whether a table has the colours of a terminal.
    """
    if form == "json":
        return json_text(document(found)) + "\n"
    if form == "csv":
        return _csv(found.changes)
    table = changes_table(found)
    if form == "markdown":
        return "\n\n".join([*map(escaped, opening(found)), to_markdown(table)])
    shown = to_terminal(table, width, colour) if table.rows else "\n".join([table.caption, *table.footnotes]) + "\n"
    return "\n\n".join([*opening(found), shown])


def opening(found: Regressions) -> list[str]:
    """The first line: how many cases did what, and which got worse."""
    states = _states_of_cases(found)
    unseen = len({line.name for line, _ in found.unseen} - {*states})
    counts = {word: list(states.values()).count(word) for word in _STATES}
    counts["without a change of level"] = len(found.followed) - len(states) - unseen
    counts["with too few comparable campaigns to say"] = unseen
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    since = f" since {found.since.text}" if found.since.text else ""
    first = f"{counted(len(found.followed), 'case')}{since}: {words}."
    named = [_named(change) for change in found.worse[:MOST_NAMED]]
    more = [f"and {len(found.worse) - MOST_NAMED} more"] if len(found.worse) > MOST_NAMED else []
    return [f"{first} Worse: {'; '.join([*named, *more])}."] if named else [first]


#: What became of a case that changed, the worst first.
_STATES = ("got worse", "made good since", "got better", "changed")


def _states_of_cases(found: Regressions) -> dict[str, str]:
    """What became of each case that changed, by its name: the worst of what its changes say."""
    states: dict[str, str] = {}
    for change in found.changes:
        words = {"worse": "got worse", "better": "got better"}
        state = words.get(state_words(change), state_words(change))
        states[change.series.name] = min(states.get(change.series.name, state), state, key=_STATES.index)
    return states


def _named(change: LevelChange) -> str:
    return f"{change.series.name} {share_words(change.shift.change.ratio)} at {change.shift.point.campaign}"


def share_words(ratio: float | None) -> str:
    """A ratio as a change: 0.959 → −4.1 %; empty for none."""
    return "" if ratio is None else f"{100 * (ratio - 1):+.1f} %".replace("-", "−")


def state_words(change: LevelChange) -> str:
    """What became of a change: worse, worse but made good since, better, changed."""
    if change.is_worse is None:
        return "changed"
    if not change.is_worse:
        return "better"
    return "worse" if change.lasts else "made good since"


def changes_table(found: Regressions) -> TextTable:
    """The changes as a table, worst first; what could not be looked for stands below."""
    versions = any(change.shift.point.version for change in found.changes)
    titles = ["case", "campaign", "date", *(["version"] if versions else []), "before", "after", "change", "now"]
    rows = []
    for change in found.changes:
        point, level = change.shift.point, change.shift.change
        version = [point.version] if versions else []
        levels = [number(level.before), number(level.after), share_words(level.ratio), share_words(change.lasting)]
        head = [change.series.name, point.campaign, f"{point.date:%Y-%m-%d}"]
        rows.append([*head, *version, *levels, change.series.unit, state_words(change)])
    right = [False, False, False, *([False] if versions else []), True, True, True, True, False, False]
    better = BETTER.get(found.metric)
    direction = f"{better.value} is better" if better is not None else "which direction is better is not known"
    how = f"{found.metric}, {direction}; changes of level above {100 * found.margin:g} %, in medians of campaigns"
    now = "now: the level at the end against that before the change"
    return TextTable([*titles, "unit", "state"], rows, right, _below(found), f"{how}; {now}.", spare=("version",))


def _below(found: Regressions) -> list[str]:
    """What is not a change of level, and is to be known all the same."""
    lines = [
        f"{line.name}: the last value, {number(outlook.point.summary.value)} {line.unit} at {outlook.point.campaign}, "
        f"lies outside of [{number(outlook.prediction.low)}, {number(outlook.prediction.high)}], where the values "
        "before it lead to expect it; two campaigns more would show whether the level changed"
        for line, outlook in found.unexpected[:MOST_NAMED]
    ]
    if len(found.unexpected) > MOST_NAMED:
        lines.append(f"{len(found.unexpected) - MOST_NAMED} more cases have an unexpected last value (--format json)")
    reasons = {reason: sum(other == reason for _, other in found.unseen) for _, reason in found.unseen}
    lines += [
        f"not looked for in {counted(count, 'case')} since the machine, rule or unit last changed: {reason}"
        for reason, count in reasons.items()
    ]
    if found.missing:
        lines.append(f"without a value in the newest campaign: {_names(found.missing)}")
    return lines


def _names(lines: Sequence[Series]) -> str:
    named = [line.name for line in lines[:MOST_NAMED]]
    return ", ".join([*named, *([f"and {len(lines) - MOST_NAMED} more"] if len(lines) > MOST_NAMED else [])])


# ---------------------------------------------------------------- plain data


def document(found: Regressions) -> dict[str, Any]:
    """Changed cases as plain data in the schema of docs/history.md."""
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "metric": found.metric,
        "margin": found.margin,
        "since": found.since.text or None,
        "cases": len(found.followed),
        "summary": opening(found),
        "changes": [_change(change) for change in found.changes],
        "unexpected": [_unexpected(line, outlook) for line, outlook in found.unexpected],
        "not_looked_for": [{"name": line.name, "case": dict(line.key), "reason": why} for line, why in found.unseen],
        "missing": [{"name": line.name, "case": dict(line.key)} for line in found.missing],
    }


def _change(change: LevelChange) -> dict[str, Any]:
    point, level = change.shift.point, change.shift.change
    return {
        "name": change.series.name, "case": dict(change.series.key), "campaign": point.campaign,
        "date": point.date.isoformat(), "framework_version": point.version or None, "unit": change.series.unit,
        "before": level.before, "after": level.after, "ratio": level.ratio, "now": change.now,
        "now_ratio": change.lasting, "worse": change.is_worse, "lasts": change.lasts,
    }  # fmt: skip


def _unexpected(line: Series, outlook: Outlook) -> dict[str, Any]:
    point, prediction = outlook.point, outlook.prediction
    return {
        "name": line.name, "case": dict(line.key), "campaign": point.campaign, "value": point.summary.value,
        "unit": point.summary.unit, "low": prediction.low, "high": prediction.high, "level": prediction.level,
    }  # fmt: skip


def _csv(changes: Sequence[LevelChange]) -> str:
    """A line for each change; the heading alone where there is none."""
    out = io.StringIO()
    fields = (
        "name", "campaign", "date", "framework_version", "unit", "before", "after", "ratio", "now", "now_ratio",
        "worse", "lasts",
    )  # fmt: skip
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(fields)
    for change in changes:
        plain = _change(change)
        writer.writerow([csv_cell("" if plain[name] is None else plain[name]) for name in fields])
    return out.getvalue()
