"""All cases of a history that changed level since a campaign or a date, worst first."""

from __future__ import annotations

import json
import math
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from itertools import pairwise
from typing import Any

from perflog.cases.pairs import metric_kind
from perflog.errors import UsageError
from perflog.history.following import Outlook, Part, Point, Series, Shift, parts, series, share_words
from perflog.history.ledger import Event, EventKind, events
from perflog.history.place import Database, name_of
from perflog.history.saving import campaigns, unknown
from perflog.settings.convention import GateResult, gate_result
from perflog.show.text import counted
from perflog.stats.changes import SEGMENT
from perflog.stats.verdict import MARGIN, Better

#: The words for each reason where it is there, and where it was requested and is not.
_WORDS = {
    "slower": ("{n} of {of} got worse", "no case got worse"),
    "inconclusive": (
        "{n} of {of} with too few comparable campaigns to look for a change",
        "every case has enough comparable campaigns",
    ),
    "missing": (
        "{n} of {of} without a value in the newest campaign", "every case has a value in the newest campaign",
    ),
    "nothing-compared": (
        "no case has enough comparable campaigns to look for a change",
        "at least one case has enough comparable campaigns",
    ),
}  # fmt: skip
#: What the gate can fail on, and what it fails on unless told otherwise.
REASONS, GATE = tuple(_WORDS), ("slower", "nothing-compared")
#: What it says and never fails on: nobody could make it good any more, or somebody answered for it.
_SAID = {
    "ended": ("{n} of {of} worse when its machine, rule or unit changed, and not compared since", ""),
    "acknowledged": ("{n} of {of} worse, which was acknowledged", ""),
}


@dataclass(frozen=True, slots=True)
class Since:
    """From where on changes are looked for.

    Attributes:
        text: as the user gave it: a campaign's label or a day; empty for the whole history.
        ranks: the place of every campaign in the history, by its label.
        after: the place of the campaign after which changes count; -1 for all.
        date: the day from which on changes count; None for all.
    """

    text: str
    ranks: Mapping[str, int]
    after: int = -1
    date: datetime | None = None

    def holds(self, point: Point) -> bool:
        """Whether a change that begins at a point counts."""
        return self.holds_at(point.campaign, point.date)

    def holds_at(self, campaign: str, date: datetime) -> bool:
        """Whether a change at a campaign counts, which may be gone."""
        return self.ranks.get(campaign, len(self.ranks)) > self.after and (self.date is None or date >= self.date)


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A case that changed level.

    Attributes:
        series: the case over its campaigns.
        shift: the change, and the point that it begins at; ``part``: of the series, in which it lies.
        now: the level that the case has at the end of the same part, in the unit of its values.
        better: the direction of the metric that is better; None where it is not known.
        margin: changes up to this share do not matter.
        ended: whether the part that it lies in has ended: values behind that are compared with none before.
        found: the event of the ledger in which a look first found it; None where none was kept.
        acknowledged: the event in which somebody last answered for it.
    """

    series: Series
    shift: Shift
    part: Part
    now: float
    better: Better | None
    margin: float
    ended: bool = False
    found: Event | None = None
    acknowledged: Event | None = None

    @property
    def harm(self) -> float | None:
        """By which factor the case got worse, as a logarithm; below 0 where it got better; None where none is known."""
        ratio = self.shift.change.ratio
        return None if ratio is None or self.better is None else math.log(ratio) * _DIRECTIONS[self.better]

    @property
    def lasting(self) -> float | None:
        """The level now over the level before the change; None where that has no meaning."""
        before = self.shift.change.before
        return self.now / before if before > 0 and self.now > 0 else None

    @property
    def is_worse(self) -> bool | None:
        """Whether the case got worse; None where the direction is not known."""
        return self.shift.is_worse(self.better)

    @property
    def lasts(self) -> bool:
        """Whether the case is worse still than before the change, by more than the margin."""
        if self.lasting is None or self.better is None:
            return bool(self.is_worse)
        return math.log(self.lasting) * _DIRECTIONS[self.better] > 0 and abs(self.lasting - 1) > self.margin

    @property
    def state(self) -> State:
        """What became of it."""
        if self.is_worse:
            if not self.lasts:
                return State.MADE_GOOD
            if self.ended:
                return State.ENDED
            return State.WORSE if self.acknowledged is None else State.ACKNOWLEDGED
        return State.CHANGED if self.is_worse is None else State.BETTER


#: A larger value does harm (1) or good (-1).
_DIRECTIONS = {Better.HIGHER: -1, Better.LOWER: 1}


class State(Enum):
    """What became of a change of level, the worst first.

    Attributes:
        word: of a change; ``of_case``: of a case that has it.
        key: of its words in the pages' languages; ``look``: its class in their style sheet.
    """

    WORSE = "worse", "got worse", "worse", "worse"
    ACKNOWLEDGED = "worse, acknowledged", "got worse, which was acknowledged", "acknowledged", "open"
    ENDED = "worse when its part ended", "got worse in a part that has ended", "ended", "worse"
    MADE_GOOD = "made good since", "made good since", "made_good", "open"
    BETTER = "better", "got better", "better", "better"
    CHANGED = "changed", "changed", "changed", "open"

    def __init__(self, word: str, of_case: str, key: str, look: str) -> None:
        self.word, self.of_case, self.key, self.look = word, of_case, key, look


@dataclass(frozen=True, slots=True)
class NewPart:
    """Cases that began a new part at one campaign for one reason: no verdict, as what changed may be the cause.

    Attributes:
        point: the first of the part in one of them.
        changed: what the parts differ by.
        cases: each with the new part's first level over the last one before it; None where the rule or the unit
            changed too, or a part has no value.
    """

    point: Point
    changed: str
    cases: tuple[tuple[Series, float | None], ...]

    @property
    def span(self) -> str:
        """The least and the largest step of the cases: ``−7.0 to −5.1 %``; empty where none can be told."""
        shares = sorted(ratio for _, ratio in self.cases if ratio is not None)
        ends = list(dict.fromkeys(share_words(ratio) for ratio in shares[:1] + shares[-1:]))
        return " to ".join([*(end.removesuffix(" %") for end in ends[:-1]), *ends[-1:]])

    @property
    def sentence(self) -> str:
        """``12 cases began a new part at w42 (the machine: driver 460 → 470): −7.0 to −5.1 %``."""
        cases = counted(len(self.cases), "case")
        return ": ".join(
            filter(None, [f"{cases} began a new part at {self.point.campaign} ({self.changed})", self.span])
        )


@dataclass(frozen=True, slots=True)
class Regressions:
    """What changed in a history.

    Attributes:
        metric: what was followed.
        margin: changes of level up to this share were left out.
        since: from where on changes count.
        followed: all series that were looked at.
        changes: the changes of level, worst first; those whose direction is not known last.
        unseen: the series in whose last part no change could be looked for, each with the reason.
        looked_at: in how many series a change could be looked for in any part.
        unexpected: the series whose last value is not where those before it lead to expect it, and no change yet.
        missing: the series that have no value in the newest campaign.
        new_parts: the borders at which parts began, in the order of their dates.
        gone: changes that a look found, and that are not in the history as it is now: a campaign was taken away or
            replaced, or machines are told apart otherwise.
        notes: what people noted of the cases and campaigns that were looked at.
        branch: of which branch the campaigns are; empty: of all.
    """

    metric: str
    margin: float
    since: Since
    followed: tuple[Series, ...]
    changes: tuple[LevelChange, ...]
    unseen: tuple[tuple[Series, str], ...]
    looked_at: int
    unexpected: tuple[tuple[Series, Outlook], ...]
    missing: tuple[Series, ...]
    new_parts: tuple[NewPart, ...] = ()
    gone: tuple[Event, ...] = ()
    notes: tuple[Event, ...] = ()
    branch: str = ""

    @property
    def worse(self) -> tuple[LevelChange, ...]:
        """The changes for the worse that have not been made good, in parts that go on, worst first."""
        return tuple(change for change in self.changes if change.state is State.WORSE)

    def gate(self, fail_on: Sequence[str] = GATE) -> GateResult:
        """Whether any of the requested reasons is there.

        ``slower``: a case got worse and is so still. ``inconclusive``: a case has too few campaigns in its last part
        for a change to be looked for. ``missing``: a case has no value in the newest campaign. ``nothing-compared``:
        no case has enough campaigns.
        """
        cases = counted(len(self.followed), "case")
        slower = len({change.series.name for change in self.worse})
        counts = {
            "slower": slower, "inconclusive": len(self.unseen), "missing": len(self.missing),
            "nothing-compared": int(not self.looked_at),
            **{
                state.key: len({change.series.name for change in self.changes if change.state is state})
                for state in (State.ENDED, State.ACKNOWLEDGED)
            },
        }  # fmt: skip
        return gate_result(counts, _WORDS | _SAID, fail_on, cases)


def regressions(
    database: Database, since: str = "", metric: str = "throughput", margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), branch: str = "",
) -> Regressions:  # fmt: skip
    """All cases that changed level, worst first, with what the ledger has of them.

    Args:
        since: a campaign's label (changes after it count) or a day (changes from it on); empty: the whole history.
        metric: what is followed.
        margin: changes of level up to this share do not matter.
        wanted: the cases with these values alone; None: all.
        ignored: machine facts that do not tell machines apart.
        branch: campaigns of this branch alone; empty: all.

    Raises:
        UsageError: when there is no history, no such case, metric or branch, or no such campaign or day.
        PerflogError: when the database cannot be read.
    """
    return with_ledger(search(database, since, metric, margin, wanted, ignored, branch), events(database))


def search(
    database: Database, since: str = "", metric: str = "throughput", margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), branch: str = "",
) -> Regressions:  # fmt: skip
    """As :func:`regressions`, without what the ledger has of it."""
    followed = series(database, wanted or {}, metric, ignored, branch)
    labels = {entry.label: (place, entry.date) for place, entry in enumerate(campaigns(database))}
    begin = _since(since, labels, name_of(database))
    newest = list(labels)[-1]
    along = [(line, parts(line, margin)) for line in followed]
    better = metric_kind(metric).better
    changes = [
        LevelChange(line, shift, part, part.levels[-1][2], better, margin, part is not of_line[-1])
        for line, of_line in along
        for part in of_line
        for shift in part.shifts
        if begin.holds(shift.point)
    ]
    known = {id(change.series) for change in changes}
    last = [(line, of_line[-1]) for line, of_line in along]
    unexpected = [
        (line, part.outlook) for line, part in last
        if id(line) not in known and part.outlook is not None and part.outlook.holds is False
    ]  # fmt: skip
    missing = [
        line for line, of_line in along
        if not any(point.campaign == newest for part in of_line for point, _ in part.valued)
    ]  # fmt: skip
    return Regressions(
        metric, margin, begin, tuple(followed), tuple(sorted(changes, key=_turn)),
        tuple((line, part.unseen) for line, part in last if part.unseen),
        sum(any(not part.unseen for part in of_line) for _, of_line in along), tuple(unexpected), tuple(missing),
        tuple(_new_parts(along, begin)), branch=branch,
    )  # fmt: skip


def with_ledger(found: Regressions, ledger: Sequence[Event]) -> Regressions:
    """What a search found, with what the ledger has of its metric and branch."""
    book = _Book(ledger, found)
    changes = tuple(_answered(change, *book.of(change.series, change.shift)) for change in found.changes)
    return replace(found, changes=changes, gone=tuple(book.gone(found)), notes=tuple(book.notes(found.followed)))


def _answered(change: LevelChange, found: Event | None, acknowledged: Event | None) -> LevelChange:
    return replace(change, found=found, acknowledged=acknowledged)


class _Book:
    """What the ledger has of the cases that are followed."""

    def __init__(self, ledger: Sequence[Event], found: Regressions) -> None:
        self._by_case: dict[str, list[Event]] = {}
        for event in ledger:
            # what was found in the campaigns of another branch was not found in these
            elsewhere = event.kind is EventKind.FOUND and event.facts.get("branch", "") != found.branch
            if event.metric in (found.metric, "") and not elsewhere:
                self._by_case.setdefault(_case_text(event.key), []).append(event)
        self._lines = Counter(_case_text(line.key) for line in found.followed)

    def _events(self, line: Series, kind: EventKind) -> list[Event]:
        """Those of a case; of several with the same key, those of its name too."""
        text = _case_text(line.key)
        return [
            event
            for event in self._by_case.get(text, ())
            if event.kind is kind and event.key and (self._lines[text] == 1 or event.name == line.name)
        ]

    def of(self, line: Series, shift: Shift) -> tuple[Event | None, Event | None]:
        """The events in which a change was found, and acknowledged last."""
        found = next((event for event in self._events(line, EventKind.FOUND) if _is_that(event, line, shift)), None)
        if found is None:
            return None, None
        answers = [event for event in self._events(line, EventKind.ACKNOWLEDGED) if event.about == found.number]
        return found, answers[-1] if answers else None

    def gone(self, found: Regressions) -> Iterator[Event]:
        """The changes of more than the margin that were found once and are not there now."""
        for line in found.followed:
            there = self._events(line, EventKind.FOUND)
            shifts = [shift for part in parts(line, found.margin) for shift in part.shifts] if there else []
            for event in there:
                ratio = event.facts.get("ratio")
                large = not isinstance(ratio, float) or abs(ratio - 1) > found.margin
                counts = large and found.since.holds_at(event.campaign, event.date)
                if counts and not any(_is_that(event, line, shift) for shift in shifts):
                    yield event

    def notes(self, followed: Sequence[Series]) -> list[Event]:
        """What was noted of the campaigns, and of the cases that are followed."""
        own = [event for line in followed for event in self._events(line, EventKind.NOTE)]
        of_campaigns = [event for event in self._by_case.get(_case_text({}), ()) if event.kind is EventKind.NOTE]
        return sorted([*own, *of_campaigns], key=lambda event: event.number)


def _case_text(key: Mapping[str, Any]) -> str:
    return json.dumps(dict(key), sort_keys=True)


def _is_that(event: Event, line: Series, shift: Shift) -> bool:
    """Whether a change that was found is this one: in the same direction, and at the same place or next to it, as later
    campaigns may move it.
    """
    ratio, other = event.facts.get("ratio"), shift.change.ratio
    if isinstance(ratio, float) and other is not None and (ratio > 1) is not (other > 1):
        return False
    places = {point.campaign: place for place, point in enumerate(line.points)}
    here = places.get(event.campaign, bisect([point.date for point in line.points], event.date))
    return abs(here - places[shift.point.campaign]) < SEGMENT


def _new_parts(along: Sequence[tuple[Series, Sequence[Part]]], begin: Since) -> list[NewPart]:
    """The borders of all series since then, those of one campaign and one reason together."""
    borders: dict[tuple[str, str], list[tuple[Series, Part, Part]]] = {}
    for line, of_line in along:
        for old, new in pairwise(of_line):
            if begin.holds(new.points[0]):
                borders.setdefault((new.points[0].campaign, new.broken), []).append((line, old, new))
    found = [
        NewPart(here[0][2].points[0], changed, tuple((line, _step(old, new)) for line, old, new in here))
        for (_, changed), here in borders.items()
    ]
    return sorted(found, key=lambda border: (border.point.date, begin.ranks[border.point.campaign]))


def _step(old: Part, new: Part) -> float | None:
    """The first level of a part over the last one of that before it, where one rule and one unit made both."""
    before, after = old.points[-1], new.points[0]
    if before.rule != after.rule or not (old.levels and new.levels):
        return None
    if old.valued[-1][0].summary.unit != new.valued[0][0].summary.unit:
        return None
    last, first = old.levels[-1][2], new.levels[0][2]
    return first / last if last > 0 and first > 0 else None


def _turn(change: LevelChange) -> tuple[bool, float]:
    """The worst first, what has no direction last."""
    return change.harm is None, -(change.harm or 0.0)


def _since(text: str, labels: Mapping[str, tuple[int, datetime]], database: str) -> Since:
    """What a label or a day means. Raises UsageError for what is neither."""
    ranks = {label: place for label, (place, _) in labels.items()}
    if not text or text in labels:
        return Since(text, ranks, ranks.get(text, -1))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        error = unknown(text, list(labels), database)
        raise UsageError(f"--since {text!r}: {error} (or give a day such as 2025-01-31)") from None
    return Since(text, ranks, date=moment if moment.tzinfo else moment.replace(tzinfo=UTC))
