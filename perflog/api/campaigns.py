"""Campaigns into the history, and out of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from perflog.api.options import ExtractionOptions, PathLike, Paths, path_list, settings_of, texts
from perflog.report.extractions import Extractions

if TYPE_CHECKING:
    from perflog.history import Entry, Saved, Series


@dataclass(frozen=True, slots=True)
class History:
    """What a database holds.

    Attributes:
        campaigns: the campaigns by date, then in the order they were saved in.
        series: the cases that were asked for, followed over the campaigns.
    """

    campaigns: tuple[Entry, ...]
    series: tuple[Series, ...]


def save(
    paths: Paths, label: str, *, date: datetime | None = None, replace: bool = False,
    database: PathLike | None = None, **options: Unpack[ExtractionOptions],
) -> Saved:  # fmt: skip
    """Keep a campaign's cases, runs and metrics in the history (``perflog save``).

    Args:
        paths: files and folders.
        label: the campaign's name.
        date: when it was measured, with its time zone; None: now.
        replace: whether these results take the place of those that have the label.
        database: the history's database; None: as on the command line.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        What was saved: ``label``, ``date``, the numbers of ``cases`` and ``runs``, and what was ``done``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or a label that is taken.
        perflog.errors.PerflogError: when there is nothing to save, or the database cannot be written.
    """
    from perflog.compare.opening import database_of
    from perflog.history import save as store

    logs = path_list(paths)
    chosen = settings_of(options, logs, database)
    return store(database_of(chosen), Extractions().of(logs, chosen), label, date, replace)


def history(
    case: Mapping[str, Any] | None = None, *, metric: str = "throughput", ignore: Iterable[str] = (),
    database: PathLike | None = None,
) -> History:  # fmt: skip
    """List the campaigns that were saved, and follow cases over them (``perflog history``).

    Args:
        case: the cases to follow: ``{"model": "rn50", "devices": 8}``; None: none.
        metric: the metric to follow.
        ignore: machine facts that may change within a series.
        database: the history's database; None: as on the command line.

    Raises:
        perflog.errors.UsageError: when there is no such case or metric.
        perflog.errors.PerflogError: when the database cannot be read.
    """
    from perflog.compare.opening import database_of
    from perflog.history import campaigns, series

    place = database_of(settings_of({}, [], database))
    wanted = texts(case)
    lines = series(place, wanted, metric, tuple(ignore)) if wanted else []
    return History(tuple(campaigns(place)), tuple(lines))
