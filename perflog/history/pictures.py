"""Series drawn: inline SVG for the pages of a site (a line of a few words' height, a whole picture), and figures.

In inline SVG the colours are the page's (its style sheet names them), so that both can be read on a light and on a
dark ground. Numbers and texts alone are put in; texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.errors import UsageError
from perflog.escaping import visible
from perflog.history.following import Part, Point, Series, Shift, parts, share_words
from perflog.show.drawing import COLOURS, GRID, LINE, ink, plain, rendered
from perflog.show.series import drawable_words
from perflog.show.text import number
from perflog.show.words import PictureWords
from perflog.show.words import words as document_words
from perflog.stats.verdict import Better

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The size of a line in a table, its edge, and how many of the last points it shows.
_LINE_WIDTH, _LINE_HEIGHT, _LINE_EDGE, LINE_POINTS = 150.0, 32.0, 4.0, 100
#: The size of a picture and of the edges around its points.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 960.0, 340.0, 84.0, 16.0, 30.0, 84.0
#: So many letters fit between a picture's edges below it, and so many campaigns are named there.
_LETTERS, _NAMED = 110, 24
#: Parts take turns with so many looks.
_LOOKS = 3
#: The class of a change by whether it is for the worse; None where that is not known.
LOOKS = {True: "worse", False: "better", None: "open"}


@dataclass(frozen=True, slots=True)
class _Frame:
    """How points and values become places: ``x`` of a point by its number, ``y`` of a value."""

    x: Callable[[float], float]
    y: Callable[[float], float]


def sparkline(along: Sequence[Part], better: Better | None, described: str) -> Any:
    """A series in a few words' height: its values, each part a line of its own, with its changes of level.

    Args:
        along: the parts of the series.
        better: the direction that is better; None where it is not known.
        described: what those hear who do not see it.
    """
    shown = [p for part in along for p in part.points][-LINE_POINTS:]
    values = [value for point in shown if (value := point.summary.value) is not None]
    if not values:
        return ""
    places = {id(point): place for place, point in enumerate(shown)}
    frame = _frame(len(shown), (min(values), max(values)), _LINE_WIDTH, _LINE_HEIGHT, (_LINE_EDGE,) * 4)
    parts = []
    for part in along:
        valued = [(places[id(point)], value) for point, value in part.valued if id(point) in places]
        line = [(frame.x(place), frame.y(value)) for place, value in valued]
        for shift in (shift for shift in part.shifts if id(shift.point) in places):
            x = frame.x(places[id(shift.point)] - 0.5)
            parts.append(_line(x, 0, x, _LINE_HEIGHT, f"change {_look(shift, better)}"))
        if len(line) > 1:
            parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in line[-1:]]
    return _svg("sparkline", _LINE_WIDTH, _LINE_HEIGHT, parts, described)


def chart(along: Sequence[Part], better: Better | None, words: Mapping[str, str], described: str) -> Any:
    """A series as a picture: medians with intervals, levels, changes, breaks, and where the last value was expected.

    Args:
        along: the parts of the series.
        better: the direction that is better; None where it is not known.
        words: ``new_part``, ``no_value``, and ``point`` with ``{campaign}``, ``{date}``, ``{value}`` and ``{n}``.
        described: what those hear who do not see it.
    """
    points = [point for part in along for point in part.points]
    ends = [end for part in along for end in _ends_of(part)]
    if not ends:
        return ""
    bounds = (min(ends), max(ends))
    places = {id(point): place for place, point in enumerate(points)}
    frame = _frame(len(points), bounds, _WIDTH, _HEIGHT, (_LEFT, _RIGHT, _TOP, _BOTTOM))
    body = [*_axis(frame, bounds), *_names_below(frame, points)]
    for nth, part in enumerate(along):
        body.append(f'<g class="part part-{nth % _LOOKS}">')
        body += [*_expected(frame, part, places), *_levels(frame, part, places)]
        body += [text for point in part.points for text in _point(frame, point, places[id(point)], words)]
        body.append("</g>")
        if nth:
            body += _border(frame, places[id(part.points[0])] - 0.5, "break", words["new_part"], _TOP - 10)
        for shift in part.shifts:
            look, share = f"change {_look(shift, better)}", share_words(shift.change.ratio)
            body += _border(frame, places[id(shift.point)] - 0.5, look, share, _HEIGHT - _BOTTOM - 6)
    return _svg("chart", _WIDTH, _HEIGHT, body, described)


def curve(along: Sequence[Part], better: Better | None, words: Mapping[str, str]) -> dict[str, Any]:
    """What :func:`chart` draws, as data for the page's script; places are the numbers of the points.

    Returns:
        ``points``: of each the campaign, the number of its part, its median and the ends of its interval (None where
        there is none), and what it says; ``levels``: first and last place, level, number of the part; ``changes``:
        place of the first point behind it, class, size in words; ``breaks``: the first place of each part but the
        first; ``expected``: place, low and high end.
    """
    points = [(nth, point) for nth, part in enumerate(along) for point in part.points]
    places = {id(point): place for place, (_, point) in enumerate(points)}
    outlooks = [part.outlook for part in along if part.outlook is not None]
    return {
        "points": [
            {
                "campaign": visible(point.campaign), "part": nth, "value": point.summary.value,
                "low": point.summary.low, "high": point.summary.high, "text": visible(_told(point, words)),
            }
            for nth, point in points
        ],
        "levels": [
            [places[id(first)], places[id(last)], level, nth]
            for nth, part in enumerate(along) for first, last, level in part.levels
        ],
        "changes": [
            [places[id(shift.point)], _look(shift, better), share_words(shift.change.ratio)]
            for part in along for shift in part.shifts
        ],
        "breaks": [places[id(part.points[0])] for part in along[1:]],
        "expected": [
            [places[id(outlook.point)], outlook.prediction.low, outlook.prediction.high]
            for outlook in outlooks
            if outlook.prediction.low is not None and outlook.prediction.high is not None
        ],
        "new_part": words["new_part"],
    }  # fmt: skip


def _told(point: Point, words: Mapping[str, str]) -> str:
    """What a point is, in words."""
    s = point.summary
    value = words["no_value"] if s.value is None else f"{number(s.value)} {s.unit}".strip()
    if s.value is not None and s.low is not None and s.high is not None:
        value += f" [{number(s.low)}, {number(s.high)}]"
    return words["point"].format(campaign=point.campaign, date=f"{point.date:%Y-%m-%d}", value=value, n=s.n)


# ---------------------------------------------------------------- parts of a picture


def _frame(
    count: int, bounds: tuple[float, float], width: float, height: float, edges: tuple[float, float, float, float]
) -> _Frame:
    """Places of points and values; ``edges``: left, right, top and bottom."""
    left, right, top, bottom = edges
    low, high = bounds
    room = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    low, high = low - room, high + room
    step = (width - left - right) / max(count, 1)
    return _Frame(
        lambda place: left + step * (place + 0.5),
        lambda value: top + (height - top - bottom) * (high - value) / (high - low),
    )


def _ends_of(part: Part) -> list[float]:
    """All values that a picture of a part shows: medians, intervals' ends, and where the last one was expected."""
    ends = [end for point, value in part.valued for end in (value, point.summary.low, point.summary.high)]
    ends += [part.outlook.prediction.low, part.outlook.prediction.high] if part.outlook is not None else []
    return [end for end in ends if end is not None]


def _axis(frame: _Frame, bounds: tuple[float, float]) -> Iterator[str]:
    """Lines across at round values, with these values."""
    for value in _round_values(*bounds):
        y = frame.y(value)
        yield _line(_LEFT, y, _WIDTH - _RIGHT, y, "grid")
        yield _text(_LEFT - 8, y + 4, f"{value:,.6g}", "end")


def _round_values(low: float, high: float) -> list[float]:
    """Three to seven round values between two."""
    span = high - low or abs(high) * 0.1 or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= 6)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [place * step for place in range(first, last + 1)]


def _names_below(frame: _Frame, points: Sequence[Point]) -> Iterator[str]:
    """The campaigns' names: some of many, aslant where they are long."""
    names = [_short(point.campaign) for point in points]
    step = -(-len(names) // _NAMED)
    aslant = max(map(len, names)) * len(names[::step]) > _LETTERS
    y = _HEIGHT - _BOTTOM + 18
    for place in range(0, len(names), step):
        x = frame.x(place)
        turn = f' transform="rotate(-40 {x:.1f} {y:.1f})"' if aslant else ""
        yield _text(x, y, names[place], "end" if aslant else "middle", turn)


def _expected(frame: _Frame, part: Part, places: Mapping[int, int]) -> Iterator[str]:
    """Where the last value was expected."""
    outlook = part.outlook
    if outlook is None or outlook.prediction.low is None or outlook.prediction.high is None:
        return
    x, half = frame.x(places[id(outlook.point)]), (frame.x(1) - frame.x(0)) * 0.35
    top, bottom = frame.y(outlook.prediction.high), frame.y(outlook.prediction.low)
    yield (
        f'<rect class="expected" x="{x - half:.1f}" y="{top:.1f}" width="{2 * half:.1f}" height="{bottom - top:.1f}"/>'
    )


def _levels(frame: _Frame, part: Part, places: Mapping[int, int]) -> Iterator[str]:
    """The level between changes."""
    for first, last, level in part.levels:
        y = frame.y(level)
        yield _line(frame.x(places[id(first)] - 0.4), y, frame.x(places[id(last)] + 0.4), y, "level")


def _point(frame: _Frame, point: Point, place: int, words: Mapping[str, str]) -> Iterator[str]:
    """A median with its interval; its text shows where a pointer rests on it."""
    s, x = point.summary, frame.x(place)
    if s.value is None:
        return
    if s.low is not None and s.high is not None:
        yield _line(x, frame.y(s.low), x, frame.y(s.high), "range")
    text = _escaped(_told(point, words))
    yield f'<circle cx="{x:.1f}" cy="{frame.y(s.value):.1f}" r="4.5"><title>{text}</title></circle>'


def _border(frame: _Frame, place: float, look: str, text: str, y: float) -> list[str]:
    """A line across all values, with words beside it on the side with more room."""
    x = frame.x(place)
    left = x > _WIDTH / 2
    anchor = "end" if left else "start"
    return [
        _line(x, _TOP, x, _HEIGHT - _BOTTOM, look),
        _text(x + (-5 if left else 5), y, text, anchor, f' class="{look.split()[-1]}"'),
    ]


def _look(shift: Shift, better: Better | None) -> str:
    """The class of a change: worse, better, or open where the direction is not known."""
    return LOOKS[shift.is_worse(better)]


def _short(text: str, most: int = 18) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# ---------------------------------------------------------------- elements


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line class="{look}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    from markupsafe import escape

    return str(escape(visible(text)))


def _svg(look: str, width: float, height: float, body: Sequence[str], described: str) -> Any:
    from markupsafe import Markup

    head = f'<svg class="{look}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{_escaped(described)}">'
    return Markup(head + "".join(body) + "</svg>")


# ----------------------------------------------------------------------------------------------------
# A figure of several series, each in a panel of its own.

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
        if not part.valued:
            continue
        xs, values = [places[id(point)] for point, _ in part.valued], [value for _, value in part.valued]
        axes.errorbar(xs, values, yerr=_bars(part.valued), fmt="o", markersize=5, capsize=3, color=colour)
        _draw_levels(axes, part, places, colour)
        if nth:
            border = places[id(part.points[0])] - 0.5
            axes.axvline(border, color=LINE, linewidth=1, linestyle="--")
            _beside(axes, border, 1, plain(_short(what_changed(part.broken, texts), 46)), len(series.points), ink())
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


def _draw_levels(axes: Any, part: Part, places: Mapping[int, int], colour: str) -> None:
    """The level between changes, each change with its size, and where the last value was expected."""
    for first, last, level in part.levels:
        ends = [places[id(first)] - 0.4, places[id(last)] + 0.4]
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


def _bars(valued: Sequence[tuple[Point, float]]) -> list[list[float]]:
    """Distances from the median to the interval's ends, (2, n); 0 where there is none."""
    ends = [(point.summary.low, value, point.summary.high) for point, value in valued]
    below = [value - low if low is not None else 0.0 for low, value, _ in ends]
    return [below, [high - value if high is not None else 0.0 for _, value, high in ends]]


def what_changed(broken: str, texts: Mapping[str, str]) -> str:
    """What changed before a part, with the names of what can change in the page's words."""
    for name in ("machine", "rule", "unit"):
        broken = broken.replace(f"the {name}: ", f"{texts[f'the_{name}']}: ", 1)
    return broken
