"""Runs whose names tell two models apart are no repeats of one case, though their logs say the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from perflog.cases.identity import Identity, identity, spelling
from perflog.formats.paths import PathPatterns, facts_of_path
from perflog.notes import Note
from perflog.runs.run import Run

#: Facts that a name may say in other words than the log, which counts.
_KEYS = ("model", "accelerator", "framework_version")


def named_apart(runs: Sequence[Run], patterns: PathPatterns) -> list[Run]:
    """The runs; those of one identity whose paths say different models have these in their labels, with a note.

    ``creating model 'net'`` in the logs of ``rn50/`` and of ``bert/`` names neither.
    """
    places: dict[Identity, list[int]] = {}
    for place, run in enumerate(runs):
        if any(run.metadata.sources.get(key) == "log" for key in _KEYS):
            places.setdefault(identity(run), []).append(place)
    settled = list(runs)
    for alike in places.values():
        said = [_said_by_path(runs[place], patterns) for place in alike] if len(alike) > 1 else []
        for key in _KEYS:
            if len({spelling(names[key]) for names in said if key in names}) > 1:
                for place, names in zip(alike, said, strict=True):
                    settled[place] = _labelled(settled[place], key, names[key]) if key in names else settled[place]
    return settled


def _said_by_path(run: Run, patterns: PathPatterns) -> dict[str, str]:
    """What a run's path says of the keys that its log says too."""
    facts, _ = facts_of_path(os.path.abspath(run.log.place), patterns)  # noqa: PTH100 - very many paths
    return {
        fact.key: str(fact.value) for fact in facts if run.metadata.sources.get(fact.key) == "log" and fact.key in _KEYS
    }


def _labelled(run: Run, key: str, name: str) -> Run:
    note = f"{key} is {run.values[key]} by the log, {name} by the path"
    return replace(
        run, label="/".join(part for part in (run.label, name) if part), notes=[*run.notes, Note.of_case(note)]
    )
