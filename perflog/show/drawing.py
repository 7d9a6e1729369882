"""What all pictures have in common: colours, the bytes of a figure, text shown as it is, and a layout in inches.

An SVG has no background, and every colour in it can be read on white and on the dark ground of a README: at least 3 : 1
for lines and marks, 4 : 1 for text (WCAG 2.2 asks for 3 and 4.5; no grey reaches 4.5 on both). PNG and PDF are white.
The colours follow Okabe & Ito (*Color Universal Design*, 2008), which the colour-blind tell apart; those that are too
light for white or too dark for black are replaced, and every series has a marker too. The same data always give the
same bytes, so that a README's picture can be checked.
"""

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width
from zlib import crc32

from perflog.errors import UsageError
from perflog.escaping import visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C2689B", "#7F7F7F", "#3D9BD1", "#B0413E", "#6B8E00")
#: Text and axes on any ground, and on white alone; lines of reference; grids and shades, to be drawn with an alpha.
INK, INK_ON_WHITE, LINE, SHADE = "#767676", "#3b4248", "#7f7f7f", "#808080"
GRID: dict[str, Any] = {"color": SHADE, "linewidth": 0.6, "alpha": 0.28}
#: The place among :data:`COLOURS` of frameworks that everybody knows; others have one by their name.
_FRAMEWORKS = {
    "paddlepaddle": 0, "pytorch": 1, "tensorflow": 2, "mxnet": 3, "keras": 4, "mindspore": 5, "oneflow": 6, "jax": 7,
}  # fmt: skip

#: Fonts with Chinese characters that systems bring along or offer, those of even weight first.
CHINESE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
    "Heiti SC", "Microsoft YaHei", "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback",
    "Noto Sans CJK JP", "Arial Unicode MS", "SimSun", "Noto Serif CJK SC",
)  # fmt: skip
#: Code points that are no characters, which XML does not hold (XML 1.0, 2.2).
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "?")
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "perflog", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 10,
    "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False,
    "axes.spines.right": False, "axes.facecolor": "none", "figure.facecolor": "none", "axes.linewidth": 0.8,
    "axes.titley": 1.0,  # where it stands anyway: left to itself, matplotlib measures all ticks to find that out
}  # fmt: skip
#: What an SVG says of its language: without it browsers may take any font that has the characters.
_LANGUAGE_TAGS = {"zh": b"zh-Hans"}
#: What each form says of its maker and its date: a date would change the bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None}, "png": {"Software": "perflog"}, "pdf": {"CreationDate": None, "Producer": "perflog"},
}  # fmt: skip


#: How the name of an artist begins whose points are cases; only a page keeps these names.
POINTS = "points:"


def points_of(value: str, cases: Iterable[object]) -> str:
    """The name of an artist that draws a value of cases, a point for each: what a page finds its points by."""
    return " ".join([f"{POINTS}{value}", *(str(id(case)) for case in cases)])


def rendered(
    make: Callable[[], Figure], form: str, language: str = "en", keep_points: bool = False
) -> tuple[bytes, str]:
    """The figure that ``make`` gives, as SVG, PNG or PDF, and the characters for which no font is installed.

    PNG and PDF show a box for each of these. An SVG holds its text as text, for which whoever shows it has a font, and
    names the language that chooses it. Figures are matplotlib's objects without its pyplot, so that the backend of the
    program that calls is left alone.

    Args:
        keep_points: keep the names of :func:`points_of` as ids of an SVG; they differ each time, and are for a page to
            replace.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    ink = INK if form == "svg" else INK_ON_WHITE
    inks: Any = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
    with rc_context(_SETTINGS | inks), warnings.catch_warnings(), no_words_of_weights():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the caller says it in plain words
        figure, gaps = make(), ""
        if not keep_points:
            for artist in figure.findobj(lambda artist: artist.get_gid() is not None):
                artist.set_gid(None)
        if form != "svg":
            texts = (text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))
            font, gaps = font_for(without_glyph("".join(texts)))
            if font:
                with rc_context({"font.family": [*_SETTINGS["font.sans-serif"], font]}):
                    return _bytes_of(make(), form), gaps
        data = _bytes_of(figure, form)
        tag = _LANGUAGE_TAGS.get(language) if form == "svg" else None
        return data.replace(b"<svg ", b'<svg xml:lang="%s" ' % tag, 1) if tag else data, gaps


@contextmanager
def no_words_of_weights() -> Iterator[None]:
    """Keep matplotlib from reporting that a font lacks the requested weight: many Chinese fonts have a single one."""

    def other(record: logging.LogRecord) -> bool:
        return "font weight" not in record.msg

    log = logging.getLogger("matplotlib.font_manager")
    log.addFilter(other)
    try:
        yield
    finally:
        log.removeFilter(other)


def _bytes_of(figure: Figure, form: str) -> bytes:
    out = io.BytesIO()
    ground = "none" if form == "svg" else "white"
    figure.savefig(out, format=form, dpi=160, facecolor=ground, edgecolor="none", metadata=_METADATA[form])
    return out.getvalue()


def without_glyph(text: str, family: str = "DejaVu Sans") -> str:
    """The characters of a text that a font does not have, each once and in order."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    with no_words_of_weights():
        glyphs = get_font(findfont(FontProperties(family=family))).get_charmap()
    return "".join(sorted({character for character in text if ord(character) not in glyphs and character > " "}))


def font_for(characters: str) -> tuple[str, str]:
    """The installed font that has most of these characters, and those that it lacks; "" where no font has any."""
    from matplotlib.font_manager import fontManager

    if not characters:
        return "", ""
    names = {entry.name for entry in fontManager.ttflist}
    lacks = {name: without_glyph(characters, name) for name in CHINESE_FONTS if name in names}
    best = min(lacks, key=lambda name: len(lacks[name]), default="")
    return (best, lacks[best]) if best and len(lacks[best]) < len(characters) else ("", characters)


def ink() -> str:
    """The colour of text in the picture that is being made."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def colour_of(framework: str) -> str:
    """A framework's colour, the same in every picture that tells frameworks apart."""
    name = framework.lower()
    return COLOURS[_FRAMEWORKS.get(name, crc32(name.encode("utf-8", "replace")) % len(COLOURS))]


def plain(text: str) -> str:
    """Text from logs and paths that matplotlib shows as it is: a dollar begins no formula, and nothing breaks SVG."""
    return visible(text).translate(_NO_XML).replace("$", r"\$")


# ----------------------------------------------------------------------------------------------------
# A figure laid out in inches from its top, so that text has the room that it needs and nothing leaves the picture.
#
# matplotlib's own layouts give a legend the width that it asks for, even beyond the picture's edge. Here text is
# measured first and wrapped, and a picture is as high as its blocks.

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

    def axes(self, left: float, top: float, width: float, height: float, grid: Literal["both", "x"] = "both") -> Axes:
        """Axes whose frame stands there, with a grid below what is drawn."""
        place = (left / WIDTH, 1 - (top + height) / self.height, width / WIDTH, height / self.height)
        axes = self.figure.add_axes(place)
        axes.grid(visible=True, axis=grid, **GRID)
        axes.set_axisbelow(True)
        return axes

    def text(self, left: float, top: float, text: str, size: float, **look: Any) -> None:
        """A line of text below a top."""
        look = {"va": "top", "ha": "left", "fontsize": size, **look}
        self.figure.text(left / WIDTH, 1 - top / self.height, plain(text), **look)

    def lines(self, left: float, top: float, lines: Sequence[str], size: float, **look: Any) -> None:
        """Lines of text below each other, the first below a top."""
        for number, line in enumerate(lines):
            self.text(left, top + number * line_height(size), line, size, **look)

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

    return Block(
        len(lines) * line_height(size) + space, lambda sheet, top: sheet.lines(MARGIN, top, lines, size, **look)
    )


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
                sheet.lines(left + _MARK, middle, texts[place], size, va="center")

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

#: The size of tick labels and of rows' names; the room around an axis' values as a share of their logarithms' range, at
#: least of 10 %.
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
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axes.set(xscale="log", yscale="log", xlim=bounds(xs), ylim=bounds(ys))
    of_ys = round_ticks(*bounds(ys), most=max(3, int(size[1] / 0.22)))
    for axis, ticks in ((axes.xaxis, spaced(xs, size[0])), (axes.yaxis, of_ys)):
        axis.set_major_locator(FixedLocator(ticks))  # set_ticks would build and measure each tick here, and when drawn
        axis.set_major_formatter(FixedFormatter([tick_text(tick) for tick in ticks]))
        axis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=SIZE)


# ----------------------------------------------------------------------------------------------------
# A part of a picture with a row for each case: its name at the left, its marks in axes, and a text at the right.

#: So many rows are drawn in one picture: more can be neither read nor held by a PNG.
MOST_ROWS = 300
#: The widest column of names, in inches.
_WIDEST = 3.4
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


def draw_bars(
    axes: Axes, middles: Sequence[float], ends: Sequence[float], height: float, colours: list[str]
) -> Iterable[Artist]:
    """Bars from 0 to their ends: pale inside, so that the interval on a bar is seen on any ground as that beside it."""
    look: dict[str, Any] = {"edgecolor": colours, "linewidth": 1}
    return axes.barh(middles, ends, height, color=[(colour, _PALE) for colour in colours], **look)


def rows_block(rows: Sequence[Row], xlabel: str, draw: Callable[[Axes, list[float]], None]) -> Block:
    """Rows below each other.

    Args:
        draw: draws the marks into the axes, given the middle of every row in their units: inches from their top.

    Raises:
        UsageError: when there are more rows than a picture holds.
    """
    if len(rows) > MOST_ROWS:
        raise UsageError(f"{len(rows)} cases, one picture holds {MOST_ROWS}: choose some with --where")
    names = [wrapped(row.name, _WIDEST, SIZE) for row in rows]
    left = max(text_width(line, SIZE) for lines in names for line in lines) + _GAP
    right = max(text_width(row.text, SIZE) for row in rows) + _GAP if any(row.text for row in rows) else 0.05
    heights = [
        max(_LEAST, len(lines) * line_height(SIZE) + 0.06, 0.17 * row.marks + 0.1)
        for lines, row in zip(names, rows, strict=True)
    ]
    tops = [sum(heights[:number]) for number in range(len(heights))]
    above = _ABOVE if sum(heights) > _TALL else 0.0

    def draw_rows(sheet: Sheet, top: float) -> None:
        top += above
        axes = sheet.axes(MARGIN + left, top, WIDTH - 2 * MARGIN - left - right, sum(heights), "x")
        middles = [start + height / 2 for start, height in zip(tops, heights, strict=True)]
        axes.set(xlabel=xlabel, ylim=(sum(heights), 0), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.tick_params(labelsize=8, top=bool(above), labeltop=bool(above))
        axes.xaxis.label.set_fontsize(8.5)
        draw(axes, middles)
        for middle, lines, row in zip(middles, names, rows, strict=True):
            first = top + middle - (len(lines) - 1) * line_height(SIZE) / 2
            sheet.lines(MARGIN + left - _GAP, first, lines, SIZE, ha="right", va="center")
            if row.text:
                sheet.text(WIDTH - MARGIN, top + middle, row.text, SIZE, ha="right", va="center")

    return Block(above + sum(heights) + BELOW_AXES, draw_rows)
