"""How often measurements that stop when they are decided are wrong, what they cost, and what earlier campaigns are worth.

``python -m tests.tools.simulate_sequential`` lets measurements of known truth run round by round through the functions
that ``perflog run --against`` and ``perflog compare --history`` use, and prints Markdown (fixed seed; some minutes on
one core). ``--scale 0.1`` takes a tenth of them, ``--write tests/found/sequential.md`` puts the text between its two markers
on that page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from scipy import special

from perflog.campaign.versus import LEVEL, MAX_RUNS
from perflog.compare.rows import compared_cases
from perflog.compare.rule import Rule
from perflog.stats.memory import Remembered, memory_of_few
from perflog.stats.power import Table, runs_needed
from perflog.stats.separation import runs_for_rows
from perflog.stats.sequential import TableRule, look
from perflog.stats.verdict import MARGIN, Verdict
from tests.tools.pages import Simulation, percent
from tests.tools.pages import table as markdown
from tests.tools.tables_of_runs import NOISES, Array, Noise, Sides, normal, rates_of, side_logs, two_states
from tests.tools.tables_of_runs import table as pairs_of

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


# ---------------------------------------------------------------- the rules that were tried

#: (differences of logarithms of shape (cases, rounds), the alpha of a case, its first look) → the lower and the upper
#: ends of the interval at each look, of the same shape; infinite where there is none.
Method = Callable[[Array, float, int], tuple[Array, Array]]


def _running(differences: Array) -> tuple[Array, Array, Array]:
    """(rounds, running means, running standard errors of the means)."""
    rounds = np.arange(1, differences.shape[1] + 1)
    means = np.cumsum(differences, axis=1) / rounds
    squares = np.cumsum(differences**2, axis=1) / rounds
    variances = np.maximum(squares - means**2, 1e-18) * rounds / np.maximum(rounds - 1, 1)
    return rounds.astype(float), means, np.sqrt(variances / rounds)


def _interval(differences: Array, critical: Callable[[Array], Array], first: int) -> tuple[Array, Array]:
    rounds, means, errors = _running(differences)
    with np.errstate(all="ignore"):
        half = np.where(rounds >= max(first, 2), critical(rounds), np.inf) * errors
    return means - half, means + half


def every_look(differences: Array, alpha: float, first: int) -> tuple[Array, Array]:
    """Student's t at each look, as if it were the only one."""
    return _interval(differences, lambda n: np.asarray(-special.stdtrit(n - 1, alpha / 2)), first)


def spending(differences: Array, alpha: float, first: int) -> tuple[Array, Array]:
    """Student's t with α/(k (k + 1)) at the k-th look."""

    def critical(n: Array) -> Array:
        k = np.maximum(n - first + 1, 1)
        return np.asarray(-special.stdtrit(n - 1, alpha / (k * (k + 1)) / 2))

    return _interval(differences, critical, first)


def mixture(effect_variance: float, differences: Array, alpha: float, first: int) -> tuple[Array, Array]:
    """The mixture martingale of t, with effects of this variance."""

    def critical(n: Array) -> Array:
        widening = 1 + n * effect_variance
        power = np.exp((np.log(widening) / 2 - np.log(alpha)) * 2 / n)
        squares = np.where(power < widening, (n - 1) * (power - 1) / (1 - power / widening), np.inf)
        return np.sqrt(np.maximum(squares, 0))

    return _interval(differences, critical, first)


def signed_ranks(differences: Array, alpha: float, first: int) -> tuple[Array, Array]:
    """The exact interval of the signed ranks (Walsh averages), with α/(k (k + 1)) at the k-th look."""
    low, high = np.full_like(differences, -np.inf), np.full_like(differences, np.inf)
    for n in range(first, differences.shape[1] + 1):
        k = n - first + 1
        place = _signed_rank_place(n, alpha / (k * (k + 1)))
        if place < 0:
            continue
        one, other = np.triu_indices(n)
        walsh = np.sort((differences[:, one] + differences[:, other]) / 2, axis=1)
        low[:, n - 1], high[:, n - 1] = walsh[:, place], walsh[:, -1 - place]
    return low, high


def _signed_rank_place(n: int, alpha: float) -> int:
    """How many Walsh averages may be left out on each side; −1 where no interval has the level."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts
        longer[rank:] += counts
        counts = longer
    return int(np.searchsorted(np.cumsum(counts) / 2.0**n, alpha / 2, "right")) - 1


METHODS: dict[str, Method] = {
    "t at each look, as if it were the only one": every_look,
    "t, α/(k (k + 1)) at the k-th look": spending,
    "exact signed ranks, α/(k (k + 1)) at the k-th look": signed_ranks,
    "mixture of t, g = 0.25": partial(mixture, 0.25),
    "mixture of t, g = 1": partial(mixture, 1.0),
    "**mixture of t, g = 2**": partial(mixture, 2.0),
    "mixture of t, g = 4": partial(mixture, 4.0),
}


def _ended(method: Method, random: Generator, noise: Noise, rows: int, spread: float, change: float, tables: int
           ) -> tuple[float, float, float]:  # fmt: skip
    """(the share of tables with a false verdict, with an interval that ever missed, the mean rounds until the end)."""
    old, new = side_logs(random, noise, rows * tables, Sides((MAX_RUNS, MAX_RUNS), (spread, spread)))
    low, high = method(new - old + np.log1p(change), (1 - LEVEL) / rows, runs_for_rows(rows))
    up, down, true = np.log1p(MARGIN), np.log1p(-MARGIN), np.log1p(change)
    called = (low > up) | (high < down)
    decided = called | ((low >= down) & (high <= up))
    first = np.where(decided.any(axis=1), decided.argmax(axis=1), MAX_RUNS - 1)
    false = called[np.arange(len(first)), first] & (change == 0)
    missed = ((low > true) | (high < true)).any(axis=1)
    shape = (tables, rows)
    return float(false.reshape(shape).any(axis=1).mean()), float(missed.reshape(shape).any(axis=1).mean()), float(
        (first + 1).mean()
    )  # fmt: skip


#: What the methods are shown with: the case counts and noises of identical versions, and changes with their spreads.
_IDENTICAL: tuple[tuple[str, Noise, int, float], ...] = (
    ("1 case, 5 %", normal, 1, 0.05), ("20 cases, 5 %", normal, 20, 0.05), ("20 cases, two states 5 %", two_states, 20, 0.05),
)  # fmt: skip
_CHANGED = ((1, 0.01, 0.0), (1, 0.01, 0.05), (1, 0.02, 0.05), (20, 0.01, 0.05), (20, 0.02, 0.05))


def methods_part(random: Generator, scale: float) -> str:
    """What each rule gets wrong, and how many runs it takes."""
    lines = []
    for name, method in METHODS.items():
        cells = []
        for _, noise, rows, spread in _IDENTICAL:
            false, missed, _ = _ended(method, random, noise, rows, spread, 0.0, max(10, round(4000 * scale / rows)))
            cells.append(f"{percent(false)} ({percent(missed)})")
        for rows, spread, change in _CHANGED:
            rounds = _ended(method, random, normal, rows, spread, change, max(10, round(2000 * scale / rows)))[2]
            cells.append(f"{rounds:.1f}")
        lines.append([name, *cells])
    head = ["rule", *(title for title, *_ in _IDENTICAL), *(
        f"{rows} case{'s' * (rows > 1)}, {percent(change, 0)} at {percent(spread, 0)}" for rows, spread, change in _CHANGED
    )]  # fmt: skip
    return (
        "#### The rules that were tried\n\nIdentical versions: measurements with a false verdict (with an interval that "
        f"ever missed the truth). Then the mean number of runs a side until a case ended, at most {MAX_RUNS}, for a change "
        f"at a spread.\n\n{markdown(head, lines)}"
    )


# ---------------------------------------------------------------- earlier campaigns of one version

CAMPAIGN_RUNS, CAMPAIGN_SPREAD = 5, 0.005
#: Tables of a line by the number of its rows, at scale 1.
CAMPAIGN_TABLES = {1: 1000, 20: 150}


def known_levels(random: Generator, rows: int, campaigns: int, effect: float) -> list[Remembered | None]:
    """What so many earlier campaigns of one version say of each row."""
    effects = effect * random.standard_normal((campaigns, rows, 1))
    logs: Array = effects + CAMPAIGN_SPREAD * random.standard_normal((campaigns, rows, CAMPAIGN_RUNS))
    by_campaign = [rates_of(campaign) for campaign in logs]
    found = [memory_of_few([[campaign[row] for campaign in by_campaign]]) for row in range(rows)]
    return [None if memory is None else Remembered(memory, True) for memory in found]


def campaign_errors(
    random: Generator, rows: int, campaigns: int, effect: float, tables: int
) -> tuple[float, float, float]:
    """(tables of identical versions with a false verdict, rows covered, the mean stated level)."""
    make = partial(
        pairs_of,
        random,
        normal,
        rows,
        Sides((CAMPAIGN_RUNS, CAMPAIGN_RUNS), (CAMPAIGN_SPREAD, CAMPAIGN_SPREAD)),
        between=effect,
    )
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
            for rows, tables in CAMPAIGN_TABLES.items():
                false, covered, level = campaign_errors(random, rows, campaigns, effect, max(10, round(tables * scale)))
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
        f"of its own, {CAMPAIGN_RUNS} runs that spread by {percent(CAMPAIGN_SPREAD)}, margin 2 %, with so many earlier campaigns of one version "
        f"known (`perflog compare --history`). Tables: {', '.join(f'{max(10, round(n * scale))} of {r}' for r, n in CAMPAIGN_TABLES.items())}"
        f" rows.\n\n{markdown(head, lines)}"
    )


SIMULATION = Simulation(
    "tests.tools.simulate_sequential",
    20261122,
    {"identical": identical_part, "cost": cost_part, "methods": methods_part, "campaigns": campaigns_part},
    "tests/found/sequential.md",
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
