"""Which cases a picture draws, in which series; throughput and speedup of each against devices, by model and unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from perflog.cases.case import Case, short_labels, told_apart_by
from perflog.cases.choosing import Section, sections
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS
from perflog.show.drawing import (
    BELOW_AXES,
    COLOURS,
    LINE,
    MARGIN,
    MOST_ROWS,
    WIDTH,
    Block,
    Entry,
    Row,
    Sheet,
    bounds,
    colour_of,
    draw_bars,
    figure_of,
    font_for,
    ink,
    legend_block,
    line_height,
    logarithmic,
    points_of,
    round_ticks,
    rows_block,
    text_block,
    text_width,
    tick_text,
    without_glyph,
    wrapped,
)
from perflog.show.text import caption, marked, number
from perflog.show.words import PictureWords, told, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawable_words(language: str, form: str) -> PictureWords:
    """The words of a language, English ones in place of those for which no font is installed.

    An SVG holds its text as text, for which whoever shows it has a font.
    """
    words = words_of(language)
    if form == "svg":
        return words
    _, lacking = font_for(without_glyph("".join(words.forms.values())))
    return words_of() if lacking else words


#: The colour of a number that another one may be; the line of an ideal speedup.
WARNED = "#b3560b"
_IDEAL: dict[str, Any] = {"color": LINE, "linestyle": "--", "linewidth": 1}
_NOT_SERIES = frozenset({"devices", "nodes", "threads"})
#: Every series of a picture has a marker of its own beside its colour; of more series than markers, dashes differ too.
MARKERS = "osD^vPX*"
DASHES: tuple[str | tuple[float, tuple[float, ...]], ...] = (
    "-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1)), (0, (8, 3)), (0, (1, 3)),
    (0, (9, 2, 3, 2)),
)  # fmt: skip
#: So many series stand in one panel; more stand in a panel each.
MOST_SERIES = 8


def naming_keys(cases: Sequence[Case], *without: str) -> list[str]:
    """The keys that name the series of cases: those that vary among them; where none does, those of a short name."""
    keys = [k for k in dict.fromkeys((*CASE_KEYS, *(k for c in cases for k in c.key))) if k not in _NOT_SERIES]
    facts = [told_apart_by(case.key) for case in cases]
    varying = [k for k in keys if k not in without and len({of_case.get(k) for of_case in facts}) > 1]
    return varying or [k for k in ("framework", "model", "precision") if k not in without]


def name_of(case: Case, keys: Sequence[str]) -> str:
    """The values that a case has of these keys; what it does not say is left out."""
    return " ".join(f"bs{case.key[k]}" if k == "batch_size" else str(case.key[k]) for k in keys if k in case.key)


def names_of(cases: Sequence[Case], words: PictureWords, *without: str) -> list[str]:
    """The names of the cases' series among all of them; where two cases on as many devices have one name, with what
    tells them apart: the rest of their paths, their nodes or threads, or else a number.
    """
    keys = naming_keys(cases, *without)
    names = [name_of(case, keys) for case in cases]
    devices = [str(case.key.get("devices")) for case in cases]
    nodes, threads = ([_counted(case, key, words) for case in cases] for key in ("nodes", "threads"))
    for further in (short_labels(cases), nodes, threads):
        shared = {name for (name, _), count in Counter(zip(names, devices, strict=True)).items() if count > 1}
        names = [
            f"{name} {rest}".strip() if name in shared else name for name, rest in zip(names, further, strict=True)
        ]
    counts: Counter[tuple[str, str]] = Counter()
    for place, key in enumerate(zip(names, devices, strict=True)):
        counts[key] += 1
        if counts[key] > 1:
            names[place] = f"{key[0]} ({counts[key]})".strip()
    return names


def full_names_of(cases: Sequence[Case], words: PictureWords, *without: str) -> list[str]:
    """The names of the cases' series, each with the case's devices, where those are known."""
    names = zip(names_of(cases, words, *without), cases, strict=True)
    return [words("comma").join(filter(None, (name, _counted(case, "devices", words)))) for name, case in names]


def _counted(case: Case, key: str, words: PictureWords) -> str:
    """``4 nodes``; empty where the case does not name them."""
    return words.counted(case.key[key], key) if key in case.key else ""


def valued(cases: Sequence[Case]) -> list[Case]:
    """The cases that have a throughput.

    Raises:
        UsageError: when there are none.
    """
    with_value = [case for case in cases if case.throughput.value is not None]
    if not with_value:
        raise UsageError("no case has a value: see `perflog extract` for the reasons")
    return with_value


def series_of(cases: Sequence[Case], words: PictureWords) -> dict[str, list[Case]]:
    """Cases by the name of their series, each in the order of their devices."""
    series: dict[str, list[Case]] = {}
    for name, case in zip(names_of(cases, words), cases, strict=True):
        series.setdefault(name, []).append(case)
    return {name: sorted(members, key=devices_of) for name, members in series.items()}


def looks_of(series: Mapping[str, Sequence[Case]]) -> dict[str, dict[str, Any]]:
    """How each series' line is drawn, as arguments of matplotlib: a panel holds no two series of one colour.

    The first series of each framework has that framework's colour, which is the same in every picture; others take the
    colours that are left, those behind the framework's own first.
    """
    colours: dict[str, str] = {}
    framework_of = {name: str(members[0].key.get("framework", "")) for name, members in series.items()}
    for name, framework in framework_of.items():
        if framework and colour_of(framework) not in colours.values():
            colours[name] = colour_of(framework)
    for name, framework in framework_of.items():
        if name not in colours:
            first = COLOURS.index(colour_of(framework)) if framework else 0
            turned = [*COLOURS[first:], *COLOURS[:first]]
            colours[name] = next((colour for colour in turned if colour not in colours.values()), turned[0])
    return {
        name: {
            "color": colours[name], "marker": MARKERS[place % len(MARKERS)], "markersize": 5.0, "linestyle": "-",
            "linewidth": 1.4,
        }
        for place, name in enumerate(series)
    }  # fmt: skip


def how(extraction: Extraction, cases: Sequence[Case], words: PictureWords, *more: str) -> str:
    """How the numbers were made, from how many runs, and what else stands below a picture."""
    made, _ = told(caption(extraction, cases).rpartition(";")[0] + ".", [], words.language)
    counts = sorted({case.throughput.n for case in cases})
    parts = [made[:-1]]  # without its full stop
    if counts:
        one = len(counts) == 1
        parts.append(words("n", count=counts[0]) if one else words("n_range", least=counts[0], most=counts[-1]))
    return words("separator").join([*parts, *more])


def devices_of(case: Case) -> int:
    """The devices of a case; 0 where it does not name them."""
    devices = case.key.get("devices")
    return devices if isinstance(devices, int) else 0


def value_of(case: Case) -> float:
    """The throughput of a case that has one."""
    assert case.throughput.value is not None
    return case.throughput.value


def shown_value(case: Case) -> str:
    """The throughput of a case as text, with its unit and the number that it may be."""
    text = f"{number(value_of(case))} {case.throughput.unit}".strip()
    mark = case.mark
    return text if mark is None else marked(text, structs.replace(mark, label=""), number(mark.other))


def draw_marked(axes: Axes, cases: Sequence[Case], places: Sequence[float], upright: bool) -> list[float]:
    """Draw at each marked case the number that it may be, hollow, with a dotted line from the one that is given.

    Args:
        places: where the cases stand on the other axis.
        upright: whether throughput rises upwards.

    Returns:
        The other numbers.
    """
    others = []
    for case, place in zip(cases, places, strict=True):
        if case.mark is None or case.mark.other is None:
            continue
        ends = [value_of(case), case.mark.other]
        xs, ys = ([place, place], ends) if upright else (ends, [place, place])
        axes.plot(xs, ys, color=WARNED, linestyle=":", linewidth=1.2)
        axes.plot(xs[1:], ys[1:], color=WARNED, marker="o", markersize=4.5, fillstyle="none", linestyle="none")
        others.append(case.mark.other)
    return others


def bars_of(cases: Sequence[Case]) -> list[list[float]]:
    """Distances from the centre to the interval's ends, (2, n); 0 where there is none."""
    ends = [(c.throughput.low, c.throughput.high, value_of(c)) for c in cases]
    below = [value - low if low is not None else 0.0 for low, _, value in ends]
    above = [high - value if high is not None else 0.0 for _, high, value in ends]
    return [below, above]


# ----------------------------------------------------------------------------------------------------
# More series than one panel holds: a panel for each, or for each group that differs in its framework alone.

#: So many panels are drawn in one picture.
MOST_PANELS = 120
#: Panels beside each other; a panel's room for the labels at its left and below it, and its axes' height, in inches.
_COLUMNS, _LEFT, _BELOW, _PANEL_HIGH = 3, 0.6, 0.42, 1.15
_ACROSS = (WIDTH - 2 * MARGIN) / _COLUMNS
_SIZE = 8.0


#: A panel's title, and its series by framework; an empty name stands for the only one.
Panel = tuple[str, Mapping[str, list[Case]]]


def multiples_blocks(series: Series, unit: str, words: PictureWords) -> list[Block]:
    """A legend of the frameworks where there are several, what the panels show, and the panels in rows.

    Raises:
        UsageError: when there are more panels than a picture holds.
    """
    panels = _panels(series, words)
    if len(panels) > MOST_PANELS:
        raise UsageError(f"{len(panels)} series, one picture holds {MOST_PANELS}: choose some with --where")
    frameworks = list(dict.fromkeys(name for _, members in panels for name in members if name))
    entries = [Entry(name, _look(name, frameworks)) for name in frameworks]
    cases = [case for _, by_framework in panels for members in by_framework.values() for case in members]
    if any(case.efficiency for case in cases):
        entries.append(Entry(words("ideal"), _IDEAL))
    rows = [panels[start : start + _COLUMNS] for start in range(0, len(panels), _COLUMNS)]
    legend = [legend_block(entries)] if entries else []
    what = text_block(words("throughput_against", unit=unit), 9)
    return [what, *legend, *(_row_block(row, frameworks) for row in rows)]


def _panels(series: Series, words: PictureWords) -> list[Panel]:
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
            return list(groups.items())
    return [(name, {"": list(members)}) for name, members in series.items()]


def _look(framework: str, frameworks: Sequence[str]) -> dict[str, Any]:
    place = frameworks.index(framework) if framework in frameworks else 0
    return {
        "color": colour_of(framework), "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place // len(MARKERS) % len(DASHES)], "linewidth": 1.2, "markersize": 3.5,
    }  # fmt: skip


def _row_block(row: Sequence[Panel], frameworks: Sequence[str]) -> Block:
    """Panels beside each other, their titles above them."""
    titles = [wrapped(title, _ACROSS - 0.2, _SIZE) for title, _ in row]
    above = max(map(len, titles)) * line_height(_SIZE) + 0.08

    def draw(sheet: Sheet, top: float) -> None:
        for column, ((_, series), lines) in enumerate(zip(row, titles, strict=True)):
            left = MARGIN + column * _ACROSS
            first = top + above - 0.08 - len(lines) * line_height(_SIZE)
            sheet.lines(left + 0.1, first, lines, _SIZE)
            _draw_panel(sheet.axes(left + _LEFT, top + above, _ACROSS - _LEFT - 0.15, _PANEL_HIGH), series, frameworks)

    return Block(above + _PANEL_HIGH + _BELOW, draw)


def _draw_panel(axes: Axes, series: Series, frameworks: Sequence[str]) -> None:
    cases = [case for members in series.values() for case in members]
    ends = [end for c in cases for end in (value_of(c), c.throughput.low, c.throughput.high) if end]
    for framework, members in series.items():
        ordered = sorted(members, key=devices_of)
        devices = [devices_of(case) for case in ordered]
        ideal = [(count, value_of(c) / c.efficiency) for count, c in zip(devices, ordered, strict=True) if c.efficiency]
        if len(ideal) > 1:
            axes.plot(*zip(*ideal, strict=True), color=LINE, linestyle="--", linewidth=0.8)
            ends += [value for _, value in ideal]
        look = _look(framework or str(ordered[0].key.get("framework", "")), frameworks)
        drawn = axes.errorbar(devices, [value_of(c) for c in ordered], yerr=bars_of(ordered), capsize=2, **look)
        drawn[0].set_gid(points_of("throughput", ordered))
        ends += draw_marked(axes, ordered, devices, upright=True)
    logarithmic(axes, [devices_of(case) for case in cases], ends, (_ACROSS - _LEFT - 0.15, _PANEL_HIGH))


#: The height of the axes of a pair of panels, alone and on a page, on whose first screen the table is to begin; of the
#: title above them, and the room between the two, in inches.
_HIGH, _HIGH_ON_PAGE, _TITLE, _APART = 3.0, 2.0, 0.3, 0.3
Series = Mapping[str, Sequence[Case]]


def scaling_figure(extraction: Extraction, words: PictureWords | None = None, on_page: bool = False) -> Figure:
    """For every model and unit: throughput with its intervals, and speedup beside the ideal, on logarithmic axes.

    More series than one panel holds stand in a panel each. Cases that stand on one number of devices alone, or name
    none, are bars.

    Args:
        on_page: whether a table follows that says how the numbers were made.

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
            title = " · ".join(filter(None, (part.model or words("model_unknown"), part.unit)))
            blocks.append(text_block(title, 11, weight="bold"))
        blocks += _section_blocks(part, words, _HIGH_ON_PAGE if on_page else _HIGH)
    below = [words("bars")] if any(case.throughput.low is not None for case in cases) else []
    below += [words("marked")] if any(case.mark is not None for case in cases) else []
    if not on_page:
        return figure_of([*blocks, text_block(how(extraction, cases, words, *below), 8)])
    return figure_of([*blocks, *([text_block(words("separator").join(below), 8, space=0)] if below else [])])


def scales(members: Sequence[Case]) -> bool:
    """Whether cases of one series stand on two numbers of devices or more."""
    return len({devices_of(case) for case in members} - {0}) > 1


def panels_of(cases: Sequence[Case]) -> int:
    """How many panels the series of one model and unit take that stand on two numbers of devices or more."""
    with_value = [case for case in cases if case.throughput.value is not None]
    series = series_of(with_value, words_of())
    scaling = sum(scales(members) for members in series.values())
    return 2 if scaling and len(series) <= MOST_SERIES else scaling


def _section_blocks(part: Section, words: PictureWords, high: float) -> list[Block]:
    series = series_of(part.cases, words)
    scaling = {name: [c for c in members if devices_of(c)] for name, members in series.items() if scales(members)}
    alone = [case for members in series.values() for case in members if not scales(members) or not devices_of(case)]
    blocks: list[Block] = []
    if scaling and len(series) <= MOST_SERIES:
        alone = [case for case in alone if not devices_of(case)]
        drawn = {name: [c for c in members if devices_of(c)] for name, members in series.items()}
        blocks += _pair_blocks({name: members for name, members in drawn.items() if members}, part.unit, words, high)
    elif scaling:
        blocks += multiples_blocks(scaling, part.unit, words)
    if alone:
        blocks.append(_bars_block(alone, part, words))
    return blocks


def _pair_blocks(series: Series, unit: str, words: PictureWords, high: float) -> list[Block]:
    """A legend, and below it the panels of throughput and, where there is a scaling of it, of speedup.

    Args:
        high: the height of the panels' axes, in inches.
    """
    looks = looks_of(series)
    sped_up = {n: [c for c in members if c.speedup is not None] for n, members in series.items()}
    sped_up = {name: members for name, members in sped_up.items() if len(members) > 1}
    entries = [Entry(name, look) for name, look in looks.items()]
    if sped_up:
        entries.append(Entry(words("ideal"), _IDEAL))

    def draw(sheet: Sheet, top: float) -> None:
        shown = WIDTH - 2 * MARGIN
        room = (shown - _APART) / 2 if sped_up else shown
        _throughput(sheet, top, (room, high), series, looks, unit, words)
        if sped_up:
            _speedup(sheet, top, high, sped_up, looks, words)

    said = [entry for entry in entries if entry.text]  # a series that stands alone may have no name
    return [*([legend_block(said)] if said else []), Block(_TITLE + high + BELOW_AXES, draw)]


def _throughput(
    sheet: Sheet, top: float, size: tuple[float, float], series: Series, looks: Mapping[str, dict[str, Any]],
    unit: str, words: PictureWords,
) -> None:  # fmt: skip
    """Throughput against devices; ``size``: the width that it has with its labels, and the height of its axes."""
    room, high = size
    cases = [case for members in series.values() for case in members]
    ends = [end for c in cases for end in (value_of(c), c.throughput.low, c.throughput.high) if end]
    labels = max(text_width(tick_text(tick), 8) for tick in round_ticks(*bounds(ends))) + 0.15
    left, width = MARGIN + labels, room - labels
    axes = sheet.axes(left, top + _TITLE, width, high)
    for name, members in series.items():
        xs, ys = [devices_of(case) for case in members], [value_of(case) for case in members]
        axes.errorbar(xs, ys, yerr=bars_of(members), capsize=3, **looks[name])[0].set_gid(
            points_of("throughput", members)
        )
        ends += draw_marked(axes, members, xs, upright=True)
    logarithmic(axes, [devices_of(case) for case in cases], ends, (width, high))
    axes.set_title(words("throughput", unit=unit), fontsize=10)
    axes.set_xlabel(words("devices_axis"), fontsize=8.5)


def _speedup(
    sheet: Sheet, top: float, high: float, series: Series, looks: Mapping[str, dict[str, Any]], words: PictureWords
) -> None:
    cases = [case for members in series.values() for case in members]
    ideal = dict(sorted({devices_of(c): (c.speedup or 0) / c.efficiency for c in cases if c.efficiency}.items()))
    left, width = WIDTH / 2 + _APART / 2 + 0.35, WIDTH / 2 - MARGIN - _APART / 2 - 0.35
    axes = sheet.axes(left, top + _TITLE, width, high)
    for name, members in series.items():
        xs, ys = [devices_of(case) for case in members], [case.speedup or 0 for case in members]
        axes.plot(xs, ys, **looks[name])[0].set_gid(points_of("speedup", members))
        warned = [case for case in members if case.is_marked]
        points = [devices_of(case) for case in warned], [case.speedup or 0 for case in warned]
        axes.plot(*points, color=WARNED, marker="o", markersize=8, fillstyle="none", linestyle="none")
    axes.plot(list(ideal), list(ideal.values()), **_IDEAL)
    speedups = [case.speedup or 1 for case in cases]
    logarithmic(axes, [devices_of(case) for case in cases], [*ideal.values(), *speedups], (width, high))
    ones = all(case.base is not None and case.base.key.get("devices") == 1 for case in cases)
    axes.set_title(words("speedup_one" if ones else "speedup"), fontsize=10)
    axes.set_xlabel(words("devices_axis"), fontsize=8.5)


def _bars_block(cases: Sequence[Case], part: Section, words: PictureWords) -> Block:
    """A bar for each case, with its number at the right."""
    names = full_names_of(cases, words)
    rows = [Row(name, shown_value(case)) for name, case in zip(names, cases, strict=True)]

    def draw(axes: Axes, middles: list[float]) -> None:
        values = [value_of(case) for case in cases]
        bars = draw_bars(axes, middles, values, 0.13, [colour_of(str(c.key.get("framework", ""))) for c in cases])
        for bar, case in zip(bars, cases, strict=True):
            bar.set_gid(points_of("throughput", [case]))
        axes.errorbar(values, middles, xerr=bars_of(cases), fmt="none", ecolor=ink(), capsize=2.5, elinewidth=1)
        draw_marked(axes, cases, middles, upright=False)
        axes.set_xlim(0, None)
        axes.xaxis.set_major_formatter(lambda value, _: tick_text(value))

    return rows_block(rows, words("throughput", unit=part.unit), draw)
