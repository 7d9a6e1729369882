"""Two sides in, a comparison out; the noise of runs, and how many a change needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    from perflog.cases.pairs import Unpaired
    from perflog.compare.noise import CaseNoise
    from perflog.compare.noise import Noise as MeasuredNoise
    from perflog.compare.rows import CaseComparison
    from perflog.compare.rows import Comparison as CaseComparisons
    from perflog.show.text import TextTable


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Result):
    """Two sides compared case by case; its frame has a row for every pair of cases.

    Attributes:
        comparison: the objects behind it (:class:`perflog.compare.rows.Comparison`): ``rule``, ``mean``, ``notes`` …
    """

    comparison: CaseComparisons

    @property
    def rows(self) -> tuple[CaseComparison, ...]:
        """One for every pair of cases: both sides' values, ratio with interval, verdict."""
        return self.comparison.rows

    @property
    def unpaired(self) -> tuple[Unpaired, ...]:
        """The cases without a partner, each with the reason."""
        return self.comparison.unpaired

    @property
    def summary(self) -> str:
        """What was found, in one or two sentences."""
        from perflog.compare.opening import opening

        return " ".join(opening(self.comparison, remedies=False))

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.compare.outputs import comparison_document

        return comparison_document([self.comparison])

    def _described(self) -> str:
        return self.summary

    def _tables(self) -> Sequence[TextTable]:
        from perflog.compare.table import comparison_table

        return (comparison_table(self.comparison),)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        (document,) = self.document()["comparisons"]
        return list(document["rows"])


@dataclass(frozen=True, slots=True, repr=False)
class Noise(Result):
    """How much the runs of each case differ; its frame has a row for every case.

    Attributes:
        noise: the objects behind it (:class:`perflog.compare.noise.Noise`).
    """

    noise: MeasuredNoise

    @property
    def cases(self) -> Sequence[CaseNoise]:
        """By case how much its runs differ, the change that they can show, and the ``runs_needed`` for a plan."""
        return self.noise.cases

    @property
    def detect(self) -> float | None:
        """The change that a plan must see, a share; None where none was planned."""
        return self.noise.detect

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.compare.noise import noise_document

        return noise_document(self.noise)

    def _described(self) -> str:
        from perflog.show.text import two_digits

        spreads = [case.coefficient_of_variation for case in self.cases if case.coefficient_of_variation is not None]
        text = counted(len(self.cases), "case")
        return f"{text}, spread between runs up to {two_digits(100 * max(spreads))} %" if spreads else text

    def _tables(self) -> Sequence[TextTable]:
        from perflog.compare.noise import noise_table

        return (noise_table(self.noise),)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return list(self.document()["cases"])


@in_python_terms
def compare(
    old: PathLike,
    new: PathLike,
    *,
    metric: str = "throughput",
    margin: str | float = 0.02,
    level: float = 0.95,
    across: Sequence[str] = (),
    repeats_over: Sequence[str] = (),
    aliases: Mapping[str, str] | None = None,
    where: Mapping[str, Any] | None = None,
    history: bool | None = None,
    database: PathLike | None = None,
    cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Comparison:
    """Compare two sides case by case (``perflog compare``).

    Args:
        old: files or a folder of logs, or the label of a saved campaign.
        new: the same of the side whose ratio to the old one is asked for.
        metric: ``throughput``, ``step_time``, ``time_to_train``, ``speedup``, ``efficiency``, ``reported`` or
            ``memory``.
        margin: changes within this share do not matter: 0.02, or ``"2%"``.
        level: the confidence of intervals and tests, a share.
        across: keys that may differ between the two cases of a pair.
        repeats_over: keys that tell machines apart (``label``, ``accelerator``): each machine is one repeat, by the
            centre of its runs.
        aliases: names of models and the like, each with the name that it is another one of.
        where: the cases with these values alone: ``{"devices": "1:8"}``.
        history: whether each case is judged with what its earlier campaigns spread by, out of the history; None: where
            a database is named.
        database: the history's database; None: as on the command line.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        The comparison: ``rows`` with ratio, interval and verdict, the cases that are ``unpaired``, and a ``summary``.

    Raises:
        perflog.errors.UsageError: for an option or a side that is not right.
    """
    from perflog.cases.pairs import metrics_named
    from perflog.compare.comparing import compare_sides
    from perflog.compare.rule import Rule, share
    from perflog.compare.sides import history_of, open_sides, require_alias
    from perflog.formats.catalog import path_patterns

    rule = Rule(metrics_named(metric), share(margin, "margin"), level)
    sides = [os.fspath(old), os.fspath(new)]
    chosen = settings_of(options, [side for side in sides if Path(side).exists()], database)
    opened = open_sides(sides, chosen, extractions_of(cache))
    require_alias([case for side in opened.sides for case in side.extraction.cases], aliases or {})
    known = {**chosen.values["aliases"], **(aliases or {})}
    patterns = path_patterns(chosen.values["parsers"])
    past = history_of(chosen, history)
    (comparison,) = compare_sides(opened, rule, patterns, across, texts(where), known, repeats_over, past)
    return Comparison(comparison)


@in_python_terms
def plan(
    paths: Paths, detect: str | float = 0.05, *, margin: str | float = 0.02, metric: str = "throughput",
    history: bool | None = None, where: Mapping[str, Any] | None = None, database: PathLike | None = None,
    cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Noise:  # fmt: skip
    """How many runs a side each case needs for ``compare`` to call a change (``perflog plan``).

    Args:
        paths: files and folders, or labels of saved campaigns.
        detect: the change that must be seen, a share above the margin: 0.05, or ``"5%"``.
        margin: changes within this share do not matter.
        metric: the metric whose runs are looked at.
        history: whether the plan is made from what each case's earlier campaigns spread by, out of the history; None:
            where a database is named.
        where: the cases with these values alone, as :func:`compare` takes them.
        database: the history's database; None: as on the command line.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        By case how much its runs differ, and the ``runs_needed``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or when there is no training log.
    """
    from perflog.compare.rule import share

    return _noise(
        paths, metric, share(detect, "detect"), share(margin, "margin"), where, database, cache, options, history
    )


@in_python_terms
def noise(
    paths: Paths, *, margin: str | float = 0.02, metric: str = "throughput", history: bool | None = None,
    where: Mapping[str, Any] | None = None, database: PathLike | None = None, cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Noise:  # fmt: skip
    """How much the runs of each case differ, and the change that as many runs could show (``perflog noise``).

    Args:
        paths: files and folders, or labels of saved campaigns.
        margin: changes within this share do not matter.
        metric: the metric whose runs are looked at.
        history: whether to look up in the history what runs and campaigns spread by; None: where a database is named.
        where: the cases with these values alone, as :func:`compare` takes them.
        database: the history's database; None: as on the command line.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        By case how much its runs differ, and the change that as many runs could show.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or when there is no training log.
    """
    from perflog.compare.rule import share

    return _noise(paths, metric, None, share(margin, "margin"), where, database, cache, options, history)


def _noise(
    paths: Paths,
    metric: str,
    detect: float | None,
    margin: float,
    where: Mapping[str, Any] | None,
    database: PathLike | None,
    cache: bool | None,
    options: ExtractionOptions,
    history: bool | None = None,
) -> Noise:
    from perflog.cases.pairs import metrics_named
    from perflog.compare.noise import noise_of
    from perflog.compare.rule import METRICS
    from perflog.settings.config import one_of

    metric = metrics_named(metric)
    one_of("metric", metric, METRICS)
    names = path_list(paths)
    chosen = settings_of(options, [name for name in names if Path(name).exists()], database)
    return Noise(noise_of(names, chosen, extractions_of(cache), metric, detect, margin, history, texts(where)))
