"""What earlier campaigns of one version are worth: tables whose two sides are two campaigns, each with an effect."""

from __future__ import annotations

from functools import partial

from numpy.random import Generator

from perflog.compare.rows import compared_cases
from perflog.compare.rule import Rule
from perflog.stats.campaigns import CampaignLevel, campaign_level
from perflog.stats.verdict import Verdict
from tests.tools.simulate_compare import percent
from tests.tools.simulate_compare import table as markdown
from tests.tools.tables_of_runs import Array, Sides, normal, rates_of, table

RUNS, SPREAD = 5, 0.005
#: Tables of a line by the number of its rows, at scale 1.
TABLES = {1: 1000, 20: 150}


def known_levels(random: Generator, rows: int, campaigns: int, effect: float) -> list[CampaignLevel | None]:
    """What so many earlier campaigns of one version say of each row."""
    effects = effect * random.standard_normal((campaigns, rows, 1))
    logs: Array = effects + SPREAD * random.standard_normal((campaigns, rows, RUNS))
    by_campaign = [rates_of(campaign) for campaign in logs]
    return [campaign_level([[campaign[row] for campaign in by_campaign]]) for row in range(rows)]


def errors(random: Generator, rows: int, campaigns: int, effect: float, tables: int) -> tuple[float, float, float]:
    """(tables of identical versions with a false verdict, rows covered, the mean stated level)."""
    make = partial(table, random, normal, rows, Sides((RUNS, RUNS), (SPREAD, SPREAD)), between=effect)
    false = covered = level = 0.0
    for _ in range(tables):
        levels = known_levels(random, rows, campaigns, effect) if campaigns else []
        result = compared_cases(make(), Rule(), levels)
        false += any(row.verdict in (Verdict.FASTER, Verdict.SLOWER) for row in result)
        for row in result:
            assert row.ratio.low is not None
            assert row.ratio.high is not None
            assert row.ratio.level is not None
            covered += row.ratio.low <= 1 <= row.ratio.high
            level += row.ratio.level
    return false / tables, covered / tables / rows, level / tables / rows


def campaigns_part(random: Generator, scale: float) -> str:
    """The error rates with and without earlier campaigns."""
    lines = []
    for effect in (0.01, 0.02, 0.05):
        for campaigns in (0, 3, 5, 10):
            cells = []
            for rows, tables in TABLES.items():
                false, covered, level = errors(random, rows, campaigns, effect, max(10, round(tables * scale)))
                cells += [percent(false), f"{percent(covered)} ({percent(level)})"]
            lines.append([percent(effect, 0), str(campaigns) if campaigns else "none (without --history)", *cells])
    head = [
        "effect of a campaign",
        "known campaigns",
        "1 row: false",
        "coverage (stated)",
        "20 rows: false",
        "coverage (stated)",
    ]
    return (
        "#### The variance between campaigns\n\nTwo sides that are two campaigns of identical versions, each with an effect "
        f"of its own, {RUNS} runs that spread by {percent(SPREAD)}, margin 2 %, with so many earlier campaigns of one version "
        f"known (`perflog compare --history`). Tables: {', '.join(f'{max(10, round(n * scale))} of {r}' for r, n in TABLES.items())}"
        f" rows.\n\n{markdown(head, lines)}"
    )
