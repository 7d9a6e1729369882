"""Between which commits a case got worse, and which commit to measure next."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perflog.errors import UsageError
from perflog.history.commits import git
from perflog.history.following import Point
from perflog.history.level_changes import LevelChange, regressions
from perflog.history.place import Database
from perflog.stats.verdict import MARGIN


@dataclass(frozen=True, slots=True)
class Suspects:
    """The commits among which a case got worse.

    Attributes:
        changes: the cases that got worse between these two commits.
        good, bad: the last campaign before the change whose commit is known, and the first one from it on.
        commits: how many lie behind the good one, up to the bad one; None where no repository was named.
        next: the commit that halves them, and its first line; empty where there is none between.
    """

    changes: tuple[LevelChange, ...]
    good: Point
    bad: Point
    commits: int | None = None
    next: str = ""


def bisect(
    database: Database, campaign: str, repository: Path | None = None, metric: str = "throughput",
    margin: float = MARGIN, wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), branch: str = "",
) -> list[Suspects]:  # fmt: skip
    """The commits among which the cases that got worse at a campaign did so.

    Args:
        campaign: the label that `history --regressions` shows the changes at.
        repository: a folder of the repository, which knows what lies between two commits.
        metric, margin, wanted, ignored, branch: as of :func:`perflog.history.regressions`.

    Raises:
        UsageError: when no case got worse there, the commits on its two sides are not known or the same, or the
            repository does not know them.
        PerflogError: when the database cannot be read.
    """
    found = regressions(database, "", metric, margin, wanted, ignored, branch)
    here = [change for change in found.changes if change.is_worse and change.shift.point.campaign == campaign]
    if not here:
        raise UsageError(f"no case got worse at {campaign!r}; `perflog history --regressions` shows where cases did")
    pairs: dict[tuple[str | None, str | None], list[tuple[LevelChange, Point, Point]]] = {}
    for change in here:
        good, bad = _sides(change)
        pairs.setdefault((good.code.commit, bad.code.commit), []).append((change, good, bad))
    return [_suspects(members, repository) for members in pairs.values()]


def _sides(change: LevelChange) -> tuple[Point, Point]:
    """The nearest campaigns on both sides of a change, in its part of the series, whose commits are known."""
    points = change.part.points
    place = points.index(change.shift.point)
    good = next((point for point in reversed(points[:place]) if point.code.commit), None)
    bad = next((point for point in points[place:] if point.code.commit), None)
    if good is None or bad is None:
        where = "of the same machine and rule before" if good is None else "at or behind"
        raise UsageError(
            f"{change.series.name}: no campaign {where} {change.shift.point.campaign} was saved with its commit"
        )
    if good.code.commit == bad.code.commit:
        raise UsageError(
            f"{change.series.name}: {good.campaign} and {bad.campaign} measured the same commit, {good.code.short}: "
            "what changed is not in the code"
        )
    return good, bad


def _suspects(members: Sequence[tuple[LevelChange, Point, Point]], repository: Path | None) -> Suspects:
    changes, (_, good, bad) = tuple(change for change, _, _ in members), members[0]
    if repository is None:
        return Suspects(changes, good, bad)
    between = f"{good.code.commit}..{bad.code.commit}"

    def asked(*words: str) -> str:
        return git(repository, *words, asked="--repository")

    count = int(asked("rev-list", "--count", "--end-of-options", between))
    if count < 2:
        return Suspects(changes, good, bad, count)
    middle = asked("rev-list", "--bisect", "--end-of-options", between)
    return Suspects(
        changes, good, bad, count, asked("show", "--no-patch", "--format=%h %s", "--end-of-options", middle)
    )
