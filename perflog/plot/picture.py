"""Any picture of cases, as SVG, PNG or PDF, and what it shows in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflog.cases.versions import compared
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.formats.paths import PathPatterns
from perflog.plot.drawing import rendered_with_gaps
from perflog.plot.run_values import run_values_figure
from perflog.plot.scaling import scaling_figure
from perflog.plot.series import how, name_of, naming_keys
from perflog.plot.steps import steps_figure
from perflog.plot.versions import versions_figure
from perflog.plot.words import Words, drawable_words, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perflog.plot.trace import Trace

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
