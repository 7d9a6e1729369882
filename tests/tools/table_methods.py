"""The methods that were tried for whole tables: what each gets wrong and what each finds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special, stats

from perflog.compare.rows import compared_cases
from perflog.compare.rule import VERDICTS, Rule
from perflog.stats.adjust import benjamini_hochberg
from perflog.stats.mannwhitney import at_most
from perflog.stats.pooling import side_noise
from perflog.stats.separation import rank_p
from perflog.stats.states import shows_states
from tests.tools.pages import percent
from tests.tools.pages import table as markdown
from tests.tools.tables_of_runs import (
    Noise,
    Sides,
    heavy,
    normal,
    pairs_of,
    side_logs,
    two_states,
    uniform,
    unlike_logs,
)

Array = NDArray[np.float64]
ALPHA, MARGIN, ROWS = 0.05, 0.02, 20
#: Label permutations of the studentised test; its least p is one over them, so nothing below a twentieth of that many
#: rows' share can be found with fewer.
PERMUTATIONS = 1000
#: p-values of a table's rows for two sides of logarithms, shapes (rows, m) and (rows, n).
Called = NDArray[np.bool_]
Method = Callable[[Array, Array], Array]


def _votes(old: Array, new: Array) -> tuple[Array, Array]:
    pairs = new[:, None, :] - old[:, :, None]
    up, down = np.log1p(MARGIN), np.log1p(-MARGIN)
    return (pairs <= up).sum(axis=(1, 2)), (pairs >= down).sum(axis=(1, 2))


def ranks(old: Array, new: Array, separated: bool = False) -> Array:
    """Exact Mann–Whitney against the margin; ``separated``: with the two-state chance for a separation."""
    m, n = old.shape[1], new.shape[1]
    least = np.minimum(*_votes(old, new)).tolist()
    return np.array([rank_p(u, m, n) if separated else min(1.0, 2 * at_most(u, m, n)) for u in least])


def _of_means(
    old: Array, new: Array, variances: tuple[Array, Array], freedoms: tuple[Array, Array], most: float = np.inf
) -> Array:
    a, b = variances[0] / old.shape[1], variances[1] / new.shape[1]
    error, freedom = np.sqrt(a + b), np.minimum(most, (a + b) ** 2 / (a**2 / freedoms[0] + b**2 / freedoms[1]))
    centre = new.mean(axis=1) - old.mean(axis=1)
    up = special.stdtr(freedom, (np.log1p(MARGIN) - centre) / error)
    down = special.stdtr(freedom, (centre - np.log1p(-MARGIN)) / error)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(up, down)))


def _own(side: Array) -> tuple[Array, Array]:
    return side.var(axis=1, ddof=1), np.full(len(side), side.shape[1] - 1.0)


def welch(old: Array, new: Array) -> Array:
    """Welch's t of the logarithms, each row with its own variances."""
    noises = [_own(side) for side in (old, new)]
    return _of_means(old, new, (noises[0][0], noises[1][0]), (noises[0][1], noises[1][1]))


def pooled(old: Array, new: Array) -> Array:
    """Welch's t with one variance a side, the mean over all rows."""
    variances = [np.full(len(side), side.var(axis=1, ddof=1).mean()) for side in (old, new)]
    freedoms = [np.full(len(side), len(side) * (side.shape[1] - 1.0)) for side in (old, new)]
    return _of_means(old, new, (variances[0], variances[1]), (freedoms[0], freedoms[1]))


def moderated(old: Array, new: Array, floored: bool = False, most: float = np.inf) -> Array:
    """Welch's t with moderated variances; ``floored``: with the upper quartile of the rows' variances.

    ``most``: the most degrees of freedom that a row may have.
    """
    noises = []
    for side in (old, new):
        own, freedom = _own(side)
        noise = side_noise(own.tolist(), freedom.astype(int).tolist())
        if floored and noise.floors is not None:
            noises.append((noise.floors, np.full(len(side), noise.floor_freedom)))
        else:
            noises.append((noise.variances, noise.freedoms))
    return _of_means(old, new, (noises[0][0], noises[1][0]), (noises[0][1], noises[1][1]), most)


def brunner_munzel(old: Array, new: Array) -> Array:
    """Brunner & Munzel's rank test with unequal spreads, against the margin, with its t approximation."""

    def p(a: Array, b: Array) -> float:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = float(stats.brunnermunzel(a, b, alternative="less").pvalue)
        return 0.0 if np.isnan(value) and a.max() < b.min() else 1.0 if np.isnan(value) else value

    rows = [(p(a + np.log1p(MARGIN), b), p(b, a + np.log1p(-MARGIN))) for a, b in zip(old, new, strict=True)]
    return np.array([min(1.0, 2 * min(both)) for both in rows])


def studentised(random: Generator, old: Array, new: Array) -> Array:
    """The permutation test of Welch's t (Janssen 1997), against the margin."""
    m = old.shape[1]
    p_values = []
    for shift, sign in ((np.log1p(MARGIN), 1.0), (np.log1p(-MARGIN), -1.0)):
        both = np.concatenate([old + shift, new], axis=1)
        orders = np.argsort(random.random((PERMUTATIONS, both.shape[1])), axis=1)
        orders[0] = np.arange(both.shape[1])
        dealt = both[:, orders]
        a, b = dealt[..., :m], dealt[..., m:]
        error = np.sqrt(a.var(axis=2, ddof=1) / m + b.var(axis=2, ddof=1) / b.shape[2])
        t = sign * (b.mean(axis=2) - a.mean(axis=2)) / np.maximum(error, 1e-15)
        p_values.append((t >= t[:, :1] - 1e-9).mean(axis=1))
    return np.asarray(np.minimum(1.0, 2 * np.minimum(*p_values)))


def chosen(old: Array, new: Array, most: float = np.inf) -> Array:
    """What perflog does: the largest of two, or of three where the rows show states of the machine.

    ``most``: the most degrees of freedom of the means, which it has not.
    """
    noises = [moderated(old, new, most=most)]
    if any(shows_states(side.tolist()) for side in (old, new)):
        noises.append(moderated(old, new, floored=True, most=most))
    return np.asarray(np.maximum.reduce([ranks(old, new, separated=True), *noises]))


def always_floored(old: Array, new: Array) -> Array:
    """What perflog did before: the floor in every table."""
    return np.asarray(np.maximum(chosen(old, new), moderated(old, new, floored=True)))


def no_adjustment(p_values: Array) -> Called:
    """Each row for itself."""
    return p_values <= ALPHA


def holm(p_values: Array) -> Called:
    """Step-down over the rows (Holm 1979)."""
    order = np.sort(p_values)
    limits = ALPHA / np.arange(len(order), 0, -1)
    above = np.flatnonzero(order > limits + 1e-12)
    return p_values <= (order[above[0] - 1] if len(above) and above[0] else -1.0 if len(above) else 1.0)


def step_up(p_values: Array) -> Called:
    """Benjamini & Hochberg 1995."""
    return np.array(benjamini_hochberg(p_values.tolist())) <= ALPHA + 1e-12


def methods(random: Generator) -> dict[str, tuple[Method, Callable[[Array], Called]]]:
    """The methods by their names: the rows' p-values, and how they are adjusted."""
    return {
        "each row by itself, exact ranks (before)": (ranks, no_adjustment),
        "exact ranks, step-down (Holm)": (ranks, holm),
        "exact ranks, Benjamini–Hochberg": (ranks, step_up),
        "Brunner–Munzel, Benjamini–Hochberg": (brunner_munzel, step_up),
        "studentised permutation, Benjamini–Hochberg": (partial(studentised, random), step_up),
        "Welch's t, Benjamini–Hochberg": (welch, step_up),
        "one pooled variance a side, Benjamini–Hochberg": (pooled, step_up),
        "moderated t, Benjamini–Hochberg": (moderated, step_up),
        "ranks, moderated t and floor, Benjamini–Hochberg (before)": (always_floored, step_up),
        "**ranks, moderated t, floor where there are states, Benjamini–Hochberg**": (chosen, step_up),
    }


#: Tables of identical versions: noise and sides.
WRONG: tuple[tuple[str, Noise, Sides], ...] = (
    ("5, 10 %", normal, Sides((5, 5), (0.1, 0.1))),
    ("10, 10 %", normal, Sides((10, 10), (0.1, 0.1))),
    ("5 at 10 % and 20 at 2 %", normal, Sides((5, 20), (0.1, 0.02))),
    ("t₂, 5 at 10 % and 20 at 2 %", heavy, Sides((5, 20), (0.1, 0.02))),
    ("two states, 4", two_states, Sides((4, 4), (0.1, 0.1))),
    ("two states, 5", two_states, Sides((5, 5), (0.1, 0.1))),
)


def _wrong(random: Generator, scale: float) -> list[list[str]]:
    tables = max(10, round(400 * scale))
    lines = []
    for name, (method, adjust) in methods(random).items():
        cells = []
        for _, noise, sides in WRONG:
            false = sum(bool(adjust(method(*side_logs(random, noise, ROWS, sides))).any()) for _ in range(tables))
            cells.append(percent(false / tables))
        lines.append([name, *cells])
    return lines


def _found(random: Generator, scale: float) -> list[list[str]]:
    tables = max(10, round(200 * scale))
    lines = []
    for name, (method, adjust) in methods(random).items():
        cells = []
        for change in (0.02, 0.05, 0.10):
            for n in (5, 10, 20):
                hits = 0
                for _ in range(tables):
                    old, new = side_logs(random, normal, ROWS, Sides((n, n), (0.02, 0.02)))
                    new[0] += np.log1p(change)
                    hits += bool(adjust(method(old, new))[0])
                cells.append(percent(hits / tables, 0))
        lines.append([name, *cells])
    return lines


def methods_part(random: Generator, scale: float) -> str:
    """Both tables of the methods."""
    wrong = markdown(["method", *(name for name, _, _ in WRONG)], _wrong(random, scale))
    head = ["method", *(f"{percent(change, 0)}, n = {n}" for change in (0.02, 0.05, 0.10) for n in (5, 10, 20))]
    found = markdown(head, _found(random, scale))
    return (
        f"#### The methods that were tried\n\nTables of {ROWS} rows, identical versions, with a false verdict (log-normal"
        f" unless said; runs a side and spread), {max(10, round(400 * scale))} tables each:\n\n{wrong}\nOne row of {ROWS}"
        f" changed, spread 2 %: found in so many of {max(10, round(200 * scale))} tables:\n\n{found}"
    )


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


# ---------------------------------------------------------------- quiet rows beside noisy ones


def outliers(random: Generator, shape: tuple[int, ...]) -> Array:
    """Normal logarithms of which one in ten lies far below."""
    far = np.where(random.random(shape) < 0.1, 10 * np.abs(random.standard_normal(shape)), 0.0)
    return np.asarray(random.standard_normal(shape) - far)


def t3(random: Generator, shape: tuple[int, ...]) -> Array:
    """Student's t with three degrees of freedom."""
    return np.asarray(random.standard_t(3, shape))


#: Rows of a table whose noise is its own: so many of ROWS spread by NOISY, the others by the quiet spread.
NOISY_ROWS, NOISY, QUIET, CHANGE = 6, 0.05, 0.003, -0.05
#: The spreads of tables whose rows are alike.
LIKE = (0.005, 0.01, 0.02, 0.03)


def mixed_logs(random: Generator, noise: Noise, n: int, spread: float, noisy: int) -> tuple[Array, Array]:
    """Both sides' logarithms, the last ``noisy`` rows with the spread NOISY; of the first row the new side changed."""
    spreads = np.full((ROWS, 1), spread)
    spreads[ROWS - noisy :] = NOISY
    old, new = spreads * noise(random, (ROWS, n)), spreads * noise(random, (ROWS, n))
    new[0] += np.log1p(CHANGE)
    return old, new


def by_compare(old: Array, new: Array) -> Called:
    """The rows that ``compare`` calls slower or faster."""
    return np.array([VERDICTS[row.verdict].is_change for row in compared_cases(pairs_of(old, new), Rule())])


def quiet_rows_part(random: Generator, scale: float) -> str:
    """What is found in quiet rows of tables whose other rows are noisy, and in tables of like rows."""
    tables = max(10, round(400 * scale))
    lines = []
    cells: list[tuple[str, Noise, int, float, int]] = [
        (f"{NOISY_ROWS} rows of {ROWS} spread by 5 %, {name}", noise, n, QUIET, NOISY_ROWS)
        for name, noise in (("log-normal", normal), ("t₃", t3), ("one run in ten far away", outliers))
        for n in (5, 10)
    ]
    cells += [(f"like rows, spread {percent(spread)}", normal, 5, spread, 0) for spread in LIKE]
    for name, noise, n, spread, noisy in cells:
        counts = np.zeros(4)
        for _ in range(tables):
            old, new = mixed_logs(random, noise, n, spread, noisy)
            ours, theirs = by_compare(old, new), holm(welch(old, new))
            counts += (ours[0], theirs[0], ours[1:].any(), theirs[1:].any())
        lines.append([name, str(n), *map(percent, counts / tables)])
    words = (
        f"Tables of {ROWS} rows of which one quiet row is 5 % slower, margin 2 %, {tables} tables a line; beside `compare`"
        " Welch's t of the logarithms against the same margin with Holm's adjustment. False: another row called."
    )
    head = ["rows", "n", "found", "Welch, Holm", "false", "Welch, Holm: false"]
    return f"#### Quiet rows beside noisy ones\n\n{words}\n\n{markdown(head, lines)}"
