"""Changed cases of a history as text: a table for terminals and Markdown, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perflog._version import __version__
from perflog.cases.pairs import metric_kind
from perflog.escaping import json_text
from perflog.escaping import markdown as escaped
from perflog.history.following import Series, share_words
from perflog.history.ledger import Event, EventKind
from perflog.history.level_changes import LevelChange, Regressions, State
from perflog.history.rendering import event_row
from perflog.show.text import TextTable, counted, number, to_csv, to_markdown, to_terminal
from perflog.spelling import some_of

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
    counts = {state.of_case: list(states.values()).count(state) for state in State}
    counts["without a change of level"] = len(found.followed) - len(states) - unseen
    counts["with too few comparable campaigns to say"] = unseen
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    since = f" since {found.since.text}" if found.since.text else ""
    first = f"{counted(len(found.followed), 'case')}{since}: {words}."
    named = [
        f"{change.series.name} {share_words(change.shift.change.ratio)} at {change.shift.point.campaign}"
        for change in found.worse[:MOST_NAMED]
    ]
    more = [f"and {len(found.worse) - MOST_NAMED} more"] if len(found.worse) > MOST_NAMED else []
    return [f"{first} Worse: {'; '.join([*named, *more])}."] if named else [first]


def _states_of_cases(found: Regressions) -> dict[str, State]:
    """What became of each case that changed, by its name: the worst of what its changes say."""
    states: dict[str, State] = {}
    for state in reversed(State):
        states |= {change.series.name: state for change in found.changes if change.state is state}
    return states


def changes_table(found: Regressions) -> TextTable:
    """The changes as a table, worst first; what could not be looked for is below it."""
    versions = any(change.shift.point.version for change in found.changes)
    titles = ["case", "campaign", "date", *(["version"] if versions else []), "before", "after", "change", "now"]
    rows = []
    for change in found.changes:
        point, level = change.shift.point, change.shift.change
        version = [point.version] if versions else []
        levels = [number(level.before), number(level.after), share_words(level.ratio), share_words(change.lasting)]
        head = [change.series.name, point.campaign, f"{point.date:%Y-%m-%d}"]
        rows.append([*head, *version, *levels, change.series.unit, change.state.word])
    right = [False, False, False, *([False] if versions else []), True, True, True, True, False, False]
    better = metric_kind(found.metric).better
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
    lines += [f"{border.sentence}; no verdict: it may be what changed there" for border in found.new_parts]
    lines += [
        f"{change.series.name} {share_words(change.shift.change.ratio)} at {change.shift.point.campaign}: "
        f"{said(change.acknowledged)}"
        for change in found.changes
        if change.acknowledged is not None
    ]
    lines += [
        f"{event.name} at {event.campaign}: {event.text}, found on {event.made_at:%Y-%m-%d}, and not in the history as "
        "it is now"
        for event in found.gone
    ]
    lines += [f"{' at '.join(filter(None, (event.name, event.campaign)))}: {said(event)}" for event in found.notes]
    reasons = {reason: sum(other == reason for _, other in found.unseen) for _, reason in found.unseen}
    lines += [
        f"not looked for in {counted(count, 'case')} since the machine, rule or unit last changed: {reason}"
        for reason, count in reasons.items()
    ]
    if found.missing:
        lines.append(f"without a value in the newest campaign: {_names(found.missing)}")
    return lines


def said(event: Event) -> str:
    """What somebody said, and who, when."""
    word = "acknowledged" if event.kind is EventKind.ACKNOWLEDGED else "noted"
    return f"{event.text} ({word} by {event.author}, {event.made_at:%Y-%m-%d})"


def _names(lines: Sequence[Series]) -> str:
    return some_of([line.name for line in lines], MOST_NAMED)


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
        "unexpected": [
            {
                "name": line.name, "case": dict(line.key), "campaign": outlook.point.campaign,
                "value": outlook.point.summary.value, "unit": outlook.point.summary.unit,
                "low": outlook.prediction.low, "high": outlook.prediction.high, "level": outlook.prediction.level,
            }
            for line, outlook in found.unexpected
        ],
        "not_looked_for": [{"name": line.name, "case": dict(line.key), "reason": why} for line, why in found.unseen],
        "missing": [{"name": line.name, "case": dict(line.key)} for line in found.missing],
        "new_parts": [
            {
                "campaign": border.point.campaign, "date": border.point.date.isoformat(), "changed": border.changed,
                "cases": [
                    {"name": line.name, "case": dict(line.key), "ratio": ratio} for line, ratio in border.cases
                ],
            }
            for border in found.new_parts
        ],
        "branch": found.branch or None,
        "gone": [event_row(event) for event in found.gone],
        "notes": [event_row(event) for event in found.notes],
    }  # fmt: skip


def _change(change: LevelChange) -> dict[str, Any]:
    point, level = change.shift.point, change.shift.change
    return {
        "name": change.series.name, "case": dict(change.series.key), "campaign": point.campaign,
        "date": point.date.isoformat(), "framework_version": point.version or None, "unit": change.series.unit,
        "before": level.before, "after": level.after, "ratio": level.ratio, "now": change.now,
        "now_ratio": change.lasting, "worse": change.is_worse, "lasts": change.lasts,
        "part_ended": change.ended, "state": change.state.word,
        "found_at": change.shift.seen.campaign, "commit": point.code.commit,
        "commit_before": _commit_before(change),
        "acknowledged_by": change.acknowledged.author if change.acknowledged is not None else None,
        "acknowledged": change.acknowledged.text if change.acknowledged is not None else None,
    }  # fmt: skip


def _commit_before(change: LevelChange) -> str | None:
    """The commit of the last campaign before a change; None where it is not known."""
    place = change.series.points.index(change.shift.point)
    return change.series.points[place - 1].code.commit


def _csv(changes: Sequence[LevelChange]) -> str:
    """A line for each change; the heading alone where there is none."""
    fields = (
        "name", "campaign", "date", "framework_version", "unit", "before", "after", "ratio", "now", "now_ratio",
        "worse", "lasts", "part_ended", "state", "found_at", "commit", "commit_before", "acknowledged_by",
        "acknowledged",
    )  # fmt: skip
    return to_csv(fields, [[row[name] for name in fields] for row in map(_change, changes)])
