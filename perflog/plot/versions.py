"""Throughput of framework versions, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.versions import compared
from perflog.export.columns import number
from perflog.extraction import Extraction
from perflog.logs.find import natural
from perflog.plot.drawing import COLOURS, plain
from perflog.plot.series import bars_of, devices_text, foot, name_of, value_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class _Bar:
    """A case's bar in its group's row; ``base``: the throughput of the group's oldest version."""

    row: int
    case: Case
    base: float


def versions_figure(extraction: Extraction) -> Figure:
    """Bars relative to each case's oldest version: cases on one device and on a hundred are equally legible."""
    from matplotlib.figure import Figure

    groups = compared(extraction.cases)
    versions = sorted({version for group in groups for version in group}, key=natural)
    cases = [case for group in groups for case in group.values()]
    firsts = [next(iter(group.values())) for group in groups]
    with_counts = len({case.throughput.n for case in cases}) > 1
    thickness = 0.8 / len(versions)
    figure = Figure(figsize=(9, 1.5 + len(groups) * max(0.5, 0.27 * len(versions))), layout="constrained")
    axes = figure.subplots()
    longest = 0.0
    for place, version in enumerate(versions):
        bars = [
            _Bar(row, group[version], value_of(first))
            for row, (group, first) in enumerate(zip(groups, firsts, strict=True))
            if version in group
        ]
        longest = max([longest, *(value_of(bar.case) / bar.base for bar in bars)])
        _bars(axes, bars, thickness, (place, version), with_counts)
    names = [", ".join(filter(None, (_name(first, cases), devices_text(first.key.get("devices"))))) for first in firsts]
    axes.set_yticks(range(len(groups)), [plain(name) for name in names])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.axvline(1, color="#777777", linewidth=1, linestyle="--")
    axes.set_xlim(0, 1.32 * longest)
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set(xlabel="throughput relative to the case's oldest version", title="framework versions")
    legend: Any = {"title": "version", "frameon": False, "fontsize": 9, "loc": "outside right upper"}
    figure.legend(*axes.get_legend_handles_labels(), **legend)
    with_interval = any(case.throughput.low is not None for case in cases)
    foot(figure, extraction, cases, "; whiskers: interval of each median" if with_interval else "")
    return figure


def _name(case: Case, cases: Sequence[Case]) -> str:
    return name_of(case, cases, "framework_version")


def _bars(axes: Any, bars: Sequence[_Bar], thickness: float, version: tuple[int, str], with_counts: bool) -> None:
    """The bars of one version, the ``place``-th of all, each with its number behind it."""
    place, name = version
    ends = [bar.row - 0.4 + thickness * (place + 0.5) for bar in bars]
    lengths = [value_of(bar.case) / bar.base for bar in bars]
    errors = [
        [distance / bar.base for distance, bar in zip(side, bars, strict=True)]
        for side in bars_of([bar.case for bar in bars])
    ]
    look: dict[str, Any] = {
        "color": COLOURS[place % 8], "edgecolor": "white",
        "error_kw": {"ecolor": "black", "capsize": 2.5, "elinewidth": 1},
    }  # fmt: skip
    axes.barh(ends, lengths, thickness * 0.92, xerr=errors, label=plain(name), **look)
    words: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
    for end, length, above, bar in zip(ends, lengths, errors[1], bars, strict=True):
        count = f" (n = {bar.case.throughput.n})" if with_counts else ""
        text = f"{number(value_of(bar.case))} {bar.case.throughput.unit}{count}"
        axes.annotate(text, (length + above, end), **words)
