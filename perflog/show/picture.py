"""Any picture of cases, as SVG, PNG or PDF, and what it shows in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.choosing import sections
from perflog.cases.versions import compared
from perflog.errors import UsageError
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.formats.paths import PathPatterns
from perflog.show.drawing import (
    COLOURS,
    LINE,
    WIDTH,
    Block,
    Entry,
    Row,
    colour_of,
    draw_bars,
    figure_of,
    ink,
    legend_block,
    plain,
    rendered,
    rows_block,
    text_block,
    text_width,
)
from perflog.show.series import (
    MOST_SERIES,
    bars_of,
    drawable_words,
    full_names_of,
    how,
    name_of,
    naming_keys,
    scaling_figure,
    shown_value,
    value_of,
    valued,
)
from perflog.show.steps import Trace, steps_figure
from perflog.show.words import PictureWords, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("scaling", "spread", "steps", "versions")
#: So many series are named in words.
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture.

    Attributes:
        kind: one of :data:`KINDS`.
        form: ``svg``, ``png`` or ``pdf``.
        data: its bytes.
        described: what it shows, in words: its alternative text.
        gaps: the characters that are boxes in it, since no font that is installed has them.
        language: that of its words; English where no font that is installed has those of the language asked for.
    """

    kind: str
    form: str
    data: bytes
    described: str
    gaps: str = ""
    language: str = "en"


def picture(
    extraction: Extraction,
    kind: str,
    form: str,
    traces: Sequence[Trace] = (),
    patterns: PathPatterns | None = None,
    language: str = "en",
    keep_points: bool = False,
) -> Picture:
    """A picture of an extraction.

    Args:
        kind: one of :data:`KINDS`; ``steps`` draws ``traces``.
        form: one of :data:`perflog.show.drawing.FORMATS`.
        patterns: what paths of logs say of their runs, for ``versions``; None: perflog's own.
        language: of its words and of what it shows in words, ``en`` or ``zh``.
        keep_points: for a page; see :func:`perflog.show.drawing.rendered`.

    Raises:
        UsageError: when there is nothing to show, with the reason.
    """
    words = drawable_words(language, form)
    figures: Mapping[str, Callable[[], Figure]] = {
        "scaling": lambda: scaling_figure(extraction, words, on_page=keep_points),
        "spread": lambda: run_values_figure(extraction, words),
        "steps": lambda: steps_figure(extraction, traces, words),
        "versions": lambda: versions_figure(extraction, patterns, words),
    }
    data, gaps = rendered(figures[kind], form, words.language, keep_points)
    told = visible(described(extraction, kind, patterns, words_of(language)))
    return Picture(kind, form, data, told, gaps, words.language)


def described(
    extraction: Extraction, kind: str, patterns: PathPatterns | None = None, words: PictureWords | None = None
) -> str:
    """What the picture shows, in words: its alternative text."""
    words = words or words_of()
    without: tuple[str, ...] = ()
    if kind == "versions":
        groups = compared(extraction.cases, patterns)
        cases = [case for group in groups for case in group.values()]
        versions = dict.fromkeys(version for group in groups for version in group)
        what, without = words("shows_versions", versions=words("list").join(versions)), ("framework_version",)
    else:
        cases = [case for case in extraction.cases if case.throughput.value is not None]
        what = words(f"shows_{kind}")
    keys = naming_keys(cases, *without)
    names = list(dict.fromkeys(filter(None, (name_of(case, keys) for case in cases))))
    listed = words("list").join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        listed = words("more", names=listed, count=len(names) - _MOST_NAMED)
    return words("shows_of" if listed else "shows", what=what, names=listed, made=how(extraction, cases, words))


# ----------------------------------------------------------------------------------------------------
# The throughput of every run against its case's centre (``perflog plot --kind spread``).


def run_values_figure(extraction: Extraction, words: PictureWords | None = None) -> Figure:
    """A row per case of several runs, a point per run.

    Raises:
        UsageError: when no case has two runs with a value, or there are more cases than a picture holds.
    """
    words = words or words_of()
    with_value = [case for part in sections(valued(extraction.cases)) for case in part.cases]
    cases = [case for case in with_value if case.throughput.n > 1]
    if not cases:
        raise UsageError("no case has two runs with a value: one run has no spread")
    alone = len(with_value) - len(cases)
    rows = [
        Row(name, words("n", count=case.throughput.n) + _warning(case))
        for name, case in zip(full_names_of(cases, words), cases, strict=True)
    ]

    def draw(axes: Axes, middles: list[float]) -> None:
        axes.axvline(0, color=LINE, linewidth=1, linestyle="--")
        for case, middle in zip(cases, middles, strict=True):
            values = [run.throughput.value for run in case.runs if run.throughput.value is not None]
            changes = [100 * (value / value_of(case) - 1) for value in values]
            colour = colour_of(str(case.key.get("framework", "")))
            axes.plot(changes, [middle] * len(changes), "o", color=colour, alpha=0.75, markersize=4.5)

    label = words("spread_axis", aggregate=words(extraction.options.aggregate))
    left_out = [words("alone", cases=words.counted(alone, "cases"))] if alone else []
    warned = [words("warned")] if any(_warning(case) for case in cases) else []
    foot = text_block(how(extraction, cases, words, *left_out, *warned), 8)
    return figure_of([text_block(words("spread"), 10), rows_block(rows, label, draw), foot])


def _warning(case: Case) -> str:
    """The number that a marked centre may be, as it stands beside its row; empty for none."""
    return f" ⚠ {case.mark.other:.5g}" if case.mark is not None and case.mark.other else ""


# ----------------------------------------------------------------------------------------------------
# Throughput of framework versions, side by side.

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


def versions_figure(
    extraction: Extraction, patterns: PathPatterns | None = None, words: PictureWords | None = None
) -> Figure:
    """Bars relative to each case's oldest version: cases on one device and on a hundred are equally legible.

    More versions than there are colours have a row each.

    Raises:
        UsageError: when there are fewer than two versions, no case is there in two of them, or there are too many.
    """
    words = words or words_of()
    groups = compared(extraction.cases, patterns)
    versions = list(dict.fromkeys(version for group in groups for version in group))
    cases = [case for group in groups for case in group.values()]
    names = full_names_of([_first(group) for group in groups], words, "framework_version")
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


def _rows_of_groups(
    groups: Sequence[Group], names: Sequence[str], versions: Sequence[str], words: PictureWords
) -> Block:
    """A row for each case, with a bar for each version."""

    def draw(axes: Axes, middles: list[float]) -> None:
        bars = []
        for group, middle in zip(groups, middles, strict=True):
            first = middle - _STEP * (len(group) - 1) / 2
            bars += [
                _Bar(first + number * _STEP, case, value_of(_first(group)), COLOURS[versions.index(version)])
                for number, (version, case) in enumerate(group.items())
            ]
        _draw(axes, bars)

    rows = [Row(name, marks=len(group)) for name, group in zip(names, groups, strict=True)]
    return rows_block(rows, words("versions_axis"), draw)


def _rows_of_versions(groups: Sequence[Group], names: Sequence[str], words: PictureWords) -> Block:
    """A row for each version of each case."""
    flat = [(name, group, version) for name, group in zip(names, groups, strict=True) for version in group]

    def draw(axes: Axes, middles: list[float]) -> None:
        colours = [colour_of(str(_first(group).key.get("framework", ""))) for _, group, _ in flat]
        bars = [
            _Bar(middle, group[version], value_of(_first(group)), colour)
            for (_, group, version), middle, colour in zip(flat, middles, colours, strict=True)
        ]
        _draw(axes, bars)

    rows = [Row(words("comma").join(filter(None, (name, version)))) for name, _, version in flat]
    return rows_block(rows, words("versions_axis"), draw)


def _first(group: Group) -> Case:
    """The case of a group's oldest version."""
    return next(iter(group.values()))


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
    texts = [shown_value(bar.case) + (f" (n = {bar.case.throughput.n})" if with_counts else "") for bar in bars]
    shares = [(text_width(text, _NUMBER) + 0.2) / (WIDTH * axes.get_position().width) for text in texts]
    limit = max(max(end, 1) / (1 - share) for end, share in zip(ends, shares, strict=True))
    axes.set_xlim(0, limit)
    words: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": _NUMBER}
    for bar, end, share, text in zip(bars, ends, shares, texts, strict=True):
        start = end if end + share * limit < 1 else max(end, 1)
        axes.annotate(plain(text), (start, bar.middle), **words)
