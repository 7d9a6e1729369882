"""Throughput of framework versions, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.versions import compared
from perflog.export.columns import number
from perflog.extraction import Extraction
from perflog.formats.paths import PathPatterns
from perflog.plot.drawing import COLOURS, LINE, ink
from perflog.plot.rows import Row, RowPlace, rows_block
from perflog.plot.series import MOST_SERIES, bars_of, full_name, how, names_of, value_of
from perflog.plot.sheet import Block, Entry, figure_of, legend_block, text_block

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Group = Mapping[str, Case]
#: Inches from one bar to the next.
_STEP = 0.17


@dataclass(frozen=True, slots=True)
class _Bar:
    """A version's bar: where it stands, its case, the throughput of its group's oldest version, and its colour."""

    middle: float
    case: Case
    base: float
    colour: str


def versions_figure(extraction: Extraction, patterns: PathPatterns | None = None) -> Figure:
    """Bars relative to each case's oldest version: cases on one device and on a hundred are equally legible.

    More versions than there are colours have a row each.

    Raises:
        UsageError: when there are fewer than two versions, no case is there in two of them, or there are too many.
    """
    groups = compared(extraction.cases, patterns)
    versions = list(dict.fromkeys(version for group in groups for version in group))
    cases = [case for group in groups for case in group.values()]
    firsts = [next(iter(group.values())) for group in groups]
    names = [full_name(n, c) for n, c in zip(names_of(firsts, "framework_version"), firsts, strict=True)]
    with_interval = any(case.throughput.low is not None for case in cases)
    foot = how(extraction, cases) + ("; whiskers: interval of each median" if with_interval else "")
    legend: list[Block] = []
    if len(versions) <= MOST_SERIES:
        look: dict[str, Any] = {"linewidth": 7, "solid_capstyle": "butt"}
        legend = [legend_block([Entry(v, {"color": COLOURS[at], **look}) for at, v in enumerate(versions)])]
        rows = _rows_of_groups(groups, names, versions)
    else:
        rows = _rows_of_versions(groups, names)
    title = text_block("framework versions", 10)
    return figure_of([title, *legend, rows, text_block(foot, 8)])


def _rows_of_groups(groups: Sequence[Group], names: Sequence[str], versions: Sequence[str]) -> Block:
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
    return rows_block(rows, "throughput relative to the case's oldest version", draw)


def _rows_of_versions(groups: Sequence[Group], names: Sequence[str]) -> Block:
    """A row for each version of each case."""
    flat = [(name, group, version) for name, group in zip(names, groups, strict=True) for version in group]

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        bars = [
            _Bar(place.middle, group[version], value_of(next(iter(group.values()))), COLOURS[0])
            for (_, group, version), place in zip(flat, places, strict=True)
        ]
        _draw(axes, bars)

    rows = [Row(f"{name} {version}".strip()) for name, _, version in flat]
    return rows_block(rows, "throughput relative to the case's oldest version", draw)


def _draw(axes: Axes, bars: Sequence[_Bar]) -> None:
    """Bars with their intervals, each with its number behind it; the axes leave room for the numbers."""
    middles, lengths = [bar.middle for bar in bars], [value_of(bar.case) / bar.base for bar in bars]
    errors = [
        [distance / bar.base for distance, bar in zip(side, bars, strict=True)]
        for side in bars_of([bar.case for bar in bars])
    ]
    axes.barh(middles, lengths, 0.14, color=[bar.colour for bar in bars])
    axes.errorbar(lengths, middles, xerr=errors, fmt="none", ecolor=ink(), capsize=2, elinewidth=1)
    axes.axvline(1, color=LINE, linewidth=1, linestyle="--")
    axes.set_xlim(0, 1.5 * max(length + above for length, above in zip(lengths, errors[1], strict=True)))
    with_counts = len({bar.case.throughput.n for bar in bars}) > 1
    words: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 7.5}
    for bar, length, above in zip(bars, lengths, errors[1], strict=True):
        count = f" (n = {bar.case.throughput.n})" if with_counts else ""
        text = f"{number(value_of(bar.case))} {bar.case.throughput.unit}{count}"
        axes.annotate(text, (length + above, bar.middle), **words)
