"""Parts of the report of ``simulate_tables`` on sides with unequal numbers of runs: what was tried, and speedups."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from perflog.cases.pairs import Pair
from perflog.compare.rows import compared_cases
from perflog.compare.rule import Rule
from tests.tools.simulate_compare import percent
from tests.tools.simulate_compare import table as markdown
from tests.tools.table_methods import ROWS, Called, chosen, step_up
from tests.tools.tables_of_runs import NOISES, Array, Noise, Sides, case_of, normal, side_logs, uniform, unlike_logs

# ---------------------------------------------------------------- fewer degrees of freedom

#: Sides of identical versions whose rows' spreads differ twentyfold, and of versions of which two rows changed.
UNLIKE = (Sides((5, 20), (0.2, 0.02)), Sides((4, 12), (0.2, 0.03)))
ALIKE = (Sides((5, 20), (0.01, 0.01)), Sides((4, 12), (0.01, 0.01)))


def _called(old: Array, new: Array) -> tuple[Called, Called]:
    """The rows that are called as they are, and with at most the smaller side's runs less one as degrees of freedom."""
    least = min(old.shape[1], new.shape[1]) - 1
    return step_up(chosen(old, new)), step_up(chosen(old, new, most=least))


def capped_part(random: Generator, scale: float) -> str:
    """What fewer degrees of freedom would do for rows of unlike noises, and what they would cost."""
    tables = max(10, round(600 * scale))
    lines = []
    for noise_name, noise in (("log-normal", normal), ("uniform", uniform)):
        for sides in UNLIKE:
            false = np.zeros(2)
            for _ in range(tables):
                false += [called.any() for called in _called(*unlike_logs(random, noise, ROWS, sides, 20))]
            lines.append(["false, unlike rows", noise_name, str(sides), *map(percent, false / tables)])
    for sides in ALIKE:
        found = np.zeros(2)
        for _ in range(tables):
            old, new = side_logs(random, normal, ROWS, sides)
            new[0] += np.log1p(0.05)
            found += [called[0] for called in _called(old, new)]
        lines.append(["found, 5 % in one of 20 alike rows", "log-normal", str(sides), *map(percent, found / tables)])
    words = (
        "What was tried against false verdicts of unlike rows with uniform noise, and why it was not taken: no more degrees"
        f" of freedom of the means than the smaller side's runs less one. {tables} tables of {ROWS} rows each:"
    )
    head = ["share of tables", "noise", "sides", "as it is", "with fewer degrees of freedom"]
    return f"#### Fewer degrees of freedom\n\n{words}\n\n{markdown(head, lines)}"


# ---------------------------------------------------------------- ratios of speedups

#: Runs of the case and of its baseline on the old and on the new side, and by how much each spreads.
SPEEDUPS = (
    ((4, 4, 4, 4), (0.02, 0.02, 0.02, 0.02)), ((10, 10, 10, 10), (0.05, 0.02, 0.05, 0.02)),
    ((4, 20, 20, 20), (0.06, 0.02, 0.02, 0.02)), ((4, 20, 4, 20), (0.05, 0.01, 0.05, 0.01)),
    ((20, 20, 20, 4), (0.005, 0.05, 0.005, 0.05)),
)  # fmt: skip


def _ratio_of_speedups(random: Generator, noise: Noise, runs: tuple[int, ...], spreads: tuple[float, ...]) -> bool:
    """Whether the interval of one row of ``--metric speedup`` holds the true ratio, 1."""
    old, old_base, new, new_base = (
        (level * np.exp(spread * noise(random, (n,)))).tolist()
        for n, spread, level in zip(runs, spreads, (780, 100, 780, 100), strict=True)
    )
    pair = Pair(case_of(old, case_of(old_base)), case_of(new, case_of(new_base)))
    ratio = compared_cases([pair], Rule("speedup"))[0].ratio
    return (ratio.low or 0.0) <= 1 <= (ratio.high or 0.0)


def derived_part(random: Generator, scale: float) -> str:
    """The coverage of the intervals of ``compare --metric speedup`` (and efficiency, a known number of times it)."""
    tables = max(50, round(4_000 * scale))
    lines = []
    for runs, spreads in SPEEDUPS:
        shares = [
            sum(_ratio_of_speedups(random, noise, runs, spreads) for _ in range(tables)) / tables
            for noise in NOISES.values()
        ]
        sides = [f"{n} at {percent(spread)}" for n, spread in zip(runs, spreads, strict=True)]
        lines.append([f"{sides[0]} over {sides[1]}", f"{sides[2]} over {sides[3]}", *map(percent, shares)])
    words = (
        "`compare --metric speedup` of one row of identical versions: how often its 95 % interval holds the true ratio, by"
        f" {tables} tables (standard error {percent((0.05 * 0.95 / tables) ** 0.5, 2)}); runs and their spread, case over"
        " baseline:"
    )
    return f"#### Ratios of speedups\n\n{words}\n\n{markdown(['old side', 'new side', *NOISES], lines)}"
