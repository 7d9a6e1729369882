"""Series drawn: medians with their intervals, the levels between changes, and where the last value was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perflog.errors import UsageError
from perflog.export.words import PictureWords
from perflog.export.words import words as document_words
from perflog.history.following import Part, Series, parts
from perflog.history.points import Point
from perflog.history.site_pages import what_changed
from perflog.plot.drawing import COLOURS, GRID, LINE, ink, plain, rendered
from perflog.plot.series import drawable_words
from perflog.stats.centre import median

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Series in one picture, and campaigns named below one.
MOST, NAMED = 12, 30
#: Letters of the names below a picture that stand side by side without touching.
LETTERS = 80
#: A part's colour; vermilion is for changes of level.
_PARTS = tuple(colour for colour in COLOURS if colour != COLOURS[1])


def draw_series(followed: Sequence[Series], margin: float, form: str, language: str = "en") -> bytes:
    """All series as one picture, each in a panel of its own.

    Args:
        margin: changes of level up to this share do not matter.
        form: ``svg`` or ``png``.
        language: of the picture's words, ``en`` or ``zh``; where no font that is installed has these, English.

    Raises:
        UsageError: when there are more than it can hold, or no value.
    """
    if len(followed) > MOST:
        raise UsageError(
            f"{len(followed)} series, one picture holds {MOST}: say more of the case, such as --case model=…,devices=8"
        )
    drawable = [series for series in followed if any(p.summary.value is not None for p in series.points)]
    if not drawable:
        raise UsageError("no point has a value: see `perflog history --case` without -o for the reasons")
    words = drawable_words(language, form)
    return rendered(lambda: _figure(drawable, margin, words), form, words.language)[0]


def _figure(followed: Sequence[Series], margin: float, words: PictureWords) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.5 + 3 * len(followed)), layout="constrained")
    for axes, series in zip(figure.subplots(len(followed), squeeze=False)[:, 0], followed, strict=True):
        _panel(axes, series, parts(series, margin), words)
    figure.supxlabel(words("history"), fontsize=8, color=ink())
    return figure


def _panel(axes: Any, series: Series, along: Sequence[Part], words: PictureWords) -> None:
    places = {id(point): x for x, point in enumerate(series.points)}
    texts = document_words("pages", words.language)["history"]
    for nth, part in enumerate(along):
        colour = _PARTS[nth % len(_PARTS)]
        valued = [p for p in part.points if p.summary.value is not None]
        if not valued:
            continue
        xs, values = [places[id(p)] for p in valued], [p.summary.value for p in valued]
        axes.errorbar(xs, values, yerr=_bars(valued), fmt="o", markersize=5, capsize=3, color=colour)
        _levels(axes, part, valued, places, colour)
        if nth:
            border = places[id(part.points[0])] - 0.5
            axes.axvline(border, color=LINE, linewidth=1, linestyle="--")
            _beside(axes, border, 1, plain(_short(what_changed(part.broken, texts))), len(series.points), ink())
    _campaigns_below(axes, series)
    axes.margins(y=0.12)  # room for the words at the head and the foot of upright lines
    axes.set_title(plain(series.name), fontsize=10)
    metric = document_words("reports", words.language)["metrics"].get(series.metric, series.metric)
    axes.set_ylabel(plain(f"{metric} ({series.unit})" if series.unit else metric))
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.grid(visible=True, axis="y", **GRID)
    axes.set_axisbelow(True)


def _campaigns_below(axes: Any, series: Series) -> None:
    """The campaigns' names below the points; only some of many, and aslant where they are long."""
    named = [p.campaign if p.version in ("", p.campaign) else f"{p.campaign}\n{p.version}" for p in series.points]
    names = [plain(name) for name in named]
    step = -(-len(names) // NAMED)
    crowded = max(map(len, names)) * len(names[::step]) > LETTERS
    look = {"rotation": 45 if crowded else 0, "ha": "right" if crowded else "center", "fontsize": 8}
    axes.set_xticks(range(0, len(names), step), names[::step], **look)
    axes.set_xlim(-0.6, len(names) - 0.4)


def _levels(axes: Any, part: Part, valued: Sequence[Point], places: Mapping[int, int], colour: str) -> None:
    """The level between changes, each change with its size, and where the last value was expected."""
    order = {id(p): n for n, p in enumerate(valued)}
    edges = [0, *(order[id(shift.point)] for shift in part.shifts), len(valued)]
    for low, high in pairwise(edges):
        level = median([p.summary.value for p in valued[low:high] if p.summary.value is not None])
        ends = [places[id(valued[low])] - 0.4, places[id(valued[high - 1])] + 0.4]
        axes.plot(ends, [level, level], color=colour, linewidth=1.2, alpha=0.7)
    for shift in part.shifts:
        border = places[id(shift.point)] - 0.5
        axes.axvline(border, color=COLOURS[1], linewidth=1)
        if shift.change.ratio is not None:
            _beside(axes, border, 0, f"{100 * (shift.change.ratio - 1):+.1f} %", len(places), COLOURS[1])
    outlook = part.outlook
    if outlook is not None and outlook.prediction.low is not None and outlook.prediction.high is not None:
        x, expected = places[id(outlook.point)], (outlook.prediction.low, outlook.prediction.high)
        axes.fill_between([x - 0.35, x + 0.35], *expected, color="#999999", alpha=0.35, linewidth=0)


def _beside(axes: Any, x: float, y: int, text: str, points: int, colour: str) -> None:
    """Words beside a vertical line, at its top (1) or foot (0), on the side with more room."""
    left = x > points / 2
    look = {"ha": "right" if left else "left", "va": "top" if y else "bottom", "fontsize": 7.5, "color": colour}
    offset = {"xytext": (-4 if left else 4, -2 if y else 3), "textcoords": "offset points"}
    axes.annotate(text, (x, y), xycoords=("data", "axes fraction"), **offset, **look)


def _bars(points: Sequence[Point]) -> list[list[float]]:
    """Distances from the median to the interval's ends, (2, n); 0 where there is none."""
    ends = [(p.summary.low, p.summary.value or 0.0, p.summary.high) for p in points]
    below = [value - low if low is not None else 0.0 for low, value, _ in ends]
    return [below, [high - value if high is not None else 0.0 for _, value, high in ends]]


def _short(text: str) -> str:
    return text if len(text) <= 46 else f"{text[:45]}…"
