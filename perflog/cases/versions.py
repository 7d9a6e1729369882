"""Framework versions side by side: the configurations that several versions have a number for.

They are paired as `perflog compare` pairs them (:mod:`perflog.cases.pairs`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perflog.cases.case import Case
from perflog.cases.pairs import VERSION, paired
from perflog.errors import UsageError
from perflog.formats.catalog import path_patterns
from perflog.formats.paths import PathPatterns, facts_of_path, numbered_label
from perflog.logs.addresses import as_path
from perflog.logs.find import natural

# ----------------------------------------------------------------------------------------------------
# A case's label below a folder of its own: what two folders of logs are compared by.


def root_of(paths: Sequence[str]) -> str:
    """The folder that all paths lie in."""
    folders = [os.path.dirname(os.path.abspath(as_path(path))) for path in paths]  # noqa: PTH100, PTH120 - many paths
    return os.path.commonpath(folders) if folders else ""


def label_of(case: Case, root: str, patterns: PathPatterns) -> str:
    """What no pattern explains of the paths below the side's folder, which is another one for every side."""
    place = os.path.abspath(case.runs[0].log.place)  # noqa: PTH100
    if not root or not place.startswith(root.rstrip("/") + "/"):
        return case.label
    below = os.path.relpath(place, root)
    number_is_label = case.label == numbered_label(place, patterns)
    return numbered_label(below, patterns) if number_is_label else facts_of_path(below, patterns)[1]


#: So many cases are named that have no partner.
_MOST_NAMED = 3
_Labelled = list[tuple[Case, str]]


def compared(cases: Iterable[Case], patterns: PathPatterns | None = None) -> list[dict[str, Case]]:
    """For every configuration that two versions or more have a value for, in the order of the cases, its cases by
    version, oldest first.

    Where several folders were named that hold one version each, the folders are what is compared: by their versions,
    or by their names where those are the same.

    Args:
        patterns: what paths of logs say of their runs; None: perflog's own.

    Raises:
        UsageError: when there are fewer than two versions, or no configuration is there in two of them; with what
            differs.
    """
    cases = list(cases)
    sides = _sides([case for case in cases if case.throughput.value])
    patterns = path_patterns(()) if patterns is None else patterns
    groups: list[dict[str, Case]] = []
    alone: list[tuple[str, Case, str]] = []
    for name, members in sides.items():
        firsts = [next(iter(group.values())) for group in groups]
        partners, reasons = _partners(firsts, members, patterns)
        for group, first in zip(groups, firsts, strict=True):
            if id(first) in partners:
                group[name] = partners[id(first)]
        joined = {id(case) for case in partners.values()}
        groups += [{name: case} for case in members if id(case) not in joined]
        alone += [(name, case, reasons[id(case)]) for case in members if id(case) in reasons]
    both = [group for group in groups if len(group) > 1]
    if not both:
        named = "; ".join(f"{case.name} of {name}: {reason}" for name, case, reason in alone[:_MOST_NAMED])
        raise UsageError(f"no case is there in two of {', '.join(sides)}: {named}{_folders_to_name(cases)}")
    turns = {id(case): turn for turn, case in enumerate(cases)}
    return sorted(both, key=lambda group: min(turns[id(case)] for case in group.values()))


def _sides(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """What is compared, oldest first: the folders that were named, or the framework versions.

    Raises:
        UsageError: when there are fewer than two.
    """
    by_given: dict[str, list[Case]] = {}
    for case in cases:
        by_given.setdefault(case.runs[0].log.given, []).append(case)
    versions = {given: {str(case.key.get(VERSION, "")) for case in members} for given, members in by_given.items()}
    if len(by_given) > 1 and all(len(of_folder) == 1 for of_folder in versions.values()):
        return _named_by_version(by_given, {given: min(of_folder) for given, of_folder in versions.items()})
    known = [case for case in cases if VERSION in case.key]
    there = sorted({str(case.key[VERSION]) for case in known}, key=natural)
    if len(there) < 2:
        count = f"{there[0]} is the only one" if there else "there is none"
        problem = f"two framework versions are compared and {count} among the cases: name the logs of both"
        raise UsageError(f"{problem}{_folders_to_name(cases)}")
    return {version: [case for case in known if str(case.key[VERSION]) == version] for version in there}


def _folders_to_name(cases: Sequence[Case]) -> str:
    """What to type where one folder was named and those below it may be the versions; empty where they cannot be."""
    places = {(case.runs[0].log.given, case.key.get("framework")) for case in cases}
    if len(places) != 1 or not (given := places.pop()[0]):
        return ""
    paths = [run.log.path for case in cases for run in case.runs]
    root = root_of(paths)
    below = {Path(os.path.relpath(path, root)).parts for path in paths}
    first = sorted({parts[0] for parts in below}, key=natural)
    if len(first) < 2 or any(len(parts) == 1 for parts in below):  # a log beside the folders belongs to none of them
        return ""
    own = Path(given) / os.path.relpath(root, given)  # as the user names it
    shown = [*(str(own / name) for name in first[:_MOST_NAMED]), *(["…"] if len(first) > _MOST_NAMED else [])]
    return f". If each folder holds a version, name the folders: {' '.join(shown)}"


def _named_by_version(by_given: Mapping[str, list[Case]], versions: Mapping[str, str]) -> dict[str, list[Case]]:
    """The folders' cases under their versions; under their own names where versions are unknown or the same."""
    if len(set(versions.values())) == len(versions) and all(versions.values()):
        in_order = sorted(by_given, key=lambda given: natural(versions[given]))
        return {versions[given]: by_given[given] for given in in_order}
    return {os.path.normpath(given): members for given, members in by_given.items()}


def _partners(
    old: Sequence[Case], new: Sequence[Case], patterns: PathPatterns
) -> tuple[dict[int, Case], dict[int, str]]:
    """Which new case is the partner of which old one.

    Paths count as they are first, and for what is left below the folder of each side, since folders are named by what
    is compared.

    Returns:
        The new cases by their partners' ids, and by the new cases' ids why they have none; nothing where there is no
        old case.
    """
    if not old:
        return {}, {}
    as_given: tuple[_Labelled, _Labelled] = [(case, case.label) for case in old], [(case, case.label) for case in new]
    pairs, _ = paired(*as_given)
    taken = {id(case) for pair in pairs for case in (pair.old, pair.new)}
    sides = [_below(old, patterns), _below(new, patterns)]
    left = [[(case, label) for case, label in side if id(case) not in taken] for side in sides]
    more, unpaired = paired(left[0], left[1])
    reasons = {id(alone.case): _of_pictures(alone.reason) for alone in unpaired if alone.side == "new"}
    return {id(pair.old): pair.new for pair in (*pairs, *more)}, reasons


def _of_pictures(reason: str) -> str:
    """Why a case has no partner, without what only a comparison of two sides can do about it."""
    return reason.partition(" (--across")[0].removeprefix("not on the old side; ")


def _below(cases: Sequence[Case], patterns: PathPatterns) -> _Labelled:
    """Cases with their labels below the folder that holds all their logs."""
    root = root_of([run.log.path for case in cases for run in case.runs])
    return [(case, label_of(case, root, patterns)) for case in cases]
