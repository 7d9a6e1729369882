"""Tables of synthetic runs whose truth is known, as the pairs of cases that ``perflog compare`` judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from perflog.cases.case import Case, Summary
from perflog.cases.pairs import Pair
from perflog.logs.find import LogFile
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric, Run

Array = NDArray[np.float64]
Noise = Callable[[Generator, tuple[int, ...]], Array]
#: The share of the gap between two states that runs in one state spread by.
STATE_WIDTH = 0.1


def normal(random: Generator, shape: tuple[int, ...]) -> Array:
    """Normal logarithms: log-normal rates."""
    return random.standard_normal(shape)


def heavy(random: Generator, shape: tuple[int, ...]) -> Array:
    """Student's t with two degrees of freedom, whose variance is infinite: many runs near, some far away."""
    return random.standard_t(2, shape)


def two_states(random: Generator, shape: tuple[int, ...]) -> Array:
    """Half of the runs one unit up and half one unit down, each state a tenth of a unit wide."""
    return random.choice([-1.0, 1.0], shape) + STATE_WIDTH * random.standard_normal(shape)


def uniform(random: Generator, shape: tuple[int, ...]) -> Array:
    """Logarithms spread evenly over a range, with the variance 1: no tails at all."""
    return random.uniform(-math.sqrt(3), math.sqrt(3), shape)


NOISES: dict[str, Noise] = {"log-normal": normal, "heavy tails (t₂)": heavy, "two states": two_states}


@dataclass(frozen=True, slots=True)
class Sides:
    """How many runs each side has and by how much they spread: old and new."""

    runs: tuple[int, int]
    spreads: tuple[float, float]

    def __str__(self) -> str:
        n, spread = self.runs, [f"{100 * s:g}" for s in self.spreads]
        counts = f"{n[0]}" if n[0] == n[1] else f"{n[0]} and {n[1]}"
        return f"n = {counts}, spread {spread[0]} %" + ("" if spread[0] == spread[1] else f" and {spread[1]} %")


def case_of(rates: Sequence[float], base: Case | None = None) -> Case:
    """A case whose runs have these rates."""
    runs = [
        Run(LogFile(f"{number}.log", 1), "", "", Metadata(), "", {"throughput": Metric("throughput", rate, "samples/s", "total")}, [], "", 1, 1, 1)
        for number, rate in enumerate(rates)
    ]  # fmt: skip
    summary = Summary("throughput", "samples/s", "median", len(runs), float(np.median(rates)))
    return Case({}, "", runs, {"throughput": summary}, "total", "", base=base)


def rates_of(logs: Array, quantum: float = 0.0) -> list[list[float]]:
    """Rates near 100 from logarithms, shape (rows, n); rounded to multiples of ``quantum``, and never below one."""
    rates = 100 * np.exp(logs)
    if quantum:
        rates = np.maximum(np.round(rates / quantum), 1) * quantum
    lists: list[list[float]] = rates.tolist()
    return lists


def pairs_of(old: Array, new: Array, quantum: float = 0.0) -> list[Pair]:
    """The pairs of a table from both sides' logarithms, shapes (rows, m) and (rows, n)."""
    both = zip(rates_of(old, quantum), rates_of(new, quantum), strict=True)
    return [Pair(case_of(a), case_of(b)) for a, b in both]


def side_logs(random: Generator, noise: Noise, rows: int, sides: Sides) -> tuple[Array, Array]:
    """The logarithms of both sides' runs, shapes (rows, m) and (rows, n).

    The gap between two states belongs to the machine, so both sides have the wider side's gap.
    """
    shapes = [(rows, n) for n in sides.runs]
    if noise is two_states:
        gap = max(sides.spreads)
        old, new = (
            gap * random.choice([-1.0, 1.0], shape) + STATE_WIDTH * spread * random.standard_normal(shape)
            for shape, spread in zip(shapes, sides.spreads, strict=True)
        )
        return old, new
    old, new = (spread * noise(random, shape) for shape, spread in zip(shapes, sides.spreads, strict=True))
    return old, new


def table(random: Generator, noise: Noise, rows: int, sides: Sides, changed: Sequence[float] = (), quantum: float = 0.0,
          between: float = 0.0, drift: float = 0.0) -> list[Pair]:  # fmt: skip
    """A table's pairs.

    Args:
        random: the generator.
        noise: of the logarithms of rates, of unit scale.
        rows: how many pairs.
        sides: runs and spreads.
        changed: the changes (0.05: 5 % faster) of the first rows.
        quantum: what rates near 100 are rounded to.
        between: the standard deviation of a campaign's own effect, one for each row and side.
        drift: by how much the machine slows down from the first old run to the last new one.
    """
    old, new = side_logs(random, noise, rows, sides)
    new[: len(changed)] += np.log1p(np.asarray(changed, dtype=float))[:, None]
    if between:
        old, new = (logs + between * random.standard_normal((rows, 1)) for logs in (old, new))
    if drift:
        m, n = sides.runs
        slowing = np.log(1 - drift * np.linspace(0, 1, m + n))
        old, new = old + slowing[:m], new + slowing[m:]
    return pairs_of(old, new, quantum)


def unlike_logs(random: Generator, noise: Noise, rows: int, sides: Sides, factor: float) -> tuple[Array, Array]:
    """Logarithms of identical versions' runs, whose spreads are those of the sides, divided by 1 to ``factor``."""
    quieter = factor ** -random.random((rows, 1))
    old, new = side_logs(random, noise, rows, sides)
    return quieter * old, quieter * new


def unlike_table(random: Generator, noise: Noise, rows: int, sides: Sides, factor: float) -> list[Pair]:
    """Identical versions whose rows have noises of their own: the spreads of the sides, divided by 1 to ``factor``."""
    old, new = unlike_logs(random, noise, rows, sides, factor)
    return pairs_of(old, new)


def own_gaps_table(random: Generator, rows: int, sides: Sides) -> list[Pair]:
    """Versions with one centre whose runs fall in two states, the gap between them each side's own."""
    old, new = (
        spread * two_states(random, (rows, n)) for n, spread in zip(sides.runs, sides.spreads, strict=True)
    )  # fmt: skip
    return pairs_of(old, new)


def speedup_table(random: Generator, rows: int, n: int, base_runs: int, spread: float) -> list[Pair]:
    """Identical versions whose rows are speedups over one baseline a side."""
    bases = [case_of((100 * np.exp(spread * random.standard_normal(base_runs))).tolist()) for _ in range(2)]
    rates = 780 * np.exp(spread * random.standard_normal((2, rows, n)))
    return [Pair(case_of(a, bases[0]), case_of(b, bases[1])) for a, b in zip(*rates.tolist(), strict=True)]


def truth(changed: Sequence[float], rows: int) -> list[float]:
    """The true ratios of a table's rows."""
    return [1 + change for change in changed] + [1.0] * (rows - len(changed))


def standard_error(share: float, count: int) -> float:
    """Of a share counted among so many."""
    return math.sqrt(share * (1 - share) / count)
