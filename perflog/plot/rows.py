"""A part of a picture with a row for each case: its name at the left, its marks in axes, and a text at the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflog.errors import UsageError
from perflog.plot.drawing import GRID
from perflog.plot.sheet import BELOW_AXES, MARGIN, WIDTH, Block, Sheet, line_height, text_width, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
