"""Throughput and speedup against devices, a part for each model and unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.choosing import Section, sections
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.plot.drawing import GRID, LINE, colour_of, ink
from perflog.plot.series import (
    DASHES,
    MARKERS,
    MOST_SERIES,
    WARNED,
    Look,
    Words,
    bars_of,
    devices_of,
    draw_marked,
    full_name,
    how,
    looks_of,
    name_of,
    names_of,
    naming_keys,
    of_marks,
    series_of,
    shown_value,
    value_of,
    valued,
    words_of,
)
from perflog.plot.sheet import (
    BELOW_AXES,
    MARGIN,
    MOST_ROWS,
    WIDTH,
    Block,
    Entry,
    Row,
    RowPlace,
    Sheet,
    bounds,
    draw_bars,
    figure_of,
    legend_block,
    line_height,
    logarithmic,
    round_ticks,
    rows_block,
    text_block,
    text_width,
    tick_text,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# ----------------------------------------------------------------------------------------------------
# More series than one panel holds: a panel for each, or for each group that differs in its framework alone.

#: So many panels are drawn in one picture.
MOST_PANELS = 120
#: Panels beside each other; a panel's room for the labels at its left and below it, and its axes' height, in inches.
_COLUMNS, _LEFT, _BELOW, _PANEL_HIGH = 3, 0.6, 0.42, 1.15
_ACROSS = (WIDTH - 2 * MARGIN) / _COLUMNS
_SIZE = 8.0


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
            _draw_panel(sheet.axes(left + _LEFT, top + above, _ACROSS - _LEFT - 0.15, _PANEL_HIGH), panel, frameworks)

    return Block(above + _PANEL_HIGH + _BELOW, draw)


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
    logarithmic(axes, [devices_of(case) or 0 for case in cases], ends, (_ACROSS - _LEFT - 0.15, _PANEL_HIGH))
    axes.grid(visible=True, **GRID)
    axes.set_axisbelow(True)


#: The height of the axes of a pair of panels, of the title above them, and the room between the two, in inches.
_HIGH, _TITLE, _APART = 3.0, 0.3, 0.3
Series = Mapping[str, Sequence[Case]]


def scaling_figure(extraction: Extraction, words: Words | None = None) -> Figure:
    """For every model and unit: throughput with its intervals, and speedup beside the ideal, on logarithmic axes.

    More series than one panel holds stand in a panel each. Cases that stand on one number of devices alone, or name
    none, are bars.

    Raises:
        UsageError: when no case has a value, or there are more cases than a picture holds.
    """
    words = words or words_of()
    cases = valued(extraction.cases)
    if len(cases) > MOST_ROWS:
        raise UsageError(f"{len(cases)} cases, one picture holds {MOST_ROWS}: choose some with --where")
    parts = sections(cases)
    blocks: list[Block] = []
    for part in parts:
        if len(parts) > 1:
            blocks.append(text_block(_title(part, words), 11, weight="bold"))
        blocks += _section_blocks(part, words)
    with_interval = any(case.throughput.low is not None for case in cases)
    foot = how(extraction, cases, words, *([words("bars")] if with_interval else []), *of_marks(cases, words))
    return figure_of([*blocks, text_block(foot, 8)])


def _title(part: Section, words: Words) -> str:
    return " · ".join(filter(None, (part.model or words("model_unknown"), part.unit)))


def scales(members: Sequence[Case]) -> bool:
    """Whether cases of one series stand on two numbers of devices or more."""
    return len({devices_of(case) for case in members} - {None}) > 1


def panels_of(cases: Sequence[Case]) -> int:
    """How many panels the series of one model and unit take that stand on two numbers of devices or more."""
    with_value = [case for case in cases if case.throughput.value is not None]
    series = series_of(with_value, words_of())
    scaling = sum(scales(members) for members in series.values())
    return 2 if scaling and len(series) <= MOST_SERIES else scaling


def _section_blocks(part: Section, words: Words) -> list[Block]:
    series = series_of(part.cases, words)
    scaling = {name: [c for c in members if devices_of(c)] for name, members in series.items() if scales(members)}
    alone = [case for members in series.values() for case in members if not scales(members) or not devices_of(case)]
    blocks: list[Block] = []
    if scaling and len(series) <= MOST_SERIES:
        alone = [case for case in alone if not devices_of(case)]
        drawn = {name: [c for c in members if devices_of(c)] for name, members in series.items()}
        blocks += _pair_blocks({name: members for name, members in drawn.items() if members}, part.unit, words)
    elif scaling:
        blocks += multiples_blocks(scaling, part.unit, words)
    if alone:
        blocks.append(_bars_block(alone, part, words))
    return blocks


def _pair_blocks(series: Series, unit: str, words: Words) -> list[Block]:
    """A legend, and below it the panels of throughput and, where there is a scaling of it, of speedup."""
    looks = looks_of(series)
    sped_up = {n: [c for c in members if c.speedup is not None] for n, members in series.items()}
    sped_up = {name: members for name, members in sped_up.items() if len(members) > 1}
    entries = [Entry(name, line_look(look)) for name, look in looks.items()]
    if sped_up:
        entries.append(Entry(words("ideal"), {"color": LINE, "linestyle": "--", "linewidth": 1}))

    def draw(sheet: Sheet, top: float) -> None:
        _throughput(sheet, top, series, looks, (unit, words))
        if sped_up:
            _speedup(sheet, top, sped_up, looks, words)

    one_series = [] if len(entries) == 1 and not entries[0].text else [legend_block(entries)]
    return [*one_series, Block(_TITLE + _HIGH + BELOW_AXES, draw)]


def line_look(look: Look, size: float = 5.0) -> dict[str, Any]:
    """How a series' line is drawn, as arguments of matplotlib."""
    return {
        "color": look.colour, "marker": look.marker, "markersize": size, "linestyle": look.dashes, "linewidth": 1.4,
    }  # fmt: skip


def _throughput(sheet: Sheet, top: float, series: Series, looks: Mapping[str, Look], told: tuple[str, Words]) -> None:
    cases = [case for members in series.values() for case in members]
    ends = [end for c in cases for end in (value_of(c), c.throughput.low, c.throughput.high) if end]
    labels = max(text_width(tick_text(tick), 8) for tick in round_ticks(*bounds(ends))) + 0.15
    left, width = MARGIN + labels, (WIDTH - 2 * MARGIN - _APART) / 2 - labels
    axes = sheet.axes(left, top + _TITLE, width, _HIGH)
    for name, members in series.items():
        xs, ys = [devices_of(case) or 0 for case in members], [value_of(case) for case in members]
        axes.errorbar(xs, ys, yerr=bars_of(members), capsize=3, **line_look(looks[name]))
        ends += draw_marked(axes, members, xs, upright=True)
    logarithmic(axes, [devices_of(case) or 0 for case in cases], ends, (width, _HIGH))
    unit, words = told
    _dress(axes, words("throughput", unit=unit), words)


def _speedup(sheet: Sheet, top: float, series: Series, looks: Mapping[str, Look], words: Words) -> None:
    cases = [case for members in series.values() for case in members]
    devices = [devices_of(case) or 0 for case in cases]
    ideal = dict(sorted({devices_of(c) or 0: (c.speedup or 0) / c.efficiency for c in cases if c.efficiency}.items()))
    left, width = WIDTH / 2 + _APART / 2 + 0.35, WIDTH / 2 - MARGIN - _APART / 2 - 0.35
    axes = sheet.axes(left, top + _TITLE, width, _HIGH)
    for name, members in series.items():
        axes.plot([devices_of(c) or 0 for c in members], [c.speedup or 0 for c in members], **line_look(looks[name]))
        warned = [case for case in members if case.is_marked]
        points = [devices_of(case) or 0 for case in warned], [case.speedup or 0 for case in warned]
        axes.plot(*points, color=WARNED, marker="o", markersize=8, fillstyle="none", linestyle="none")
    axes.plot(list(ideal), list(ideal.values()), color=LINE, linestyle="--", linewidth=1)
    logarithmic(axes, devices, [*ideal.values(), *(c.speedup or 1 for c in cases)], (width, _HIGH))
    ones = all(case.base is not None and case.base.key.get("devices") == 1 for case in cases)
    _dress(axes, words("speedup_one" if ones else "speedup"), words)


def _dress(axes: Axes, title: str, words: Words) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(words("devices_axis"), fontsize=8.5)
    axes.grid(visible=True, **GRID)
    axes.set_axisbelow(True)


def _bars_block(cases: Sequence[Case], part: Section, words: Words) -> Block:
    """A bar for each case, with its number at the right."""
    names = names_of(cases, words)
    rows = [Row(full_name(name, case, words), shown_value(case)) for name, case in zip(names, cases, strict=True)]

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        middles, values = [place.middle for place in places], [value_of(case) for case in cases]
        colours = [colour_of(str(case.key.get("framework", ""))) for case in cases]
        draw_bars(axes, middles, values, 0.13, colours)
        axes.errorbar(values, middles, xerr=bars_of(cases), fmt="none", ecolor=ink(), capsize=2.5, elinewidth=1)
        draw_marked(axes, cases, middles, upright=False)
        axes.set_xlim(0, None)
        axes.xaxis.set_major_formatter(lambda value, _: tick_text(value))

    return rows_block(rows, words("throughput", unit=part.unit), draw)
