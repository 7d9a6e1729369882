"""How much runs differ, how many a change needs to be seen, and what change the runs at hand could show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflog.cases.case import Case
from perflog.cases.choosing import chosen
from perflog.compare.rows import centre, values
from perflog.compare.sides import database_of, open_sides
from perflog.errors import UsageError
from perflog.report.extractions import Extractions
from perflog.settings.config import Settings
from perflog.settings.options import Options
from perflog.stats.campaigns import CampaignLevel
from perflog.stats.power import (
    Table,
    coefficient_of_variation,
    detectable_change,
    pooled_coefficient_of_variation,
    runs_needed,
    variation_bounds,
)
from perflog.stats.verdict import MARGIN

#: The chance of seeing a change that a plan is made for, and the level of the test.
WANTED, LEVEL = 0.8, 0.95
#: A coefficient of variation from fewer runs is too rough to plan with: that of all cases pooled is used.
ENOUGH_RUNS = 4


@dataclass(frozen=True, slots=True)
class CaseNoise:
    """How much the runs of one case differ.

    Attributes:
        case: the case.
        n: how many of its runs have a value.
        centre: their median, in ``unit``.
        unit: the metric's unit.
        coefficient_of_variation: the standard deviation of the logarithms of the run values, a share; None for fewer
            than two runs.
        low, high: its 80 % interval.
        change_seen: the smallest change that `compare` would call with a chance of 80 % with as many runs on both
            sides, a share; None where so many runs carry no table of so many rows.
        runs_needed: runs a side for the change that is planned for; None where more than 1000 would be needed.
        campaigns: what campaigns of one version differ by, as the history has it; None where it is not known.
        pooled: whether ``change_seen`` and ``runs_needed`` come from the coefficient of variation of all cases pooled.
    """

    case: Case
    n: int
    centre: float | None
    unit: str
    coefficient_of_variation: float | None = None
    low: float | None = None
    high: float | None = None
    change_seen: float | None = None
    runs_needed: int | None = None
    pooled: bool = False
    campaigns: CampaignLevel | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of all cases, and with ``detect`` a plan: how many runs a side each case needs.

    Attributes:
        metric: the metric whose run values are looked at.
        detect: the change that must be seen, a share; None where nothing is planned.
        options: how the numbers were made.
        cases: one per case, in the cases' order.
        history: the database that campaigns were looked up in; empty where they were not.
        table: the table that the changes are to be found in: as many rows as there are cases, the margin, the level.
    """

    metric: str
    detect: float | None
    options: Options
    cases: tuple[CaseNoise, ...]
    table: Table
    history: str = ""


def noise(
    cases: Sequence[Case], options: Options, metric: str, detect: float | None = None, margin: float = MARGIN
) -> Noise:
    """The noise of every case.

    Args:
        cases: those that a comparison will have as its rows.
        options: how the numbers were made.
        metric: whose run values are looked at.
        detect: the change, a share, to plan for.
        margin: the change, a share, that does not matter.

    Raises:
        UsageError: for a change within the margin, which `compare` never calls.
    """
    if detect is not None and detect <= margin:
        raise UsageError(
            f"a change of {100 * detect:.4g} % lies within the margin of {100 * margin:.4g} %, so no number of runs "
            "makes `perflog compare` call it: ask for a larger change (--detect) or set a smaller margin (--margin)"
        )
    table = Table(max(1, len(cases)), margin, LEVEL)
    groups = [[v for v in values(case, metric) if math.isfinite(v) and v > 0] for case in cases]
    together = pooled_coefficient_of_variation(groups)
    pooled = together[0] if together is not None else None
    members = (
        _case_noise(case, group, metric, detect, pooled, table) for case, group in zip(cases, groups, strict=True)
    )
    return Noise(metric, detect, options, tuple(members), table)


def with_campaigns(noise: Noise, database: str) -> Noise:
    """The noise with what campaigns of one version differ by, as a history has it.

    Raises:
        UsageError: when there is no such history yet.
        PerflogError: when it cannot be read.
    """
    from perflog.compare.judging import levels_of_cases
    from perflog.history.place import name_of

    levels = levels_of_cases([member.case for member in noise.cases], noise.metric, database)
    members = (replace(member, campaigns=level) for member, level in zip(noise.cases, levels, strict=True))
    return replace(noise, cases=tuple(members), history=name_of(database))


def _case_noise(
    case: Case, group: Sequence[float], metric: str, detect: float | None, pooled: float | None, table: Table
) -> CaseNoise:
    own = coefficient_of_variation(group) if len(group) > 1 else None
    low, high = variation_bounds(own, len(group) - 1) if own else (None, None)
    from_pool = len(group) < ENOUGH_RUNS or not own
    variation = pooled if from_pool and pooled is not None else own
    seen = detectable_change(variation, max(len(group), 2), WANTED, table) if variation else None
    needed = runs_needed(detect, variation, WANTED, table) if variation and detect is not None else None
    unit = case.metrics[metric].unit if metric in case.metrics else ""
    return CaseNoise(case, len(group), centre(group), unit, own, low, high, seen, needed, from_pool)


# ----------------------------------------------------------------------------------------------------
# The noise of logs or saved campaigns, from their names.


def noise_of(
    names: Sequence[str], settings: Settings, extractions: Extractions, metric: str, detect: float | None = None,
    margin: float = MARGIN, history: bool = False, where: Mapping[str, str] | None = None,
) -> Noise:  # fmt: skip
    """The noise of every case of logs, or of labels of saved campaigns.

    Args:
        names: files and folders of logs, all one set; or, where one of them is a campaign's label, sides of their own.
        metric: one of :data:`perflog.compare.rule.METRICS`.
        detect: the change (a share) to plan for; None: none.
        margin: the change (a share) that does not matter.
        history: whether to look up in the history what campaigns of one version differ by.
        where: the cases with these values alone, as a comparison with the same ``where`` has them.

    Raises:
        UsageError: for a name that is neither, when there is no training log, for a change within the margin, or for a
            field or value of ``where`` that no case has.
    """
    if all(Path(name).exists() for name in names):
        cases, options = extractions.of(names, settings).cases, settings.options()
    else:
        opened = open_sides(names, settings, extractions)
        cases, options = [case for side in opened.sides for case in side.extraction.cases], opened.options
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    if where:
        cases = chosen(cases, where)
    measured = noise(cases, options, metric, detect, margin)
    return with_campaigns(measured, database_of(settings)) if history else measured
