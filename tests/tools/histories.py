"""How often change points are found in histories whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator

from perflog.stats.changes import change_points
from tests.tools.tables_of_runs import Array

#: The lengths of the histories.
LENGTHS = (10, 12, 20, 50, 100, 200, 400)
#: A function from a generator, how many histories and their length to the histories, shape (histories, length).
Histories = Callable[[Generator, int, int], Array]


def wandering(random: Generator, repeats: int, n: int, rho: float) -> Array:
    """AR(1) histories of unit deviation, shape (repeats, n)."""
    from scipy import signal

    white = random.standard_normal((repeats, n))
    white[:, 1:] *= np.sqrt(1 - rho * rho)
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], white, axis=1))


def heavy(random: Generator, repeats: int, n: int) -> Array:
    """Student's t with three degrees of freedom, deviation 1."""
    return np.asarray(random.standard_t(3, (repeats, n)) / np.sqrt(3))


def raised(random: Generator, repeats: int, n: int, rho: float, by: float, last: int = 0) -> Array:
    """AR(1) histories whose last points (or their second half) are higher by so many deviations."""
    start = n - last if last else n // 2
    return wandering(random, repeats, n, rho) + by * (np.arange(n) >= start)


def spiked(random: Generator, repeats: int, n: int) -> Array:
    """Independent histories with one point twenty deviations high in the middle."""
    spike: Array = 20.0 * (np.arange(n) == n // 2)
    return wandering(random, repeats, n, 0.0) + spike


HISTORIES: dict[str, Histories] = {
    **{f"steady, ρ = {rho:g}": partial(wandering, rho=rho) for rho in (0.0, 0.3, 0.5, 0.6)},
    "steady, heavy tails": heavy,
    "steady, one spike of 20 deviations": spiked,
    **{f"3 deviations up half-way, ρ = {rho:g}": partial(raised, rho=rho, by=3.0) for rho in (0.0, 0.3, 0.6)},
    **{f"5 deviations up, the last 3, ρ = {rho:g}": partial(raised, rho=rho, by=5.0, last=3) for rho in (0.0, 0.3)},
}  # fmt: skip


def found_share(random: Generator, histories: Histories, repeats: int, n: int) -> float:
    """The share of histories with a change point."""
    series = 100 + histories(random, repeats, n)
    return float(np.mean([bool(change_points(values.tolist()).points) for values in series]))


def histories_part(random: Generator, scale: float) -> str:
    """The share of histories with a change point, by length."""
    from tests.tools.simulate_compare import percent, table

    repeats = max(20, round(2000 * scale))
    rows = []
    for name, histories in HISTORIES.items():
        counts = [repeats if n <= 50 and name.startswith("steady") else repeats // 4 for n in LENGTHS]
        shares = [found_share(random, histories, count, n) for count, n in zip(counts, LENGTHS, strict=True)]
        rows.append([name, *map(percent, shares)])
    words = (
        f"Histories with a change point, by length; {repeats} steady ones of up to 50 points (standard error of 5 %:"
        f" {100 * (0.05 * 0.95 / repeats) ** 0.5:.1f} points), a quarter as many of the others:"
    )
    return f"### Histories\n\n{words}\n\n" + table(["history", *map(str, LENGTHS)], rows)
