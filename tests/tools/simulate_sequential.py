"""How often measurements that stop when they are decided are wrong, what they cost, and what earlier campaigns are worth.

``python -m tests.tools.simulate_sequential`` lets measurements of known truth run round by round through the functions
that ``perflog run --against`` and ``perflog compare --history`` use, and prints Markdown (fixed seed; some minutes on
one core). ``--scale 0.1`` takes a tenth of them, ``--write docs/statistics.md`` puts the text between its two markers
on that page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator

from perflog.campaign.versus import LEVEL, MAX_RUNS
from perflog.stats.power import Table, runs_needed
from perflog.stats.sequential import TableRule, look
from perflog.stats.verdict import MARGIN, Verdict
from tests.tools.pages import write_between
from tests.tools.sequential_methods import methods_part
from tests.tools.simulate_campaigns import campaigns_part
from tests.tools.simulate_compare import percent
from tests.tools.simulate_compare import table as markdown
from tests.tools.tables_of_runs import NOISES, Array, Noise, Sides, normal, side_logs

SEED = 20261122
START = "<!-- below: python -m tests.tools.simulate_sequential --write docs/statistics.md -->"
END = "<!-- above: python -m tests.tools.simulate_sequential -->"
#: Measurements of a line by the number of its rows, at scale 1.
TABLES = {1: 800, 5: 200, 20: 100}
#: The chances of seeing a change that fixed numbers of runs are shown for.
CHANCES = (0.8, 0.98)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What came of measurements whose truth is known.

    Attributes:
        wrong: the share of tables with a verdict that is wrong: a change called that is none, or the wrong way, or
            "same" of a change beyond the margin.
        missed: the share of tables with an interval, at any look, that misses the truth.
        rounds: the mean number of rounds until a case ended, undecided ones at the budget's end.
        right: the share of cases with the right verdict.
        undecided: the share of cases without one.
    """

    wrong: float
    missed: float
    rounds: float
    right: float
    undecided: float


def measured_case(old: Array, new: Array, true: float, rule: TableRule) -> tuple[int, Verdict | None, bool]:
    """(rounds, the verdict or None, whether an interval missed the truth) of one case; values of shape (rounds,)."""
    before, after = old.tolist(), new.tolist()
    missed = False
    for number in range(rule.first_look, len(before) + 1):
        result = look(before[:number], after[:number], rule)
        low, high = result.ratio.low, result.ratio.high
        missed |= low is not None and high is not None and not low <= true <= high
        if result.decided:
            return number, result.decision.verdict, missed
    return len(before), None, missed


def is_wrong(verdict: Verdict | None, change: float, margin: float) -> bool:
    """Whether a verdict contradicts the true change."""
    if verdict is Verdict.SAME:
        return abs(change) > margin
    return (verdict is Verdict.FASTER and change <= 0) or (verdict is Verdict.SLOWER and change >= 0)


def outcomes(
    random: Generator, noise: Noise, rows: int, sides: Sides, tables: int, change: float = 0.0, drift: float = 0.0
) -> Outcomes:
    """The outcomes of so many measurements of ``rows`` cases.

    Args:
        random: the generator.
        noise: of the logarithms of rates, of unit scale.
        rows: cases of a measurement.
        sides: the most rounds, and the spreads of both sides.
        tables: how many measurements.
        change: of every case, a share.
        drift: by how much the machine slows down over all rounds, a share.
    """
    rule = TableRule(rows)
    counts = np.zeros(5)
    for _ in range(tables):
        old, new = side_logs(random, noise, rows, sides)
        slowing = np.log(1 - drift * np.linspace(0, 1, 2 * old.shape[1])) if drift else np.zeros(2 * old.shape[1])
        first = random.integers(0, 2, old.shape)  # which side is first in each round
        places = 2 * np.arange(old.shape[1])
        old, new = 100 * np.exp(old + slowing[places + first]), 100 * np.exp(new + slowing[places + 1 - first])
        ended = [measured_case(a, b, 1 + change, rule) for a, b in zip(old, (1 + change) * new, strict=True)]
        verdicts = [verdict for _, verdict, _ in ended]
        counts += [
            any(is_wrong(verdict, change, rule.margin) for verdict in verdicts),
            any(missed for _, _, missed in ended),
            sum(number for number, _, _ in ended) / rows,
            sum(verdict is not None and not is_wrong(verdict, change, rule.margin) for verdict in verdicts) / rows,
            sum(verdict is None for verdict in verdicts) / rows,
        ]
    return Outcomes(*(counts / tables).tolist())


def _tables(rows: int, scale: float) -> int:
    return max(10, round(TABLES[rows] * scale))


def identical_part(random: Generator, scale: float) -> str:
    """The error rates of identical versions."""
    lines = []
    sides = [
        *(Sides((MAX_RUNS, MAX_RUNS), (s, s)) for s in (0.01, 0.05, 0.2)),
        Sides((MAX_RUNS, MAX_RUNS), (0.01, 0.05)),
    ]
    for name, noise in NOISES.items():
        for both in sides:
            lines.append([name, _spreads(both), *_error_cells(random, noise, both, scale)])
    for drift in (0.05, 0.2):
        both = Sides((MAX_RUNS, MAX_RUNS), (0.01, 0.01))
        name = f"log-normal, the machine slows by {percent(drift, 0)}"
        lines.append([name, _spreads(both), *_error_cells(random, normal, both, scale, drift)])
    head = ["noise", "spread", *(f"{rows} case{'s' * (rows > 1)}: {what}" for rows in TABLES for what in
            ("false", "ever missed", "runs a side"))]  # fmt: skip
    counts = ", ".join(f"{_tables(rows, scale)} of {rows}" for rows in TABLES)
    return (
        "### Runs until decided\n\nMeasurements of identical versions, looked at after every round, at most "
        f"{MAX_RUNS} runs a side, margin 2 %: the share with any case called faster or slower, the share with an "
        "interval that missed the truth at any look (level 95 % for all cases and looks), and the mean number of "
        f"runs a side until a case ended. Measurements: {counts} cases.\n\n{markdown(head, lines)}"
    )


def _spreads(sides: Sides) -> str:
    return " and ".join(dict.fromkeys(percent(spread, 0) for spread in sides.spreads))


def _error_cells(random: Generator, noise: Noise, sides: Sides, scale: float, drift: float = 0.0) -> list[str]:
    cells = []
    for rows in TABLES:
        result = outcomes(random, noise, rows, sides, _tables(rows, scale), drift=drift)
        cells += [percent(result.wrong), percent(result.missed), f"{result.rounds:.1f}"]
    return cells


def cost_part(random: Generator, scale: float) -> str:
    """The mean number of runs until a decision, against a fixed number."""
    lines = []
    for rows in TABLES:
        for spread in (0.005, 0.01, 0.02, 0.05):
            cells = []
            for change in (0.0, 0.05, 0.1):
                sides = Sides((MAX_RUNS, MAX_RUNS), (spread, spread))
                result = outcomes(random, normal, rows, sides, _tables(rows, scale) // 4, change)
                cells += [f"{result.rounds:.1f}", percent(result.right, 0)]
                if change:
                    fixed = [runs_needed(change, spread, chance, Table(rows, MARGIN, LEVEL)) for chance in CHANCES]
                    cells.append(" / ".join(map(str, fixed)))
            lines.append([str(rows), percent(spread), *cells])
    head = ["cases", "spread", "no change: runs", "same", "5 %: runs", "found", "fixed n", "10 %: runs", "found",
            "fixed n"]  # fmt: skip
    return (
        "#### What it costs\n\nThe mean number of runs a side until a case ended, the share of cases with the right "
        f"verdict by run {MAX_RUNS}, and the fixed numbers of runs a side with which `compare` finds the change with a "
        f"chance of 80 % / 98 %, where the spread and the change are known beforehand.\n\n{markdown(head, lines)}"
    )


PARTS: Sequence[Callable[[Generator, float], str]] = (identical_part, cost_part, methods_part, campaigns_part)


def report(scale: float = 1.0) -> str:
    """All parts, each with its own stream of random numbers: changing one leaves the numbers of the others."""
    seeds = np.random.SeedSequence(SEED).spawn(len(PARTS))
    return "\n".join(part(np.random.default_rng(seed), scale) for part, seed in zip(PARTS, seeds, strict=True))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--scale", type=float, default=1.0, help="share of the measurements")
    arguments.add_argument("--write", type=Path, help="a Markdown page: what stands between its markers is replaced")
    given = arguments.parse_args()
    text = report(given.scale)
    if given.write is None:
        sys.stdout.write(text)
        return
    try:
        write_between(given.write, START, END, text)
    except ValueError as error:
        arguments.error(str(error))


if __name__ == "__main__":
    main()
