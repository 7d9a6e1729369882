"""A figure laid out in inches from its top, so that text has the room that it needs and nothing leaves the picture.

matplotlib's own layouts give a legend the width that it asks for, even beyond the picture's edge. Here text is measured
first and wrapped, and a picture is as high as its blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from perflog.errors import UsageError
from perflog.escaping import visible
from perflog.plot.drawing import GRID, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


#: The width of every picture and its margin on all sides, in inches.
WIDTH, MARGIN = 9.0, 0.15
#: The height of a line of text, in sizes of its font.
_LINE = 1.35
#: The width of a legend's mark with the room behind it, and the room between two entries, in inches.
_MARK, _BETWEEN = 0.56, 0.25
#: Inches of the tick labels and the label below axes.
BELOW_AXES = 0.55
_POINTS = 72.0


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a picture over its whole width: its height in inches, and what draws it on a sheet at a top."""

    height: float
    draw: Callable[[Sheet, float], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a legend: its text as logs have it, and how its mark looks (arguments of a ``Line2D``)."""

    text: str
    look: dict[str, Any]


class Sheet:
    """A figure of a height in inches; places are inches from its left and its top."""

    def __init__(self, height: float) -> None:
        from matplotlib.figure import Figure

        self.height = height
        self.figure: Figure = Figure(figsize=(WIDTH, height))

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes whose frame stands there."""
        place = (left / WIDTH, 1 - (top + height) / self.height, width / WIDTH, height / self.height)
        return self.figure.add_axes(place)

    def text(self, left: float, top: float, text: str, size: float, **look: Any) -> None:
        """A line of text below a top."""
        look = {"va": "top", "ha": "left", "fontsize": size, **look}
        self.figure.text(left / WIDTH, 1 - top / self.height, plain(text), **look)

    def mark(self, left: float, middle: float, width: float, look: dict[str, Any]) -> None:
        """A line with its marker, as a legend shows it."""
        from matplotlib.lines import Line2D

        ends, middles = (left / WIDTH, (left + width / 2) / WIDTH, (left + width) / WIDTH), 1 - middle / self.height
        self.figure.add_artist(Line2D(ends, [middles] * 3, markevery=[1], **look))


def line_height(size: float) -> float:
    """The height of a line of text, in inches."""
    return _LINE * size / _POINTS


@lru_cache(maxsize=4096)  # titles, names and ticks come again in every picture of a page
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in matplotlib's own font, in inches; a Chinese character is as wide as the font is high."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    wide = sum(east_asian_width(character) in "WF" for character in text)
    narrow = "".join(character for character in text if east_asian_width(character) not in "WF")
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(narrow, font, ismath=False)
    return (float(width) + wide * size) / _POINTS


def wrapped(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """A text in lines no wider than ``width`` inches: broken at blanks, and inside a word that is wider."""
    lines: list[str] = [""]
    for word in _pieces(text, width, size, bold):
        together = f"{lines[-1]} {word}".strip()
        if not lines[-1] or text_width(together, size, bold) <= width:
            lines[-1] = together
        else:
            lines.append(word)
    return lines


def _pieces(text: str, width: float, size: float, bold: bool) -> Iterator[str]:
    """The words of a text; what is wider than a line in parts that are not."""
    for word in visible(text).split():
        rest = word
        while text_width(rest, size, bold) > width and len(rest) > 1:
            fits = next(n for n in range(len(rest) - 1, 0, -1) if n == 1 or text_width(rest[:n], size, bold) <= width)
            cut = max(rest[:fits].rfind(mark) for mark in "/-_.；：，、") + 1
            taken = cut if cut > fits // 2 else fits
            yield rest[:taken]
            rest = rest[taken:]
        yield rest


def text_block(text: str, size: float, space: float = 0.08, **look: Any) -> Block:
    """A text over the picture's width, wrapped, with room below it."""
    lines = wrapped(text, WIDTH - 2 * MARGIN, size, look.get("weight") == "bold")

    def draw(sheet: Sheet, top: float) -> None:
        for number, line in enumerate(lines):
            sheet.text(MARGIN, top + number * line_height(size), line, size, **look)

    return Block(len(lines) * line_height(size) + space, draw)


def legend_block(entries: Sequence[Entry], size: float = 8.5) -> Block:
    """A legend in as many columns as fit; a text that is wider than the picture is wrapped."""
    room = WIDTH - 2 * MARGIN
    texts = [wrapped(entry.text, room - _MARK, size) for entry in entries]
    cell = max(text_width(line, size) for lines in texts for line in lines) + _MARK + _BETWEEN
    columns = max(1, min(len(entries), int((room + _BETWEEN) / cell)))
    rows = [range(start, min(start + columns, len(entries))) for start in range(0, len(entries), columns)]
    heights = [max(len(texts[place]) for place in row) * line_height(size) + 0.03 for row in rows]

    def draw(sheet: Sheet, top: float) -> None:
        for number, row in enumerate(rows):
            above = top + sum(heights[:number])
            for column, place in enumerate(row):
                left = MARGIN + column * cell
                middle = above + line_height(size) / 2
                sheet.mark(left, middle, _MARK - 0.1, entries[place].look)
                for line_number, line in enumerate(texts[place]):
                    sheet.text(left + _MARK, middle + line_number * line_height(size), line, size, va="center")

    return Block(sum(heights) + 0.1, draw)


def figure_of(blocks: Sequence[Block]) -> Figure:
    """The blocks below each other as one figure."""
    sheet = Sheet(sum(block.height for block in blocks) + 2 * MARGIN)
    top = MARGIN
    for block in blocks:
        block.draw(sheet, top)
        top += block.height
    return sheet.figure


# ----------------------------------------------------------------------------------------------------
# Ticks of logarithmic axes: enough to read a value by, and none that touches the next.

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


# ----------------------------------------------------------------------------------------------------
# A part of a picture with a row for each case: its name at the left, its marks in axes, and a text at the right.

#: So many rows are drawn in one picture: more can be neither read nor held by a PNG.
MOST_ROWS = 300
#: The widest column of names, in inches, and the size of their font.
_WIDEST, _SIZE = 3.4, 8.0
#: The least height of a row, and the room between a name and the axes, in inches.
_LEAST, _GAP = 0.24, 0.14
#: Rows higher than this, in inches, have their axis above them too; the room that its numbers need there.
_TALL, _ABOVE = 8.0, 0.25
#: The opacity of a bar's inside.
_PALE = 0.4


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its name, the text at its right, and how many marks stand below each other in it."""

    name: str
    text: str = ""
    marks: int = 1


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row is drawn: its middle and its height in the axes' own units, which are inches from their top."""

    middle: float
    height: float


def draw_bars(axes: Axes, middles: Sequence[float], ends: Sequence[float], height: float, colours: list[str]) -> None:
    """Bars from 0 to their ends: pale inside, so that the interval on a bar is seen on any ground as that beside it."""
    axes.barh(middles, ends, height, color=[(colour, _PALE) for colour in colours], edgecolor=colours, linewidth=1)


def rows_block(rows: Sequence[Row], xlabel: str, draw: Callable[[Axes, list[RowPlace]], None]) -> Block:
    """Rows below each other.

    Args:
        draw: draws the marks into the axes, given the place of every row.

    Raises:
        UsageError: when there are more rows than a picture holds.
    """
    if len(rows) > MOST_ROWS:
        raise UsageError(f"{len(rows)} cases, one picture holds {MOST_ROWS}: choose some with --where")
    names = [wrapped(row.name, _WIDEST, _SIZE) for row in rows]
    left = max(text_width(line, _SIZE) for lines in names for line in lines) + _GAP
    right = max(text_width(row.text, _SIZE) for row in rows) + _GAP if any(row.text for row in rows) else 0.05
    heights = [
        max(_LEAST, len(lines) * line_height(_SIZE) + 0.06, 0.17 * row.marks + 0.1)
        for lines, row in zip(names, rows, strict=True)
    ]
    tops = [sum(heights[:number]) for number in range(len(heights))]
    above = _ABOVE if sum(heights) > _TALL else 0.0

    def draw_rows(sheet: Sheet, top: float) -> None:
        top += above
        axes = sheet.axes(MARGIN + left, top, WIDTH - 2 * MARGIN - left - right, sum(heights))
        places = [RowPlace(start + height / 2, height) for start, height in zip(tops, heights, strict=True)]
        axes.set(xlabel=xlabel, ylim=(sum(heights), 0), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.tick_params(labelsize=8, top=bool(above), labeltop=bool(above))
        axes.xaxis.label.set_fontsize(8.5)
        axes.grid(visible=True, axis="x", **GRID)
        axes.set_axisbelow(True)
        draw(axes, places)
        for place, lines, row in zip(places, names, rows, strict=True):
            first = top + place.middle - (len(lines) - 1) * line_height(_SIZE) / 2
            for number, line in enumerate(lines):
                middle = first + number * line_height(_SIZE)
                sheet.text(MARGIN + left - _GAP, middle, line, _SIZE, ha="right", va="center")
            if row.text:
                sheet.text(WIDTH - MARGIN, top + place.middle, row.text, _SIZE, ha="right", va="center")

    return Block(above + sum(heights) + BELOW_AXES, draw_rows)
