"""The rules of stopping that were tried: how often each is ever wrong, and how many runs each takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from perflog.stats.separation import runs_for_rows
from tests.tools.simulate_compare import percent
from tests.tools.simulate_compare import table as markdown
from tests.tools.tables_of_runs import Noise, Sides, normal, side_logs, two_states

Array = NDArray[np.float64]
ALPHA, MARGIN, ROUNDS = 0.05, 0.02, 30
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
    old, new = side_logs(random, noise, rows * tables, Sides((ROUNDS, ROUNDS), (spread, spread)))
    low, high = method(new - old + np.log1p(change), ALPHA / rows, runs_for_rows(rows))
    up, down, true = np.log1p(MARGIN), np.log1p(-MARGIN), np.log1p(change)
    called = (low > up) | (high < down)
    decided = called | ((low >= down) & (high <= up))
    first = np.where(decided.any(axis=1), decided.argmax(axis=1), ROUNDS - 1)
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
        f"ever missed the truth). Then the mean number of runs a side until a case ended, at most {ROUNDS}, for a change "
        f"at a spread.\n\n{markdown(head, lines)}"
    )
