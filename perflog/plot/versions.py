"""Throughput of framework versions, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.versions import compared
from perflog.extraction import Extraction
from perflog.formats.paths import PathPatterns
from perflog.plot.drawing import COLOURS, LINE, colour_of, ink, plain
from perflog.plot.series import MOST_SERIES, Words, bars_of, full_name, how, names_of, shown_value, value_of, words_of
from perflog.plot.sheet import (
    WIDTH,
    Block,
    Entry,
    Row,
    RowPlace,
    draw_bars,
    figure_of,
    legend_block,
    rows_block,
    text_block,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Group = Mapping[str, Case]
#: Inches from one bar to the next, and the size of the numbers behind them.
_STEP, _NUMBER = 0.17, 7.5


@dataclass(frozen=True, slots=True)
class _Bar:
    """A version's bar: where it stands, its case, the throughput of its group's oldest version, and its colour."""

    middle: float
    case: Case
    base: float
    colour: str


def versions_figure(extraction: Extraction, patterns: PathPatterns | None = None, words: Words | None = None) -> Figure:
    """Bars relative to each case's oldest version: cases on one device and on a hundred are equally legible.

    More versions than there are colours have a row each.

    Raises:
        UsageError: when there are fewer than two versions, no case is there in two of them, or there are too many.
    """
    words = words or words_of()
    groups = compared(extraction.cases, patterns)
    versions = list(dict.fromkeys(version for group in groups for version in group))
    cases = [case for group in groups for case in group.values()]
    firsts = [next(iter(group.values())) for group in groups]
    names = names_of(firsts, words, "framework_version")
    names = [full_name(name, case, words) for name, case in zip(names, firsts, strict=True)]
    with_interval = any(case.throughput.low is not None for case in cases)
    foot = how(extraction, cases, words, *([words("whiskers")] if with_interval else []))
    legend: list[Block] = []
    if len(versions) <= MOST_SERIES:
        look: dict[str, Any] = {"linewidth": 7, "solid_capstyle": "butt"}
        legend = [legend_block([Entry(v, {"color": COLOURS[at], **look}) for at, v in enumerate(versions)])]
        rows = _rows_of_groups(groups, names, versions, words)
    else:
        rows = _rows_of_versions(groups, names, words)
    return figure_of([text_block(words("versions"), 10), *legend, rows, text_block(foot, 8)])


def _rows_of_groups(groups: Sequence[Group], names: Sequence[str], versions: Sequence[str], words: Words) -> Block:
    """A row for each case, with a bar for each version."""

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        bars = []
        for group, place in zip(groups, places, strict=True):
            base, first = value_of(next(iter(group.values()))), place.middle - _STEP * (len(group) - 1) / 2
            bars += [
                _Bar(first + number * _STEP, case, base, COLOURS[versions.index(version)])
                for number, (version, case) in enumerate(group.items())
            ]
        _draw(axes, bars)

    rows = [Row(name, marks=len(group)) for name, group in zip(names, groups, strict=True)]
    return rows_block(rows, words("versions_axis"), draw)


def _rows_of_versions(groups: Sequence[Group], names: Sequence[str], words: Words) -> Block:
    """A row for each version of each case."""
    flat = [(name, group, version) for name, group in zip(names, groups, strict=True) for version in group]

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        bars = [
            _Bar(place.middle, group[version], value_of(next(iter(group.values()))), _framework_colour(group))
            for (_, group, version), place in zip(flat, places, strict=True)
        ]
        _draw(axes, bars)

    rows = [Row(words("comma").join(filter(None, (name, version)))) for name, _, version in flat]
    return rows_block(rows, words("versions_axis"), draw)


def _framework_colour(group: Group) -> str:
    """The colour of the framework whose versions a group holds."""
    return colour_of(str(next(iter(group.values())).key.get("framework", "")))


def _draw(axes: Axes, bars: Sequence[_Bar]) -> None:
    """Bars with their intervals, each with its number behind it, and none on the line of the oldest version."""
    middles, lengths = [bar.middle for bar in bars], [value_of(bar.case) / bar.base for bar in bars]
    errors = [
        [distance / bar.base for distance, bar in zip(side, bars, strict=True)]
        for side in bars_of([bar.case for bar in bars])
    ]
    draw_bars(axes, middles, lengths, 0.14, [bar.colour for bar in bars])
    axes.errorbar(lengths, middles, xerr=errors, fmt="none", ecolor=ink(), capsize=2, elinewidth=1)
    axes.axvline(1, color=LINE, linewidth=1, linestyle="--")
    ends = [length + above for length, above in zip(lengths, errors[1], strict=True)]
    with_counts = len({bar.case.throughput.n for bar in bars}) > 1
    texts = [_number_of(bar.case, with_counts) for bar in bars]
    shares = [(text_width(text, _NUMBER) + 0.2) / (WIDTH * axes.get_position().width) for text in texts]
    limit = max(max(end, 1) / (1 - share) for end, share in zip(ends, shares, strict=True))
    axes.set_xlim(0, limit)
    words: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": _NUMBER}
    for bar, end, share, text in zip(bars, ends, shares, texts, strict=True):
        start = end if end + share * limit < 1 else max(end, 1)
        axes.annotate(plain(text), (start, bar.middle), **words)


def _number_of(case: Case, with_count: bool) -> str:
    """The throughput of a case as it stands behind its bar."""
    count = f" (n = {case.throughput.n})" if with_count else ""
    return shown_value(case) + count
