"""An extraction in, the text of a first ``perflog.toml`` out: what was found, and which facts are missing, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from perflog.escaping import visible
from perflog.export.columns import counted
from perflog.extraction import Extraction
from perflog.runs.factor import FACTORS, PATH_ALONE
from perflog.runs.run import Run
from perflog.settings.config import DEFAULTS

#: The facts that a table of results needs, and what lacks without each.
_WANTED: Mapping[str, str] = {
    "model": "cases of different models could not be told apart",
    "precision": "cases of different precisions could not be told apart",
    "batch_size": "times alone give steps/s, not samples/s",
    "devices": "a rate stays one device's or rank's, and there is no speedup",
}
_OPTIONS = ("warmup", "steps", "last", "estimator", "aggregate", "convention", "values", "without_slow")
_INTRODUCTION = """\
# Written by `perflog init`, to be corrected and kept beside the logs. `perflog config LOGS` shows what is in force;
# the command line wins over what stands here.
"""


def config_text(extraction: Extraction, given: Mapping[str, Any], place: str) -> str:
    """The text of a config file for the logs of an extraction.

    Args:
        given: the options that the user gave with the command, which the file sets.
        place: the logs, as the user named them.
    """
    runs = extraction.runs
    lines = [_INTRODUCTION, *_found(extraction, place), ""]
    for name in _OPTIONS:
        value = given.get(name)
        if value is not None:
            lines.append(f"{name} = {_toml(value)}")
        elif DEFAULTS[name] is not None:
            lines.append(f"# {name} = {_toml(DEFAULTS[name])}   # the default")
    lines += _warmups(runs)
    return "\n".join([*lines, "", *_facts(runs, given.get("set") or {})]) + "\n"


def _found(extraction: Extraction, place: str) -> list[str]:
    """What was found, as comments."""
    runs = extraction.runs
    parsers = Counter(run.parser for run in runs)
    formats = ", ".join(f"{name} ({counted(count, 'run')})" for name, count in parsers.most_common())
    metrics = sorted({name for run in runs for name, metric in run.metrics.items() if metric.value is not None})
    cases, skipped = counted(len(extraction.cases), "case"), counted(len(extraction.skipped), "file")
    lines = [
        f"# Found in {place}: {counted(len(runs), 'run')} in {cases}; {skipped} skipped.",
        f"# Formats: {formats}.",
        f"# Metrics: {', '.join(metrics) or 'none'}.",
    ]
    reasons = Counter(run.throughput.reason for run in runs if run.throughput.value is None)
    lines += [f"# {counted(count, 'run')} without throughput: {reason}." for reason, count in reasons.most_common(3)]
    return [visible(" ".join(line.split())) for line in lines]


def _warmups(runs: Sequence[Run]) -> list[str]:
    """What the detector says of the warm-up, as comments."""
    notes = Counter(note.text.partition(":")[0] for run in runs for note in run.notes if "the detector" in note.text)
    return [f"# {counted(count, 'run')}: {note}" for note, count in notes.most_common(2)]


def _facts(runs: Sequence[Run], given: Mapping[str, Any]) -> list[str]:
    """The table of facts: those that were given, and the missing ones commented out with why."""
    lines = ["# Facts that neither the logs nor their paths tell: take the # away and say them.", "[set]"]
    lines += [f"{key} = {_toml(value)}" for key, value in given.items()]
    for key, consequence in _WANTED.items():
        without = [run for run in runs if key not in run.values]
        if without and key not in given:
            where = "no run" if len(without) == len(runs) else f"{len(without)} of {counted(len(runs), 'run')} do not"
            verb = "says it" if len(without) == len(runs) else "say it"
            lines.append(f"# {key} = {_example(key)}   # {where} {verb}: {consequence}")
    said = {note.text for run in runs for note in run.notes}
    for key in FACTORS:
        if PATH_ALONE.get(key) in said and key not in given:
            values = sorted(
                {str(run.values[key]) for run in runs if key in run.values}, key=lambda text: (len(text), text)
            )
            lines.append(f"# {key}: known from names of files and folders alone ({', '.join(values)})")
    return lines


def _example(key: str) -> str:
    return {"model": '"resnet50"', "precision": '"fp32"', "batch_size": "32", "devices": "8"}[key]


def _toml(value: Any) -> str:
    text = str(value)
    if text.isascii() and text.isdigit():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
