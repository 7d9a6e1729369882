"""Formats of other programs: OpenMetrics for Prometheus, TensorBoard's event files, JUnit reports and annotations of
GitHub Actions for CI, and DLPerf's console text and result file.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pprint import pformat
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from perflog.cases.case import Case
from perflog.escaping import json_text, visible, xml_text
from perflog.extraction import Extraction
from perflog.logs.find import natural
from perflog.logs.loggers import masked_checksum
from perflog.stats.centre import median

if TYPE_CHECKING:
    import polars as pl

# ----------------------------------------------------------------------------------------------------
# An extraction in, OpenMetrics text out, which Prometheus and others read (https://prometheus.io/docs/specs/om/).
#
# Every metric of a case is a gauge, ``perflog_throughput``, whose labels are the case's configuration and the metric's
# unit; a unit is no part of the name, since cases of one metric may have several.

_PREFIX = "perflog_"
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]+")
#: The help of families; that of any other metric is its own name (``promtool check metrics`` wants one for each).
_HELP = {
    "throughput": "Centre over the runs of work over time.",
    "step_time": "Centre over the runs of the time of a step.",
    "speedup": "Throughput over that of the baseline case.",
    "efficiency": "Speedup over the factor of devices, a fraction.",
    "runs": "Runs with a throughput.",
}
#: The ends of an interval, by what their families' names end with.
_ENDS = {"_low": "Lower end", "_high": "Upper end"}
#: Families of perflog's own, whatever a parser calls a metric.
_OWN = frozenset({"runs", "speedup", "efficiency"})
#: A sample: the name of its family, its labels, its value.
_Sample = tuple[str, dict[str, str], float]


def to_openmetrics(extraction: Extraction) -> str:
    """The cases' numbers. What has no value has no sample."""
    families: dict[str, list[_Sample]] = {}
    for case in extraction.cases:
        for sample in _samples(case):
            families.setdefault(sample[0], []).append(sample)
    lines = []
    for name, samples in families.items():
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {_help(name.removeprefix(_PREFIX))}"]
        for _, labels, value in samples:
            shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            lines.append(f"{name}{{{shown}}} {value!r}")
    return "\n".join([*lines, "# EOF"]) + "\n"


def _help(name: str) -> str:
    for ending, end in _ENDS.items():
        if name.endswith(ending):
            return f"{end} of the interval of {_PREFIX}{name.removesuffix(ending)}."
    return _HELP.get(name, f"Centre over the runs of {name}.")


def _samples(case: Case) -> Iterator[_Sample]:
    """All numbers of a case. Names of metrics that become one name here are told apart by a label."""
    labels = _case_labels(case)
    for metric, summary in case.metrics.items():
        name = f"metric_{metric}" if metric in _OWN else _metric_name(metric)
        own = labels | ({"metric": metric} if name != metric else {}) | ({"unit": summary.unit} if summary.unit else {})
        for suffix, value in (("", summary.value), ("_low", summary.low), ("_high", summary.high)):
            if value is not None and math.isfinite(value):
                yield f"{_PREFIX}{name}{suffix}", own, float(value)
    yield f"{_PREFIX}runs", labels, float(case.throughput.n)
    for name, value in (("speedup", case.speedup), ("efficiency", case.efficiency)):
        if value is not None and math.isfinite(value):
            yield f"{_PREFIX}{name}", labels, float(value)


def _case_labels(case: Case) -> dict[str, str]:
    labels: dict[str, str] = {}
    for key, value in {**case.key, "label": case.label}.items():
        if value is None or value == "":
            continue
        name = _metric_name(key)
        while name in labels:
            name += "_"
        labels[name] = str(value)
    return labels


def _metric_name(text: str) -> str:
    """A text as a name: letters, digits and single underscores, the first no digit.

    >>> _metric_name("tokens/s per device"), _metric_name("5x")
    ('tokens_s_per_device', 'n5x')
    """
    name = re.sub("_+", "_", _NO_NAME.sub("_", text)).strip("_") or "other"
    return f"n{name}" if name[0].isdigit() else name


def _escaped(value: str) -> str:
    return visible(value).replace("\\", "\\\\").replace('"', '\\"')


# ----------------------------------------------------------------------------------------------------
# Cases in, TensorBoard's event files out: a TensorBoard run for each case, its metrics as scalars over its runs.
#
# A scalar's step is the number of the run within its case, from 1, so that TensorBoard shows how far runs differ.
# Records and events are laid out as in tensorflow/tensorboard (``record_writer.py``, ``event.proto``,
# ``summary.proto``); no package is needed to write them. The same cases always give the same bytes: the time of every
# event is 0.

#: The name of each event file: TensorBoard reads files that have ``tfevents`` in their names.
FILE = "events.out.tfevents.0.perflog"
#: Fields by number and wire type, as Protocol Buffers write them.
_WALL_TIME, _STEP, _VERSION, _SUMMARY = b"\x09", b"\x10", b"\x1a", b"\x2a"
_VALUE, _TAG, _SIMPLE_VALUE = b"\x0a", b"\x0a", b"\x15"
_LONGEST_NAME = 150


def to_tensorboard(extraction: Extraction) -> dict[str, bytes]:
    """The event files of all cases that have a value, by their paths below the folder that TensorBoard is given.

    Args:
        extraction: its cases; a case whose runs have no value has no file.
    """
    files: dict[str, bytes] = {}
    named: Counter[str] = Counter()
    for case in extraction.cases:
        records = _events(case)
        if records:
            name = _folder(case)
            named[name] += 1
            own = name if named[name] == 1 else f"{name}~{named[name]}"  # a name holds no ~: no other case has this one
            files[f"{own}/{FILE}"] = _record(_VERSION_OF_FORMAT) + records
    return files


def _folder(case: Case) -> str:
    """A case's name as the name of a folder: what its key says, in letters, digits, dots, hyphens and underscores."""
    facts = [str(value) if isinstance(value, str) else f"{key}{value}" for key, value in case.key.items()]
    name = re.sub(r"[^\w.-]+", "-", "_".join([*facts, case.label]), flags=re.ASCII).strip("-._")
    return name[:_LONGEST_NAME] or "case"


def _events(case: Case) -> bytes:
    """A record for each run that has a value: its metrics as scalars."""
    records = []
    for number, run in enumerate(case.runs, 1):
        values = {name: metric.value for name, metric in run.metrics.items() if metric.value is not None}
        if values:
            records.append(_event(0.0, number, values))
    return b"".join(records)


def records_to_tensorboard(records: pl.DataFrame) -> dict[str, bytes]:
    """The event files of the records of runs, by their paths below the folder that TensorBoard is given.

    A TensorBoard run for each run and rank; scalars ``perflog/rate`` (in the run's unit, which its description names in
    the tag: ``perflog/rate tokens per second``), ``perflog/step_time`` in seconds, and the numbers that lines print
    beside, by their own names. A scalar's step is the program's; its time is the seconds since the run's first record
    began, so that TensorBoard's axis of relative time is right. What is null or no number has no scalar.

    Args:
        records: a frame with the columns ``log``, ``run``, ``rank``, ``step``, ``covers``, ``time``, ``rate``, ``unit``
            and any number of others that hold numbers (``perflog records``, ``result.records``).
    """
    printed = [name for name, kind in records.schema.items() if name not in _OF_RECORDS and kind.is_numeric()]
    files: dict[str, bytes] = {}
    named: Counter[str] = Counter()
    for (log, run, rank), rows in records.group_by("log", "run", "rank", maintain_order=True):
        parts, seconds = [_record(_VERSION_OF_FORMAT)], 0.0
        for row in rows.iter_rows(named=True):
            seconds += row["time"] or 0.0
            values = {f"perflog/rate {row['unit'].replace('/s', ' per second')}": row["rate"]}
            values["perflog/step_time"] = row["time"] / row["covers"] if row["time"] and row["covers"] else None
            values |= {name: row[name] for name in printed}
            known = {tag: value for tag, value in values.items() if value is not None and math.isfinite(value)}
            if known and row["step"] is not None and math.isfinite(row["step"]):
                parts.append(_event(seconds, max(int(row["step"]), 0), known))
        name = re.sub(r"[^\w./-]+", "-", str(log), flags=re.ASCII)
        places = [place for place in name.split("/") if place not in ("", ".", "..")]
        own = "/".join([*places, f"run{run}", f"rank{rank}"])
        named[own] += 1
        files["/".join([own, FILE] if named[own] == 1 else [f"{own}~{named[own]}", FILE])] = b"".join(parts)
    return files


#: The columns of records that are no numbers which a program printed beside.
_OF_RECORDS = frozenset({
    "log", "run", "rank", "step", "epoch", "first_line", "last_line", "covers", "work", "time", "rate", "unit",
    "in_window", "why_left_out",
})  # fmt: skip


def _event(seconds: float, step: int, values: Mapping[str, float]) -> bytes:
    """The record of an event: its time, its step, its scalars by their tags."""
    scalars = b"".join(_scalar(tag, value) for tag, value in values.items())
    return _record(_WALL_TIME + struct.pack("<d", seconds) + _STEP + _varint(step) + _SUMMARY + _sized(scalars))


def _scalar(tag: str, value: float) -> bytes:
    """A value of a summary: ``tag`` and a float of four bytes, which is what TensorBoard keeps of a scalar."""
    return _VALUE + _sized(_TAG + _sized(tag.encode("utf-8", "replace")) + _SIMPLE_VALUE + struct.pack("<f", value))


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """A whole number from 0 on, seven bits a byte, the lowest first."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


#: The first event of a file.
_VERSION_OF_FORMAT = _WALL_TIME + struct.pack("<d", 0.0) + _VERSION + _sized(b"brain.Event:2")


def _record(data: bytes) -> bytes:
    """A record: the length of its data, a checksum of the length, the data, and a checksum of them."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, struct.pack("<I", masked_checksum(length)), data, struct.pack("<I", masked_checksum(data)))
    )


# ----------------------------------------------------------------------------------------------------
# Tests and what became of them in, a JUnit report (XML) out, which GitLab, Jenkins and others show.
#
# The elements and attributes are those that all readers know: ``testsuites``, ``testsuite``, ``testcase``, ``failure``,
# ``skipped`` and ``system-out`` (https://github.com/testmoapp/junitxml). But for a test's file and line the schema
# by which Jenkins' xUnit plugin refuses reports (``junit-10.xsd``) has them all.


@dataclass(frozen=True, slots=True)
class Test:
    """One test.

    Attributes:
        name: what was tested, for people: ``rn50 fp32 8 devices``.
        group: the name of what the test belongs to; reports fold tests by it.
        failure: why it failed, in one sentence; empty where it did not.
        skipped: why it has no result, in one sentence; empty where it has one.
        kind: a word for failures of one kind: ``slower``.
        lines: everything else about it, a line each.
        file, line: where the tested thing stands; 0 for no line.
    """

    name: str
    group: str
    failure: str = ""
    skipped: str = ""
    kind: str = ""
    lines: Sequence[str] = ()
    file: str = ""
    line: int = 0


def junit(suite: str, tests: Sequence[Test]) -> str:
    """A JUnit report of one suite.

    Args:
        suite: its name, such as ``perflog compare``.
        tests: its tests, in order.
    """
    own = {
        "name": xml_text(suite),
        "tests": str(len(tests)),
        "failures": str(sum(bool(test.failure) for test in tests)),
        "errors": "0",
    }
    skipped = sum(bool(test.skipped) and not test.failure for test in tests)
    root = ElementTree.Element("testsuites", own)
    element = ElementTree.SubElement(root, "testsuite", {**own, "skipped": str(skipped)})
    for test in tests:
        _add_test(element, test)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_test(suite: ElementTree.Element, test: Test) -> None:
    place = {"file": xml_text(test.file)} if test.file else {}
    place |= {"line": str(test.line)} if test.line else {}
    names = {"name": xml_text(test.name), "classname": xml_text(test.group), **place}
    element = ElementTree.SubElement(suite, "testcase", names)
    details = "\n".join(xml_text(line) for line in test.lines)
    if test.failure:
        kind = {"type": xml_text(test.kind)} if test.kind else {}
        ElementTree.SubElement(element, "failure", {"message": xml_text(test.failure), **kind}).text = details or None
    elif test.skipped:
        ElementTree.SubElement(element, "skipped", {"message": xml_text(test.skipped)})
    if details and not test.failure:
        ElementTree.SubElement(element, "system-out").text = details


# ----------------------------------------------------------------------------------------------------
# Findings at lines of files in, annotations of GitHub Actions out, which stand beside these lines in a pull request.
#
# What may follow ``::error`` is said at https://docs.github.com/actions/reference/workflow-commands-for-github-actions;
# how its values are escaped, in ``actions/toolkit`` (``packages/core/src/command.ts``).

LEVELS = ("error", "warning", "notice")


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding.

    Attributes:
        message: what was found, in one line.
        file: the file as seen from the repository's folder; empty for a finding of no file.
        line: the line of the file; 0 for none.
        title: what stands above the message.
        level: one of :data:`LEVELS`.
    """

    message: str
    file: str = ""
    line: int = 0
    title: str = "perflog"
    level: str = "error"


#: GitHub shows ten annotations of a level for each step.
MOST_OF_A_LEVEL = 10


def at_most(annotations: Sequence[Annotation], most: int, rest: str) -> list[Annotation]:
    """Annotations of one level, so many of them: the last one says how many more there are.

    Args:
        rest: what is said of those left out: ``{n} more cases are slower``.
    """
    if len(annotations) <= most:
        return list(annotations)
    last = annotations[-1]
    words = rest.format(n=len(annotations) - most + 1)
    return [*annotations[: most - 1], Annotation(words, title=last.title, level=last.level)]


def commands(findings: Iterable[Annotation]) -> str:
    """Findings as commands to GitHub Actions, one a line. No text in them is a command itself."""
    lines = []
    for one in findings:
        named = {"file": one.file, "line": str(one.line or ""), "title": one.title}
        values = {name: _value(text).replace(":", "%3A").replace(",", "%2C") for name, text in named.items() if text}
        properties = ",".join(f"{name}={value}" for name, value in values.items())
        lines.append(f"::{one.level} {properties}::{_value(one.message)}\n")
    return "".join(lines)


def _value(text: str) -> str:
    return visible(text).replace("%", "%25")


# ----------------------------------------------------------------------------------------------------
# DLPerf's own console text and result file (Oneflow-Inc/DLPerf, ``extract_*_logs*.py``), line for line.
#
# One line per log with the case's speeds so far, the nested dict as ``pprint`` prints it, and the path of the
# JSON file. Logs are sorted; there they come in the file system's order.

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
        repeat = run.values.get("repeat")
        speeds[repeat if isinstance(repeat, int) else len(speeds) + 1] = rounded(run.throughput.value)
        lines.append(f"{run.log.name} {speeds}")
    return lines


def dlperf_result(extraction: Extraction) -> Result:
    """``{model: {case: {average_speed, batch_size_per_device, median_speed, speedup}}}``.

    Speeds are rounded to two decimals before they are averaged, as DLPerf does. A case whose runs have no
    value is left out, and one without a one-device case has no ``speedup``: DLPerf prints 0 and 1.0 there.
    """
    speeds_of = [
        (case, [rounded(run.throughput.value) for run in case.runs if run.throughput.value is not None])
        for case in extraction.cases
    ]
    known = [(case, speeds, rounded(median(speeds))) for case, speeds in speeds_of if speeds]
    by_base: dict[tuple[str, str], float] = {}
    for case, _, centre in known:
        if case.key.get("devices") == 1:
            by_base[_model(case), str(case.key.get("batch_size"))] = centre
    out: Result = {}
    for case, speeds, centre in known:
        row: dict[str, Any] = {
            "average_speed": rounded(plain_mean(speeds)),
            "batch_size_per_device": case.key.get("batch_size"),
            "median_speed": centre,
        }
        base = by_base.get((_model(case), str(case.key.get("batch_size"))))
        if base:
            row["speedup"] = rounded(centre / base)
        nodes, devices = case.key.get("nodes"), case.key.get("devices")
        name = f"{devices}g" if devices else case.label or "unknown"
        if isinstance(nodes, int) and isinstance(devices, int) and devices % nodes == 0:
            name = f"{nodes}n{devices // nodes}g"
        out.setdefault(_model(case), {})[name] = row
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


def _model(case: Case) -> str:
    return str(case.key.get("model") or case.label or "unknown")


def dlperf_console(extraction: Extraction, saved_to: str) -> str:
    """What DLPerf's script prints."""
    lines = [*progress_lines(extraction), pformat(dlperf_result(extraction), indent=1), f"Saving result to {saved_to}"]
    return "\n".join(lines) + "\n"


def dlperf_json(extraction: Extraction) -> str:
    """The result file: one line, no newline at its end."""
    return json_text(dlperf_result(extraction), indent=None)
