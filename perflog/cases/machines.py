"""Cases of several machines as one case, in which each machine is one repeat (``perflog compare --repeats-over``).

Runs of one machine share its cooler, its clocks and its neighbours: they say how far that machine repeats itself, not
how far machines differ. So a machine gives one value, the centre of its runs, and n counts machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from perflog.cases.build import mark_of_centre, summary_of
from perflog.cases.case import Case, Summary, told_apart_by
from perflog.notes import Note
from perflog.spelling import some_of

#: What is left of a case's path, as a key.
LABEL = "label"


def joined_cases(cases: Sequence[tuple[Case, str]], over: Sequence[str], aggregate: str) -> list[tuple[Case, str]]:
    """The cases of one side, each given with its label; those that are alike but for ``over`` are one.

    A case that no other is alike to is one machine all the same: its runs are never repeats beside machines.
    """
    groups: dict[object, list[Case]] = {}
    for case, label in cases:
        rest = {key: text.lower() for key, text in told_apart_by(case.key).items()} | {LABEL: label}
        told = tuple(sorted((key, text) for key, text in rest.items() if key not in over))
        groups.setdefault((told, case.runs[0].parser, case.throughput.unit), []).append(_labelled(case, label))
    return [(case, case.label) for case in (joined(machines, over, aggregate) for machines in groups.values())]


def joined(machines: Sequence[Case], over: Sequence[str], aggregate: str) -> Case:
    """One case of these, whose runs are those of all and whose values are the centre of each."""
    first = max(machines, key=lambda case: "nodes" in case.key)
    metrics = {
        name: _summary(name, [case for case in machines if name in case.metrics], aggregate)
        for name in dict.fromkeys(name for case in machines for name in case.metrics)
    }
    return Case(
        {key: value for key, value in first.key.items() if key not in over}, "" if LABEL in over else first.label,
        [run for case in machines for run in case.runs], metrics, first.estimator, first.window, _notes(machines, over),
        mark_of_centre([(case.mark, case.throughput.value) for case in machines], metrics["throughput"], "machines"),
        machines=tuple(machines), repeats_over=tuple(over),
    )  # fmt: skip


def machine_names(case: Case) -> list[str]:
    """What the machines of a case are called: their own values of the keys in which they differ."""
    return [_name(machine, case.repeats_over) for machine in case.machines]


def _name(machine: Case, over: Sequence[str]) -> str:
    texts = (machine.label if key == LABEL else str(machine.key.get(key, "")) for key in over)
    return " ".join(filter(None, texts)) or "unnamed"


def _labelled(case: Case, label: str) -> Case:
    """The case with the label that it has on its side."""
    return replace(case, label=label)


def _summary(name: str, machines: Sequence[Case], aggregate: str) -> Summary:
    """The centre over machines: their summaries stand for the metrics of runs."""
    stand_ins = []
    for case in machines:
        metric = next(run.metrics[name] for run in case.runs if name in run.metrics)
        summary = case.metrics[name]
        stand_ins.append(replace(metric, value=summary.value, unit=summary.unit, reason=summary.reason))
    return summary_of(name, stand_ins, aggregate)


def _notes(machines: Sequence[Case], over: Sequence[str]) -> list[Note]:
    """The notes of the machines, each once, with the names of those that it is said of where these are not all."""
    said: dict[Note, list[str]] = {}
    for case in machines:
        for note in case.notes:
            said.setdefault(note, []).append(_name(case, over))
    return [
        note if len(of) == len(machines) else structs.replace(note, text=f"{note.text} ({some_of(of)})")
        for note, of in said.items()
    ]
