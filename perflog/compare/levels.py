"""What the history knows of the variance between campaigns of one version, for the cases of a comparison or of noise.

Campaigns count together when they are of one case and one version, made by one rule, on machines that are not known to
differ. A campaign that is compared now is none of the earlier ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from perflog.cases.case import Case
from perflog.cases.pairs import VERSION, Pair
from perflog.compare.derived import is_derived
from perflog.compare.rows import values
from perflog.compare.sides import Side, machines
from perflog.compare.when import interleaved
from perflog.export.columns import counted
from perflog.formats.vocabulary import CASE_KEYS
from perflog.history.earlier import earlier_points
from perflog.history.place import name_of
from perflog.history.points import Point
from perflog.stats.campaigns import CampaignLevel, campaign_level

#: Metrics whose values depend on the window of steps that was taken.
_WINDOWED = frozenset({"throughput", "step_time"})


@dataclass(frozen=True, slots=True)
class Levels:
    """The campaign level of rows.

    Attributes:
        rows: of each row; None where it is not known, or not needed.
        sentence: what is included, of how many campaigns, or why it is not.
    """

    rows: tuple[CampaignLevel | None, ...]
    sentence: str


def levels_of_pairs(pairs: Sequence[Pair], old: Side, new: Side, metric: str, database: str) -> Levels:
    """The campaign level of each pair of cases, out of a history.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    nothing = (None,) * len(pairs)
    if is_derived(metric):
        return Levels(nothing, f"The variance between campaigns is not known of {metric}, and not in the intervals.")
    if pairs and all(interleaved(pair) for pair in pairs):
        return Levels(nothing, (
            "The runs of both sides were made in turn, so that whatever a campaign does falls on both: the variance "
            "between campaigns is not in the intervals."
        ))  # fmt: skip
    cases = [case for pair in pairs for case in (pair.old, pair.new)]
    points = _points(cases, metric, database)
    here = [*machines(old, [pair.old for pair in pairs]), *machines(new, [pair.new for pair in pairs])]
    rows = tuple(_level([pair.old, pair.new], metric, points, here) for pair in pairs)
    return Levels(rows, _sentence(rows, name_of(database)))


def levels_of_cases(cases: Sequence[Case], metric: str, database: str) -> list[CampaignLevel | None]:
    """The campaign level of each case, out of a history; the case's own campaign counts where it is saved there.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    if is_derived(metric):
        return [None] * len(cases)
    points = _points(cases, metric, database)
    return [_level([case], metric, points, (), own_counts=True) for case in cases]


def level_note(level: CampaignLevel) -> str:
    """What a row says of its campaign level."""
    spread, freedom = 100 * level.campaign_spread, counted(level.freedom, "degree")
    return (
        f"{level.campaigns} earlier campaigns differ by {spread:.2g} % beyond their runs ({freedom} of freedom), "
        "which is in the interval"
    )


def _points(cases: Sequence[Case], metric: str, database: str) -> list[Point]:
    """The points of all cases that have what all of these have in common."""
    keys = [key for key in CASE_KEYS if key != VERSION and key not in ("nodes", "accelerator")]
    shared = {key: {str(case.key.get(key, "")) for case in cases} for key in keys}
    wanted = {key: next(iter(texts)) for key, texts in shared.items() if len(texts) == 1 and "" not in texts}
    return earlier_points(database, wanted, metric)


def _identity(key: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value).lower() for name, value in key.items() if name != VERSION}


def _level(
    compared: Sequence[Case],
    metric: str,
    points: Sequence[Point],
    here: Collection[Mapping[str, str]],
    own_counts: bool = False,
) -> CampaignLevel | None:
    """The level of the campaigns of one case but those that are compared; ``here``: the machines of now.

    A campaign with several such cases, which only its folders tell apart, says nothing: which is which is not known.
    """
    case = compared[0]
    rules = {_rule(case, metric) for case in compared}
    own = set() if own_counts else {tuple(sorted(values(case, metric))) for case in compared}
    groups: dict[tuple[object, ...], dict[str, list[list[float]]]] = {}
    for point in points:
        runs = [value for value in point.values if value is not None and math.isfinite(value) and value > 0]
        elsewhere = bool(here) and bool(point.machines) and not any(machine in here for machine in point.machines)
        if _identity(point.key) != _identity(case.key) or point.rule not in rules or len(runs) != len(point.values):
            continue
        if elsewhere or tuple(sorted(runs)) in own:
            continue
        machine = tuple(sorted(tuple(sorted(facts.items())) for facts in point.machines))
        groups.setdefault((point.version, machine), {}).setdefault(point.campaign, []).append(runs)
    alike = [[cases[0] for cases in campaigns.values() if len(cases) == 1] for campaigns in groups.values()]
    return campaign_level(alike)


def _rule(case: Case, metric: str) -> str:
    """How a case's values were made, as points of the history say it."""
    run = case.runs[0]
    measured = run.metrics.get(metric)
    text = f"estimator {measured.estimator if measured is not None else ''}"
    return f"{text}; {run.window}" if metric in _WINDOWED else text


def _sentence(rows: Sequence[CampaignLevel | None], database: str) -> str:
    known = [level for level in rows if level is not None]
    if not known:
        return (
            f"The variance between campaigns is not known: {database} holds no two earlier campaigns of one version "
            "and one machine of any of these cases, and the intervals are without it."
        )
    counts = [level.campaigns for level in known]
    numbers = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    text = f"The variance between campaigns is in the intervals, as {numbers} earlier campaigns in {database} have it"
    if len(known) < len(rows):
        return f"{text}, but for {len(rows) - len(known)} of {len(rows)} cases, of which it is not known."
    return f"{text}."
