"""All cases of a history that changed level since a campaign or a date, worst first."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from perflog.cases.case import BETTER
from perflog.errors import UsageError
from perflog.export.columns import counted
from perflog.history.doubts import Outlook, Part, Shift, parts
from perflog.history.following import Series, series
from perflog.history.listing import campaigns, unknown
from perflog.history.place import Database, name_of
from perflog.history.points import Point
from perflog.settings.gate import DEFAULT, GateResult, gate_result
from perflog.stats.centre import median
from perflog.stats.verdict import MARGIN, Better


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
        """Whether a change that is first seen at a point counts."""
        return self.ranks[point.campaign] > self.after and (self.date is None or point.date >= self.date)


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A case that changed level.

    Attributes:
        series: the case over its campaigns.
        shift: the change, and the point that it is first seen at.
        now: the level that the case has at the end of the same part, in the unit of its values.
        better: the direction of the metric that is better; None where it is not known.
        margin: changes up to this share do not matter.
    """

    series: Series
    shift: Shift
    now: float
    better: Better | None
    margin: float

    @property
    def harm(self) -> float | None:
        """By which factor the case got worse, as a logarithm; below 0 where it got better; None where none is known."""
        return _harm(self.shift.change.ratio, self.better)

    @property
    def lasting(self) -> float | None:
        """The level now over the level before the change; None where that has no meaning."""
        before = self.shift.change.before
        return self.now / before if before > 0 and self.now > 0 else None

    @property
    def is_worse(self) -> bool | None:
        """Whether the case got worse; None where the direction is not known."""
        return None if self.harm is None else self.harm > 0

    @property
    def lasts(self) -> bool:
        """Whether the case is worse still than before the change, by more than the margin."""
        still = _harm(self.lasting, self.better)
        if still is None or self.lasting is None:
            return bool(self.is_worse)
        return still > 0 and abs(self.lasting - 1) > self.margin


def _harm(ratio: float | None, better: Better | None) -> float | None:
    if ratio is None or better is None:
        return None
    return -math.log(ratio) if better is Better.HIGHER else math.log(ratio)


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

    @property
    def worse(self) -> tuple[LevelChange, ...]:
        """The changes for the worse that have not been made good, worst first."""
        return tuple(change for change in self.changes if change.is_worse and change.lasts)

    def gate(self, fail_on: Sequence[str] = DEFAULT) -> GateResult:
        """Whether any of the reasons asked for is there.

        ``slower``: a case got worse and is so still. ``inconclusive``: a case has too few campaigns in its last part
        for a change to be looked for. ``missing``: a case has no value in the newest campaign. ``nothing-compared``:
        no case has enough campaigns.
        """
        cases = counted(len(self.followed), "case")
        slower = len({change.series.name for change in self.worse})
        counts = {
            "slower": slower, "inconclusive": len(self.unseen), "missing": len(self.missing),
            "nothing-compared": int(not self.looked_at),
        }  # fmt: skip
        return gate_result(counts, _WORDS, _ABSENT, fail_on, cases)


_WORDS = {
    "slower": "{n} of {of} got worse",
    "inconclusive": "{n} of {of} with too few comparable campaigns to look for a change",
    "missing": "{n} of {of} without a value in the newest campaign",
    "nothing-compared": "no case has enough comparable campaigns to look for a change",
}
#: What is said of a reason that was asked for and is not there.
_ABSENT = {
    "slower": "no case got worse",
    "inconclusive": "every case has enough comparable campaigns",
    "missing": "every case has a value in the newest campaign",
    "nothing-compared": "at least one case has enough comparable campaigns",
}


def regressions(
    database: Database, since: str = "", metric: str = "throughput", margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (),
) -> Regressions:  # fmt: skip
    """All cases that changed level, worst first.

    Args:
        since: a campaign's label (changes after it count) or a day (changes from it on); empty: the whole history.
        metric: what is followed.
        margin: changes of level up to this share do not matter.
        wanted: the cases with these values alone; None: all.
        ignored: machine facts that do not tell machines apart.

    Raises:
        UsageError: when there is no history, no such case or metric, or no such campaign or day.
        PerflogError: when the database cannot be read.
    """
    followed = series(database, wanted or {}, metric, ignored)
    labels = {entry.label: (place, entry.date) for place, entry in enumerate(campaigns(database))}
    begin = _since(since, labels, name_of(database))
    newest = list(labels)[-1]
    along = [(line, parts(line, margin)) for line in followed]
    changes = [change for line, of_line in along for change in _changes(line, of_line, begin, margin)]
    known = {id(change.series) for change in changes}
    last = [(line, of_line[-1]) for line, of_line in along]
    return Regressions(
        metric, margin, begin, tuple(followed), tuple(sorted(changes, key=_turn)),
        tuple((line, part.unseen) for line, part in last if part.unseen),
        sum(any(not part.unseen for part in of_line) for _, of_line in along),
        tuple((line, odd) for line, part in last if id(line) not in known and (odd := _unexpected(part)) is not None),
        tuple(line for line in followed if not _has_value_at(line, newest)),
    )  # fmt: skip


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


def _changes(line: Series, along: Sequence[Part], since: Since, margin: float) -> list[LevelChange]:
    """The changes of a series that count."""
    better = BETTER.get(line.metric)
    return [
        LevelChange(line, shift, level_at_end(part), better, margin)
        for part in along for shift in part.shifts if since.holds(shift.point)
    ]  # fmt: skip


def level_at_end(part: Part) -> float:
    """The level at the end of a part: the median of its values since its last change."""
    valued = [(point, point.summary.value) for point in part.points if point.summary.value is not None]
    begin = next((n for n, (point, _) in enumerate(valued) if part.shifts and point is part.shifts[-1].point), 0)
    return median([value for _, value in valued[begin:]])


def _unexpected(part: Part) -> Outlook | None:
    """The last value of a part, where it is not as those before it lead to expect."""
    return part.outlook if part.outlook is not None and part.outlook.holds is False else None


def _has_value_at(line: Series, campaign: str) -> bool:
    return any(point.campaign == campaign and point.summary.value is not None for point in line.points)


def _turn(change: LevelChange) -> tuple[bool, float]:
    """The worst first, what has no direction last."""
    return change.harm is None, -(change.harm or 0.0)
