"""The difference of log means between two sides of a row, for the rows of a table at once.

A throughput row has one sample a side. A row of a derived metric (speedup: a case over its baseline) has two, and its
difference is that of the two sides' own differences, so that it carries the uncertainty of all four samples (Welch
1938, with Satterthwaite's degrees of freedom). No ranks guard such a row, and where four runs stand beside many Welch's
interval covers 93.4 to 93.8 per cent, so it has fewer degrees of freedom where the series of :mod:`.quotient` asks so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perflog.stats.centre import LEVEL
from perflog.stats.pooling import SideNoise, side_noise
from perflog.stats.quotient import critical_value
from perflog.stats.states import shows_states

Floats = NDArray[np.float64]
#: The least variance of the logarithms of a sample: where runs are equal to the last digits of a double, their
#: difference is rounding and no variance.
_LEAST_VARIANCE = 1e-30


@dataclass(frozen=True, slots=True)
class RowSamples:
    """The runs of one row.

    Attributes:
        old: positive values of the old side's runs.
        new: the same of the new side.
        old_base: for a derived metric the values that ``old`` is divided by; empty where there are none.
        new_base: the same of the new side.
    """

    old: tuple[float, ...]
    new: tuple[float, ...]
    old_base: tuple[float, ...] = ()
    new_base: tuple[float, ...] = ()

    def parts(self, side: str) -> list[tuple[float, ...]]:
        """The samples of one side (``old`` or ``new``): the case's and, for a derived metric, its base's."""
        case, base = (self.old, self.old_base) if side == "old" else (self.new, self.new_base)
        return [case, base] if base else [case]


@dataclass(frozen=True, slots=True)
class LogDifference:
    """One row's difference of log means, new minus old, under the widest noise that it is judged by.

    Attributes:
        centre: the difference.
        error: its standard error; ``freedom``: the degrees of freedom of that.
        own_freedom: the degrees of freedom of the row's own runs: those of both sides less one each.
        knows_campaigns: whether the error holds what campaigns of one version differ by.
    """

    centre: float
    error: float
    freedom: float
    own_freedom: int
    knows_campaigns: bool = False


@dataclass(frozen=True, slots=True)
class Differences:
    """For every row the difference of log means with its standard error, each an array of shape (rows,).

    Attributes:
        centres: log new minus log old.
        errors: their standard errors.
        freedoms: the degrees of freedom of the standard errors.
    """

    centres: Floats
    errors: Floats
    freedoms: Floats

    def p_above(self, border: float) -> Floats:
        """The two-sided p-values of the finding that the rows' differences lie above the border."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.freedoms, (border - self.centres) / self.errors))

    def p_below(self, border: float) -> Floats:
        """The same below the border."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.freedoms, (self.centres - border) / self.errors))

    def half_widths(self, alphas: Floats) -> Floats:
        """Half the width of the intervals at the levels 1 − alphas."""
        from scipy.special import stdtrit

        return np.asarray(-stdtrit(self.freedoms, alphas / 2) * self.errors)


def differences(rows: Sequence[RowSamples]) -> list[Differences]:
    """The differences of all rows under each noise that they are judged by.

    Args:
        rows: each sample with two positive values or more.

    Returns:
        The differences with the rows' moderated variances and, where a side has four samples or more and they show
        states of its machine, with the floor in their place (see :mod:`perflog.stats.pooling`).
    """
    sides = {"old": _side(rows, "old"), "new": _side(rows, "new")}
    centres = _centres(rows, "new", sides["new"][1]) - _centres(rows, "old", sides["old"][1])
    results = [_combined(centres, rows, sides, floored=False)]
    if any(noise.floors is not None and shows_states(samples) for noise, samples in sides.values()):
        results.append(_combined(centres, rows, sides, floored=True))
    return results


@dataclass(frozen=True, slots=True)
class _Sample:
    """The logarithms of a sample: how many, their mean, and the place of the sample in its side's noise."""

    n: int
    mean: float
    place: int


#: The noise of a side, and its samples.
_Side = tuple[SideNoise, dict[tuple[float, ...], _Sample]]


def _side(rows: Sequence[RowSamples], side: str) -> _Side:
    """A base that serves many rows counts once. Two rows with the very same values are one sample too."""
    samples: dict[tuple[float, ...], _Sample] = {}
    variances: list[float] = []
    for values in dict.fromkeys(sample for row in rows for sample in row.parts(side)):
        logs = [math.log(value) for value in values]
        mean = math.fsum(logs) / len(logs)
        variance = math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1)
        samples[values] = _Sample(len(logs), mean, len(variances))
        variances.append(max(variance, _LEAST_VARIANCE))
    return side_noise(variances, [sample.n - 1 for sample in samples.values()]), samples


def _centres(rows: Sequence[RowSamples], side: str, samples: Mapping[tuple[float, ...], _Sample]) -> Floats:
    def centre(row: RowSamples) -> float:
        case, *base = (samples[values].mean for values in row.parts(side))
        return case - sum(base)

    return np.array([centre(row) for row in rows])


def _combined(centres: Floats, rows: Sequence[RowSamples], sides: Mapping[str, _Side], floored: bool) -> Differences:
    """Welch's standard error and Satterthwaite's degrees of freedom over all samples of a row."""
    parts: list[list[tuple[float, float]]] = [[] for _ in rows]
    for side, (noise, samples) in sides.items():
        variances, freedoms = noise.variances.tolist(), noise.freedoms.tolist()
        if floored and noise.floors is not None:
            variances, freedoms = noise.floors.tolist(), [noise.floor_freedom] * len(noise.floors)
        for of_row, row in zip(parts, rows, strict=True):
            chosen = [samples[values] for values in row.parts(side)]
            of_row += [(variances[sample.place] / sample.n, freedoms[sample.place]) for sample in chosen]
    squares = np.array([sum(variance for variance, _ in of_row) for of_row in parts])
    weighted = np.array([sum(variance * variance / freedom for variance, freedom in of_row) for of_row in parts])
    satterthwaite = squares * squares / weighted
    for place, row in enumerate(rows):
        if row.old_base:
            satterthwaite[place] = _no_more_than_series(parts[place], float(satterthwaite[place]))
    return Differences(centres, np.sqrt(squares), satterthwaite)


def _no_more_than_series(parts: Sequence[tuple[float, float]], freedom: float) -> float:
    """Degrees of freedom whose interval of 95 % is no narrower than the series of Welch and Aspin has it.

    Args:
        parts: the variance of each mean, and the degrees of freedom of each variance.
        freedom: Satterthwaite's.
    """
    from scipy.special import stdtridf

    variances, freedoms = zip(*parts, strict=True)
    return min(freedom, float(stdtridf((1 + LEVEL) / 2, critical_value(variances, freedoms, LEVEL))))
