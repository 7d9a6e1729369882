"""Ticks of logarithmic axes: enough to read a value by, and none that touches the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perflog.plot.sheet import text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: The size of tick labels, and the room around an axis' values as a share of their logarithms' range, at least of 10 %.
SIZE = 8.0
_ROOM = 0.07


def tick_text(value: float) -> str:
    """A tick's label: ``0.05``, ``1500``, ``25,000``."""
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.6g}"


def spaced(values: Sequence[float], length: float) -> list[float]:
    """The values whose labels do not touch on a logarithmic axis of ``length`` inches: the greatest, and then down."""
    ordered = sorted(set(values))
    low, high = bounds(ordered)
    scale = length / math.log(high / low)
    kept: list[float] = []
    border = math.inf
    for value in reversed(ordered):
        place, half = math.log(value / low) * scale, text_width(tick_text(value), SIZE) / 2
        if place + half + 0.06 <= border:
            kept.insert(0, value)
            border = place - half
    return kept


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis that shows positive values."""
    low, high = min(values), max(values)
    room = math.exp(max(math.log(high / low) * _ROOM, math.log(1.1)))
    return low / room, high * room


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between two: of 1, 2 and 5 where the range holds enough of them, else equally far apart."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if 3 <= len(ticks) <= most:
            return ticks
    from matplotlib.ticker import MaxNLocator

    if high / low > 100:
        step = math.ceil(len(ticks) / most)
        return ticks[::step]
    return [float(tick) for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]


def logarithmic(axes: Axes, xs: Sequence[float], ys: Sequence[float], size: tuple[float, float]) -> None:
    """Give axes of a size in inches logarithmic scales, with ticks at the ``xs`` and at round values of the ``ys``."""
    from matplotlib.ticker import NullLocator

    axes.set(xscale="log", yscale="log", xlim=bounds(xs), ylim=bounds(ys))
    _set(axes.xaxis, spaced(xs, size[0]))
    _set(axes.yaxis, round_ticks(*bounds(ys), most=max(3, int(size[1] / 0.22))))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=SIZE)


def _set(axis: Axis, ticks: Sequence[float]) -> None:
    """Give an axis its ticks. ``axis.set_ticks`` would build every tick and measure it here, and again when drawn."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FixedFormatter([tick_text(tick) for tick in ticks]))
