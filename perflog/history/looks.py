"""What a look at a history adds to its ledger, and what people add: notes, and answers for changes that were found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from perflog.errors import UsageError
from perflog.history.following import Point, series, share_words
from perflog.history.ledger import Event, EventKind, add, events
from perflog.history.level_changes import LevelChange, NewPart, Regressions, State, search, with_ledger
from perflog.history.place import Database, name_of
from perflog.history.saving import campaigns, unknown
from perflog.show.text import number
from perflog.stats.verdict import MARGIN

#: Letters of a note.
LONGEST = 1000


def look(
    database: Database, since: str = "", metric: str = "throughput", margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), branch: str = "",
) -> Regressions:  # fmt: skip
    """All cases that changed level, as :func:`perflog.history.regressions` finds them, each kept in the ledger.

    Raises:
        UsageError, PerflogError: as of that function; PerflogError when the ledger cannot be written too.
    """
    found, there = search(database, since, metric, margin, wanted, ignored, branch), events(database)
    if _news(found, there):  # a look that finds nothing new writes nothing
        add(database, lambda ledger: _news(found, ledger))
        there = events(database)
    return with_ledger(found, there)


def _news(bare: Regressions, there: Sequence[Event]) -> list[Event]:
    """The events of a search that are not in the ledger."""
    found = with_ledger(bare, there)
    borders = {(event.metric, event.campaign, event.text) for event in there if event.kind is EventKind.NEW_PART}
    states: dict[int | None, Any] = {
        event.number if event.kind is EventKind.FOUND else event.about: event.facts.get("state")
        for event in there
        if event.kind in (EventKind.FOUND, EventKind.BECAME)
    }
    news = [_found(found, change) for change in found.changes if change.found is None]
    for change in found.changes:
        # who acknowledged it is an event of its own
        state = State.WORSE if change.state is State.ACKNOWLEDGED else change.state
        if change.found is not None and states.get(change.found.number) != state.word:
            news.append(_became(found, change))
    began = [_began(found, border) for border in found.new_parts]
    return [*news, *(event for event in began if (event.metric, event.campaign, event.text) not in borders)]


def _found(found: Regressions, change: LevelChange) -> Event:
    point, level, line = change.shift.point, change.shift.change, change.series
    text = (
        f"{share_words(level.ratio) or 'a change'}: {number(level.before)} → {number(level.after)} {line.unit}".strip()
    )
    facts: dict[str, Any] = {
        "before": level.before, "after": level.after, "ratio": level.ratio, "unit": line.unit, "margin": found.margin,
        "state": change.state.word, "seen_at": change.shift.seen.campaign, "branch": found.branch,
        "commit": point.code.commit, **_look(found),
    }  # fmt: skip
    return Event(EventKind.FOUND, found.metric, line.name, line.key, point.campaign, point.date, "", text, facts)


def _became(found: Regressions, change: LevelChange) -> Event:
    assert change.found is not None
    point = _last(change.series.points)
    facts: dict[str, Any] = {
        "found": change.found.number, "state": change.state.word, "now": change.now, "ratio": change.lasting,
        "unit": change.series.unit, **_look(found),
    }  # fmt: skip
    line = change.series
    return Event(
        EventKind.BECAME, found.metric, line.name, line.key, point.campaign, point.date, "", change.state.word, facts
    )


def _began(found: Regressions, border: NewPart) -> Event:
    facts: dict[str, Any] = {
        "changed": border.changed, "cases": [[line.name, ratio] for line, ratio in border.cases], **_look(found),
    }  # fmt: skip
    point = border.point
    return Event(
        EventKind.NEW_PART, found.metric, "", {}, point.campaign, point.date, "", border.changed, facts
    )  # fmt: skip


def _look(found: Regressions) -> dict[str, Any]:
    points = [point for line in found.followed for point in line.points]
    return {"newest": _last(points).campaign if points else ""}


def _last(points: Sequence[Point]) -> Point:
    return max(points, key=lambda point: point.date)


# ----------------------------------------------------------------------------------------------------
# What people add.


def acknowledge(
    database: Database, campaign: str, text: str, author: str, metric: str = "throughput", margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), branch: str = "",
) -> list[Event]:  # fmt: skip
    """Answer for the changes for the worse at a campaign: they no longer fail the gate, and are listed with the answer.

    Args:
        campaign: the label that `history --regressions` shows the changes at.
        text: what is said of them; ``author``: who says it.
        metric, margin, wanted, ignored, branch: as of :func:`perflog.history.regressions`.

    Returns:
        an event for each case.

    Raises:
        UsageError: when no case got worse there, naming where some did.
        PerflogError: when the database cannot be read or written.
    """
    _check(text, author)
    found = look(database, "", metric, margin, wanted, ignored, branch)
    worse = [change for change in found.changes if change.is_worse]
    answers = [
        Event(
            EventKind.ACKNOWLEDGED, metric, change.series.name, change.series.key, campaign, change.shift.point.date,
            author, text, {"found": change.found.number},
        )
        for change in worse
        if change.found is not None and change.shift.point.campaign == campaign
    ]  # fmt: skip
    if not answers:
        places = dict.fromkeys(change.shift.point.campaign for change in worse)
        known = f"cases got worse at {', '.join(places)}" if places else "no case got worse at any"
        raise UsageError(f"no case got worse at {campaign!r} by more than {100 * margin:g} %; {known}")
    return add(database, lambda _: answers)


def note(
    database: Database, campaign: str, text: str, author: str, wanted: Mapping[str, str] | None = None
) -> list[Event]:
    """Keep a note on a campaign, or on some of its cases.

    Args:
        campaign: its label.
        text: the note; ``author``: whose it is.
        wanted: the cases with these values; None: the campaign as a whole.

    Raises:
        UsageError: when there is no such campaign or case.
        PerflogError: when the database cannot be read or written.
    """
    _check(text, author)
    entries = {entry.label: entry for entry in campaigns(database)}
    entry = entries.get(campaign)
    if entry is None:
        raise unknown(campaign, list(entries), name_of(database))
    if not wanted:
        return add(database, lambda _: [Event(EventKind.NOTE, "", "", {}, campaign, entry.date, author, text)])
    lines = [line for line in series(database, wanted) if any(point.campaign == campaign for point in line.points)]
    if not lines:
        asked = ",".join(f"{key}={value}" for key, value in wanted.items())
        raise UsageError(f"campaign {campaign!r} has no case {asked}")
    notes = [Event(EventKind.NOTE, "", line.name, line.key, campaign, entry.date, author, text) for line in lines]
    return add(database, lambda _: notes)


def _check(text: str, author: str) -> None:
    for what, words, most in (("the text", text, LONGEST), ("--by", author, 100)):
        if not words.strip() or not words.isprintable() or len(words) > most:
            raise UsageError(f"{what} {words[:60]!r}: expected a line of up to {most} letters")
