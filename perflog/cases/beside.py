"""Logs that were written in step: ranks and nodes of one training print the same step at the same moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from perflog.cases.identity import Identity, identity, told_apart_by
from perflog.notes import Note
from perflog.runs.run import COUNTED_BY_RANKS, Run

#: Lines of ranks that wait for each other stand so many seconds apart; stamps are cut to whole ones.
APART = 1.0
#: Two trainings, begun at one moment on equal machines, differ by more than this share of their time at the end.
DRIFT = 0.0005
#: Shorter logs may be in step by chance.
LEAST_TIME = 20.0
#: So many logs are named in a note.
MOST_NAMED = 3
#: What logs in step may be: of one case, and of one folder.
_RANKS = "the logs of one training's ranks, which are no repeats"
_NODES = "the logs of one training's nodes, whose devices are those of all of them"


def with_doubts(runs: Sequence[Run]) -> list[Run]:
    """The runs; those of one configuration whose logs were written in step with a note that they may be no repeats.

    Logs of one folder that each count their devices by the ranks that print may be the nodes of one training.
    """
    groups: dict[Identity, list[Run]] = {}
    nodes: dict[Identity, list[Run]] = {}
    for run in runs:
        if run.clock is not None and run.clock[2] - run.clock[1] >= LEAST_TIME:
            groups.setdefault(identity(run), []).append(run)
            if any(note.text.startswith(COUNTED_BY_RANKS) for note in run.notes):
                folder, _ = run.log.folder_and_name
                nodes.setdefault((folder, run.parser, *sorted(told_apart_by(run.values).items())), []).append(run)
    notes = {id(run): note for members in nodes.values() for run, note in _notes(members, _NODES)}
    notes |= {id(run): note for members in groups.values() for run, note in _notes(members, _RANKS)}
    if not notes:
        return list(runs)
    return [replace(run, notes=[*run.notes, Note.of_case(notes[id(run)])]) if id(run) in notes else run for run in runs]


def _notes(members: Iterable[Run], what: str) -> Iterable[tuple[Run, str]]:
    """Each run that was written in step with others, and what is said of it: ``what`` they may be."""
    for together in _in_step(members):
        names = list(dict.fromkeys(run.log.name for run in together))
        if len(names) > 1:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            note = f"{', '.join(names[:MOST_NAMED])}{more} were written in step, to the second: they may be {what}"
            yield from ((run, note) for run in together)


def _in_step(members: Iterable[Run]) -> Iterable[list[Run]]:
    """The runs that begin and end together."""
    ordered = sorted(members, key=lambda run: (*(run.clock or ()), run.log.name))
    together = ordered[:1]
    for before, run in pairwise(ordered):
        if not _are_in_step(before, run):
            yield together
            together = []
        together.append(run)
    yield together


def _are_in_step(one: Run, other: Run) -> bool:
    if one.clock is None or other.clock is None or one.clock[0] != other.clock[0]:
        return False
    apart = APART + DRIFT * (one.clock[2] - one.clock[1])
    same_steps = one.throughput.last_step == other.throughput.last_step
    return same_steps and all(abs(a - b) <= apart for a, b in zip(one.clock[1:], other.clock[1:], strict=True))
