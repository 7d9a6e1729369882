"""Plans that are made from the memory of a case: how often they keep their promise, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import special

from perflog.compare.noise import WANTED
from perflog.compare.rows import compared_cases
from perflog.compare.rule import VERDICTS, Rule
from perflog.stats.mannwhitney import runs_for
from perflog.stats.memory import (
    IMPROBABLE,
    Memory,
    Remembered,
    chance_of_noise,
    memory_of,
    squared_error,
    with_memory_of_campaigns,
)
from perflog.stats.planning import outlook, runs_needed
from perflog.stats.power import Table
from perflog.stats.separation import runs_for_rows
from tests.tools.pages import percent
from tests.tools.pages import table as markdown
from tests.tools.table_methods import NOISY, NOISY_ROWS
from tests.tools.tables_of_runs import Array, pairs_of

#: Runs of each campaign of a history; the margin; the level; rows whose power is counted for a plan.
RUNS, MARGIN, LEVEL, COUNTED = 5, 0.02, 0.95, 10_000

#: (the generator, how many campaigns) → by how many times the usual each campaign spreads.
Factors = Callable[[Generator, int], Array]


def alike(random: Generator, count: int) -> Array:
    """All campaigns have one noise."""
    del random
    return np.ones(count)


def unlike(random: Generator, count: int) -> Array:
    """Each campaign spreads by half as much as usual to half as much more."""
    return random.uniform(0.5, 1.5, count)


@dataclass(frozen=True, slots=True)
class Cell:
    """What is planned for.

    Attributes:
        name: of the line.
        rows: of the table, one of which changes.
        spread: of the runs of a usual campaign; ``between``: of the effects of campaigns.
        change: of the one row, a share.
        factors: of the campaigns' spreads.
        noisy: how many of the other rows spread by 5 %.
    """

    name: str
    rows: int
    spread: float
    change: float
    between: float = 0.0
    factors: Factors = alike
    noisy: int = 0

    @property
    def apart(self) -> bool:
        """Whether one side is measured after the other."""
        return self.between > 0


CELLS = (
    Cell("1 row, spread 1 %, change 4 %", 1, 0.01, 0.04),
    Cell("1 row, 3 %, 5 %", 1, 0.03, 0.05),
    Cell("20 rows, 2 %, 5 %", 20, 0.02, 0.05),
    Cell("20 rows, 3 %, 5 %", 20, 0.03, 0.05),
    Cell(f"20 rows, 2 %, 5 %, {NOISY_ROWS} others spread by 5 %", 20, 0.02, 0.05, noisy=NOISY_ROWS),
    Cell("1 row, each campaign spreads by 1.5 to 4.5 %, 5 %", 1, 0.03, 0.05, factors=unlike),
    Cell("20 rows, each campaign spreads by 1 to 3 %, 5 %", 20, 0.02, 0.05, factors=unlike),
    Cell("1 row, apart: campaigns differ by 0.5 %, 1 %, 5 %", 1, 0.01, 0.05, between=0.005),
    Cell("20 rows, apart: campaigns differ by 0.5 %, 1 %, 8 %", 20, 0.01, 0.08, between=0.005),
    Cell("1 row, apart: campaigns differ by 2 %, 1 %, 5 %", 1, 0.01, 0.05, between=0.02),
)
CAMPAIGNS = (5, 10, 30)


def drawn_memory(random: Generator, cell: Cell, spread: float, campaigns: int) -> Memory | None:
    """The memory of a case with so many campaigns."""
    spreads = spread * cell.factors(random, campaigns)[:, None]
    logs = spreads * random.standard_normal((campaigns, RUNS)) + cell.between * random.standard_normal((campaigns, 1))
    found = memory_of([(100 * np.exp(logs)).tolist()])
    return None if isinstance(found, str) else found


def least_runs(cell: Cell) -> int | None:
    """The runs a side that would do if the variances were known exactly: the normal test's; None where none do."""
    beyond = abs(math.log1p(-cell.change) - math.log1p(-MARGIN))
    border = -special.ndtri((1 - LEVEL) / cell.rows / 2) + special.ndtri(WANTED)
    square = (beyond / border) ** 2 / 2 - cell.between**2
    return max(runs_for(LEVEL), math.ceil(cell.spread**2 / square)) if square > 0 else None


def true_power(random: Generator, cell: Cell, memory: Memory, n: int) -> float:
    """The share of so many changed rows that are called with the memory, at the level of one row of the table."""
    factors = cell.factors(random, COUNTED)[:, None] * np.ones(2)
    if cell.apart:
        factors[:, 1] = cell.factors(random, COUNTED)
    spreads = cell.spread * factors
    shown = spreads**2 * random.chisquare(n - 1, spreads.shape) / (n - 1)
    own = [(shown[:, side], n - 1) for side in range(2)]
    means = np.sqrt(spreads**2 / n + cell.between**2) * random.standard_normal(spreads.shape)
    square, freedom = squared_error(memory, own, cell.apart)
    alone = shown.sum(axis=1) / n
    welch = alone**2 / ((shown / n) ** 2 / (n - 1)).sum(axis=1)
    of_own = with_memory_of_campaigns(np.sqrt(alone), welch, memory) if cell.apart else (np.sqrt(alone), welch)
    doubted = chance_of_noise(memory, own)[0] < IMPROBABLE
    error, freedom = (np.where(doubted, a, b) for a, b in zip(of_own, (np.sqrt(square), freedom), strict=True))
    beyond = means[:, 1] - means[:, 0] + abs(math.log1p(-cell.change) - math.log1p(-MARGIN))
    called = beyond > -special.stdtrit(freedom, (1 - LEVEL) / cell.rows / 2) * error
    return float((called & ~(doubted & (n < runs_for_rows(cell.rows, LEVEL)))).mean())


def is_found(random: Generator, cell: Cell, memory: Memory, n: int, campaigns: int) -> bool:
    """Whether `compare` calls the changed row of a table whose other rows have memories of their own."""
    spreads = np.full((cell.rows, 1), cell.spread)
    spreads[cell.rows - cell.noisy :] = NOISY
    others = [drawn_memory(random, cell, float(spread), campaigns) for spread in spreads[1:, 0]]
    factors = [cell.factors(random, cell.rows)[:, None] for _ in range(2)]
    factors = factors if cell.apart else [factors[0]] * 2
    old, new = (
        factor * spreads * random.standard_normal((cell.rows, n))
        + cell.between * random.standard_normal((cell.rows, 1))
        for factor in factors
    )
    new[0] += math.log1p(-cell.change)
    known = [None if one is None else Remembered(one, cell.apart) for one in (memory, *others)]
    row = compared_cases(pairs_of(old, new), Rule(margin=MARGIN), memories=known)[0]
    return VERDICTS[row.verdict].gate == "slower"


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of the plans of a cell.

    Attributes:
        plans: how many memories there were.
        without: the share of plans that name no number of runs.
        broken: the share of plans that name a number whose power is less than promised.
        power: their mean power; ``found``: what `compare` found in a table of each.
        n: the median of their runs a side; None where none names a number.
    """

    plans: int
    without: float
    broken: float
    power: float
    found: float
    n: float | None


def plans_of(random: Generator, cell: Cell, campaigns: int, plans: int, tables: int = 1) -> Kept:
    """So many plans, each from a history of its own.

    Args:
        tables: that `compare` judges for each plan; 0 for none.
    """
    powers, found, counts, without, made = [], 0, [], 0, 0
    while made < plans:
        memory = drawn_memory(random, cell, cell.spread, campaigns)
        if memory is None:
            continue
        made += 1
        n = runs_needed(-cell.change, outlook(memory, cell.apart, upper=True), WANTED, Table(cell.rows, MARGIN, LEVEL))
        if n is None:
            without += 1
            continue
        counts.append(n)
        powers.append(true_power(random, cell, memory, n))
        found += sum(is_found(random, cell, memory, n, campaigns) for _ in range(tables))
    if not counts:
        return Kept(plans, 1.0, 0.0, 0.0, 0.0, None)
    broken = sum(power < WANTED for power in powers) / plans
    return Kept(
        plans,
        without / plans,
        broken,
        float(np.mean(powers)),
        found / max(1, tables * len(counts)),
        float(np.median(counts)),
    )


def line(random: Generator, cell: Cell, campaigns: int, plans: int) -> list[str]:
    """A line of the table."""
    one, least = plans_of(random, cell, campaigns, plans), least_runs(cell)
    runs = ["none" if count is None else f"{count:g}" for count in (least, one.n)]
    shown = [percent(share, 0) for share in (one.power, one.found)] if one.n is not None else ["", ""]
    return [cell.name, str(campaigns), *runs, percent(one.without, 0), percent(one.broken, 0), *shown]


def plans_part(random: Generator, scale: float) -> str:
    """How often plans from a memory keep their promise."""
    plans = max(20, round(400 * scale))
    cells = [(cell, campaigns) for cell in CELLS for campaigns in CAMPAIGNS]
    lines = [line(own, *cell, plans) for own, cell in zip(random.spawn(len(cells)), cells, strict=True)]
    words = (
        f"Each line: {plans} histories of so many campaigns of {RUNS} runs, and from each a plan for a chance of 80 % that"
        f" `compare` calls the change (margin 2 %). Broken: the share of plans that name a number with which the power is"
        " less than 80 %; power: its mean; found: by `compare` in a table with the planned runs, one for each plan. Least"
        " n: the runs that would do if the variances were known exactly."
    )
    head = ["table", "campaigns", "least n", "median n", "no n will do", "**broken**", "power", "found"]
    return f"#### Plans from the memory of a case\n\n{words}\n\n{markdown(head, lines)}"
