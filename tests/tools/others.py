"""The same simulated tables and histories judged by perflog and by the rules of other tools: how often each is right.

``python -m tests.tools.others`` prints Markdown (fixed seed; some four minutes on one core). ``--scale 0.1`` takes a
tenth of the tables, ``--write tests/found/others.md`` puts the text between its two markers on that page.

The rules, each with its tool's default settings:

* benchstat (golang.org/x/perf, ``benchmath/anone.go`` and ``benchmath/sample.go`` at commit af31a767): the two-sided
  Mann–Whitney U test of each row, exact up to 50 runs a side, and a change of medians is shown unless p > 0.05. Nothing
  is adjusted for the number of rows.
* SciPy's ``ttest_ind(equal_var=False)`` and ``mannwhitneyu``, each row by itself or with Holm's adjustment.
* Apache Otava 0.8.0: ``otava.analysis.compute_change_points``, whose defaults are those of its command (window 50,
  p 0.001, magnitude 0). It requires other versions of NumPy and SciPy than perflog's, so it stands beside them:
  ``pip install --no-deps --target DIR apache-otava`` and ``PYTHONPATH=.:DIR``. Without it its column is left out.
* ruptures: ``Pelt`` as on its page in the user guide (``min_size=3, jump=5``), with the cost ``l2`` and the penalty
  log(n) σ² that the guide gives on other pages, σ being the true noise; and ``Pelt(model="rbf")`` with the penalty 10 of
  its README.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from ruptures import Pelt
from scipy import stats

from perflog.stats.changes import change_points
from tests.tools.pages import Part, Simulation, percent
from tests.tools.pages import table as markdown
from tests.tools.simulate_compare import wandering
from tests.tools.table_methods import (
    CHANGE,
    MARGIN,
    NOISY,
    NOISY_ROWS,
    QUIET,
    ROWS,
    Called,
    by_compare,
    holm,
    mixed_logs,
    no_adjustment,
    outliers,
    t3,
)
from tests.tools.tables_of_runs import Array, Noise, Sides, normal, rates_of, side_logs, standard_error, two_states

RUNS = 5
#: Tables and histories of a line at scale 1, and the fewest at any.
TABLES, HISTORIES, LEAST = 600, 1000, 10
#: What each rule says, by its name: of tables the share with an unchanged row called, and of changed rows those called.
Shares = Mapping[str, tuple[float, float]]

# ---------------------------------------------------------------- tables

#: From the logarithms of both sides' rates, shapes (rows, m) and (rows, n), to the rows that are called changed.
TableRule = Callable[[Array, Array], Called]


def _rates(old: Array, new: Array) -> tuple[Array, Array]:
    return np.asarray(rates_of(old)), np.asarray(rates_of(new))


def _welch(adjust: Callable[[Array], Called], old: Array, new: Array) -> Called:
    a, b = _rates(old, new)
    return adjust(np.asarray(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue))


def _mann_whitney(adjust: Callable[[Array], Called], old: Array, new: Array) -> Called:
    a, b = _rates(old, new)
    return adjust(np.asarray(stats.mannwhitneyu(a, b, axis=1, method="exact").pvalue))


def _over_margin(rule: TableRule, old: Array, new: Array) -> Called:
    """What a reader keeps who leaves out the changes that are shown as no more than the margin."""
    medians = [np.median(side, axis=1) for side in _rates(old, new)]
    return rule(old, new) & (np.abs(medians[1] / medians[0] - 1) > MARGIN)


benchstat: TableRule = partial(_mann_whitney, no_adjustment)
TABLE_RULES: dict[str, TableRule] = {
    "perflog": by_compare,
    "benchstat": benchstat,
    "benchstat, over 2 %": partial(_over_margin, benchstat),
    "Welch's t": partial(_welch, no_adjustment),
    "Welch's t, Holm": partial(_welch, holm),
    "Welch's t, Holm, over 2 %": partial(_over_margin, partial(_welch, holm)),
    "Mann–Whitney, Holm": partial(_mann_whitney, holm),
}


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables whose truth is known.

    Attributes:
        name: what they are.
        make: both sides' logarithms.
        changed: how many of the first rows are changed.
    """

    name: str
    make: Callable[[Generator], tuple[Array, Array]]
    changed: int = 0


def _identical(noise: Noise, spread: float, random: Generator) -> tuple[Array, Array]:
    return side_logs(random, noise, ROWS, Sides((RUNS, RUNS), (spread, spread)))


def _one_changed(spread: float, noisy: int, change: float, random: Generator) -> tuple[Array, Array]:
    old, new = mixed_logs(random, normal, RUNS, spread, noisy)
    new[0] += np.log1p(change) - np.log1p(CHANGE)
    return old, new


IDENTICAL = [
    Tables(f"identical versions, {name}, spread {percent(spread, 0)}", partial(_identical, noise, spread))
    for name, noise in (
        ("log-normal", normal), ("heavy tails (t₃)", t3), ("one run in ten far away", outliers), ("two states", two_states),
    )
    for spread in (0.01, 0.05)
]  # fmt: skip
CHANGED = [
    *(
        Tables(f"one row 5 % slower, spread {percent(spread, 0)}", partial(_one_changed, spread, 0, CHANGE), 1)
        for spread in (0.01, 0.02)
    ),
    Tables(
        f"one quiet row ({percent(QUIET)}) 5 % slower, {NOISY_ROWS} rows spread by {percent(NOISY, 0)}",
        partial(_one_changed, QUIET, NOISY_ROWS, CHANGE), 1,
    ),
    Tables("one row slower by just the margin of 2 %, spread 1 %", partial(_one_changed, 0.01, 0, -MARGIN), 1),
]  # fmt: skip


def table_shares(random: Generator, tables: Tables, count: int, only: Sequence[str] = tuple(TABLE_RULES)) -> Shares:
    """What each rule, or only some, says of so many tables: all judge the same ones."""
    rules = {name: TABLE_RULES[name] for name in only}
    counts = np.zeros((len(rules), 2))
    for _ in range(count):
        old, new = tables.make(random)
        for nth, rule in enumerate(rules.values()):
            called = rule(old, new)
            counts[nth] += called[tables.changed :].any(), called[: tables.changed].sum()
    counts /= count, count * max(1, tables.changed)
    return {name: (false, found) for name, (false, found) in zip(rules, counts.tolist(), strict=True)}


def tables_part(random: Generator, scale: float) -> str:
    """Tables of two sides."""
    count = max(LEAST, round(TABLES * scale))
    false_lines, found_lines, beside_lines = [], [], []
    for tables in (*IDENTICAL, *CHANGED):
        shares = table_shares(random, tables, count)
        false = [percent(one) for one, _ in shares.values()]
        if tables.changed:
            found_lines.append([tables.name, "that row called", *(percent(found) for _, found in shares.values())])
            beside_lines.append([tables.name, "another row called", *false])
        else:
            false_lines.append([tables.name, "any row called", *false])
    words = (
        f"Two versions, tables of {ROWS} rows, {RUNS} runs a side, {count} tables a line, the same for all (standard error"
        f" of 5 %: {percent(standard_error(0.05, count))}). A row called in identical versions, or beside the changed row,"
        " is a false verdict. “Over 2 %” leaves out what a tool shows as a change of no more than 2 %."
    )
    return f"{words}\n\n{markdown(['tables', 'share with', *TABLE_RULES], [*false_lines, *beside_lines, *found_lines])}"


# ---------------------------------------------------------------- histories

#: From a history and its true noise to the changes in it: the first point behind each, and by what factor.
HistoryRule = Callable[[Sequence[float], float], list[tuple[int, float]]]
LENGTH, FALL = 52, -0.05
#: A fall is found when it is put no further than this from where it is: ruptures looks at every fifth point only.
NEAR = 3
#: The fewest points on either side of a fall.
EDGE = 10


def _perflog(history: Sequence[float], _: float) -> list[tuple[int, float]]:
    return [(change.index, change.ratio or 0.0) for change in change_points(history).points]


def _pelt(
    model: str, penalty: Callable[[float], float], history: Sequence[float], noise: float
) -> list[tuple[int, float]]:
    borders = Pelt(model=model, min_size=3, jump=5).fit(np.asarray(history)).predict(pen=penalty(noise))
    means = [float(np.mean(history[a:b])) for a, b in pairwise([0, *borders])]
    return [(border, after / before) for border, (before, after) in zip(borders, pairwise(means), strict=False)]


def _bic(noise: float) -> float:
    return float(np.log(LENGTH)) * noise**2


def _otava(history: Sequence[float], _: float) -> list[tuple[int, float]]:
    points, _weak = import_module("otava.analysis").compute_change_points(list(history))
    return [(int(point.index), float(point.stats.mean_2 / point.stats.mean_1)) for point in points]


def has_otava() -> bool:
    """Whether Apache Otava can be imported here."""
    try:
        import_module("otava.analysis")
    except ImportError:
        return False
    return True


def history_rules() -> dict[str, HistoryRule]:
    """The rules by their names: Otava's only where it is installed."""
    return {
        "perflog": _perflog,
        **({"Apache Otava": _otava} if has_otava() else {}),
        "ruptures, PELT l2, log(n) σ²": partial(_pelt, "l2", _bic),
        "ruptures, PELT rbf, 10": partial(_pelt, "rbf", lambda _: 10.0),
    }


@dataclass(frozen=True, slots=True)
class Histories:
    """Histories near 100 with this noise, a share of 100, and autocorrelation, steady or with a lasting fall."""

    noise: float
    rho: float
    fall: bool = False

    def __str__(self) -> str:
        what = "a lasting fall of 5 %" if self.fall else "steady"
        return f"{what}, noise {percent(self.noise, 0)}, ρ = {self.rho:g}"

    @property
    def counted(self) -> str:
        """What the share that is shown is of."""
        return "the fall found" if self.fall else "any change shown"


STEADY = [Histories(0.02, rho) for rho in (0.0, 0.3, 0.6)]
FALLS = [Histories(0.01, 0.0, fall=True), Histories(0.02, 0.0, fall=True), Histories(0.02, 0.6, fall=True)]


def history_shares(random: Generator, histories: Histories, count: int, only: Sequence[str] = ()) -> Shares:
    """What each rule, or only some, says of so many histories; of steady ones the second share is nought, of others
    the first.
    """
    rules = {name: rule for name, rule in history_rules().items() if name in only or not only}
    hits = np.zeros(len(rules))
    for logs in histories.noise * wandering(random, count, LENGTH, histories.rho):
        at = int(random.integers(EDGE, LENGTH - EDGE + 1))
        if histories.fall:
            logs[at:] += np.log1p(FALL)
        history: list[float] = (100 * np.exp(logs)).tolist()
        for nth, rule in enumerate(rules.values()):
            changes = rule(history, 100 * histories.noise)
            if histories.fall:
                hits[nth] += any(ratio < 1 - MARGIN and abs(index - at) <= NEAR for index, ratio in changes)
            else:
                hits[nth] += any(abs(ratio - 1) > MARGIN for _, ratio in changes)
    shares = (hits / count).tolist()
    return {
        name: (0.0, share) if histories.fall else (share, 0.0) for name, share in zip(rules, shares, strict=True)
    }  # fmt: skip


def histories_part(random: Generator, scale: float) -> str:
    """Histories of one case over many campaigns."""
    count = max(LEAST, round(HISTORIES * scale))
    lines = [
        [
            str(histories),
            histories.counted,
            *(percent(max(both)) for both in history_shares(random, histories, count).values()),
        ]
        for histories in (*STEADY, *FALLS)
    ]
    words = (
        f"Histories of {LENGTH} points, {count} a line, the same for all. Only changes of over 2 % count, and a fall is found"
        f" when one is shown within {NEAR} points of it; it is {EDGE} points or more from both ends. The l2 penalty is given"
        " the true noise."
    )
    missing = "" if has_otava() else "\nApache Otava is not installed here: its column is left out.\n"
    return f"{words}\n\n{markdown(['histories', 'share with', *history_rules()], lines)}{missing}"


PARTS: dict[str, Part] = {"tables": tables_part, "histories": histories_part}
SIMULATION = Simulation("tests.tools.others", 20261127, PARTS, page="tests/found/others.md")

if __name__ == "__main__":
    SIMULATION.main(__doc__)
