"""An extraction in, OpenMetrics text out, which Prometheus and others read (https://prometheus.io/docs/specs/om/).

Every metric of a case is a gauge, ``perflog_throughput``, whose labels are the case's configuration and the metric's
unit; a unit is no part of the name, since cases of one metric may have several.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from perflog.cases.case import Case, Summary
from perflog.escaping import visible
from perflog.extraction import Extraction

_PREFIX = "perflog_"
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]+")
#: What stands in every family's help beside its name; a metric by a parser's name for it has none.
_HELP = {
    "throughput": "Centre over the runs of work over time.",
    "step_time": "Centre over the runs of the time of a step.",
    "speedup": "Throughput over that of the baseline case.",
    "efficiency": "Speedup over the factor of devices, a fraction.",
    "runs": "Runs with a throughput.",
}
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
        lines.append(f"# TYPE {name} gauge")
        if help_text := _HELP.get(name.removeprefix(_PREFIX)):
            lines.append(f"# HELP {name} {help_text}")
        lines += [f"{name}{{{_labels(labels)}}} {value!r}" for _, labels, value in samples]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _samples(case: Case) -> Iterator[_Sample]:
    """All numbers of a case. Names of metrics that become one name here are told apart by a label."""
    labels = _case_labels(case)
    for metric, summary in case.metrics.items():
        name = f"metric_{metric}" if metric in _OWN else _name(metric)
        own = labels | ({"metric": metric} if name != metric else {})
        yield from _of_summary(f"{_PREFIX}{name}", summary, own)
    yield f"{_PREFIX}runs", labels, float(case.throughput.n)
    for name, value in (("speedup", case.speedup), ("efficiency", case.efficiency)):
        if value is not None and math.isfinite(value):
            yield f"{_PREFIX}{name}", labels, float(value)


def _of_summary(name: str, summary: Summary, labels: dict[str, str]) -> Iterator[_Sample]:
    """A metric's centre, and the ends of its interval where it has one."""
    own = labels | ({"unit": summary.unit} if summary.unit else {})
    for suffix, value in (("", summary.value), ("_low", summary.low), ("_high", summary.high)):
        if value is not None and math.isfinite(value):
            yield name + suffix, own, float(value)


def _case_labels(case: Case) -> dict[str, str]:
    labels: dict[str, str] = {}
    for key, value in {**case.key, "label": case.label}.items():
        if value is None or value == "":
            continue
        name = _name(key)
        while name in labels:
            name += "_"
        labels[name] = str(value)
    return labels


def _name(text: str) -> str:
    """A text as a name: letters, digits and single underscores, the first no digit.

    >>> _name("tokens/s per device"), _name("5x")
    ('tokens_s_per_device', 'n5x')
    """
    name = re.sub("_+", "_", _NO_NAME.sub("_", text)).strip("_") or "other"
    return f"n{name}" if name[0].isdigit() else name


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return visible(value).replace("\\", "\\\\").replace('"', '\\"')
