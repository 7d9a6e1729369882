"""Campaigns into the history, and out of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from perflog.api.options import (
    ExtractionOptions,
    PathLike,
    Paths,
    Result,
    counted,
    extractions_of,
    in_python_terms,
    path_list,
    settings_of,
    texts,
)

if TYPE_CHECKING:
    from perflog.campaign import RoundObserver
    from perflog.campaign.versus import CaseLook, Measured
    from perflog.history import Entry, Saved, Series
    from perflog.history.level_changes import Regressions as FoundRegressions
    from perflog.show.text import TextTable


#: Changes of level of up to this share are not told, as on the command line.
_MARGIN = 0.02


@dataclass(frozen=True, slots=True, repr=False)
class History(Result):
    """What a database holds; its frame has a row for every point of the series, or for every campaign without series.

    Attributes:
        campaigns: the campaigns by date, then in the order they were saved in.
        series: the cases that were asked for, followed over the campaigns.
    """

    campaigns: tuple[Entry, ...]
    series: tuple[Series, ...]

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.history.rendering import campaigns_document, series_document

        return series_document(self.series, _MARGIN) if self.series else campaigns_document(self.campaigns)

    def _described(self) -> str:
        labels = [entry.label for entry in self.campaigns]
        named = f" ({labels[0]} to {labels[-1]})" if len(labels) > 1 else f" ({labels[0]})" if labels else ""
        followed = f", {counted(len(self.series), 'series')}" if self.series else ""
        return f"{counted(len(labels), 'campaign')}{named}{followed}"

    def _tables(self) -> Sequence[TextTable]:
        from perflog.history.rendering import campaign_table, series_table

        if self.series:
            return [series_table(series, _MARGIN) for series in self.series]
        return [campaign_table(self.campaigns)] if self.campaigns else []

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        from perflog.history.rendering import campaign_row, point_rows

        if self.series:
            return point_rows(self.series, _MARGIN)
        return [campaign_row(entry) for entry in self.campaigns]


@dataclass(frozen=True, slots=True, repr=False)
class Regressions(Result):
    """The cases of a history that changed level; its frame has a row for every change, the worst first.

    Attributes:
        regressions: the objects behind it (:class:`perflog.history.level_changes.Regressions`): ``changes``,
            ``unexpected``, ``missing`` …
    """

    regressions: FoundRegressions

    @property
    def summary(self) -> str:
        """How many cases did what, and which got worse."""
        from perflog.history.changed_cases import opening

        return " ".join(opening(self.regressions))

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.history.changed_cases import document

        return document(self.regressions)

    def _described(self) -> str:
        return self.summary

    def _tables(self) -> Sequence[TextTable]:
        from perflog.history.changed_cases import changes_table

        return [changes_table(self.regressions)]

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return list(self.document()["changes"])


@in_python_terms
def save(
    paths: Paths, label: str, *, date: datetime | None = None, replace: bool = False, commit: str | None = None,
    branch: str | None = None, database: PathLike | None = None, cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Saved:  # fmt: skip
    """Keep a campaign's cases, runs and metrics in the history (``perflog save``).

    Args:
        paths: files and folders.
        label: the campaign's name.
        date: when it was measured, with its time zone; None: now.
        replace: whether these results take the place of those that have the label.
        commit: the commit that was measured, ``"git"`` for what is checked out in the working folder, ``"ci"`` for what
            the CI's variables say; None: nobody says it.
        branch: its branch; None: the one that goes with ``"git"`` or ``"ci"``.
        database: the history's database; None: as on the command line.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        What was saved: ``label``, ``date``, the numbers of ``cases`` and ``runs``, and what was ``done``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or a label that is taken.
        perflog.errors.PerflogError: when there is nothing to save, or the database cannot be written.
    """
    from perflog.compare.sides import database_of
    from perflog.history import code_of
    from perflog.history import save as store

    logs = path_list(paths)
    chosen, code = settings_of(options, logs, database), code_of(commit, branch)
    return store(database_of(chosen), extractions_of(cache).of(logs, chosen), label, date, replace, code)


@in_python_terms
def history(
    case: Mapping[str, Any] | None = None, *, metric: str = "throughput", ignore: Iterable[str] = (),
    branch: str = "", database: PathLike | None = None,
) -> History:  # fmt: skip
    """List the campaigns that were saved, and follow cases over them (``perflog history``).

    Args:
        case: the cases to follow: ``{"model": "rn50", "devices": 8}``; None: none.
        metric: the metric to follow.
        ignore: machine facts that may change within a series.
        branch: campaigns of this branch alone; empty: all.
        database: the history's database; None: as on the command line.

    Returns:
        The ``campaigns``, and a ``series`` of points for every case that was asked for.

    Raises:
        perflog.errors.UsageError: when there is no such case or metric.
        perflog.errors.PerflogError: when the database cannot be read.
    """
    from perflog.compare.sides import database_of
    from perflog.history import campaigns, series

    place = database_of(settings_of({}, [], database))
    wanted = texts(case)
    lines = series(place, wanted, metric, tuple(ignore), branch) if wanted else []
    return History(tuple(campaigns(place)), tuple(lines))


@in_python_terms
def regressions(
    case: Mapping[str, Any] | None = None, *, since: str = "", metric: str = "throughput",
    margin: str | float = _MARGIN, ignore: Iterable[str] = (), branch: str = "", database: PathLike | None = None,
) -> Regressions:  # fmt: skip
    """Find the cases of the history that changed level (``perflog history --regressions``); the ledger stays as it is.

    Args:
        case: the cases to look at: ``{"model": "rn50"}``; None: all.
        since: a campaign's label (changes after it count) or a day (changes from it on); empty: the whole history.
        metric: the metric to follow.
        margin: changes of level within this share do not matter: 0.02, or ``"2%"``.
        ignore: machine facts that may change within a series.
        branch: campaigns of this branch alone; empty: all.
        database: the history's database; None: as on the command line.

    Returns:
        The changes of level, worst first, and a ``summary``.

    Raises:
        perflog.errors.UsageError: when there is no such case, metric, campaign or day.
        perflog.errors.PerflogError: when the database cannot be read.
    """
    from perflog.compare.rule import share
    from perflog.compare.sides import database_of
    from perflog.history import regressions as find

    place = database_of(settings_of({}, [], database))
    return Regressions(find(place, since, metric, share(margin, "margin"), texts(case), tuple(ignore), branch))


# ----------------------------------------------------------------------------------------------------
# Two sides measured in turn, until every case is decided.


@dataclass(frozen=True, slots=True, repr=False)
class Measurement(Result):
    """Two sides that were measured in turn; its frame has a row for every case.

    Attributes:
        measured: the objects behind it (:class:`perflog.campaign.Measured`): ``rule``, ``looks``, ``spent`` …
        margin: changes of up to this share do not matter.
    """

    measured: Measured
    margin: float

    @property
    def cases(self) -> tuple[CaseLook, ...]:
        """Every case at its last look: its ``rounds``, and a ``look`` with ratio, interval and decision."""
        return self.measured.looks

    @property
    def decided(self) -> bool:
        """Whether every case is faster, slower, or the same within the margin."""
        return all(entry.look.decided and not entry.failed for entry in self.cases)

    @property
    def folders(self) -> tuple[Path, Path]:
        """The folders of the old and of the new side's logs, which ``perflog.compare`` takes."""
        return self.measured.root / "old", self.measured.root / "new"

    def _described(self) -> str:
        decided = sum(entry.look.decided and not entry.failed for entry in self.cases)
        failed = f", {len(self.measured.failed)} failed" if self.measured.failed else ""
        spent = f" when the budget of {self.measured.spent} was spent" if self.measured.spent else ""
        return f"{counted(len(self.cases), 'case')}: {decided} decided{failed}{spent}"

    def _tables(self) -> Sequence[TextTable]:
        from perflog.show.text import TextTable

        rows = [[entry.case, entry.sentence(self.margin)] for entry in self.cases]
        caption = f"ratios new / old, margin {100 * self.margin:g} %, order of seed {self.measured.rule.seed}."
        return (TextTable(["case", "what was decided"], rows, [False, False], caption=caption),)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return [_row(entry, self.margin) for entry in self.cases]


def _row(entry: CaseLook, margin: float) -> Mapping[str, Any]:
    ratio = entry.look.ratio
    return {
        "case": entry.case, "verdict": "failed" if entry.failed else entry.look.decision.verdict.value,
        "rounds": entry.rounds, "ratio": ratio.value, "low": ratio.low, "high": ratio.high, "level": ratio.level,
        "sentence": entry.sentence(margin),
    }  # fmt: skip


@in_python_terms
def measure(
    campaign: PathLike,
    against: PathLike,
    *,
    only: Mapping[str, Any] | None = None,
    logs: PathLike | None = None,
    margin: str | float = _MARGIN,
    max_runs: int | None = None,
    max_hours: float | None = None,
    seed: int | None = None,
    hostfile: PathLike | None = None,
    remote: Sequence[str] = (),
    retry_failed: bool = False,
    observer: RoundObserver | None = None,
) -> Measurement:
    """Measure two sides in turn until every case is decided (``perflog run CAMPAIGN --against OLD``).

    The same call goes on where an earlier one was cut off or its budget was spent.

    Args:
        campaign: the campaign file of the new side.
        against: the old side: another campaign file, this one again, or the folder of a Python environment.
        only: parts of the campaign alone: ``{"framework": "pytorch", "devices": "1n1g"}``.
        logs: the folder of both sides' logs; None: the campaign's.
        margin: changes within this share do not matter: 0.02, or ``"2%"``.
        max_runs: a case is undecided after so many runs a side; None: 30.
        max_hours: cases are undecided after so many hours of training; None: no limit.
        seed: of the random order within each round; None: drawn and recorded.
        hostfile: hosts of runs on several nodes, one a line.
        remote: the words that start a command on ``{host}``; none: ssh.
        retry_failed: run again what failed.
        observer: is told of every run and every look; None: nobody is.

    Returns:
        Every case with its verdict, ratio and interval, and the folders of the logs.

    Raises:
        perflog.errors.UsageError: for a campaign, a side or an option that is not right, a missing environment, or a
            folder that holds other logs or a measurement by another rule.
    """
    from perflog.campaign.versus import MAX_RUNS, Budget, plan_measurement
    from perflog.campaign.versus import measure as run_measurement
    from perflog.compare.rule import share

    plan = plan_measurement(
        campaign, against, only=texts(only), logs=logs, hostfile=hostfile, remote=remote, seed=seed,
        budget=Budget(MAX_RUNS if max_runs is None else max_runs, max_hours), margin=share(margin, "margin"),
    )  # fmt: skip
    return Measurement(run_measurement(plan, retry_failed=retry_failed, observer=observer), plan.margin)
