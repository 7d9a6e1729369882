"""DLPerf's own console text and result file (Oneflow-Inc/DLPerf, ``extract_*_logs*.py``), line for line.

One line per log with the case's speeds so far, the nested dict as ``pprint`` prints it, and the path of the
JSON file. Logs are sorted; there they come in the file system's order.
"""

from __future__ import annotations

from pprint import pformat
from typing import Any

from perflog.cases.case import Case
from perflog.escaping import json_text
from perflog.extraction import Extraction
from perflog.logs.find import natural
from perflog.runs.run import Run
from perflog.stats.centre import median

Result = dict[str, dict[str, dict[str, Any]]]


def progress_lines(extraction: Extraction) -> list[str]:
    """``<log> {<repeat>: <speed>, …}`` for every log that has a value."""
    lines = []
    so_far: dict[int, dict[int, float]] = {}
    places = {id(run): id(case) for case in extraction.cases for run in case.runs}
    for run in sorted(extraction.runs, key=lambda r: natural(r.log.name)):
        if run.throughput.value is None:
            continue
        speeds = so_far.setdefault(places[id(run)], {})
        speeds[_repeat(run, speeds)] = rounded(run.throughput.value)
        lines.append(f"{run.log.name} {speeds}")
    return lines


def _repeat(run: Run, speeds: dict[int, float]) -> int:
    repeat = run.values.get("repeat")
    return repeat if isinstance(repeat, int) else len(speeds) + 1


def result(extraction: Extraction) -> Result:
    """``{model: {case: {average_speed, batch_size_per_device, median_speed, speedup}}}``.

    Speeds are rounded to two decimals before they are averaged, as DLPerf does. A case whose runs have no
    value is left out, and one without a one-device case has no ``speedup``: DLPerf prints 0 and 1.0 there.
    """
    medians = {id(c): _median(c) for c in extraction.cases}
    by_base: dict[tuple[str, str], float] = {}
    for case in extraction.cases:
        if case.key.get("devices") == 1 and medians[id(case)] is not None:
            by_base[_model(case), str(case.key.get("batch_size"))] = medians[id(case)] or 0.0
    out: Result = {}
    for case in extraction.cases:
        centre = medians[id(case)]
        if centre is None:
            continue
        speeds = _speeds(case)
        row: dict[str, Any] = {
            "average_speed": rounded(plain_mean(speeds)),
            "batch_size_per_device": case.key.get("batch_size"),
            "median_speed": centre,
        }
        base = by_base.get((_model(case), str(case.key.get("batch_size"))))
        if base:
            row["speedup"] = rounded(centre / base)
        out.setdefault(_model(case), {})[_name(case)] = row
    return out


def rounded(value: float, digits: int = 2) -> float:
    """Round as numpy does, which DLPerf's scripts go through: scaled, then half to even."""
    scale = 10.0**digits
    return round(value * scale) / scale


def plain_mean(values: list[float]) -> float:
    """The mean by adding one after the other, as DLPerf's scripts do: so that ties round as theirs."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def _speeds(case: Case) -> list[float]:
    return [rounded(r.throughput.value) for r in case.runs if r.throughput.value is not None]


def _median(case: Case) -> float | None:
    speeds = _speeds(case)
    return rounded(median(speeds)) if speeds else None


def _model(case: Case) -> str:
    return str(case.key.get("model") or case.label or "unknown")


def _name(case: Case) -> str:
    nodes, devices = case.key.get("nodes"), case.key.get("devices")
    if isinstance(nodes, int) and isinstance(devices, int) and devices % nodes == 0:
        return f"{nodes}n{devices // nodes}g"
    return f"{devices}g" if devices else case.label or "unknown"


def console(extraction: Extraction, saved_to: str) -> str:
    """What DLPerf's script prints."""
    lines = [*progress_lines(extraction), pformat(result(extraction), indent=1), f"Saving result to {saved_to}"]
    return "\n".join(lines) + "\n"


def to_json(extraction: Extraction) -> str:
    """The result file: one line, no newline at its end."""
    return json_text(result(extraction), indent=None)
