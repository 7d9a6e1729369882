"""Which cases a picture draws, in which series, and their names and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perflog.cases.case import Case
from perflog.errors import UsageError
from perflog.export.columns import caption
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOT_SERIES = frozenset({"devices", "nodes", "threads"})
#: Every series has a marker of its own, beside its colour.
MARKERS = "osD^vPX*"


def name_of(case: Case, cases: Sequence[Case], *without: str) -> str:
    """What tells the case's series from the others; for a single series its short name."""
    keys = [k for k in dict.fromkeys((*CASE_KEYS, *case.key)) if k not in _NOT_SERIES and k not in without]
    varying = [k for k in keys if len({str(c.key.get(k)) for c in cases}) > 1]
    shown = varying or [k for k in ("framework", "model", "precision") if k in case.key]
    words = (f"bs{case.key.get(k, '?')}" if k == "batch_size" else str(case.key.get(k, "?")) for k in shown)
    return " ".join(words)


def series_of(extraction: Extraction) -> dict[str, list[Case]]:
    """The cases that have a throughput, by the name of their series.

    Raises:
        UsageError: when there are none, or their units differ.
    """
    cases = [c for c in extraction.cases if c.throughput.value is not None]
    units = sorted({c.throughput.unit for c in cases})
    if len(units) > 1:
        both = " and in ".join(units)
        raise UsageError(f"throughput is in {both}: one picture cannot hold both; name fewer logs")
    series: dict[str, list[Case]] = {}
    for case in cases:
        series.setdefault(name_of(case, cases), []).append(case)
    if not series:
        raise UsageError("no case has a value: see `perflog extract` for the reasons")
    return series


def scaling_series(extraction: Extraction) -> dict[str, list[Case]]:
    """What a scaling picture draws: by name, cases that differ in their devices. Raises UsageError when it cannot."""
    with_devices = {
        name: sorted((c for c in cases if isinstance(c.key.get("devices"), int)), key=devices_of)
        for name, cases in series_of(extraction).items()
    }
    series = {name: cases for name, cases in with_devices.items() if cases}
    if not series:
        raise UsageError("no case says how many devices it ran on: give --set devices=N")
    for name, cases in series.items():
        if len({devices_of(c) for c in cases}) < len(cases):
            hint = "see `perflog extract` for what tells them apart"
            raise UsageError(f"two cases of {name!r} have the same number of devices: {hint}")
    return series


def how(extraction: Extraction, cases: Sequence[Case]) -> str:
    """How the numbers were made, and from how many runs."""
    counts = sorted({c.throughput.n for c in cases})
    n = f"; n = {counts[0]}" if len(counts) == 1 else f"; n = {counts[0]} to {counts[-1]}" if counts else ""
    return caption(extraction).rpartition(";")[0] + n


def foot(figure: Figure, extraction: Extraction, cases: Sequence[Case], bars: str) -> None:
    """Write under the picture how its numbers were made; ``bars``: what its bars or shades are."""
    figure.supxlabel(how(extraction, cases) + bars, fontsize=8, color="#555555")


def devices_text(devices: object) -> str:
    """``8 devices``, for titles."""
    return "devices unknown" if devices is None else "1 device" if devices == 1 else f"{devices} devices"


def devices_of(case: Case) -> int:
    """The devices of a case that names them."""
    return int(case.key["devices"])


def value_of(case: Case) -> float:
    """The throughput of a case that has one."""
    assert case.throughput.value is not None
    return case.throughput.value


def bars_of(cases: Sequence[Case]) -> list[list[float]]:
    """Distances from the centre to the interval's ends, (2, n); 0 where there is none."""
    ends = [(c.throughput.low, c.throughput.high, value_of(c)) for c in cases]
    below = [value - low if low is not None else 0.0 for low, _, value in ends]
    above = [high - value if high is not None else 0.0 for _, high, value in ends]
    return [below, above]
