"""Which numbers at the end of logs' names count repeats, and which logs are one training's.

A number is a repeat where it is one of a series 0, 1, 2, … or 1, 2, 3, … of names in one folder that differ in nothing
else and whose logs say the same configuration; any other number (18, 50, 152; 1, 2, 4, 8) is a part of the label.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perflog.cases.case import Identity, identity, spelling
from perflog.formats.paths import REPEAT, Counter, PathPatterns, facts_of_path, numbered_label
from perflog.formats.vocabulary import normal
from perflog.logs.find import LogFile
from perflog.notes import Note
from perflog.runs.run import Run, Skipped

#: A folder, and a name without its number.
_Stem = tuple[str, str]
#: The runs of one series, by the number in their logs' names.
_Series = Mapping[int, Sequence[Run]]
#: So many numbers of a series are named in a note.
MOST_NUMBERS = 6


def settled(runs: Sequence[Run], patterns: PathPatterns, uncounted: Iterable[LogFile] = ()) -> list[Run]:
    """The runs, each with its repeat or, where the number in its log's name is none, with it in its label.

    ``uncounted``: logs without a run that counts, whose numbers belong to the series all the same: what a number means
    is not another thing where its neighbour was refused, is a copy, or never began to print.
    """
    places = _numbered((run.log, _counter_of(run, patterns)) for run in runs)
    series = _series(zip(places, runs, strict=True))
    names = ((log, patterns.facts_of_part(log.folder_and_name[1], "file").counter) for log in uncounted)
    for place in _numbered(names):
        if place is not None and place[0] in series:
            series[place[0]].setdefault(place[1], [])
    why_not = {stem: _why_no_repeats(stem, members) for stem, members in series.items()}
    return [
        run if place is None or (why := why_not[place[0]]) is None else _labelled(run, patterns, why)
        for place, run in zip(places, runs, strict=True)
    ]


def of_first_ranks(runs: Sequence[Run], patterns: PathPatterns) -> tuple[list[Run], list[Skipped]]:
    """(the runs, without those of other ranks of a training whose first rank has a log of its own; their logs)."""
    places = _numbered((run.log, patterns.facts_of_part(run.log.folder_and_name[1], "file").rank) for run in runs)
    series = _series(zip(places, runs, strict=True))
    kept, left_out = [], {}
    for place, run in zip(places, runs, strict=True):
        first = min(series[place[0]]) if place is not None else 0
        if place is None or place[1] == first:
            kept.append(run)
        else:
            name = series[place[0]][first][0].log.name
            left_out[run.log] = Skipped(run.log, f"the log of another rank of the training in {name}")
    return kept, list(left_out.values())


def _counter_of(run: Run, patterns: PathPatterns) -> Counter | None:
    """The number in a log's name that may count repeats; None where something else tells the run's repeat."""
    from_path = run.metadata.sources.get(REPEAT) == "path"
    return patterns.facts_of_part(run.log.folder_and_name[1], "file").counter if from_path else None


def _numbered(counted: Iterable[tuple[LogFile, Counter | None]]) -> list[tuple[_Stem, int] | None]:
    """Each log by its folder, its name without the number, and the number; None where it has none."""
    folders: dict[str, str] = {}
    places: list[tuple[_Stem, int] | None] = []
    for log, counter in counted:
        folder, _ = log.folder_and_name
        if counter is None:
            places.append(None)
            continue
        if folder not in folders:
            folders[folder] = os.path.abspath(f"{folder}/" if folder or log.place[:1] == "/" else ".")  # noqa: PTH100
        places.append(((folders[folder], counter.stem), counter.number))
    return places


def _series(numbered: Iterable[tuple[tuple[_Stem, int] | None, Run]]) -> dict[_Stem, dict[int, list[Run]]]:
    series: dict[_Stem, dict[int, list[Run]]] = {}
    for counter, run in numbered:
        if counter is not None:
            series.setdefault(counter[0], {}).setdefault(counter[1], []).append(run)
    return series


def _why_no_repeats(stem: _Stem, members: _Series) -> str | None:
    """Why the numbers of a series are no repeats, empty for a single log; None where they are."""
    numbers = sorted(members)
    if len(numbers) < 2:
        return ""
    name = stem[1].replace("\0", "N")
    shown = ", ".join([*map(str, numbers[:MOST_NUMBERS]), *(["…"] if len(numbers) > MOST_NUMBERS else [])])
    if numbers[0] > 1 or numbers[-1] - numbers[0] != len(numbers) - 1:
        return f"the logs {name} are no repeats of one case: {shown} is no series from 0 or 1"
    if len({_configurations(runs) for runs in members.values() if any(r.value for r in runs)}) > 1:
        return f"the logs {name} (N is {shown}) are no repeats of one case: they say different configurations"
    return None


def _configurations(runs: Iterable[Run]) -> tuple[Identity, ...]:
    """What the runs of one log say they are, in their order."""
    return tuple(identity(run) for run in sorted(runs, key=lambda run: run.first_line))


def _labelled(run: Run, patterns: PathPatterns, why: str) -> Run:
    """A run whose log's number is a part of its label; a folder that counts repeats in a word does so still."""
    place = os.path.abspath(run.log.place)  # noqa: PTH100 - 20,000 paths
    values = {key: value for key, value in run.values.items() if key != REPEAT}
    sources = {key: source for key, source in run.metadata.sources.items() if key != REPEAT}
    for fact in patterns.facts_of_folder(os.path.dirname(place)).facts:  # noqa: PTH120
        repeat = normal(REPEAT, fact.value) if fact.key == REPEAT else None
        if repeat is not None:
            values[REPEAT], sources[REPEAT] = repeat, "path"
    metadata = replace(run.metadata, values=values, sources=sources)
    notes = [*run.notes, Note.of_case(why)] if why else run.notes
    return run.changed(metadata=metadata, label=numbered_label(place, patterns), notes=notes)


# ----------------------------------------------------------------------------------------------------
# Runs whose names tell two models apart are no repeats of one case, though their logs say the same.

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
                    settled[place] = (
                        _labelled_apart(settled[place], key, names[key]) if key in names else settled[place]
                    )
    return settled


def _said_by_path(run: Run, patterns: PathPatterns) -> dict[str, str]:
    """What a run's path says of the keys that its log says too."""
    facts, _ = facts_of_path(os.path.abspath(run.log.place), patterns)  # noqa: PTH100 - very many paths
    return {
        fact.key: str(fact.value) for fact in facts if run.metadata.sources.get(fact.key) == "log" and fact.key in _KEYS
    }


def _labelled_apart(run: Run, key: str, name: str) -> Run:
    note = f"{key} is {run.values[key]} by the log, {name} by the path"
    return run.changed(
        label="/".join(part for part in (run.label, name) if part), notes=[*run.notes, Note.of_case(note)]
    )
