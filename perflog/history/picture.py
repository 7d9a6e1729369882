"""Series drawn: medians with their intervals, the levels between changes, and where the last value was expected."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perflog.errors import UsageError
from perflog.history.doubts import Part, parts
from perflog.history.series import Point, Series
from perflog.plot.drawing import COLOURS, plain, rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Series in one picture, and campaigns named below one.
MOST, NAMED = 12, 30
#: A part's colour; vermilion is for changes of level.
_PARTS = tuple(colour for colour in COLOURS if colour != COLOURS[1])


def picture(found: Sequence[Series], margin: float, form: str) -> bytes:
    """All series as one picture, each in a panel of its own.

    Raises:
        UsageError: when there are more than it can hold, or no value.
    """
    if len(found) > MOST:
        raise UsageError(f"{len(found)} series, one picture holds {MOST}: say more of the case, such as --case model=…,devices=8")
    drawable = [one for one in found if any(p.summary.value is not None for p in one.points)]
    if not drawable:
        raise UsageError("no point has a value: see `perflog history --case` without -o for the reasons")
    return rendered(lambda: _figure(drawable, margin), form)


def _figure(found: Sequence[Series], margin: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.5 + 3 * len(found)), layout="constrained")
    for axes, one in zip(figure.subplots(len(found), squeeze=False)[:, 0], found, strict=True):
        _panel(axes, one, parts(one, margin))
    words = "points: median of a campaign's runs with its interval; lines: level; grey: where the last value was expected"
    figure.supxlabel(words, fontsize=8, color="#555555")
    return figure


def _panel(axes: Any, one: Series, made: Sequence[Part]) -> None:
    at = {id(point): x for x, point in enumerate(one.points)}
    for nth, part in enumerate(made):
        colour = _PARTS[nth % len(_PARTS)]
        valued = [p for p in part.points if p.summary.value is not None]
        if not valued:
            continue
        axes.errorbar([at[id(p)] for p in valued], [p.summary.value for p in valued], yerr=_bars(valued), fmt="o", markersize=5, capsize=3, color=colour)
        _levels(axes, part, valued, at, colour)
        if part is not made[0]:
            axes.axvline(at[id(part.points[0])] - 0.5, color="#777777", linewidth=1, linestyle="--")
            _beside(axes, at[id(part.points[0])] - 0.5, 1, plain(_short(part.broken)), len(one.points), "#555555")
    names = [plain(p.campaign if p.version in ("", p.campaign) else f"{p.campaign}\n{p.version}") for p in one.points]
    step = -(-len(names) // NAMED)
    crowded = max(map(len, names)) * len(names[::step]) > 80
    axes.set_xticks(range(0, len(names), step), names[::step], rotation=45 if crowded else 0, ha="right" if crowded else "center", fontsize=8)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_title(plain(one.name), fontsize=10)
    axes.set_ylabel(plain(f"{one.metric} ({one.unit})" if one.unit else one.metric))
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _levels(axes: Any, part: Part, valued: Sequence[Point], at: dict[int, int], colour: str) -> None:
    """The level between changes, each change with its size, and where the last value was expected."""
    from statistics import median

    where = {id(p): n for n, p in enumerate(valued)}
    edges = [0, *(where[id(shift.point)] for shift in part.shifts), len(valued)]
    for low, high in pairwise(edges):
        level = median(p.summary.value for p in valued[low:high] if p.summary.value is not None)
        axes.plot([at[id(valued[low])] - 0.4, at[id(valued[high - 1])] + 0.4], [level, level], color=colour, linewidth=1.2, alpha=0.7)
    for shift in part.shifts:
        x = at[id(shift.point)]
        axes.axvline(x - 0.5, color=COLOURS[1], linewidth=1)
        if shift.change.ratio is not None:
            _beside(axes, x - 0.5, 0, f"{100 * (shift.change.ratio - 1):+.1f} %", len(at), COLOURS[1])
    outlook = part.outlook
    if outlook is not None and outlook.prediction.low is not None and outlook.prediction.high is not None:
        x = at[id(outlook.point)]
        axes.fill_between([x - 0.35, x + 0.35], outlook.prediction.low, outlook.prediction.high, color="#999999", alpha=0.35, linewidth=0)


def _beside(axes: Any, x: float, y: int, text: str, points: int, colour: str) -> None:
    """Words beside a vertical line, at its top (1) or foot (0), on the side with more room."""
    left = x > points / 2
    look = {"ha": "right" if left else "left", "va": "top" if y else "bottom", "fontsize": 7.5, "color": colour}
    axes.annotate(text, (x, y), xycoords=("data", "axes fraction"), xytext=(-4 if left else 4, -2 if y else 3), textcoords="offset points", **look)


def _bars(points: Sequence[Point]) -> list[list[float]]:
    """Distances from the median to the interval's ends, (2, n); 0 where there is none."""
    ends = [(p.summary.low, p.summary.value or 0.0, p.summary.high) for p in points]
    return [[value - low if low is not None else 0.0 for low, value, _ in ends], [high - value if high is not None else 0.0 for _, value, high in ends]]


def _short(text: str) -> str:
    return text if len(text) <= 46 else f"{text[:45]}…"
