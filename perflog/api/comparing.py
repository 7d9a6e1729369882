"""Two sides in, a comparison out; the noise of runs, and how many a change needs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from perflog.api.options import ExtractionOptions, PathLike, Paths, path_list, settings_of, texts
from perflog.report.extractions import Extractions

if TYPE_CHECKING:
    from perflog.compare.noise import Noise
    from perflog.compare.rows import Comparison


def compare(
    old: PathLike,
    new: PathLike,
    *,
    metric: str = "throughput",
    margin: str | float = 0.02,
    level: float = 0.95,
    across: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    database: PathLike | None = None,
    **options: Unpack[ExtractionOptions],
) -> Comparison:
    """Compare two sides case by case (``perflog compare``).

    Args:
        old: files or a folder of logs, or the label of a saved campaign.
        new: the same of the side whose ratio to the old one is asked for.
        metric: ``throughput``, ``step_time``, ``time_to_train``, ``speedup``, ``reported`` or ``memory``.
        margin: changes within this share do not matter: 0.02, or ``"2%"``.
        level: the confidence of intervals and tests, a share.
        across: keys that may differ between the two cases of a pair.
        where: the cases with these values alone: ``{"devices": "1:8"}``.
        database: the history's database; None: as on the command line.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        The comparison: ``rows`` with ratio, interval and verdict, and the cases that are ``unpaired``.

    Raises:
        perflog.errors.UsageError: for an option or a side that is not right.
    """
    from perflog.compare.comparing import compare_sides
    from perflog.compare.opening import open_sides
    from perflog.compare.rule import Rule, share
    from perflog.formats.catalog import path_patterns

    rule = Rule(metric, share(margin, "margin"), level)
    sides = [os.fspath(old), os.fspath(new)]
    chosen = settings_of(options, [side for side in sides if Path(side).exists()], database)
    opened = open_sides(sides, chosen, Extractions())
    (comparison,) = compare_sides(opened, rule, path_patterns(chosen.values["parsers"]), across, texts(where))
    return comparison


def plan(
    paths: Paths, detect: str | float = 0.05, *, margin: str | float = 0.02, metric: str = "throughput",
    database: PathLike | None = None, **options: Unpack[ExtractionOptions],
) -> Noise:  # fmt: skip
    """How many runs a side each case needs for ``compare`` to call a change (``perflog plan``).

    Args:
        paths: files and folders, or labels of saved campaigns.
        detect: the change that must be seen, a share above the margin: 0.05, or ``"5%"``.
        margin: changes within this share do not matter.
        metric: the metric whose runs are looked at.
        database: the history's database; None: as on the command line.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        By case how much its runs differ, and the ``runs_needed``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or when there is no training log.
    """
    from perflog.compare.rule import share

    return _noise(paths, metric, share(detect, "detect"), share(margin, "margin"), database, options)


def noise(
    paths: Paths, *, margin: str | float = 0.02, metric: str = "throughput", database: PathLike | None = None,
    **options: Unpack[ExtractionOptions],
) -> Noise:  # fmt: skip
    """How much the runs of each case differ, and the change that as many runs could show (``perflog noise``).

    Args:
        paths: files and folders, or labels of saved campaigns.
        margin: changes within this share do not matter.
        metric: the metric whose runs are looked at.
        database: the history's database; None: as on the command line.
        options: the options of extraction (see :mod:`perflog.api`).

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or when there is no training log.
    """
    from perflog.compare.rule import share

    return _noise(paths, metric, None, share(margin, "margin"), database, options)


def _noise(
    paths: Paths,
    metric: str,
    detect: float | None,
    margin: float,
    database: PathLike | None,
    options: ExtractionOptions,
) -> Noise:
    from perflog.compare.planning import noise_of
    from perflog.compare.rule import METRICS
    from perflog.settings.config import one_of

    one_of("metric", metric, list(METRICS))
    names = path_list(paths)
    chosen = settings_of(options, [name for name in names if Path(name).exists()], database)
    return noise_of(names, chosen, Extractions(), metric, detect, margin)
