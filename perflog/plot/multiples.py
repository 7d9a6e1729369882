"""More series than one panel holds: a panel for each, or for each group that differs in its framework alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.errors import UsageError
from perflog.plot.drawing import GRID, LINE, colour_of
from perflog.plot.series import (
    DASHES,
    MARKERS,
    MOST_SERIES,
    bars_of,
    devices_of,
    draw_marked,
    name_of,
    naming_keys,
    value_of,
)
from perflog.plot.sheet import MARGIN, WIDTH, Block, Entry, Sheet, legend_block, line_height, text_block, wrapped
from perflog.plot.ticks import logarithmic
from perflog.plot.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: So many panels are drawn in one picture.
MOST_PANELS = 120
#: Panels beside each other; a panel's room for the labels at its left and below it, and its axes' height, in inches.
_COLUMNS, _LEFT, _BELOW, _HIGH = 3, 0.6, 0.42, 1.15
_ACROSS = (WIDTH - 2 * MARGIN) / _COLUMNS
_SIZE = 8.0
Series = Mapping[str, Sequence[Case]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its title, and its series by framework; an empty name stands for the only one."""

    title: str
    series: dict[str, list[Case]]


def multiples_blocks(series: Series, unit: str, words: Words) -> list[Block]:
    """A legend of the frameworks where there are several, what the panels show, and the panels in rows.

    Raises:
        UsageError: when there are more panels than a picture holds.
    """
    panels = _panels(series, words)
    if len(panels) > MOST_PANELS:
        raise UsageError(f"{len(panels)} series, one picture holds {MOST_PANELS}: choose some with --where")
    frameworks = list(dict.fromkeys(name for panel in panels for name in panel.series if name))
    entries = [Entry(name, _look(name, frameworks)) for name in frameworks]
    cases = [case for panel in panels for members in panel.series.values() for case in members]
    if any(case.efficiency for case in cases):
        entries.append(Entry(words("ideal"), {"color": LINE, "linestyle": "--", "linewidth": 1}))
    rows = [panels[start : start + _COLUMNS] for start in range(0, len(panels), _COLUMNS)]
    legend = [legend_block(entries)] if entries else []
    what = text_block(words("throughput_against", unit=unit), 9)
    return [what, *legend, *(_row_block(row, frameworks) for row in rows)]


def _panels(series: Series, words: Words) -> list[Panel]:
    """A panel for each group of series that differ in their framework alone, else for each series."""
    cases = [case for members in series.values() for case in members]
    if len({case.key.get("framework") for case in cases}) > 1:
        keys = naming_keys(cases, "framework")
        groups: dict[str, dict[str, list[Case]]] = {}
        for case in cases:
            framework = str(case.key.get("framework", words("framework_unknown")))
            groups.setdefault(name_of(case, keys), {}).setdefault(framework, []).append(case)
        lines = [members for group in groups.values() for members in group.values()]
        small = all(len(group) <= MOST_SERIES for group in groups.values())
        if small and all(len({devices_of(case) for case in members}) == len(members) for members in lines):
            return [Panel(name, group) for name, group in groups.items()]
    return [Panel(name, {"": list(members)}) for name, members in series.items()]


def _look(framework: str, frameworks: Sequence[str]) -> dict[str, Any]:
    place = frameworks.index(framework) if framework in frameworks else 0
    return {
        "color": colour_of(framework), "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place // len(MARKERS) % len(DASHES)], "linewidth": 1.2, "markersize": 3.5,
    }  # fmt: skip


def _row_block(row: Sequence[Panel], frameworks: Sequence[str]) -> Block:
    """Panels beside each other, their titles above them."""
    titles = [wrapped(panel.title, _ACROSS - 0.2, _SIZE) for panel in row]
    above = max(map(len, titles)) * line_height(_SIZE) + 0.08

    def draw(sheet: Sheet, top: float) -> None:
        for column, (panel, lines) in enumerate(zip(row, titles, strict=True)):
            left = MARGIN + column * _ACROSS
            first = top + above - 0.08 - len(lines) * line_height(_SIZE)
            for number, line in enumerate(lines):
                sheet.text(left + 0.1, first + number * line_height(_SIZE), line, _SIZE)
            _draw_panel(sheet.axes(left + _LEFT, top + above, _ACROSS - _LEFT - 0.15, _HIGH), panel, frameworks)

    return Block(above + _HIGH + _BELOW, draw)


def _draw_panel(axes: Axes, panel: Panel, frameworks: Sequence[str]) -> None:
    cases = [case for members in panel.series.values() for case in members]
    ends = [end for c in cases for end in (value_of(c), c.throughput.low, c.throughput.high) if end]
    for framework, members in panel.series.items():
        ordered = sorted(members, key=lambda case: devices_of(case) or 0)
        devices = [devices_of(case) or 0 for case in ordered]
        ideal = [(count, value_of(c) / c.efficiency) for count, c in zip(devices, ordered, strict=True) if c.efficiency]
        if len(ideal) > 1:
            axes.plot(*zip(*ideal, strict=True), color=LINE, linestyle="--", linewidth=0.8)
            ends += [value for _, value in ideal]
        look = _look(framework or str(ordered[0].key.get("framework", "")), frameworks)
        axes.errorbar(devices, [value_of(c) for c in ordered], yerr=bars_of(ordered), capsize=2, **look)
        ends += draw_marked(axes, ordered, devices, upright=True)
    logarithmic(axes, [devices_of(case) or 0 for case in cases], ends, (_ACROSS - _LEFT - 0.15, _HIGH))
    axes.grid(visible=True, **GRID)
    axes.set_axisbelow(True)
