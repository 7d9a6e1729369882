"""Pictures of cases: scaling over devices, spread of runs, framework versions. SVG and PNG that can be read in both themes.

Every series has a marker of its own, beside its colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.cases.versions import compared
from perflog.errors import UsageError
from perflog.export.columns import caption, number
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS
from perflog.logs.find import natural
from perflog.plot.drawing import COLOURS, plain, rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perflog.plot.trace import Trace

KINDS = ("scaling", "spread", "steps", "versions")
_MARKERS = "osD^vPX*"
_WHAT = {
    "scaling": "Throughput and speedup against devices",
    "spread": "Throughput of every run",
    "steps": "Step time over the steps of every run",
    "versions": "Throughput of framework versions",
}
_NOT_SERIES = frozenset({"devices", "nodes", "threads"})


def picture(extraction: Extraction, kind: str, form: str, traces: Sequence[Trace] = ()) -> bytes:
    """A picture as SVG or PNG; the kind ``steps`` draws ``traces``.

    Raises:
        UsageError: when there is nothing to show, with the reason.
    """
    return rendered(
        lambda: _steps(extraction, traces) if kind == "steps" else {"scaling": _scaling, "spread": _spread, "versions": _versions}[kind](extraction), form
    )


def described(extraction: Extraction, kind: str) -> str:
    """What the picture shows, in words: its alternative text."""
    cases = [c for c in extraction.cases if c.throughput.value is not None]
    what = _WHAT[kind]
    without: tuple[str, ...] = ()
    if kind == "versions":
        cases = [c for group in compared(extraction.cases) for c in group.values()]
        versions = sorted({str(c.key["framework_version"]) for c in cases}, key=natural)
        what, without = f"Throughput of versions {', '.join(versions)}", ("framework_version",)
    names = ", ".join(dict.fromkeys(filter(None, (_name(c, cases, *without) for c in cases))))
    return f"{what}{f' of {names}' if names else ''}: {_how(extraction, cases)}"


def _how(extraction: Extraction, cases: Sequence[Case]) -> str:
    counts = sorted({c.throughput.n for c in cases})
    n = f"; n = {counts[0]}" if len(counts) == 1 else f"; n = {counts[0]} to {counts[-1]}" if counts else ""
    return caption(extraction).rpartition(";")[0] + n


def _name(case: Case, cases: Sequence[Case], *without: str) -> str:
    """What tells the case's series from the others; for a single series its short name."""
    keys = [k for k in dict.fromkeys((*CASE_KEYS, *case.key)) if k not in _NOT_SERIES and k not in without]
    varying = [k for k in keys if len({str(c.key.get(k)) for c in cases}) > 1] or [k for k in ("framework", "model", "precision") if k in case.key]
    return " ".join(f"bs{case.key.get(k, '?')}" if k == "batch_size" else str(case.key.get(k, "?")) for k in varying)


def _series(extraction: Extraction) -> dict[str, list[Case]]:
    cases = [c for c in extraction.cases if c.throughput.value is not None]
    units = sorted({c.throughput.unit for c in cases})
    if len(units) > 1:
        raise UsageError(f"throughput is in {' and in '.join(units)}: one picture cannot hold both; name fewer logs")
    out: dict[str, list[Case]] = {}
    for case in cases:
        out.setdefault(_name(case, cases), []).append(case)
    if not out:
        raise UsageError("no case has a value: see `perflog extract` for the reasons")
    return out


def scaling_series(extraction: Extraction) -> dict[str, list[Case]]:
    """What a scaling picture draws: by name, cases that differ in their devices. Raises UsageError when it cannot."""
    series = {name: sorted((c for c in cases if isinstance(c.key.get("devices"), int)), key=_devices) for name, cases in _series(extraction).items()}
    series = {name: cases for name, cases in series.items() if cases}
    if not series:
        raise UsageError("no case says how many devices it ran on: give --set devices=N")
    for name, cases in series.items():
        if len({_devices(c) for c in cases}) < len(cases):
            raise UsageError(f"two cases of {name!r} have the same number of devices: see `perflog extract` for what tells them apart")
    return series


def _scaling(extraction: Extraction) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    series = scaling_series(extraction)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    unit = next(iter(series.values()))[0].throughput.unit
    for at, (name, cases) in enumerate(series.items()):
        look: dict[str, Any] = {"color": COLOURS[at % 8], "marker": _MARKERS[at % 8], "markersize": 5, "capsize": 3, "label": plain(name), "linewidth": 1.4}
        left.errorbar([_devices(c) for c in cases], [_value(c) for c in cases], yerr=_bars(cases), **look)
        sped = [c for c in cases if c.speedup is not None]
        right.plot([_devices(c) for c in sped], [c.speedup for c in sped], **{k: v for k, v in look.items() if k != "capsize"})
    counts = sorted({_devices(c) for cases in series.values() for c in cases})
    right.plot(counts, counts, color="#777777", linestyle="--", linewidth=1, label="ideal")
    for axes, title in ((left, f"throughput ({unit})"), (right, "speedup over one device")):
        axes.set(xscale="log", yscale="log", xlabel="devices", title=title)
        axes.set_xticks(counts, [str(c) for c in counts])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value < 1e5 else f"{value:,.0f}"))
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(5, len(labels)), frameon=False, fontsize=9)
    right.set_yticks(counts, [str(c) for c in counts])
    right.yaxis.set_minor_locator(NullLocator())
    shown = [c for cases in series.values() for c in cases]
    _foot(figure, extraction, shown, "; bars: interval of the median" if any(c.throughput.low is not None for c in shown) else "")
    return figure


def _spread(extraction: Extraction) -> Figure:
    from matplotlib.figure import Figure

    cases = [c for group in _series(extraction).values() for c in group]
    figure = Figure(figsize=(9, 1.4 + 0.34 * len(cases)), layout="constrained")
    axes = figure.subplots()
    for at, case in enumerate(cases):
        values = [100 * (run.throughput.value / _value(case) - 1) for run in case.runs if run.throughput.value is not None]
        axes.plot(values, [at] * len(values), "o", color=COLOURS[0], alpha=0.7, markersize=5)
    names = [f"{plain(_name(c, cases))}, {_many(c.key.get('devices'))} (n = {c.throughput.n})" for c in cases]
    axes.set_yticks(range(len(cases)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="#777777", linewidth=1, linestyle="--")
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
    axes.set(xlabel=f"each run's throughput against the {extraction.options.aggregate} of its case (%)", title="spread of the runs")
    _foot(figure, extraction, cases, "")
    return figure


def _versions(extraction: Extraction) -> Figure:
    """Bars relative to each case's oldest version: cases on one device and on a hundred are equally legible."""
    from matplotlib.figure import Figure

    groups = compared(extraction.cases)
    versions = sorted({v for group in groups for v in group}, key=natural)
    shown = [c for group in groups for c in group.values()]
    bases = [_value(next(iter(group.values()))) for group in groups]
    several = len({c.throughput.n for c in shown}) > 1
    thick = 0.8 / len(versions)
    figure = Figure(figsize=(9, 1.5 + len(groups) * max(0.5, 0.27 * len(versions))), layout="constrained")
    axes = figure.subplots()
    for at, version in enumerate(versions):
        rows = [(row, group[version], base) for row, (group, base) in enumerate(zip(groups, bases, strict=True)) if version in group]
        ends = [row - 0.4 + thick * (at + 0.5) for row, _, _ in rows]
        lengths = [_value(case) / base for _, case, base in rows]
        errors = [[distance / base for distance, (_, _, base) in zip(side, rows, strict=True)] for side in _bars([case for _, case, _ in rows])]
        look: dict[str, Any] = {"color": COLOURS[at % 8], "edgecolor": "white", "error_kw": {"ecolor": "black", "capsize": 2.5, "elinewidth": 1}}
        axes.barh(ends, lengths, thick * 0.92, xerr=errors, label=plain(version), **look)
        for end, length, high, (_, case, _) in zip(ends, lengths, errors[1], rows, strict=True):
            text = f"{number(_value(case))} {case.throughput.unit}" + (f" (n = {case.throughput.n})" if several else "")
            axes.annotate(text, (length + high, end), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
    firsts = [next(iter(group.values())) for group in groups]
    names = [", ".join(filter(None, (_name(c, shown, "framework_version"), _many(c.key.get("devices"))))) for c in firsts]
    axes.set_yticks(range(len(groups)), [plain(name) for name in names])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.axvline(1, color="#777777", linewidth=1, linestyle="--")
    axes.set_xlim(0, 1.32 * max(_value(c) / base for group, base in zip(groups, bases, strict=True) for c in group.values()))
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set(xlabel="throughput relative to the case's oldest version", title="framework versions")
    figure.legend(*axes.get_legend_handles_labels(), title="version", frameon=False, fontsize=9, loc="outside right upper")
    _foot(figure, extraction, shown, "; whiskers: interval of each median" if any(c.throughput.low is not None for c in shown) else "")
    return figure


#: Cases drawn in one picture of step times.
MOST_CASES = 12


def _steps(extraction: Extraction, traces: Sequence[Trace]) -> Figure:
    from matplotlib.figure import Figure

    by_log = {(t.run.log.name, t.run.first_line): t for t in traces}
    drawn = [(case, [by_log[at] for run in case.runs if (at := (run.log.name, run.first_line)) in by_log]) for case in extraction.cases]
    drawn = [(case, found) for case, found in drawn if found]
    if not drawn:
        raise UsageError("no run has step times in seconds: see `perflog extract` for what is missing")
    if len(drawn) > MOST_CASES:
        raise UsageError(f"{len(drawn)} cases, one picture holds {MOST_CASES}: name fewer logs")
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(9, 0.6 + 2.5 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    cases = [case for case, _ in drawn]
    for axes in grid.flat[len(drawn) :]:
        axes.set_axis_off()
    for axes, (case, found) in zip(grid.flat, drawn, strict=False):
        for nth, trace in enumerate(found):
            axes.plot(trace.steps, trace.seconds, linewidth=0.8, color=COLOURS[nth % 8], alpha=0.85)
        first, last = min(t.window[0] for t in found), max(t.window[1] for t in found)
        end = max(float(t.steps[-1]) for t in found)
        for low, high in ((0.0, first), (last, end)):
            if high > low:
                axes.axvspan(low, high, color="#bbbbbb", alpha=0.45, linewidth=0)
        shown = [t.seconds[(t.steps > first) & (t.steps <= last)] for t in found]
        top = max((float(s.max()) for s in shown if len(s)), default=0.0)
        highest = max(float(t.seconds.max()) for t in found)
        axes.set_ylim(0, 1.1 * min(highest, 3 * top) if top else None)
        clipped = f"; up to {highest:.3g} s" if top and highest > 3 * top else ""
        axes.set_title(f"{plain(_name(case, cases))}, {_many(case.key.get('devices'))} ({len(found)} run{'s' * (len(found) != 1)}{clipped})", fontsize=9)
        axes.set(xlabel="step", ylabel="step time (s)", xlim=(0, end))
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    _foot(figure, extraction, cases, "; grey: left out")
    return figure


def _many(devices: object) -> str:
    return "devices unknown" if devices is None else "1 device" if devices == 1 else f"{devices} devices"


def _foot(figure: Figure, extraction: Extraction, cases: Sequence[Case], bars: str) -> None:
    figure.supxlabel(_how(extraction, cases) + bars, fontsize=8, color="#555555")


def _devices(case: Case) -> int:
    return int(case.key["devices"])


def _value(case: Case) -> float:
    assert case.throughput.value is not None
    return case.throughput.value


def _bars(cases: Sequence[Case]) -> list[list[float]]:
    """Distances from the centre to the interval's ends, (2, n); 0 where there is none."""
    ends = [(c.throughput.low, c.throughput.high, _value(c)) for c in cases]
    return [[value - low if low is not None else 0.0 for low, _, value in ends], [high - value if high is not None else 0.0 for _, high, value in ends]]
