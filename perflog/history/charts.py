"""Series as inline SVG for the pages of a site: a line of a few words' height, and a whole picture.

The colours are the page's (its style sheet names them), so that both can be read on a light and on a dark ground.
Numbers and texts alone are put in; texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from perflog.escaping import visible
from perflog.export.text import number
from perflog.history.following import Part, Shift
from perflog.history.points import Point
from perflog.stats.centre import median
from perflog.stats.verdict import Better

#: The size of a line in a table, its edge, and how many of the last points it shows.
_LINE_WIDTH, _LINE_HEIGHT, _LINE_EDGE, LINE_POINTS = 150.0, 32.0, 4.0, 100
#: The size of a picture and of the edges around its points.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 960.0, 340.0, 84.0, 16.0, 30.0, 84.0
#: So many letters fit between a picture's edges below it, and so many campaigns are named there.
_LETTERS, _NAMED = 110, 24
#: Parts take turns with so many looks.
_LOOKS = 3


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
        valued = [(places[id(p)], p.summary.value) for p in part.points if id(p) in places]
        line = [(frame.x(place), frame.y(value)) for place, value in valued if value is not None]
        for shift in (shift for shift in part.shifts if id(shift.point) in places):
            x = frame.x(places[id(shift.point)] - 0.5)
            parts.append(_line(x, 0, x, _LINE_HEIGHT, f"change {_look(shift, better)}"))
        if len(line) > 1:
            parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 if last else 1.6}"/>' for x, y, last in _ends(line)]
    return _svg("sparkline", _LINE_WIDTH, _LINE_HEIGHT, parts, described)


def _ends(line: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float, bool]]:
    """The points of a line that are drawn: the last one, or a lone one."""
    if line:
        yield (*line[-1], True)


def chart(along: Sequence[Part], better: Better | None, words: Mapping[str, str], described: str) -> Any:
    """A series as a picture: medians with intervals, levels, changes, breaks, and where the last value was expected.

    Args:
        along: the parts of the series.
        better: the direction that is better; None where it is not known.
        words: ``new_part``, and ``point`` with ``{campaign}``, ``{date}``, ``{value}``, ``{unit}`` and ``{n}``.
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
            share = "" if shift.change.ratio is None else _share(shift.change.ratio)
            look = f"change {_look(shift, better)}"
            body += _border(frame, places[id(shift.point)] - 0.5, look, share, _HEIGHT - _BOTTOM - 6)
    return _svg("chart", _WIDTH, _HEIGHT, body, described)


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
    ends = [
        end for point in part.points for end in (point.summary.value, point.summary.low, point.summary.high)
        if point.summary.value is not None and end is not None
    ]  # fmt: skip
    prediction = part.outlook.prediction if part.outlook is not None else None
    return ends + [end for end in ((prediction.low, prediction.high) if prediction else ()) if end is not None]


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
    valued = [(point, value) for point in part.points if (value := point.summary.value) is not None]
    order = {id(point): place for place, (point, _) in enumerate(valued)}
    for begin, end in pairwise([0, *(order[id(shift.point)] for shift in part.shifts), len(valued)]):
        if begin < end:
            y = frame.y(median([value for _, value in valued[begin:end]]))
            first, last = (places[id(valued[place][0])] for place in (begin, end - 1))
            yield _line(frame.x(first - 0.4), y, frame.x(last + 0.4), y, "level")


def _point(frame: _Frame, point: Point, place: int, words: Mapping[str, str]) -> Iterator[str]:
    """A median with its interval; its text shows where a pointer rests on it."""
    s, x = point.summary, frame.x(place)
    if s.value is None:
        return
    if s.low is not None and s.high is not None:
        yield _line(x, frame.y(s.low), x, frame.y(s.high), "range")
    text = words["point"].format(
        campaign=point.campaign, date=f"{point.date:%Y-%m-%d}", value=number(s.value), unit=s.unit, n=s.n
    )
    yield f'<circle cx="{x:.1f}" cy="{frame.y(s.value):.1f}" r="4.5"><title>{_escaped(text)}</title></circle>'


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
    ratio = shift.change.ratio
    if ratio is None or better is None:
        return "open"
    return "better" if (ratio > 1) is (better is Better.HIGHER) else "worse"


def _share(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %".replace("-", "−")


def _short(text: str) -> str:
    return text if len(text) <= 18 else f"{text[:17]}…"


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
