"""Any picture of cases, as SVG or PNG that can be read in both themes, and what it shows in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflog.cases.versions import compared
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.logs.find import natural
from perflog.plot.drawing import rendered
from perflog.plot.run_values import run_values_figure
from perflog.plot.scaling import scaling_figure
from perflog.plot.series import how, name_of
from perflog.plot.steps import steps_figure
from perflog.plot.versions import versions_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perflog.plot.trace import Trace

KINDS = ("scaling", "spread", "steps", "versions")
_FIGURES: Mapping[str, Callable[[Extraction], Figure]] = {
    "scaling": scaling_figure, "spread": run_values_figure, "versions": versions_figure,
}  # fmt: skip
_WHAT = {
    "scaling": "Throughput and speedup against devices",
    "spread": "Throughput of every run",
    "steps": "Step time over the steps of every run",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture.

    Attributes:
        kind: one of :data:`KINDS`.
        form: ``svg`` or ``png``.
        data: its bytes.
        described: what it shows, in words: its alternative text.
    """

    kind: str
    form: str
    data: bytes
    described: str


def picture(extraction: Extraction, kind: str, form: str, traces: Sequence[Trace] = ()) -> Picture:
    """A picture of an extraction.

    Args:
        kind: one of :data:`KINDS`; ``steps`` draws ``traces``.
        form: ``svg`` or ``png``.

    Raises:
        UsageError: when there is nothing to show, with the reason.
    """

    def figure() -> Figure:
        return steps_figure(extraction, traces) if kind == "steps" else _FIGURES[kind](extraction)

    data = rendered(figure, form)
    return Picture(kind, form, data, visible(described(extraction, kind)))


def described(extraction: Extraction, kind: str) -> str:
    """What the picture shows, in words: its alternative text."""
    without: tuple[str, ...] = ()
    if kind == "versions":
        cases = [case for group in compared(extraction.cases) for case in group.values()]
        versions = sorted({str(case.key["framework_version"]) for case in cases}, key=natural)
        what, without = f"Throughput of versions {', '.join(versions)}", ("framework_version",)
    else:
        cases = [case for case in extraction.cases if case.throughput.value is not None]
        what = _WHAT[kind]
    names = ", ".join(dict.fromkeys(filter(None, (name_of(case, cases, *without) for case in cases))))
    return f"{what}{f' of {names}' if names else ''}: {how(extraction, cases)}"
