"""Any picture of cases, as SVG, PNG or PDF, and what it shows in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflog.cases.case import Case
from perflog.cases.choosing import sections
from perflog.cases.versions import compared
from perflog.errors import UsageError
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.formats.paths import PathPatterns
from perflog.plot.drawing import LINE, colour_of, rendered_with_gaps
from perflog.plot.scaling import scaling_figure
from perflog.plot.series import (
    Words,
    drawable_words,
    full_name,
    how,
    name_of,
    names_of,
    naming_keys,
    value_of,
    valued,
    words_of,
)
from perflog.plot.sheet import Row, RowPlace, figure_of, rows_block, text_block
from perflog.plot.steps import steps_figure
from perflog.plot.versions import versions_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perflog.plot.trace import Trace


# ----------------------------------------------------------------------------------------------------
# The throughput of every run against its case's centre (``perflog plot --kind spread``).


def run_values_figure(extraction: Extraction, words: Words | None = None) -> Figure:
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
        Row(full_name(name, case, words), words("n", count=case.throughput.n) + _warning(case))
        for name, case in zip(names_of(cases, words), cases, strict=True)
    ]

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        axes.axvline(0, color=LINE, linewidth=1, linestyle="--")
        for case, place in zip(cases, places, strict=True):
            values = [run.throughput.value for run in case.runs if run.throughput.value is not None]
            changes = [100 * (value / value_of(case) - 1) for value in values]
            colour = colour_of(str(case.key.get("framework", "")))
            axes.plot(changes, [place.middle] * len(changes), "o", color=colour, alpha=0.75, markersize=4.5)

    label = words("spread_axis", aggregate=words(extraction.options.aggregate))
    left_out = [words("alone", cases=words.counted(alone, "cases"))] if alone else []
    warned = [words("warned")] if any(_warning(case) for case in cases) else []
    foot = text_block(how(extraction, cases, words, *left_out, *warned), 8)
    return figure_of([text_block(words("spread"), 10), rows_block(rows, label, draw), foot])


def _warning(case: Case) -> str:
    """The number that a marked centre may be, as it stands beside its row; empty for none."""
    return f" ⚠ {case.mark.other:.5g}" if case.mark is not None and case.mark.other else ""


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
) -> Picture:
    """A picture of an extraction.

    Args:
        kind: one of :data:`KINDS`; ``steps`` draws ``traces``.
        form: one of :data:`perflog.plot.drawing.FORMATS`.
        patterns: what paths of logs say of their runs, for ``versions``; None: perflog's own.
        language: of its words and of what it shows in words, ``en`` or ``zh``.

    Raises:
        UsageError: when there is nothing to show, with the reason.
    """
    words = drawable_words(language, form)
    figures: Mapping[str, Callable[[], Figure]] = {
        "scaling": lambda: scaling_figure(extraction, words),
        "spread": lambda: run_values_figure(extraction, words),
        "steps": lambda: steps_figure(extraction, traces, words),
        "versions": lambda: versions_figure(extraction, patterns, words),
    }
    data, gaps = rendered_with_gaps(figures[kind], form, words.language)
    told = visible(described(extraction, kind, patterns, words_of(language)))
    return Picture(kind, form, data, told, gaps, words.language)


def described(
    extraction: Extraction, kind: str, patterns: PathPatterns | None = None, words: Words | None = None
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
