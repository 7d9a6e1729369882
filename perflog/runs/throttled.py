"""What slowed the hardware while a run was made, told by the ``machine.json`` of ``perflog run``, as a run's note."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perflog.notes import Note
from perflog.runs.machine import Machine
from perflog.runs.run import Run

#: The key of the throttled runs among a machine's facts: their names, each with findings in words.
KEY = "throttled"
#: What stands between a run's name and what throttled it; a saved campaign keeps the note alone.
_WAS = " was throttled while it ran: "
#: So many findings are named, each with so many characters: any JSON may stand in a machine.json.
_MOST_FINDINGS, _MOST_CHARACTERS = 8, 120
_SAMPLES = re.compile(r" in \d+ of \d+ samples$")


def throttling_note(machine: Machine | None, path: str) -> str:
    """The note of a run that something slowed, such as ``rn50_1 was throttled while it ran: GPU 0: power cap in …``.

    Args:
        machine: of the run's log.
        path: the log's.

    Returns:
        An empty text where nothing is known to have slowed it.
    """
    throttled = None if machine is None else machine.facts.get(KEY)
    if machine is None or not throttled or not isinstance(throttled, dict):
        return ""
    name = path.rpartition("/")[2].rpartition(".log")[0]
    findings = throttled.get("/".join((*reversed(machine.folders), name)))
    if not isinstance(findings, list):
        return ""
    texts = [" ".join(text.split())[:_MOST_CHARACTERS] for text in findings if isinstance(text, str)]
    return f"{name}{_WAS}{'; '.join(texts[:_MOST_FINDINGS])}" if texts else ""


def throttling_of(run: Run) -> list[str]:
    """In words what slowed a run, without how often; empty where nothing is known to have."""
    return findings_in(run.notes)


def findings_in(notes: Iterable[Note | str]) -> list[str]:
    """In words what slowed a run that has these notes, without how often; empty where nothing is known to have."""
    texts = (str(note).partition(_WAS)[2] for note in notes)
    return [_SAMPLES.sub("", finding) for text in texts if text for finding in text.split("; ")]


def throttled_among(runs: Iterable[Run]) -> list[Run]:
    """The runs that are known to have been throttled."""
    return [run for run in runs if throttling_of(run)]
