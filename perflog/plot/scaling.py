"""Throughput and speedup against devices, a part for each model and unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.choosing import Section, sections
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.plot.drawing import GRID, LINE, colour_of, ink
from perflog.plot.multiples import multiples_blocks
from perflog.plot.rows import MOST_ROWS, Row, RowPlace, draw_bars, rows_block
from perflog.plot.series import (
    MOST_SERIES,
    WARNED,
    Look,
    bars_of,
    devices_of,
    draw_marked,
    full_name,
    how,
    looks_of,
    names_of,
    of_marks,
    series_of,
    shown_value,
    value_of,
    valued,
)
from perflog.plot.sheet import (
    BELOW_AXES,
    MARGIN,
    WIDTH,
    Block,
    Entry,
    Sheet,
    figure_of,
    legend_block,
    text_block,
    text_width,
)
from perflog.plot.ticks import bounds, logarithmic, round_ticks, tick_text
from perflog.plot.words import Words, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
